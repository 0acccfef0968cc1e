"""LSDT-closure: the largest mean with which an arm may be the best, on all that similarity and data say.

With no relations it is KL-UCB; with similar pairs only it is CKL-UCB over hop distances. It needs no horizon and
no constant, and an arm need not be played when the rewards of others bound it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.compiling import inlined
from lsdt.kernel.divergences import FAMILIES
from lsdt.policies.closure_costs import largest_mean, rows_of
from lsdt.policies.closure_tangents import (
    change_terms,
    find_least,
    keep_refuted,
    keep_tangent,
    least_of_all,
    new_tangents,
    window,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification
from lsdt.policies.tallies import add_reward, is_allowed

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.compiling import Array
    from lsdt.kernel.states import Allowed, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class LsdtClosureState(NamedTuple):
    """``largest`` is an arm's index where ``solved`` is the level of the round; see `closure_tangents`."""

    family: Whole
    variance: Real
    total: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    largest: Reals
    solved: Reals
    point: Reals
    cost: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    champion: Wholes
    bound: Reals
    floor: Reals
    indptr: Wholes
    others: Wholes
    lower: Reals
    upper: Reals
    starts: Wholes
    rows: Wholes
    places: Wholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtClosureState:
    """Start with nothing played and nothing known of any cost."""
    none, family = np.zeros(situation.n_arms), FAMILIES[parameters.divergence]
    return LsdtClosureState(
        family=family,
        variance=parameters.sigma**2,
        total=np.zeros(1),
        counts=none,
        sums=none,
        means=none,
        largest=none,
        solved=none - 1.0,
        **new_tangents(situation.n_arms),
        **rows_of(situation.mutual_bounds, family),
    )


@inlined
def solve_index(state: LsdtClosureState, arm: int, level: float) -> None:
    """Solve for one index and keep it, with the tangent there, or tangents that refute the arm."""
    q, cost, slope = largest_mean(state, arm, level)
    state.largest[arm], state.solved[arm] = q, level
    if q == -math.inf:
        keep_refuted(state, arm, level)
    elif q < math.inf:
        keep_tangent(state, arm, 0, q, cost, slope)


@inlined
def index_bound(state: LsdtClosureState, arm: int, level: float) -> float:
    """Return a number that the index is not above; minus infinity for an arm that is refuted for certain."""
    if state.solved[arm] == level:
        return state.largest[arm]
    low, high = window(state, arm, level)
    return high if low <= high else -math.inf


@inlined
def least_refuted(state: LsdtClosureState, allowed: Allowed) -> int:
    """Return the allowed arm of the least cost, for when the data refute all that may be played."""
    best, lowest = -1, math.inf
    for arm in range(len(state.counts)):
        if is_allowed(allowed, arm):
            find_least(state, arm)
            if best < 0 or state.least[arm] < lowest:
                best, lowest = arm, state.least[arm]
    return best


@inlined
def level_now(state: LsdtClosureState) -> float:
    """Return what a mean may cost: log t more than the best explanation does."""
    return math.log(max(float(state.total[0]), 1.0)) + least_of_all(state)


def select(state: LsdtClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index, solving only for arms whose index may be."""
    level, bound = level_now(state), state.bound
    for arm in range(len(bound)):
        bound[arm] = index_bound(state, arm, level) if is_allowed(allowed, arm) else -math.inf
    while True:
        best, highest = -1, -math.inf
        for arm in range(len(bound)):
            if bound[arm] > highest:
                best, highest = arm, bound[arm]
        if best < 0:
            return least_refuted(state, allowed)
        if state.solved[best] == level:
            return best
        solve_index(state, best, level)
        bound[best] = state.largest[best]


def update(state: LsdtClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and bring the costs that it changes up to date."""
    count, mean = state.counts[arm], state.means[arm]
    state.total[0] += 1
    add_reward(state.counts, state.sums, state.means, arm, reward)
    change_terms(state, arm, count, mean)
    for at in range(state.starts[arm], state.starts[arm + 1]):
        state.solved[state.rows[at]] = -1.0


def score(state: LsdtClosureState, arm: int) -> float:
    """Return the index of an arm; minus infinity where the data refute that it is the best."""
    return largest_mean(state, arm, level_now(state))[0]


SPECIFICATION = Specification(
    name="lsdt_closure",
    title="LSDT-closure",
    rule="argmax of the largest q with sum over j of n_j KL(mean_j, [q - upper_ij, q - lower_ij]) <= log t, "
    "the gaps below i bounded by propagation",
    reference="this library; the bounds extend the paper's offline step",
    cost="O(K) bounds and changed terms, O(row) divergences for the arms solved for, mostly one or two",
    state=LsdtClosureState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"epsilon"}),
    offline="propagation",
    score=score,
    score_name="index",
)
