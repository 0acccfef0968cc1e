"""Distances of items, relations and the search for epsilon, straight from their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

from naive.candidates import by_triangles


def exact(number):
    """The fraction that is meant by a float of few decimals."""
    return Fraction(repr(number))


def common_raters(rows, a, b):
    return [row for row in rows if not math.isnan(row[a]) and not math.isnan(row[b])]


def mean_difference(rows, a, b):
    """Mean rating of a minus that of b over the users who rated both, exactly; None if there is none."""
    both = common_raters(rows, a, b)
    if not both:
        return None
    return sum(exact(row[a]) - exact(row[b]) for row in both) / len(both)


def relations(rows, epsilon, alpha):
    """Similar and dissimilar pairs as two sets of frozensets."""
    similar, dissimilar = set(), set()
    for b in range(len(rows[0])):
        for a in range(b):
            difference = mean_difference(rows, a, b)
            if difference is None:
                continue
            if abs(difference) < (1 - exact(alpha)) * exact(epsilon):
                similar.add(frozenset((a, b)))
            elif abs(difference) > (1 + exact(alpha)) * exact(epsilon):
                dissimilar.add(frozenset((a, b)))
    return similar, dissimilar


def candidates(rows, epsilon, alpha):
    return sorted(by_triangles(len(rows[0]), *relations(rows, epsilon, alpha)))


def searched_step(size, first, last):
    """The paper's search over whole steps; `size` is 0 where nothing is left, `last` ends the doubling."""
    low = high = None
    step = first
    while True:
        if size(step) > 0:
            low, high = high, step
            if low is not None and size(high) > size(low):
                break
        if step >= last:
            low = high
            break
        step *= 2
    ends, tried = (low, high), {low, high}
    while low != high:
        middle = (low + high) // 2
        tried |= {middle, middle + 1}
        falls = 0 < size(middle + 1) < size(middle)
        if size(middle) == 0 or falls:
            low = middle + 1
        else:
            high = middle
    allowed = [step for step in tried if ends[0] <= step <= ends[1] and size(step) > 0]
    return min(allowed, key=lambda step: (size(step), step))
