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

from lsdt.kernel import FAMILIES, compiled, inlined, nearest_multiple, safe_log
from lsdt.policies.parts.closure_costs import largest_mean
from lsdt.policies.parts.closure_tangents import (
    COST_PLACES,
    ClosureCosts,
    fill_costs,
    find_least,
    index_bounds,
    keep_refuted,
    keep_tangent,
    learn_reward,
    least_of_all,
    new_costs,
    share_tangents,
)
from lsdt.policies.parts.gap_rows import column_entry, column_of, row_of
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Wholes
    from lsdt.policies.situation import Situation

_FINEST = 2.0**-40  # indices are rounded to this, so that equal ones tie whatever the course of the solver


class LsdtClosureState(NamedTuple):
    """``largest`` is an arm's index where ``solved`` is the level of the round; see `closure_tangents`."""

    c: Real
    total: Wholes
    largest: Reals
    solved: Reals
    costs: ClosureCosts


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtClosureState:
    """Start with nothing played and no cost known."""
    none = np.zeros(situation.n_arms)
    costs = new_costs(situation.mutual_bounds, FAMILIES[parameters.divergence], parameters.sigma**2)
    return LsdtClosureState(parameters.c, np.zeros(1), none, none - 1.0, costs)


@compiled
def solve_index(costs: ClosureCosts, largest: Array, solved: Array, arm: int, level: float) -> None:
    """Solve for the index of an arm and its equivalents, from its bound; keep tangents that bound it."""
    equivalence_class, bound = costs.rows.equivalence_class, costs.bound
    q, cost, slope = largest_mean(row_of(costs, arm), level, bound[arm])
    if q == -math.inf:
        keep_refuted(costs, arm, level)
    elif q < math.inf:
        keep_tangent(costs, arm, 0, q, cost, slope)
        q = nearest_multiple(q, _FINEST)
    share_tangents(costs, arm)
    for other in range(len(equivalence_class)):
        if equivalence_class[other] == equivalence_class[arm] and bound[other] > -math.inf:  # it is allowed
            largest[other] = bound[other] = q
            solved[other] = level


@inlined
def least_refuted(costs: ClosureCosts, allowed: Allowed) -> int:
    """Return the allowed arm of the least cost, for when the data refute all that may be played."""
    best, lowest = -1, math.inf
    for arm in range(len(costs.least)):
        if is_allowed(allowed, arm):
            find_least(costs, arm)
            if best < 0 or costs.least[arm] < lowest:
                best, lowest = arm, costs.least[arm]
    return best


@inlined
def level_now(state: LsdtClosureState) -> float:
    """Return what a mean may cost: log t + c log log t more than the best explanation does."""
    level = safe_log(max(float(state.total[0]), 1.0))
    if state.c > 0.0:
        level += state.c * safe_log(max(level, 1.0))
    return level + least_of_all(state.costs)


def select(state: LsdtClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index, solving only for arms whose index may be."""
    costs, level, bound, solved = state.costs, level_now(state), state.costs.bound, state.solved
    index_bounds(costs.family, costs.rows.floor, costs.point, costs.cost, costs.slope, level, bound)
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
            return least_refuted(costs, allowed)
        if solved[best] == level:
            return best
        solve_index(costs, state.largest, solved, best, level)


def update(state: LsdtClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and update the costs that it changes."""
    state.total[0] += 1
    learn_reward(state.costs, arm, reward)
    column = column_of(state.costs.rows, arm)
    for number in range(np.uint64(column.size)):
        state.solved[column_entry(column, number)[0]] = -1.0


def fill(state: LsdtClosureState, counts: Array, sums: Array) -> None:
    """Start with rewards; no cost is known yet."""
    fill_costs(state.costs, counts, sums)
    state.total[0] = state.costs.tallies.counts.sum()


def score(state: LsdtClosureState, arm: int) -> float:
    """Return the index of an arm; minus infinity where the data refute that it is the best."""
    return largest_mean(row_of(state.costs, arm), level_now(state), math.inf)[0]


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
    places=COST_PLACES,
)
