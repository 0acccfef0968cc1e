"""Side information from features and groups, and its merging, straight from their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations


def near(first, second, metric, limit):
    """Whether two points are less than `limit` apart, in exact arithmetic."""
    steps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
    if metric == "manhattan":
        return sum(steps) < limit
    if metric == "chebyshev":
        return max(steps) < limit
    return sum(step * step for step in steps) < limit * limit


def near_pairs(points, metric, limit):
    return {
        frozenset(pair)
        for pair in combinations(range(len(points)), 2)
        if near(*(points[arm] for arm in pair), metric, Fraction(limit))
    }


def cosine_distance(first, second):
    dot = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return 1.0 - dot / math.hypot(*first) / math.hypot(*second)


def same_group(paths, level):
    """Pairs of arms whose paths agree in their first `level` parts (None: altogether)."""
    return {
        frozenset((a, b))
        for a, b in combinations(range(len(paths)), 2)
        if paths[a] and paths[b] and len(paths[a]) >= (level or 1) and paths[a][:level] == paths[b][:level]
    }


def between(paths, first, second):
    """Pairs of arms with one in either group."""

    def inside(path, group):
        return path[: len(group)] == group

    return {
        frozenset((a, b))
        for a in range(len(paths))
        for b in range(len(paths))
        if inside(paths[a], first) and inside(paths[b], second)
    }


def merged(sources, on_conflict):
    """Relations of named pairs from a list of dicts; and what every source contributed."""
    said, taken, counts = {}, {}, []
    for number, source in enumerate(sources):
        for pair, word in source.items():
            said.setdefault(pair, []).append((number, word))
    for pair, statements in said.items():
        words = {word for _, word in statements}
        if len(words) == 1 or on_conflict == "first":
            taken[pair] = statements[0][1]
    for number, source in enumerate(sources):
        others = [other for at, other in enumerate(sources) if at != number]
        counts.append(
            (
                sum(word == "similar" for word in source.values()),
                sum(word == "dissimilar" for word in source.values()),
                sum(all(pair not in before for before in sources[:number]) for pair in source),
                sum(any(other.get(pair) == word for other in others) for pair, word in source.items()),
                sum(
                    any(pair in other and other[pair] != word for other in others)
                    for pair, word in source.items()
                ),
            )
        )
    disputed = {pair for pair, statements in said.items() if len({word for _, word in statements}) > 1}
    return taken, counts, disputed
