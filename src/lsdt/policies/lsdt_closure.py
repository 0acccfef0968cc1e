"""LSDT-closure: the largest mean with which an arm may be the best, on all that similarity and data say.

With no relations it is KL-UCB; with similar pairs only it is CKL-UCB over hop distances. It needs no horizon and
no constant, and an arm need not be played when the rewards of others bound it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.compiling import compiled, inlined
from lsdt.kernel.divergences import BERNOULLI, FAMILIES
from lsdt.policies.closure_costs import (
    SLACK,
    change_terms,
    columns_of,
    drop_infinite,
    keep_above,
    least_cost,
    lowest_means,
    row_cost,
    tangents_meet,
    window,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification
from lsdt.policies.tallies import add_reward, is_allowed

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.compiling import Array
    from lsdt.kernel.states import Allowed, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_BELOW_ONE = 1.0 - 2.0**-53


class LsdtClosureState(NamedTuple):
    """``index`` is exact where ``solved`` is the log t of the round, ``least`` where ``known`` is 1."""

    family: Whole
    variance: Real
    total: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    floor: Reals
    above: Reals
    above_cost: Reals
    above_slope: Reals
    below: Reals
    below_cost: Reals
    below_slope: Reals
    index: Reals
    solved: Reals
    least: Reals
    known: Reals
    bound: Reals
    indptr: Wholes
    indices: Wholes
    lower: Reals
    upper: Reals
    starts: Wholes
    rows: Wholes
    places: Wholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtClosureState:
    """Start with nothing played and nothing known of any cost."""
    none, unknown = np.zeros(situation.n_arms), np.full(situation.n_arms, math.nan)
    bounds, family = situation.mutual_bounds, FAMILIES[parameters.divergence]
    return LsdtClosureState(
        family=family,
        variance=parameters.sigma**2,
        total=np.zeros(1),
        counts=none,
        sums=none,
        means=none,
        floor=lowest_means(bounds, family),
        above=unknown,
        above_cost=none,
        above_slope=none,
        below=unknown,
        below_cost=none,
        below_slope=none,
        index=none,
        solved=none - 1.0,
        least=none,
        known=none - 1.0,
        bound=none,
        **bounds._asdict(),
        **columns_of(bounds)._asdict(),
    )


@inlined
def highest_start(state: LsdtClosureState, arm: int, level: float) -> float:
    """Return a mean that the index is not above: no single arm of the row allows more; infinite if none."""
    spread = 0.25 if state.family == BERNOULLI else state.variance  # Pinsker's inequality
    highest = math.inf
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        other = state.indices[place]
        if state.counts[other] > 0 and state.upper[place] < math.inf:
            mean = state.means[other]
            if state.family == BERNOULLI:
                mean = min(max(mean, 0.0), 1.0)
            reach = math.sqrt(2.0 * spread * level / state.counts[other])
            highest = min(highest, mean + state.upper[place] + reach)
    return highest


@compiled
def largest_mean(state: LsdtClosureState, arm: int, level: float) -> float:
    """Solve for one index by Newton steps from above; minus infinity when the arm is refuted."""
    q = highest_start(state, arm, level)
    if q == math.inf and state.family != BERNOULLI:
        return q
    if state.family == BERNOULLI and q >= 1.0:
        if row_cost(state, arm, 1.0)[0] <= level:
            return q if q == math.inf else 1.0
        q = _BELOW_ONE  # at 1 itself the cost may be infinite, and no step leads down
    while q >= state.floor[arm]:
        cost, slope = row_cost(state, arm, q)
        if cost > level and not slope > 0.0:
            break
        keep_above(state, arm, q, cost, slope)
        if cost <= level or not q - (cost - level) / slope < q:
            return q
        q -= (cost - level) / slope
    least_cost(state, arm, level)
    return -math.inf


@inlined
def solve_index(state: LsdtClosureState, arm: int, level: float) -> None:
    """Solve for one index and keep it."""
    state.index[arm] = largest_mean(state, arm, level)
    state.solved[arm] = level


@inlined
def index_bound(state: LsdtClosureState, arm: int, level: float) -> float:
    """Return a number that the index is not above; minus infinity for an arm that is refuted for certain."""
    if state.solved[arm] == level:
        return state.index[arm]
    low, high = window(state, arm, level)
    return high if low <= high else -math.inf


@inlined
def least_refuted(state: LsdtClosureState, allowed: Allowed) -> int:
    """Return the arm with the least cost, for when the data refute all."""
    bound = state.bound
    for arm in range(len(bound)):
        bound[arm] = state.least[arm]
        if state.known[arm] < 0.0:
            bound[arm] = tangents_meet(state, arm) * (1.0 - SLACK) - SLACK
    while True:
        best, lowest = -1, math.inf
        for arm in range(len(bound)):
            if is_allowed(allowed, arm) and (bound[arm] < lowest or best < 0):
                best, lowest = arm, bound[arm]
        if state.known[best] > 0.0:
            return best
        state.least[best] = bound[best] = least_cost(state, best, 0.0)
        state.known[best] = 1.0


def select(state: LsdtClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index, solving only for arms whose index may be."""
    bound, level = state.bound, math.log(max(float(state.total[0]), 1.0))
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
        bound[best] = state.index[best]


def update(state: LsdtClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and bring the costs that it changes up to date."""
    state.total[0] += 1
    change_terms(state, arm, -1.0)
    add_reward(state.counts, state.sums, state.means, arm, reward)
    change_terms(state, arm, 1.0)
    drop_infinite(state, arm, state.known)
    for at in range(state.starts[arm], state.starts[arm + 1]):
        state.solved[state.rows[at]] = -1.0


def score(state: LsdtClosureState, arm: int) -> float:
    """Return the index of an arm; minus infinity where the data refute that it is the best."""
    return largest_mean(state, arm, math.log(max(float(state.total[0]), 1.0)))


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
