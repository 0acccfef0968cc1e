"""IMED with the bounds of propagation: play the arm with the least evidence against it, plus log plays.

The evidence against arm i is that of all rewards together against i being the best with any mean, given the
bounds on the gaps below it (`closure_costs`). Plain IMED uses the largest mean seen instead. With relations
that fails: an arm played once, with luck, would set a mean that all other evidence speaks against. An arm
never played counts as played once, so that it need not be played where the rewards of others refute it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import compiled, inlined
from lsdt.kernel.special import FAMILIES
from lsdt.policies.parts.closure_costs import rows_of
from lsdt.policies.parts.closure_tangents import (
    change_terms,
    fill_costs,
    find_least,
    least_bounds,
    new_tangents,
)
from lsdt.policies.parts.tallies import add_reward, is_allowed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_FINEST = 2.0**-36


class ImedClosureState(NamedTuple):
    """``log_counts`` saves logarithms; see `closure_tangents` for the costs."""

    family: Whole
    variance: Real
    counts: Wholes
    sums: Reals
    means: Reals
    log_counts: Reals
    point: Reals
    cost: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    bound: Reals
    floor: Reals
    indptr: FixedWholes
    others: FixedWholes
    lower: Reals
    upper: Reals
    starts: FixedWholes
    rows: FixedWholes
    places: FixedWholes
    played: Wholes


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
        **new_tangents(situation.n_arms),
        **rows_of(situation.mutual_bounds, family),
    )


@compiled
def find_bounds(state: ImedClosureState) -> None:
    """Put into ``state.bound`` a number for every arm that its index is not below, or the index."""
    bound, known, least, log_counts = state.bound, state.known, state.least, state.log_counts
    point, cost, slope = state.point, state.cost, state.slope
    least_bounds(state.family, state.floor, point, cost, slope, 0, len(bound), bound)
    for arm in range(len(bound)):
        bound[arm] = index_value(least[arm] if known[arm] == 1 else bound[arm], log_counts[arm])


@inlined
def index_value(least: float, log_count: float) -> float:
    """Return an index, rounded so that arms bounded by the same others tie."""
    value = least + log_count
    return math.floor(value / _FINEST + 0.5) * _FINEST if value < math.inf else value


def select(state: ImedClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the smallest index, at equal indices the arm of fewer plays; few arms are solved for."""
    find_bounds(state)
    bound, counts = state.bound, state.counts
    while True:
        best = -1
        for arm in range(len(bound)):
            if is_allowed(allowed, arm) and (
                best < 0
                or bound[arm] < bound[best]
                or (bound[arm] == bound[best] and counts[arm] < counts[best])
            ):
                best = arm
        if state.known[best] == 1:
            return best
        find_least(state, best)
        bound[best] = index_value(state.least[best], state.log_counts[best])


def update(state: ImedClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and bring the costs that it changes up to date."""
    count, mean = state.counts[arm], state.means[arm]
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.log_counts[arm] = math.log(float(state.counts[arm]))
    change_terms(state, arm, count, mean)


def fill(state: ImedClosureState, counts: Array, sums: Array) -> None:
    """Start with rewards; what is known of costs, nothing, stays right."""
    fill_costs(state, counts, sums)
    state.log_counts[:] = np.log(np.maximum(state.counts, 1))


def score(state: ImedClosureState, arm: int) -> float:
    """Return the index of an arm; the smallest is played."""
    find_least(state, arm)
    return index_value(state.least[arm], state.log_counts[arm])


SPECIFICATION = Specification(
    name="imed_closure",
    title="IMED-closure",
    rule="argmin of the least f_i + log n_i, f_i(q) the sum over j of n_j KL(mean_j, [q - upper_ij, "
    "q - lower_ij]), gaps mu_i - mu_j bounded by propagation",
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
    fill=fill,
    places={"played": "counts"},
)
