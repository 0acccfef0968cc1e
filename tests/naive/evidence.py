"""The evidence against a rival, by its definition: one formula an arm, one search over the mean."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, xlog1py, xlogy


def log_mixture(family, sigma, count, mean, theta):
    """The logarithm of the mixture martingale of one arm at theta."""
    if family == "gaussian":
        return count**2 * (mean - theta) ** 2 / (2.0 * sigma**2 * (count + 1)) - 0.5 * math.log(1 + count)
    wins, losses = count * mean, count * (1.0 - mean)
    total = betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)
    for amount, chance in ((wins, theta), (losses, 1.0 - theta)):
        if amount > 0.0:
            total += math.inf if chance <= 0.0 else -amount * math.log(chance)
    return total


def worst_log_mixture(count, total, pending, low, high):
    """The least that log M of coins can be, whatever the pending decisions pay and theta in [low, high] is.

    By trying: every sum on a grid, with the theta that suits it best.
    """
    n = count + pending
    wins = total + np.linspace(0.0, pending, 1_001)
    theta = np.clip(wins / n, low, high)
    logs = betaln(wins + 0.5, n - wins + 0.5) - betaln(0.5, 0.5)
    return float((logs - xlogy(wins, theta) - xlog1py(n - wins, -theta)).min())


def worst_at_mean(row, leader, tolerance, seen, q):
    """f_i(q) with the pending rewards that make it least; ``seen[j]`` is (told, their sum, pending) of j."""
    total, share = 0.0, min(0.5, 4.0 / len(row))
    for other, (lower, upper) in row.items():
        low, high = max(q - upper, 0.0), min(q - (max(lower, tolerance) if other == leader else lower), 1.0)
        if low > high + 1e-12:
            return math.inf
        if other in seen:
            log_m = worst_log_mixture(*seen[other], low, max(high, low))
            total += np.logaddexp(math.log(1.0 - share), math.log(share) + log_m)
    return total


def at_mean(row, leader, tolerance, seen, family, sigma, q, speakers=4.0):
    """f_i(q); ``row[j]`` is the least and the largest mu_i - mu_j, ``seen[j]`` the count and mean of j."""
    total, share = 0.0, min(0.5, speakers / len(row))
    for other, (lower, upper) in row.items():
        low, high = q - upper, q - (max(lower, tolerance) if other == leader else lower)
        if family == "bernoulli":
            low, high = max(low, 0.0), min(high, 1.0)
            if low > high + 1e-12:
                return math.inf
        if other in seen:
            count, mean = seen[other]
            theta = min(max(mean, low), max(high, low))
            log_m = log_mixture(family, sigma, count, mean, theta)
            total += np.logaddexp(math.log(1.0 - share), math.log(share) + log_m)
    return total


def least(row, leader, tolerance, seen, family, sigma, speakers=4.0):
    """The least f_i over a fine grid, made finer around its lowest point; the value and where it is."""
    lows = [max(lower, tolerance) if other == leader else lower for other, (lower, _) in row.items()]
    if family == "bernoulli":
        start, end = max(lows), 1.0
        if start > end:
            return math.inf, 1.0
    else:
        ends = [seen[other][1] + bound for other, pair in row.items() if other in seen for bound in pair]
        ends += [seen[leader][1] + tolerance] if leader in seen else []
        finite = [each for each in ends if math.isfinite(each)] or [0.0]
        start, end = min(finite), max(finite)

    def cost(q):
        return at_mean(row, leader, tolerance, seen, family, sigma, q, speakers)

    grid = np.linspace(start, end, 200)
    values = [cost(q) for q in grid]
    at = int(np.argmin(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    if low == high:
        return values[at], float(grid[at])
    found = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return min((values[at], float(grid[at])), (float(found.fun), float(found.x)))


def best_leader(rows, tolerance, seen, family, sigma):
    """The evidence against the strongest rival of every leader, and the largest of these."""
    values = {}
    for leader in range(len(rows)):
        rivals = [
            arm for arm in range(len(rows)) if arm != leader and rows[arm][leader][1] > tolerance * (1 + 1e-8)
        ]
        values[leader] = min(
            (least(rows[arm], leader, tolerance, seen, family, sigma)[0] for arm in rivals), default=math.inf
        )
    return max(values.values()), values
