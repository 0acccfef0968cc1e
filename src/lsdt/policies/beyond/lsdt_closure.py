"""LSDT-closure: the largest mean with which an arm may be the best, given all relations and all rewards.

For every candidate i propagation bounds how far it lies above each other arm if it is the best. So all
rewards together say how unlikely it is that i is the best with mean q: the cost f_i(q) is the sum of n_j KL
over all arms. The index of i is the largest q that costs at most log t + c log log t more than the best
explanation, which is the least f over all arms and means. An arm for which every q costs more is refuted for
now.

Noise alone gives every explanation a cost. Without the least f that cost would count against the truth too,
and a few bad rewards at the start would lock the policy on a bad arm for long. Even so the noise of d arms
makes the truth cost log t more than a wrong explanation with a probability of (log t)^k / t, where k grows
with d. That is why c is 1, where KL-UCB does well with 0.

With no relations the least f is 0, and this is KL-UCB with the same c; with similar pairs alone it is like
CKL-UCB over hop distances. It needs no horizon, and need not play an arm that the rewards of others bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import compiled, inlined
from lsdt.kernel.special import FAMILIES
from lsdt.policies.parts.closure_costs import largest_mean
from lsdt.policies.parts.closure_tangents import (
    change_terms,
    fill_costs,
    find_least,
    index_bounds,
    keep_refuted,
    keep_tangent,
    least_of_all,
    new_tangents,
    share_tangents,
)
from lsdt.policies.parts.cost_order import new_order
from lsdt.policies.parts.gap_rows import column_entry, column_size, row_of, rows_of
from lsdt.policies.parts.tallies import add_reward, is_allowed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedReals, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_FINEST = 2.0**-40


class LsdtClosureState(NamedTuple):
    """``largest`` is an arm's index where ``solved`` is the level of the round; see `closure_tangents`."""

    family: Whole
    variance: Real
    c: Real
    total: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    largest: Reals
    solved: Reals
    champion: Wholes
    point: Reals
    cost: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    bound: Reals
    behind: Wholes
    behind_from: Reals
    behind_to: Reals
    floor: FixedReals
    indptr: FixedWholes
    others: FixedWholes
    lower: FixedReals
    upper: FixedReals
    lower_by_column: FixedReals
    upper_by_column: FixedReals
    starts: FixedWholes
    rows: FixedWholes
    places: FixedWholes
    played: Wholes
    kinds: Wholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtClosureState:
    """Start with nothing played and nothing known of any cost."""
    none, family = np.zeros(situation.n_arms), FAMILIES[parameters.divergence]
    rows = rows_of(situation.mutual_bounds, family)
    return LsdtClosureState(
        family=family,
        variance=parameters.sigma**2,
        c=parameters.c,
        total=np.zeros(1),
        counts=none,
        sums=none,
        means=none,
        largest=none,
        solved=none - 1.0,
        champion=np.zeros(1),
        **new_tangents(situation.n_arms),
        **rows,
        **new_order(family, rows["played"]),
    )


@compiled
def solve_index(state: LsdtClosureState, arm: int, level: float) -> None:
    """Solve for the index of an arm and of its kind, from its bound; keep it with tangents that bound it."""
    q, cost, slope = largest_mean(row_of(state, arm), level, state.bound[arm])
    if q == -math.inf:
        keep_refuted(state, arm, level)
    elif q < math.inf:
        keep_tangent(state, arm, 0, q, cost, slope)
        q = math.floor(q / _FINEST + 0.5) * _FINEST
    share_tangents(state, arm)
    for other in range(len(state.kinds)):
        if state.kinds[other] == state.kinds[arm] and state.bound[other] > -math.inf:  # it is allowed
            state.largest[other] = state.bound[other] = q
            state.solved[other] = level


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
    """Return what a mean may cost: log t + c log log t more than the best explanation does."""
    level = math.log(max(float(state.total[0]), 1.0))
    if state.c > 0.0:
        level += state.c * math.log(max(level, 1.0))
    return level + least_of_all(state)


def select(state: LsdtClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index, solving only for arms whose index may be."""
    level, bound, solved = level_now(state), state.bound, state.solved
    index_bounds(state.family, state.floor, state.point, state.cost, state.slope, level, bound)
    for arm in range(len(bound)):
        if not is_allowed(allowed, arm):
            bound[arm] = -math.inf
        elif solved[arm] == level:
            bound[arm] = state.largest[arm]
    while True:
        best, highest = -1, -math.inf
        for arm in range(len(bound)):
            if bound[arm] > highest:
                best, highest = arm, bound[arm]
        if best < 0:
            return least_refuted(state, allowed)
        if solved[best] == level:
            return best
        solve_index(state, best, level)


def update(state: LsdtClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and bring the costs that it changes up to date."""
    count, mean = state.counts[arm], state.means[arm]
    state.total[0] += 1
    add_reward(state.counts, state.sums, state.means, arm, reward)
    change_terms(state, arm, count, mean)
    for number in range(np.uint64(column_size(state, arm))):
        state.solved[column_entry(state, arm, number)[0]] = -1.0


def fill(state: LsdtClosureState, counts: Array, sums: Array) -> None:
    """Start with rewards; what is known of costs, nothing, stays right."""
    fill_costs(state, counts, sums)
    state.total[0] = state.counts.sum()


def score(state: LsdtClosureState, arm: int) -> float:
    """Return the index of an arm; minus infinity where the data refute that it is the best."""
    return largest_mean(row_of(state, arm), level_now(state), math.inf)[0]


SPECIFICATION = Specification(
    name="lsdt_closure",
    title="LSDT-closure",
    rule="argmax of the largest q with f_i(q) <= log t + c log log t + least f, f_i(q) the sum over j of "
    "n_j KL(mean_j, [q - upper_ij, q - lower_ij]), gaps mu_i - mu_j bounded by propagation",
    reference="this library; the bounds extend the paper's offline step",
    cost="O(K) bounds and changed terms, O(row) divergences for the arms solved for, mostly one or two",
    state=LsdtClosureState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number(
            "c",
            1.0,
            "weight of log log t; 0 explores less and is locked on a bad arm more often",
            at_least=0.0,
        ),
        DIVERGENCE,
        SIGMA,
    ),
    needs=frozenset({"distances"}),
    offline="propagation",
    score=score,
    score_name="index",
    fill=fill,
    places={"champion": "counts", "behind": "counts", "played": "counts", "kinds": "counts"},
)
