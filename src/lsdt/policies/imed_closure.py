"""IMED on the bounds of propagation: play the arm that it costs least to believe the best, plus log plays.

The cost of arm i is that of the joint evidence of all arms bounded by it (`closure_costs`) against i being
the best with a mean of at least the largest mean seen. With no relations it is IMED. An arm never played
counts as played once, so that it need not be played where the rewards of others speak against it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.compiling import compiled
from lsdt.kernel.divergences import FAMILIES
from lsdt.policies.closure_costs import inside, row_cost, row_of, rows_of
from lsdt.policies.closure_tangents import (
    change_terms,
    find_least,
    keep_tangent,
    least_bounds,
    new_tangents,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification
from lsdt.policies.tallies import add_reward, is_allowed

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.compiling import Array
    from lsdt.kernel.states import Allowed, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_FINEST = 2.0**-36


class ImedClosureState(NamedTuple):
    """``value`` is an arm's index where ``solved`` is the largest mean; see `closure_tangents`."""

    family: Whole
    variance: Real
    counts: Wholes
    sums: Reals
    means: Reals
    log_counts: Reals
    value: Reals
    solved: Reals
    point: Reals
    cost: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    bound: Reals
    floor: Reals
    indptr: Wholes
    others: Wholes
    lower: Reals
    upper: Reals
    starts: Wholes
    rows: Wholes
    places: Wholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> ImedClosureState:
    """Start with nothing played and nothing known of any cost."""
    none, family = np.zeros(situation.n_arms), FAMILIES[parameters.divergence]
    return ImedClosureState(
        family=family,
        variance=parameters.sigma**2,
        counts=none,
        sums=none,
        means=none,
        log_counts=none,
        value=none,
        solved=np.full(situation.n_arms, math.nan),
        **new_tangents(situation.n_arms),
        **rows_of(situation.mutual_bounds, family),
    )


@compiled
def find_value(state: ImedClosureState, arm: int, top: float) -> float:
    """Return the index of an arm: its least cost with a mean of at least `top`, and log plays."""
    row = row_of(state, arm)
    least = math.inf
    if row.floor <= 1.0:
        q = max(top, row.floor)
        least, slope = row_cost(row, q)
        if slope < 0.0:  # larger means cost less
            if state.known[arm] == 0:
                find_least(state, arm)
            least = state.least[arm]
        else:
            keep_tangent(state, arm, 0, q, least, slope)
    value = least + state.log_counts[arm]
    # Rounded, so that arms bounded by the same others tie.
    return math.floor(value / _FINEST + 0.5) * _FINEST if value < math.inf else value


@compiled
def find_bounds(state: ImedClosureState, top: float) -> None:
    """Put into ``state.bound`` a number for every arm that its index is not below."""
    bound, solved, value, log_counts = state.bound, state.solved, state.value, state.log_counts
    point, cost, slope = state.point, state.cost, state.slope
    least_bounds(state.family, state.floor, point, cost, slope, top, 0, len(bound), bound)
    for arm in range(len(bound)):
        bound[arm] = value[arm] if solved[arm] == top else bound[arm] + log_counts[arm]


@compiled
def top_mean(state: ImedClosureState, allowed: Allowed) -> float:
    """Return the largest mean of the arms that were played; minus infinity before the first round."""
    top = -math.inf
    for arm in range(len(state.counts)):
        if state.counts[arm] > 0 and is_allowed(allowed, arm):
            top = max(top, inside(state.family, state.means[arm]))
    return top


def select(state: ImedClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the smallest index, at equal indices the arm of fewer plays; few arms are solved for."""
    top = top_mean(state, allowed)
    bound, counts, solved = state.bound, state.counts, state.solved
    if top == -math.inf:
        for arm in range(len(bound)):
            if is_allowed(allowed, arm):
                return arm
    find_bounds(state, top)
    while True:
        best = -1
        for arm in range(len(bound)):
            if is_allowed(allowed, arm) and (
                best < 0
                or bound[arm] < bound[best]
                or (bound[arm] == bound[best] and counts[arm] < counts[best])
            ):
                best = arm
        if solved[best] == top:
            return best
        state.value[best] = bound[best] = find_value(state, best, top)
        solved[best] = top


def update(state: ImedClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and bring the costs that it changes up to date."""
    count, mean = state.counts[arm], state.means[arm]
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.log_counts[arm] = math.log(float(state.counts[arm]))
    change_terms(state, arm, count, mean)
    for at in range(state.starts[arm], state.starts[arm + 1]):
        state.solved[state.rows[at]] = math.nan


def score(state: ImedClosureState, arm: int) -> float:
    """Return the index of an arm; the smallest is played."""
    top = top_mean(state, None)
    return -math.inf if top == -math.inf else find_value(state, arm, top)


SPECIFICATION = Specification(
    name="imed_closure",
    title="IMED-closure",
    rule="argmin of the least f_i(q) over q >= best mean, plus log n_i, f_i(q) the sum over j of n_j "
    "KL(mean_j, [q - upper_ij, q - lower_ij]), gaps mu_i - mu_j bounded by propagation",
    reference="this library; IMED is of Honda and Takemura (2015)",
    cost="O(K) bounds and changed terms, O(row) divergences for the arms solved for, mostly one or two",
    state=ImedClosureState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"distances"}),
    offline="propagation",
    score=score,
    score_name="index (smallest is played)",
)
