"""Distinct thresholds by definition: every order of every dissimilar pair tried, in exact arithmetic."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from naive.candidates import has_disjoint
from naive.ranges import table_of


def tightest(pairs, values, largest):
    """Return the threshold of every unordered pair, the tightest where it is listed more than once."""
    found = {}
    for (a, b), value in zip(pairs, values, strict=True):
        pair = (min(a, b), max(a, b))
        found[pair] = (max if largest else min)(found.get(pair, value), value)
    return found


def by_all_orders(n_arms, similar, dissimilar, strict=True):
    """Arms that some means make the best, given dictionaries from pairs to thresholds (exact numbers).

    Similar arms are less than their threshold apart, or at most that if not `strict`. Bounds are those of
    `naive.ranges`: no means satisfy them exactly when going round some cycle adds up to less than 0.
    """
    bounds = [(*ends, value, strict) for pair, value in similar.items() for ends in (pair, pair[::-1])]
    table, unit = table_of(n_arms, bounds, dissimilar.values())
    apart = [(*pair, int(value * unit)) for pair, value in dissimilar.items()]
    for a, b in product(range(n_arms), repeat=2):
        table = _with_bound(table, a, b, table[a, b])
    return {best for best in range(n_arms) if _is_possible(_with_best(table, best), apart)}


def _with_bound(bounds, a, b, bound):
    """Return all that follows from the bounds and ``x_a - x_b <= bound``, or None if they contradict."""
    if bounds is None or bounds[b, a] + bound < 0:
        return None
    return np.minimum(bounds, bounds[:, a, None] + bound + bounds[b])


def _with_best(bounds, best):
    for arm in range(len(bounds)):
        bounds = _with_bound(bounds, arm, best, 0)
    return bounds


def _is_possible(bounds, waiting):
    if bounds is None or not waiting:
        return bounds is not None
    (a, b, value), *others = waiting
    return any(_is_possible(_with_bound(bounds, low, high, -value), others) for low, high in ((a, b), (b, a)))


def excluding_pairs(n_arms, similar, dissimilar, arm):
    """Pairs of arms similar to `arm` that are farther apart than both could be if it were the best."""
    high = {other: similar.get((min(arm, other), max(arm, other))) for other in range(n_arms)}
    low = {other: dissimilar.get((min(arm, other), max(arm, other)), 0) for other in range(n_arms)}
    near = [other for other in range(n_arms) if high[other] is not None]
    return [
        (a, b)
        for a, b in combinations(near, 2)
        if (a, b) in dissimilar and dissimilar[a, b] >= max(high[a] - low[b], high[b] - low[a])
    ]


def by_threshold_triangles(n_arms, similar, dissimilar, min_witnesses=1):
    """Arms that fewer than `min_witnesses` disjoint pairs exclude."""
    return {
        arm
        for arm in range(n_arms)
        if not has_disjoint(excluding_pairs(n_arms, similar, dissimilar, arm), min_witnesses)
    }
