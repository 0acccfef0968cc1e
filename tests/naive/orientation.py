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


def around_one(n_arms, similar, dissimilar, reference, known):
    """Return the orders that bounds around one arm alone force, one after the other; None if they cannot be.

    `known` are pairs, the upper arm first. Bounds are whole numbers, 2n for "at most n", 2n - 1 for "less".
    """
    far = 10**6
    above = {arm: 0 if arm == reference else far for arm in range(n_arms)}
    below, known = dict(above), set(known)
    while True:
        before = sum(above.values()) + sum(below.values()), len(known)
        for pair in similar:
            for a, b in (tuple(pair), tuple(pair)[::-1]):
                for bound in (above, below):
                    bound[a] = min(bound[a], (bound[b] + 1) | 1) if bound[b] < far else bound[a]
        for upper, lower in known:
            above[lower] = min(above[lower], above[upper] - 2) if above[upper] < far else above[lower]
            below[upper] = min(below[upper], below[lower] - 2) if below[lower] < far else below[upper]
        if any(above[arm] + below[arm] < 0 for arm in range(n_arms)):
            return None
        for pair in dissimilar:
            for a, b in (tuple(pair), tuple(pair)[::-1]):
                if above[a] + below[b] < 2:  # a cannot lie above b
                    known.add((b, a))
        if any((b, a) in known for a, b in known):
            return None
        if before == (sum(above.values()) + sum(below.values()), len(known)):
            return known
