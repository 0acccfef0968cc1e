"""What it costs to believe that an arm is the best with mean q: the joint evidence of all arms bounded by it.

Supposed the best, arm i lies between ``lower`` and ``upper`` above every arm j of its row, so the rewards of
j speak against a mean q of i as far as mean_j lies outside [q - upper, q - lower]. The cost f_i(q) sums
``n_j KL`` over the row; it is convex and smooth in q. Means of rewards in [0, 1] are not negative, so there q
is at least ``floor``, the largest lower bound of the row.

States of policies that use these functions have the fields that `new_costs` and `rows_of` give, beside
``family``, ``variance``, ``counts``, ``sums`` and ``means``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel.compiling import compiled, inlined
from lsdt.kernel.divergences import BERNOULLI, divergence

if TYPE_CHECKING:
    from lsdt.candidates.bounds import MutualBounds
    from lsdt.kernel.compiling import Array

_MOST_STEPS = 200
_BELOW_ONE = 1.0 - 2.0**-53


def rows_of(bounds: MutualBounds, family: int) -> dict[str, Array]:
    """Return the fields for bounds: rows, the same by columns, and the least mean of an arm that is the best.

    Column j is ``rows[starts[j]:starts[j + 1]]``, the arms that have j in their row, at ``places`` of it.
    """
    n_arms = len(bounds.indptr) - 1
    row = np.repeat(np.arange(n_arms), np.diff(bounds.indptr))
    floor = np.full(n_arms, -math.inf)
    if family == BERNOULLI:
        np.maximum.at(floor, row, bounds.lower)
    places = np.argsort(bounds.indices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bounds.indices, minlength=n_arms))])
    return {
        "floor": floor,
        "indptr": bounds.indptr,
        "others": bounds.indices,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "starts": starts,
        "rows": row[places],
        "places": places,
    }


@inlined
def inside(family: int, mean: float) -> float:
    """Return a mean as its family sees it: coins have none outside [0, 1]."""
    return min(max(mean, 0.0), 1.0) if family == BERNOULLI else mean


@inlined
def term_cost(family: int, variance: float, count: int, mean: float, low: float, high: float) -> float:
    """Return ``n KL(mean, [low, high])``."""
    if low <= mean <= high:
        return 0.0
    return count * divergence(family, mean, low if low > mean else high, variance)


@inlined
def term_slope(family: int, variance: float, count: int, mean: float, low: float, high: float) -> float:
    """Return the derivative of :func:`term_cost` as the interval moves up."""
    if low <= mean <= high:
        return 0.0
    near = low if low > mean else high
    if family != BERNOULLI:
        return count * (near - mean) / variance
    if near <= 0.0:
        return -math.inf
    return count * (near - mean) / (near * (1.0 - near)) if near < 1.0 else math.inf


@inlined
def term_bend(family: int, variance: float, count: int, mean: float, low: float, high: float) -> float:
    """Return the second derivative of :func:`term_cost`, where it is finite."""
    if low <= mean <= high:
        return 0.0
    near = low if low > mean else high
    if family != BERNOULLI:
        return count / variance
    if near <= 0.0 or near >= 1.0:
        return math.inf
    return count * (mean / (near * near) + (1.0 - mean) / ((1.0 - near) * (1.0 - near)))


@compiled
def row_cost(state: Any, arm: int, q: float) -> tuple[float, float]:
    """Return the cost of believing that an arm is the best with mean q, and its slope."""
    family, variance, counts, means = state.family, state.variance, state.counts, state.means
    others, lower, upper = state.others, state.lower, state.upper
    cost, slope = 0.0, 0.0
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count = counts[others[place]]
        if count > 0:
            mean = inside(family, means[others[place]])
            low, high = q - upper[place], q - lower[place]
            cost += term_cost(family, variance, count, mean, low, high)
            slope += term_slope(family, variance, count, mean, low, high)
    return cost, slope


@compiled
def row_bend(state: Any, arm: int, q: float) -> tuple[float, float]:
    """Return slope and second derivative of the cost; no logarithms, so it is cheap."""
    family, variance, counts, means = state.family, state.variance, state.counts, state.means
    others, lower, upper = state.others, state.lower, state.upper
    slope, bend = 0.0, 0.0
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count = counts[others[place]]
        if count > 0:
            mean = inside(family, means[others[place]])
            low, high = q - upper[place], q - lower[place]
            slope += term_slope(family, variance, count, mean, low, high)
            bend += term_bend(family, variance, count, mean, low, high)
    return slope, bend


@compiled
def minimum_between(state: Any, arm: int) -> tuple[float, float]:
    """Return two points with the least cost between them; equal points have it themselves."""
    family, counts, means = state.family, state.counts, state.means
    others, lower, upper = state.others, state.lower, state.upper
    left, right = math.inf, -math.inf
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        if counts[others[place]] > 0:
            mean = inside(family, means[others[place]])
            left = min(left, mean + upper[place])
            right = max(right, mean + lower[place])
    if family == BERNOULLI:
        left = min(max(left, state.floor[arm]), 1.0)
        right = min(max(right, state.floor[arm]), 1.0)
    elif left == math.inf:
        left = max(right, 0.0)
    return left, max(left, right)


@compiled
def cheapest_mean(state: Any, arm: int, left: float, right: float, guess: float) -> float:
    """Return where between two points the cost is least, by Newton steps on the slope, kept between them."""
    q = guess if left < guess < right else 0.5 * (left + right)
    for _ in range(_MOST_STEPS):
        slope, bend = row_bend(state, arm, q)
        if slope == 0.0:
            return q
        if slope > 0.0:
            right = q
        else:
            left = q
        step = q - slope / bend if 0.0 < bend < math.inf else math.nan
        following = step if left < step < right else 0.5 * (left + right)
        if not left < following < right or abs(following - q) <= 1e-15 * (1.0 + abs(q)):
            return q
        q = following
    return q


@compiled
def highest_mean(state: Any, arm: int, level: float) -> float:
    """Return a mean beyond which an arm costs more than `level`: no single arm of its row allows more.

    Infinite when no arm of the row speaks against large means.
    """
    family, counts, means, upper = state.family, state.counts, state.means, state.upper
    spread = 0.25 if family == BERNOULLI else state.variance  # Pinsker's inequality
    highest = math.inf
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        other = state.others[place]
        if counts[other] > 0 and upper[place] < math.inf:
            reach = math.sqrt(2.0 * spread * level / counts[other])
            highest = min(highest, inside(family, means[other]) + upper[place] + reach)
    return highest


@compiled
def largest_mean(state: Any, arm: int, level: float) -> tuple[float, float, float]:
    """Return the largest mean that costs at most `level`, with cost and slope there, by Newton steps from above.

    Minus infinity when there is none; infinity when nothing speaks against large means.
    """
    q = highest_mean(state, arm, level)
    if q == math.inf and state.family != BERNOULLI:
        return q, 0.0, 0.0
    if state.family == BERNOULLI and q >= 1.0:
        cost, slope = row_cost(state, arm, 1.0)
        if cost <= level:
            return q if q == math.inf else 1.0, cost, slope
        q = _BELOW_ONE  # at 1 itself the cost may be infinite, and no step leads down
    while q >= state.floor[arm]:
        cost, slope = row_cost(state, arm, q)
        if cost <= level:
            return q, cost, slope
        if not slope > 0.0:
            break
        if not q - (cost - level) / slope < q:
            return q, cost, slope
        q -= (cost - level) / slope
    return -math.inf, 0.0, 0.0
