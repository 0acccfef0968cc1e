"""Distinct thresholds by definition: every order of every dissimilar pair tried, in exact arithmetic."""

from __future__ import annotations

from itertools import combinations

from naive.candidates import has_disjoint


def tightest(pairs, values, largest):
    """Return the threshold of every unordered pair, the tightest where it is listed more than once."""
    found = {}
    for (a, b), value in zip(pairs, values, strict=True):
        pair = (min(a, b), max(a, b))
        found[pair] = (max if largest else min)(found.get(pair, value), value)
    return found


def by_all_orders(n_arms, similar, dissimilar, strict=True):
    """Arms that some means make the best, given dictionaries from pairs to thresholds (exact numbers).

    A bound on a difference of means is a number and a count of strict signs: x < 3 is (3, -1), x <= 3 is
    (3, 0). Bounds add up and compare as such pairs do. No means satisfy a set of them exactly when going
    round some cycle adds up to less than (0, 0). Similar arms are less than
    their threshold apart, or at most that if not `strict`.
    """
    return {best for best in range(n_arms) if _possible(n_arms, similar, dissimilar, best, -int(strict))}


def _possible(n_arms, similar, dissimilar, best, sign):
    bounds = [[(0, 0) if a == b else None for b in range(n_arms)] for a in range(n_arms)]
    for (a, b), value in similar.items():
        bounds[a][b] = bounds[b][a] = (value, sign)
    for arm in range(n_arms):
        if arm != best:  # mean[arm] - mean[best] <= 0
            bounds[arm][best] = min(filter(None, (bounds[arm][best], (0, 0))))
    return _search(bounds, list(dissimilar.items()))


def _search(bounds, waiting):
    closed = _closed(bounds)
    if closed is None:
        return False
    if not waiting:
        return True
    (a, b), value = waiting[0]
    for low, high in ((a, b), (b, a)):  # mean[low] - mean[high] <= -value
        tried = [list(row) for row in closed]
        tried[low][high] = min(filter(None, (tried[low][high], (-value, 0))))
        if _search(tried, waiting[1:]):
            return True
    return False


def _closed(bounds):
    """Return all bounds that follow from others (Floyd and Warshall), or None if they contradict."""
    size = len(bounds)
    closed = [list(row) for row in bounds]
    for via in range(size):
        for a in range(size):
            for b in range(size):
                if closed[a][via] is not None and closed[via][b] is not None:
                    longer = tuple(map(sum, zip(closed[a][via], closed[via][b], strict=True)))
                    if closed[a][b] is None or longer < closed[a][b]:
                        closed[a][b] = longer
    return None if any(closed[arm][arm] < (0, 0) for arm in range(size)) else closed


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
