"""Propagation by the book: all differences of depths, closed over and over again.

A bound on a difference is a pair (epsilons, strict): x_b - x_a is at most so many epsilons, or less than that
many where `strict` is -1. Pairs are added and compared as they stand.
"""

from __future__ import annotations

import math

NONE = (math.inf, 0)


def _sum(first, second):
    return (first[0] + second[0], max(first[1] + second[1], -1) if first[0] + second[0] < math.inf else 0)


def closed(n_arms, similar, dissimilar, best):
    """Return the bounds on all differences with `best` the best arm, or None when that cannot be."""
    bounds = {(a, b): (0.0, 0) if a == b else NONE for a in range(n_arms) for b in range(n_arms)}
    for pair in similar:
        for a, b in (tuple(pair), tuple(pair)[::-1]):
            bounds[a, b] = (1.0, -1)
    for arm in range(n_arms):
        bounds[arm, best] = min(bounds[arm, best], (0.0, 0))
    while True:
        before = dict(bounds)
        for middle in range(n_arms):
            for a in range(n_arms):
                for b in range(n_arms):
                    bounds[a, b] = min(bounds[a, b], _sum(bounds[a, middle], bounds[middle, b]))
        if any(bounds[arm, arm] < (0.0, 0) for arm in range(n_arms)):
            return None
        for pair in dissimilar:
            for a, b in (tuple(pair), tuple(pair)[::-1]):
                if bounds[a, b] < (1.0, 0):  # b cannot lie an epsilon below a, so a does below b
                    bounds[a, b] = min(bounds[a, b], (-1.0, 0))
        if bounds == before:
            return bounds


def by_propagation(n_arms, similar, dissimilar):
    """Arms that can be supposed the best without a contradiction."""
    return {arm for arm in range(n_arms) if closed(n_arms, similar, dissimilar, arm) is not None}


def gaps(n_arms, similar, dissimilar, best):
    """Bounds on the gaps below `best`, in epsilons: two lists."""
    bounds = closed(n_arms, similar, dissimilar, best)
    return [-bounds[arm, best][0] for arm in range(n_arms)], [bounds[best, arm][0] for arm in range(n_arms)]
