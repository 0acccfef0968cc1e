"""All four kinds of relations by definition: every order of dissimilar pairs tried, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product


def exact(number):
    """The number as it is written: .1 is a tenth."""
    return Fraction(str(number))


def upper_bounds(similar, better, ranges, epsilon, number=exact):
    """Bounds ``x_a - x_b <= bound`` (or ``<``) as tuples a, b, bound, strict, from what a user lists."""
    bounds = []
    for a, b in similar:
        bounds += [(a, b, number(epsilon), True), (b, a, number(epsilon), True)]
    bounds += [(b, a, Fraction(0), True) for a, b in better]
    for a, b, low, high in ranges:
        if low is not None:
            bounds.append((b, a, -number(low), False))
        if high is not None:
            bounds.append((a, b, number(high), False))
    return bounds


def is_possible(n_arms, bounds):
    """Whether any means satisfy the bounds: no cycle adds up to less than 0, or to 0 with a strict bound."""
    least = {(arm, arm): (Fraction(0), 0) for arm in range(n_arms)}
    for a, b, bound, strict in bounds:
        least[a, b] = min(least.get((a, b), (bound, 0)), (bound, -int(strict)))
    for via, a, b in product(range(n_arms), repeat=3):
        if (a, via) in least and (via, b) in least:
            longer = tuple(map(sum, zip(least[a, via], least[via, b], strict=True)))
            least[a, b] = min(least.get((a, b), longer), longer)
    return all(least[arm, arm] >= (0, 0) for arm in range(n_arms))


def can_be_best(n_arms, bounds, dissimilar=(), epsilon=None, number=exact):
    """The arms that some means make the best, whatever order each dissimilar pair has."""
    found = set()
    for order in product((False, True), repeat=len(dissimilar)):
        pairs = [pair[::-1] if turned else pair for pair, turned in zip(dissimilar, order, strict=True)]
        # The second of a pair lies at least epsilon above the first.
        ordered = bounds + [(a, b, -number(epsilon), False) for a, b in pairs]
        for best in set(range(n_arms)) - found:
            others = [(arm, best, Fraction(0), False) for arm in range(n_arms) if arm != best]
            if is_possible(n_arms, ordered + others):
                found.add(best)
    return found


def lists_of(relations):
    """Relations of a proof as the four lists that a user gives."""
    lists = {"similar": [], "dissimilar": [], "better": [], "ranges": []}
    for a, b, word, *ends in relations:
        if word == "range":
            lists["ranges"].append((a, b, *ends))
        else:
            lists[word].append((a, b))
    return lists
