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


def pair_table(triples):
    """Common raters, exact mean and unbiased variance of every pair of items, from (user, item, rating)."""
    users = {}
    for user, item, rating in triples:
        users.setdefault(user, {})[item] = Fraction(rating)
    differences = {}
    for rated in users.values():
        for a in rated:
            for b in rated:
                if a < b:
                    differences.setdefault((a, b), []).append(rated[a] - rated[b])
    return {pair: (len(values), *_moments(values)) for pair, values in differences.items()}


def _moments(values):
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, None
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def family_relation(difference, half_width, epsilon):
    """By the ends of the interval: inside (-epsilon, epsilon), outside of it, or neither."""
    low, high = difference - half_width, difference + half_width
    if -epsilon < low and high < epsilon:
        return 1
    return -1 if low > epsilon or high < -epsilon else 0


def rejected(p_values, level, tests, any_dependence=False):
    """Benjamini and Hochberg (or Yekutieli): which of some p-values out of `tests` are rejected."""
    level /= sum(1 / k for k in range(1, tests + 1)) if any_dependence else 1
    ranked = sorted(range(len(p_values)), key=lambda at: p_values[at])
    most = max((k for k, at in enumerate(ranked, 1) if p_values[at] <= k * level / tests), default=0)
    return set(ranked[:most])


def moved(rows, a, b):
    """Mean of a over the raters of both minus that over all raters of a, with its variance; None if few."""
    rated = [row for row in rows if not math.isnan(row[a])]
    both, rest = ([row[a] for row in rated if math.isnan(row[b]) == missing] for missing in (False, True))
    if min(len(both), len(rest)) < 30:
        return None
    mean_both, mean_rest = (sum(part) / len(part) for part in (both, rest))
    errors = [
        sum((value - mean) ** 2 for value in part) / len(part) ** 2
        for part, mean in ((both, mean_both), (rest, mean_rest))
    ]
    share = len(rest) / len(rated)
    assert math.isclose(
        mean_both - sum(both + rest) / len(rated), (mean_both - mean_rest) * share, abs_tol=1e-9
    )
    return (mean_both - mean_rest) * share, sum(errors) * share**2


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
