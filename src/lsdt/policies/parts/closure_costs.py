"""The cost of believing that an arm is the best with mean q: the evidence of all arms against it.

If arm i is the best, it lies between ``lower`` and ``upper`` above every arm j of its row. So the rewards
of j speak against a mean q of i as far as mean_j lies outside [q - upper, q - lower]. The cost f_i(q) sums
``n_j KL`` over the row; it is convex and smooth in q. Where rewards lie in [0, 1] no mean is negative, and
q is at least ``floor``, the largest lower bound of the row.

What is known of the costs from round to round is `closure_tangents.ClosureCosts`.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import (
    BERNOULLI,
    compiled,
    divergence,
    inlined,
    ratio,
    safe_expm1,
    safe_log,
    safe_log1p,
    safe_sqrt,
)
from lsdt.policies.parts.gap_rows import Row, term_of

_MOST_STEPS = 200  # a safety net: Newton steps that fall back to halving take a few dozen at most
_PRECISION = 1e-12  # of costs, which are compared with log t: rounding is some 1e-14
_BELOW_ONE = 1.0 - 2.0**-53  # the largest float below 1


@inlined
def inside(family: int, mean: float) -> float:
    """Return a mean, clipped to [0, 1] for coins."""
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
        return float(count * (near - mean)) / float(variance)
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
    return count * (ratio(mean, near * near) + (1.0 - mean) / ((1.0 - near) * (1.0 - near)))


@inlined
def entropy(mean: float) -> float:
    """Return ``mean log mean + (1 - mean) log(1 - mean)``."""
    total = mean * safe_log(mean) if mean > 0.0 else 0.0
    return total + (1.0 - mean) * safe_log1p(-mean) if mean < 1.0 else total


@compiled
def row_cost(row: Row, q: float) -> tuple[float, float]:
    """Return the cost of believing that an arm is the best with mean q, and its slope."""
    family, variance, means = row.family, row.variance, row.means
    lower, upper = row.lower, row.upper
    cost, slope = 0.0, 0.0
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        if count > 0:
            mean = inside(family, means[other])
            low, high = q - upper[place], q - lower[place]
            if not low <= mean <= high:
                cost += float(term_cost(family, variance, count, mean, low, high))
                slope += float(term_slope(family, variance, count, mean, low, high))
    return cost, slope


@compiled
def row_bend(row: Row, q: float) -> tuple[float, float]:
    """Return slope and second derivative of the cost; no logarithms, so it is cheap."""
    family, variance, means = row.family, row.variance, row.means
    lower, upper = row.lower, row.upper
    slope, bend = 0.0, 0.0
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        if count > 0:
            mean = inside(family, means[other])
            low, high = q - upper[place], q - lower[place]
            if not low <= mean <= high:
                slope += float(term_slope(family, variance, count, mean, low, high))
                bend += float(term_bend(family, variance, count, mean, low, high))
    return slope, bend


@compiled
def minimum_between(row: Row) -> tuple[float, float]:
    """Return two points between which the cost is least; if they are equal, it is least there."""
    family, means = row.family, row.means
    lower, upper = row.lower, row.upper
    left, right = math.inf, -math.inf
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        if count > 0:
            mean = inside(family, means[other])
            left = min(left, mean + upper[place])
            right = max(right, mean + lower[place])
    if family == BERNOULLI:
        left = min(max(left, row.floor), 1.0)
        right = min(max(right, row.floor), 1.0)
    elif left == math.inf:
        left = max(right, 0.0)
    return left, max(left, right)


@inlined
def newton_step(q: float, slope: float, bend: float, left: float, right: float) -> tuple[float, float, float]:
    """Return the next point towards the least of a convex function, and two points that it lies between.

    A step of Newton on the slope, or the middle where that leaves the two points. The next point is not a
    number if it would make the function less by nothing that matters.
    """
    if slope > 0.0:
        right = q
    else:
        left = q
    step = q - slope / bend if 0.0 < bend < math.inf else math.nan
    following = step if left < step < right else 0.5 * (left + right)
    if not left < following < right or abs(float(slope) * float(following - q)) <= _PRECISION:
        following = math.nan
    return following, left, right


@compiled
def cheapest_mean(row: Row, left: float, right: float, guess: float) -> tuple[float, float]:
    """Return where between two points the cost is least, by Newton steps on the slope, and its bend there.

    The steps end when another would make the cost less by nothing that matters.
    """
    q = guess if left < guess < right else 0.5 * (left + right)
    bend = 0.0
    for _ in range(_MOST_STEPS):
        slope, bend = row_bend(row, q)
        if slope == 0.0:
            break
        following, left, right = newton_step(q, slope, bend, left, right)
        if following != following:
            break
        q = following
    return q, bend


@compiled
def highest_mean(row: Row, level: float) -> float:
    """Return a mean beyond which an arm costs more than `level`: no single arm of its row allows more.

    Infinite when no arm of the row speaks against large means.
    """
    family, means, upper = row.family, row.means, row.upper
    spread = 0.25 if family == BERNOULLI else row.variance  # Pinsker's inequality
    highest = math.inf
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        if count > 0 and upper[place] < math.inf:
            mean, share = inside(family, means[other]), level / count
            reach = mean + safe_sqrt(2.0 * spread * share)
            if family == BERNOULLI and mean < 1.0 <= reach:  # a sharper bound near 1
                reach = -safe_expm1((entropy(mean) - share) / (1.0 - mean))
            highest = min(highest, reach + upper[place])
    return highest


@compiled
def largest_mean(row: Row, level: float, start: float) -> tuple[float, float, float]:
    """Return the largest mean that costs at most `level`, with cost and slope, by Newton steps from above.

    `start`, which may be infinite, is an upper bound. Minus infinity when there is none; infinity when
    nothing speaks against large means.
    """
    known = start < 1.0 or (start < math.inf and row.family != BERNOULLI)
    q = start if known else highest_mean(row, level)
    if q == math.inf and row.family != BERNOULLI:
        return q, 0.0, 0.0
    unlimited = q == math.inf
    if row.family == BERNOULLI:
        q = min(q, 1.0)
    while q >= row.floor:
        cost, slope = row_cost(row, q)
        if cost <= level + _PRECISION * (1.0 + level):
            return math.inf if unlimited else q, cost, slope
        if slope == math.inf:  # at 1 itself no step leads down
            q = _BELOW_ONE
            continue
        if not 0.0 < slope < math.inf:
            break
        if not q - (cost - level) / slope < q:
            return q, cost, slope
        q -= (cost - level) / slope
    return -math.inf, 0.0, 0.0
