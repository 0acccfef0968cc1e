"""Tangents of the costs of `closure_costs`, kept from round to round, so that few arms are solved for.

A tangent is below the convex cost. Every arm keeps three, each a point with cost and slope there: one where its
index was solved for, two around its least cost. Where all tangents of an arm are at most a level lie all q at
which its cost is; where they nowhere are, the data refute the arm. A reward changes one term in the costs of the
arms that have the played one in their row, which is brought up to date in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsdt.kernel.compiling import Array, compiled, inlined
from lsdt.kernel.divergences import BERNOULLI
from lsdt.policies.closure_costs import (
    cheapest_mean,
    inside,
    minimum_between,
    row_cost,
    term_cost,
    term_slope,
)

TANGENTS = 3
_INDEX, _LEFT, _RIGHT = 0, 1, 2
# Room for rounding: what the tangents leave open by so little is solved for.
SLACK = 1e-8
_MOST_STEPS = 200
# How much below the least cost the two tangents around it meet: narrow ones say more, wide ones for longer.
_DEPTH = 0.25


def new_tangents(n_arms: int) -> dict[str, Array]:
    """Return the fields for tangents and for what is known of least costs, nothing yet."""
    none = np.zeros(n_arms)
    return {
        "point": np.full(TANGENTS * n_arms, math.nan),
        "cost": np.zeros(TANGENTS * n_arms),
        "slope": np.zeros(TANGENTS * n_arms),
        "cheapest": np.full(n_arms, math.nan),
        "least": none,
        "known": none,
        "champion": np.zeros(1),
        "bound": none,
    }


@inlined
def keep_tangent(state: Any, arm: int, which: int, q: float, cost: float, slope: float) -> None:
    """Keep a tangent, or none where the cost is infinite."""
    at = TANGENTS * arm + which
    state.point[at] = q if cost < math.inf and abs(slope) < math.inf else math.nan
    state.cost[at] = cost
    state.slope[at] = slope


@inlined
def window(state: Any, arm: int, level: float) -> tuple[float, float]:
    """Return ends between which every q lies that costs at most `level`; none does when they are crossed."""
    low, high = state.floor[arm], math.inf
    for at in range(TANGENTS * arm, TANGENTS * arm + TANGENTS):
        q, cost, slope = state.point[at], state.cost[at], state.slope[at]
        if q != q:
            continue
        room = level - cost + SLACK * (1.0 + abs(cost))
        if slope > 0.0:
            high = min(high, q + room / slope)
        elif slope < 0.0:
            low = max(low, q + room / slope)
        elif room < 0.0:
            return math.inf, -math.inf
    if abs(low) < math.inf:
        low -= SLACK * (1.0 + abs(low))
    if high < math.inf:
        high += SLACK * (1.0 + abs(high))
        if state.family == BERNOULLI:
            high = min(high, 1.0)
    if state.family == BERNOULLI and low > 1.0:
        high = -math.inf
    return low, high


@inlined
def meeting(state: Any, first: int, second: int) -> float:
    """Return the cost at which two tangents meet, one falling and one rising; 0 for others."""
    gap = state.point[second] - state.point[first]
    falls, rises = state.slope[first], state.slope[second]
    if not (falls < 0.0 < rises and gap == gap):
        return 0.0
    over = (state.cost[second] - state.cost[first] - rises * gap) / (falls - rises)
    return state.cost[first] + falls * over


@inlined
def least_bound(state: Any, arm: int) -> float:
    """Return a number that the least cost of an arm is not below."""
    first = TANGENTS * arm
    index, left, right = first + _INDEX, first + _LEFT, first + _RIGHT
    shown = 0.0
    if state.slope[left] == 0.0 and state.point[left] == state.point[left]:
        shown = state.cost[left]
    shown = max(shown, meeting(state, left, right), meeting(state, left, index))
    shown = max(shown, meeting(state, right, index))
    return shown - SLACK * (1.0 + shown)


@compiled
def find_least(state: Any, arm: int) -> None:
    """Find the least cost of an arm, and keep tangents on both sides of it."""
    state.known[arm] = 1
    if state.floor[arm] > 1.0:
        state.least[arm] = math.inf
        return
    left, right = minimum_between(state, arm)
    q = left if left == right else cheapest_mean(state, arm, left, right, state.cheapest[arm])
    cost, slope = row_cost(state, arm, q)
    state.cheapest[arm], state.least[arm] = q, cost
    if left == right:
        keep_tangent(state, arm, _LEFT, q, cost, slope)
        return
    shown = least_bound(state, arm)
    if shown >= cost - _DEPTH:
        return
    reach = 0.01
    for _ in range(20):
        left, right = max(left, q - reach), min(right, q + reach)
        keep_tangent(state, arm, _LEFT, left, *row_cost(state, arm, left))
        keep_tangent(state, arm, _RIGHT, right, *row_cost(state, arm, right))
        short = cost - least_bound(state, arm)
        if short <= _DEPTH:
            break
        reach *= min(0.5, math.sqrt(0.5 * _DEPTH / short)) if short < math.inf else 0.5


@compiled
def keep_refuted(state: Any, arm: int, level: float) -> None:
    """Keep tangents that show an arm to cost more than `level`, by half of what there is to show if need be.

    Tangents far from each other show less, and for longer.
    """
    if state.floor[arm] > 1.0:
        return
    left, right = minimum_between(state, arm)
    cost, slope = row_cost(state, arm, left)
    keep_tangent(state, arm, _LEFT, left, cost, slope)
    if left == right:
        return
    least = cost
    cost, slope = row_cost(state, arm, right)
    keep_tangent(state, arm, _RIGHT, right, cost, slope)
    least = min(least, cost)
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (left + right)
        if not left < middle < right or least_bound(state, arm) >= 0.5 * (level + least):
            return
        cost, slope = row_cost(state, arm, middle)
        least = min(least, cost)
        if slope > 0.0:
            right = middle
            keep_tangent(state, arm, _RIGHT, middle, cost, slope)
        else:
            left = middle
            keep_tangent(state, arm, _LEFT, middle, cost, slope)


@inlined
def least_of_all(state: Any) -> float:
    """Return the least cost of any arm: what the best explanation leaves unexplained."""
    left, right = minimum_between(state, state.champion[0])
    if left == right and row_cost(state, state.champion[0], left)[0] == 0.0:
        return 0.0
    bound, known, least = state.bound, state.known, state.least
    for arm in range(len(bound)):
        bound[arm] = least[arm] if known[arm] == 1 else least_bound(state, arm)
    while True:
        best = 0
        for arm in range(len(bound)):
            if bound[arm] < bound[best]:
                best = arm
        if known[best] == 1:
            state.champion[0] = best
            return least[best]
        find_least(state, best)
        bound[best] = least[best]


@inlined
def entropy(mean: float) -> float:
    """Return ``mean log mean + (1 - mean) log(1 - mean)``."""
    total = mean * math.log(mean) if mean > 0.0 else 0.0
    return total + (1.0 - mean) * math.log1p(-mean) if mean < 1.0 else total


@compiled
def change_terms(state: Any, source: int, count: int, mean: float) -> None:
    """Bring the terms of an arm up to date, whose count and mean were these before its last reward.

    For coins, two divergences to the same point differ by what is the same for all points and one logarithm.
    """
    family, variance = state.family, state.variance
    now, then = inside(family, state.means[source]), inside(family, mean)
    both = state.counts[source]
    reward = both * now - count * then
    same = 0.0
    if family == BERNOULLI:
        same = both * entropy(now) - count * entropy(then)
    for at in range(state.starts[source], state.starts[source + 1]):
        arm, place = state.rows[at], state.places[at]
        state.known[arm] = 0
        for tangent in range(TANGENTS * arm, TANGENTS * arm + TANGENTS):
            q = state.point[tangent]
            if q != q:
                continue
            low, high = q - state.upper[place], q - state.lower[place]
            if low <= now <= high and low <= then <= high:
                continue
            if family == BERNOULLI and count > 0 and now < low < 1.0 and then < low:
                state.cost[tangent] += same - reward * math.log(low) - (1.0 - reward) * math.log1p(-low)
                state.slope[tangent] += (low - reward) / (low * (1.0 - low))
                continue
            if family == BERNOULLI and count > 0 and now > high > 0.0 and then > high:
                state.cost[tangent] += same - reward * math.log(high) - (1.0 - reward) * math.log1p(-high)
                state.slope[tangent] += (high - reward) / (high * (1.0 - high))
                continue
            state.cost[tangent] += term_cost(family, variance, both, now, low, high)
            state.slope[tangent] += term_slope(family, variance, both, now, low, high)
            if count > 0:
                state.cost[tangent] -= term_cost(family, variance, count, then, low, high)
                state.slope[tangent] -= term_slope(family, variance, count, then, low, high)
            if not (state.cost[tangent] < math.inf and abs(state.slope[tangent]) < math.inf):
                state.point[tangent] = math.nan
