"""The bound on the regret of mixture closure, one arm and one formula after the other."""

from __future__ import annotations

import math

import numpy as np


def renyi(family, sigma, mean, theta, alpha):
    """The Renyi divergence of order alpha, by its integral for Gaussians and its sum for coins."""
    if family == "gaussian":
        x = np.linspace(min(mean, theta) - 12 * sigma, max(mean, theta) + 12 * sigma, 20_001)
        logs = -(alpha * (x - mean) ** 2 + (1 - alpha) * (x - theta) ** 2) / (2 * sigma**2)
        total = np.trapezoid(np.exp(logs), x) / (sigma * math.sqrt(2 * math.pi))
    else:
        total = sum(p**alpha * q ** (1 - alpha) for p, q in ((mean, theta), (1 - mean, 1 - theta)))
    return math.log(total) / (alpha - 1)


def level(t, c):
    return math.log(max(t, 1)) + c * math.log(max(math.log(max(t, 1)), 1.0))


def extra(family, sigma, mean, theta, alpha, plays):
    """What the mixture of one arm loses against its likelihood ratio."""
    if family == "gaussian":
        return alpha**2 * (theta - mean) ** 2 / (2 * sigma**2) + math.log(1 + plays) / 2
    return math.log(math.pi * (plays + 0.5)) / 2


def martingale(family, sigma, mean, theta, alpha, plays, total):
    """The logarithm of the supermartingale by which rewards may be better than their mean."""
    if family == "gaussian":
        apart = (1 - alpha) * (theta - mean) / sigma**2
        return apart * (total - plays * mean) - plays * apart**2 * sigma**2 / 2
    apart = (1 - alpha) * math.log(theta * (1 - mean) / ((1 - theta) * mean))
    return apart * total - plays * math.log(1 - mean + mean * math.exp(apart))


def allowed(n_candidates, size, t, c):
    """How much evidence there may be against an arm of a cluster, apart from what single arms add."""
    share = min(0.5, 1 / n_candidates)
    return level(t, c) + (n_candidates - size) * math.log(1 / (1 - share)) + size * math.log(1 / share)


def single_part(family, sigma, n_candidates, mean, best, rounds, c):
    """The bound on the regret of one arm apart from its first play: the best alpha of a fine grid."""
    values = []
    for odds in np.geomspace(0.25, 400, 60):
        alpha = odds / (1 + odds)
        apart = renyi(family, sigma, mean, best, alpha)
        room = allowed(n_candidates, 1, rounds, c) + odds
        plays = 0.0
        step = 1e9
        while step > 1e-9:  # the largest number of plays that is allowed
            more = plays + step
            if more * apart <= room + extra(family, sigma, mean, best, alpha, more):
                plays = more
            else:
                step /= 2
        values.append((best - mean) * plays)
    return min(values)
