"""Orientation by the book: all differences closed for the two images of every dissimilar pair.

Bounds are pairs (epsilons, strict) as in `naive.propagation`.
"""

from __future__ import annotations

from naive.propagation import NONE, _sum


def close(n_arms, bounds):
    """Close bounds on all differences; return False if one of them leaves no room."""
    for middle in range(n_arms):
        for a in range(n_arms):
            for b in range(n_arms):
                bounds[a, b] = min(bounds[a, b], _sum(bounds[a, middle], bounds[middle, b]))
    return all(bounds[arm, arm] >= (0.0, 0) for arm in range(n_arms))


def orders(n_arms, similar, dissimilar, above, below):
    """Return the orders that follow if `above` lies above `below`, and the bounds; None if that cannot be.

    ``bounds[a, b]`` is the most by which b can lie above a.
    """
    bounds = {(a, b): (0.0, 0) if a == b else NONE for a in range(n_arms) for b in range(n_arms)}
    for pair in similar:
        for a, b in (tuple(pair), tuple(pair)[::-1]):
            bounds[a, b] = (1.0, -1)
    known = {(above, below)}
    while True:
        for a, b in known:
            bounds[a, b] = min(bounds[a, b], (-1.0, 0))
        if not close(n_arms, bounds):
            return None
        more = {
            (b, a)
            for pair in dissimilar
            for a, b in (tuple(pair), tuple(pair)[::-1])
            if bounds[b, a] < (1.0, 0)  # a cannot lie above b
        }
        if more <= known:
            return known, bounds
        known |= more


def by_orientation(n_arms, similar, dissimilar):
    """Arms that no class excludes: some image of each has no arm above them; None for a contradiction."""
    left = set(range(n_arms))
    for pair in dissimilar:
        a, b = tuple(pair)
        images = [orders(n_arms, similar, dissimilar, *turned) for turned in ((a, b), (b, a))]
        if None in images:
            return None
        below = [
            {arm for arm in range(n_arms) if any(bounds[other, arm] < (0.0, 0) for other in range(n_arms))}
            for _known, bounds in images
        ]
        left -= below[0] & below[1]
    return left
