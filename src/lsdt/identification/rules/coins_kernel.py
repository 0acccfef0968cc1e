"""Bounds and likelihood ratios for Bernoulli rewards, arm by arm; arrays are (run, arm)."""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import Array, bernoulli_divergence, bernoulli_upper, compiled, inlined

_MOST_STEPS = 100  # bisection alone halves the bracket below 1e-15 in 50


@compiled
def highest_rivals(means: Array, levels: Array, leaders: Array) -> tuple[Array, Array]:
    """Return, for every run, the arm other than its leader with the largest upper bound, and that bound.

    The bound of an arm is the largest q with KL(mean, q) <= level. Missing arms have mean minus infinity. A
    bound is computed only if it exceeds the largest so far, which a single divergence tells.
    """
    rivals, bounds = np.zeros(len(means), np.int64), np.full(len(means), -math.inf)
    for run in range(len(means)):
        for arm in range(means.shape[1]):
            mean, level = means[run, arm], levels[run, arm]
            if arm == leaders[run] or mean == -math.inf:
                continue
            highest = bounds[run]
            if mean <= highest and bernoulli_divergence(mean, highest) >= level:
                continue
            upper = bernoulli_upper(mean, level)
            if upper > highest:
                rivals[run], bounds[run] = arm, upper
    return rivals, bounds


@compiled
def lower_bounds(means: Array, levels: Array) -> Array:
    """Return the least q with KL(mean, q) <= level, for one arm per run."""
    bounds = np.empty(len(means))
    for run in range(len(means)):
        bounds[run] = 1.0 - bernoulli_upper(1.0 - means[run], levels[run])
    return bounds


@compiled
def coin_transport_costs(
    counts: Array, means: Array, there: Array, leaders: Array, tolerance: float
) -> Array:
    """Return the log-likelihood ratio against every arm being better than the leader by the tolerance."""
    costs = np.full(means.shape, math.inf)
    for run in range(len(means)):
        leader = leaders[run]
        n, mean = counts[run, leader], means[run, leader]
        for arm in range(means.shape[1]):
            if there[run, arm] and arm != leader:
                costs[run, arm] = _cost(n, mean, counts[run, arm], means[run, arm], tolerance)
    return costs


@inlined
def _cost(n: float, mean: float, n_rival: float, mean_rival: float, tolerance: float) -> float:
    if mean - mean_rival + tolerance <= 0.0:
        return 0.0
    theta = _meeting_point(n, mean, n_rival, mean_rival, tolerance)
    leader = n * bernoulli_divergence(mean, theta)
    return leader + n_rival * bernoulli_divergence(mean_rival, theta + tolerance)


@inlined
def _meeting_point(n: float, mean: float, n_rival: float, mean_rival: float, tolerance: float) -> float:
    """Return the theta that maximises the likelihood of leader mean theta and rival mean theta + tolerance.

    The derivative, times both variances, is a polynomial; Newton's steps are kept inside a bracket of its
    root.
    """
    low, high = max(mean_rival - tolerance, 0.0), min(mean, 1.0 - tolerance)
    if high <= low:
        return high
    theta = (n * mean + n_rival * (mean_rival - tolerance)) / (n + n_rival)
    if not low < theta < high:
        theta = 0.5 * (low + high)
    for _ in range(_MOST_STEPS):
        rival = theta + tolerance
        own, other = theta * (1.0 - theta), rival * (1.0 - rival)
        value = n * (theta - mean) * other + n_rival * (rival - mean_rival) * own
        if value < 0.0:
            low = theta
        else:
            high = theta
        slope = n * (other + (theta - mean) * (1.0 - 2.0 * rival))
        slope += n_rival * (own + (rival - mean_rival) * (1.0 - 2.0 * theta))
        after = theta - value / slope if slope > 0.0 else -1.0
        if not low < after < high:
            after = 0.5 * (low + high)
        if after == theta or high - low <= 1e-15 or value == 0.0:
            break
        theta = after
    return theta
