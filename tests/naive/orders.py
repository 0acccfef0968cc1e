"""Supposing an arm the best, written out: all differences are closed anew after every order of a pair."""

from __future__ import annotations

import numpy as np

from naive.graphs import components

_FAR = 10**9


def _closed(bounds):
    """Shortest ways by Floyd and Warshall; None when some arm would lie below itself."""
    for middle in range(len(bounds)):
        bounds = np.minimum(bounds, bounds[:, middle, None] + bounds[None, middle, :])
    return None if (np.diag(bounds) < 0).any() else bounds


def _with(bounds, upper, lower, unit):
    """The bounds with one arm placed below another, everything that follows included, or None."""
    bounds = bounds.copy()
    bounds[lower, upper] = min(bounds[lower, upper], -unit)
    return _closed(bounds)


def _ordered(bounds, pairs, unit):
    """The bounds with every pair ordered whose order follows, or None."""
    changed = True
    while changed and bounds is not None:
        changed = False
        for a, b in [*pairs, *((b, a) for a, b in pairs)]:
            if bounds is not None and bounds[a, b] < unit and bounds[a, b] > -unit:  # b cannot lie below a
                bounds, changed = _with(bounds, b, a, unit), True
    return bounds


def supposed(n_arms, similar, dissimilar, best):
    """What follows from `best` being the best of the arms joined to it: bounds, pairs as places, unit."""
    part = next(sorted(part) for part in components(n_arms, similar) if best in part)
    place = {arm: at for at, arm in enumerate(part)}
    unit = n_arms + 1
    bounds = np.where(np.eye(len(part), dtype=bool), 0, _FAR)
    for a, b in map(tuple, similar):
        if a in place:
            bounds[place[a], place[b]] = bounds[place[b], place[a]] = unit - 1
    bounds[:, place[best]] = np.minimum(bounds[:, place[best]], 0)
    pairs = sorted(tuple(sorted(place[arm] for arm in pair)) for pair in dissimilar if pair <= set(part))
    return _ordered(_closed(bounds), pairs, unit), pairs, unit


def _open(bounds, pairs, unit):
    """Pairs of which both orders are possible, those with the least room first."""
    both = [(a, b) for a, b in pairs if bounds[a, b] >= unit and bounds[b, a] >= unit]
    return sorted(both, key=lambda pair: bounds[pair] + bounds[pair[::-1]])


def survives_probing(n_arms, similar, dissimilar, best):
    """Whether trying both orders of every open pair, one level deep, leaves the arm."""
    bounds, pairs, unit = supposed(n_arms, similar, dissimilar, best)
    before = len(pairs) + 1
    while bounds is not None and len(waiting := _open(bounds, pairs, unit)) < before:
        before = len(waiting)
        for a, b in waiting:
            if bounds is not None and (a, b) in _open(bounds, pairs, unit):
                tried = [_ordered(_with(bounds, *way, unit), pairs, unit) for way in ((a, b), (b, a))]
                hold = [one for one in tried if one is not None]
                bounds = _ordered(np.max(hold, axis=0), pairs, unit) if hold else None
    return bounds is not None


def by_propagation(n_arms, similar, dissimilar):
    """Arms that can be supposed the best without a contradiction."""
    return {arm for arm in range(n_arms) if supposed(n_arms, similar, dissimilar, arm)[0] is not None}


def by_probing(n_arms, similar, dissimilar):
    """Arms that probing leaves."""
    return {arm for arm in range(n_arms) if survives_probing(n_arms, similar, dissimilar, arm)}
