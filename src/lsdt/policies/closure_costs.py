"""What it costs to believe that an arm is the best with mean q: the joint evidence of all arms bounded by it.

Supposed the best, arm i lies between ``lower`` and ``upper`` above every arm j of its row, so the rewards of j
speak against a mean q of i as far as mean_j lies outside [q - upper, q - lower]. The cost f_i(q) sums ``n_j KL``
over the row; it is convex and smooth in q.

Solving for every arm in every round would be slow. So every arm keeps two points with cost and slope of f_i:
its tangents there are below f_i, and the q at which both are at most a level hold all at which f_i is, or there
are none, and the arm is refuted. A reward changes one term in the costs of the arms that have the played one
in their row, which is taken off and added in place.

States that use these functions have the fields of `ClosureFields`, in any order, beside their own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel.compiling import compiled, inlined
from lsdt.kernel.divergences import BERNOULLI, divergence

if TYPE_CHECKING:
    from lsdt.candidates.bounds import MutualBounds
    from lsdt.kernel.compiling import Array
    from lsdt.kernel.states import Reals, Wholes

# Room for rounding: what the tangents leave open by so little is solved for.
SLACK = 1e-8
_PRECISION = 1e-13
_MOST_STEPS = 200


class Columns(NamedTuple):
    """The rows of `MutualBounds` by their columns: which arms have an arm in their row, and at which place."""

    starts: Wholes
    rows: Wholes
    places: Wholes


def columns_of(bounds: MutualBounds) -> Columns:
    """Return the rows in the other direction."""
    n_arms = len(bounds.indptr) - 1
    order = np.argsort(bounds.indices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bounds.indices, minlength=n_arms))])
    return Columns(starts, np.repeat(np.arange(n_arms), np.diff(bounds.indptr))[order], order)


def lowest_means(bounds: MutualBounds, family: int) -> Reals:
    """Return the least mean that every arm has as the best: means of rewards in [0, 1] are not negative."""
    n_arms = len(bounds.indptr) - 1
    if family != BERNOULLI:
        return np.full(n_arms, -math.inf)
    floor = np.zeros(n_arms)
    np.maximum.at(floor, np.repeat(np.arange(n_arms), np.diff(bounds.indptr)), bounds.lower)
    return floor


@inlined
def term(
    family: int, variance: float, count: int, mean: float, low: float, high: float
) -> tuple[float, float]:
    """Return ``n KL(mean, [low, high])`` and its derivative as the interval moves up."""
    if family == BERNOULLI:
        mean = min(max(mean, 0.0), 1.0)
    if count == 0 or low <= mean <= high:
        return 0.0, 0.0
    near = low if low > mean else high
    cost = count * divergence(family, mean, near, variance)
    if family != BERNOULLI:
        return cost, count * (near - mean) / variance
    if near <= 0.0:
        return cost, -math.inf
    return cost, count * (near - mean) / (near * (1.0 - near)) if near < 1.0 else math.inf


@compiled
def row_cost(state: Any, arm: int, q: float) -> tuple[float, float]:
    """Return the cost of believing that an arm is the best with mean q, and its slope."""
    family, variance = state.family, state.variance
    cost, slope = 0.0, 0.0
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        other = state.indices[place]
        if state.counts[other] > 0:
            low, high = q - state.upper[place], q - state.lower[place]
            more, steeper = term(family, variance, state.counts[other], state.means[other], low, high)
            cost += more
            slope += steeper
    return cost, slope


@inlined
def minimum_between(state: Any, arm: int) -> tuple[float, float]:
    """Return two points with the least cost between them; equal points have it themselves."""
    left, right = math.inf, -math.inf
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        other = state.indices[place]
        if state.counts[other] > 0:
            mean = state.means[other]
            if state.family == BERNOULLI:
                mean = min(max(mean, 0.0), 1.0)
            left = min(left, mean + state.upper[place])
            right = max(right, mean + state.lower[place])
    if state.family == BERNOULLI:
        left = min(max(left, state.floor[arm]), 1.0)
        right = min(max(right, state.floor[arm]), 1.0)
    elif left == math.inf:
        left = max(right, 0.0)
    return left, max(left, right)


@inlined
def keep_above(state: Any, arm: int, q: float, cost: float, slope: float) -> None:
    """Keep a tangent that rises, or nothing where the cost is infinite."""
    fit = cost < math.inf and abs(slope) < math.inf
    state.above[arm] = q if fit else math.nan
    state.above_cost[arm], state.above_slope[arm] = cost, slope


@inlined
def keep_below(state: Any, arm: int, q: float, cost: float, slope: float) -> None:
    """Keep a tangent that falls, or nothing where the cost is infinite."""
    fit = cost < math.inf and abs(slope) < math.inf
    state.below[arm] = q if fit else math.nan
    state.below_cost[arm], state.below_slope[arm] = cost, slope


@compiled
def least_cost(state: Any, arm: int, level: float) -> float:
    """Return the least cost of an arm, and keep the tangents that show it.

    With a `level` that the least cost is above, stop when the tangents show half of what is between: tangents
    far from each other stay useful for longer. Use 0 for the least cost itself.
    """
    if state.floor[arm] > 1.0:
        return math.inf
    left, right = minimum_between(state, arm)
    cost, slope = row_cost(state, arm, left)
    keep_below(state, arm, left, cost, slope)
    if left == right:
        if slope > 0.0:
            keep_above(state, arm, left, cost, slope)
        return cost
    right_cost, right_slope = row_cost(state, arm, right)
    keep_above(state, arm, right, right_cost, right_slope)
    least = min(cost, right_cost)
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (left + right)
        shown = tangents_meet(state, arm)
        if not left < middle < right or least - shown <= _PRECISION * (1.0 + least):
            break
        if level > 0.0 and shown >= 0.5 * (level + least):
            break
        cost, slope = row_cost(state, arm, middle)
        least = min(least, cost)
        if slope > 0.0:
            right = middle
            keep_above(state, arm, middle, cost, slope)
        else:
            left = middle
            keep_below(state, arm, middle, cost, slope)
    return least


@inlined
def tangents_meet(state: Any, arm: int) -> float:
    """Return a number that the least cost of an arm is not below: where its two tangents meet, or 0."""
    falls, rises = state.below_slope[arm], state.above_slope[arm]
    if falls == 0.0 and state.below[arm] == state.below[arm]:
        return state.below_cost[arm]
    if not (falls < 0.0 < rises and state.above[arm] - state.below[arm] >= 0.0):
        return 0.0
    gap = state.above[arm] - state.below[arm]
    over = (state.above_cost[arm] - state.below_cost[arm] - rises * gap) / (falls - rises)
    return max(state.below_cost[arm] + falls * over, 0.0)


@inlined
def window(state: Any, arm: int, level: float) -> tuple[float, float]:
    """Return ends between which every q lies that costs at most `level`; none does when they are crossed."""
    low, high = state.floor[arm], math.inf
    bounded = False
    for side in range(2):
        q = state.above[arm] if side == 0 else state.below[arm]
        cost = state.above_cost[arm] if side == 0 else state.below_cost[arm]
        slope = state.above_slope[arm] if side == 0 else state.below_slope[arm]
        if not q == q:
            continue
        room = level - cost + SLACK * (1.0 + abs(cost))
        if slope > 0.0:
            high = min(high, q + room / slope)
            bounded = True
        elif slope < 0.0:
            low = max(low, q + room / slope)
        elif room < 0.0:
            high = -math.inf
    high += SLACK * (1.0 + abs(high)) if abs(high) < math.inf else 0.0
    low -= SLACK * (1.0 + abs(low)) if abs(low) < math.inf else 0.0
    if state.family == BERNOULLI:
        if low > 1.0:
            high = -math.inf
        elif bounded:
            high = min(high, 1.0)
    return low, high


@inlined
def change_terms(state: Any, source: int, sign: float) -> None:
    """Add or take off the terms of an arm in the costs of all that have it in their row."""
    family, variance = state.family, state.variance
    count, mean = state.counts[source], state.means[source]
    if count == 0:
        return
    for at in range(state.starts[source], state.starts[source + 1]):
        arm, place = state.rows[at], state.places[at]
        lower, upper = state.lower[place], state.upper[place]
        q = state.above[arm]
        if q == q:
            cost, slope = term(family, variance, count, mean, q - upper, q - lower)
            state.above_cost[arm] += sign * cost
            state.above_slope[arm] += sign * slope
        q = state.below[arm]
        if q == q:
            cost, slope = term(family, variance, count, mean, q - upper, q - lower)
            state.below_cost[arm] += sign * cost
            state.below_slope[arm] += sign * slope


@inlined
def drop_infinite(state: Any, source: int, known: Array) -> None:
    """Forget tangents at which the cost became infinite, and what was `known` of the arms that changed."""
    for at in range(state.starts[source], state.starts[source + 1]):
        arm = state.rows[at]
        known[arm] = -1.0
        if not (state.above_cost[arm] < math.inf and abs(state.above_slope[arm]) < math.inf):
            state.above[arm] = math.nan
        if not (state.below_cost[arm] < math.inf and abs(state.below_slope[arm]) < math.inf):
            state.below[arm] = math.nan
