"""Supposing an arm the best, written out: all differences closed anew after every order of a pair."""

from __future__ import annotations

from naive.graphs import components

_FAR = 10**9


def _closed(bounds):
    """Shortest ways by Floyd and Warshall; None when some arm would lie below itself."""
    arms = list(bounds)
    ways = {a: dict(bounds[a]) for a in arms}
    for middle in arms:
        for a in arms:
            for b in arms:
                ways[a][b] = min(ways[a][b], ways[a][middle] + ways[middle][b])
    return None if any(ways[a][a] < 0 for a in arms) else ways


def _with(bounds, upper, lower, unit):
    """The bounds with one arm placed below another, everything that follows included, or None."""
    changed = {a: dict(bounds[a]) for a in bounds}
    changed[lower][upper] = min(changed[lower][upper], -unit)
    return _closed(changed)


def _ordered(bounds, pairs, unit):
    """The bounds with every pair ordered whose order follows, or None."""
    while bounds is not None:
        for a, b in pairs:
            if bounds[a][b] < unit and bounds[b][a] > -unit:  # b cannot lie below a
                bounds = _with(bounds, b, a, unit)
                break
            if bounds[b][a] < unit and bounds[a][b] > -unit:
                bounds = _with(bounds, a, b, unit)
                break
        else:
            break
    return bounds


def supposed(n_arms, similar, dissimilar, best):
    """What follows from `best` being the best of the arms joined to it: bounds, pairs, unit."""
    part = next(sorted(part) for part in components(n_arms, similar) if best in part)
    unit = n_arms + 1
    bounds = {a: {b: 0 if a == b else _FAR for b in part} for a in part}
    for a, b in map(tuple, similar):
        if a in bounds:
            bounds[a][b] = bounds[b][a] = unit - 1
    for a in part:
        bounds[a][best] = min(bounds[a][best], 0)
    pairs = sorted(tuple(sorted(pair)) for pair in dissimilar if pair <= set(part))
    return _ordered(_closed(bounds), pairs, unit), pairs, unit


def _open(bounds, pairs, unit):
    """Pairs of which both orders are possible, those with the least room first."""
    both = [(a, b) for a, b in pairs if bounds[a][b] >= unit and bounds[b][a] >= unit]
    return sorted(both, key=lambda pair: bounds[pair[0]][pair[1]] + bounds[pair[1]][pair[0]])


def survives_probing(n_arms, similar, dissimilar, best):
    """Whether trying both orders of every open pair, one level deep, leaves the arm."""
    bounds, pairs, unit = supposed(n_arms, similar, dissimilar, best)
    before = len(pairs) + 1
    while bounds is not None and len(_open(bounds, pairs, unit)) < before:
        waiting = _open(bounds, pairs, unit)
        before = len(waiting)
        for a, b in waiting:
            if (a, b) not in _open(bounds, pairs, unit):
                continue
            tried = [_ordered(_with(bounds, *way, unit), pairs, unit) for way in ((a, b), (b, a))]
            hold = [one for one in tried if one is not None]
            if not hold:
                return False
            weaker = {i: {j: max(one[i][j] for one in hold) for j in bounds} for i in bounds}
            bounds = _ordered(weaker, pairs, unit)
            if bounds is None:
                return False
    return bounds is not None


def by_propagation(n_arms, similar, dissimilar):
    """Arms that can be supposed the best without a contradiction."""
    return {arm for arm in range(n_arms) if supposed(n_arms, similar, dissimilar, arm)[0] is not None}


def by_probing(n_arms, similar, dissimilar):
    """Arms that probing leaves."""
    return {arm for arm in range(n_arms) if survives_probing(n_arms, similar, dissimilar, arm)}
