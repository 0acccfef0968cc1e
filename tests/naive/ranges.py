"""All four kinds of relations by definition: every order of dissimilar pairs tried, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np


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
    table, _ = table_of(n_arms, bounds)
    return bool(has_room(table))


def can_be_best(n_arms, bounds, dissimilar=(), epsilon=None, number=exact):
    """The arms that some means make the best, whatever order each dissimilar pair has.

    Dissimilar pairs are `epsilon` apart, or, where that is None, as far as their third entry says.
    """
    apart = [(a, b, number(epsilon) if epsilon is not None else far[0]) for a, b, *far in dissimilar]
    orders = np.array(list(product((False, True), repeat=len(apart))), bool)
    table, unit = table_of(n_arms, bounds, [size for *_, size in apart])
    tables = np.tile(table, (n_arms, len(orders), 1, 1))  # for every arm supposed the best and every order
    for arm in range(n_arms):
        tables[arm, :, :, arm] = np.minimum(tables[arm, :, :, arm], 0)
    for (a, b, size), turned in zip(apart, orders.T, strict=True):
        for low, high, chosen in ((a, b, ~turned), (b, a, turned)):  # x_low - x_high <= -size
            tables[:, chosen, low, high] = np.minimum(tables[:, chosen, low, high], -int(size * unit))
    return set(np.flatnonzero(has_room(tables).any(axis=1)).tolist())


def table_of(n_arms, bounds, sizes=()):
    """All bounds as whole numbers of a small unit, which add up exactly, and how many units make 1.

    Every bound and every one of the `sizes` is a multiple of n_arms + 1 units, and a strict bound is a unit
    less: a cycle has at most n_arms of them. Where nothing is stated, the bound is more than a cycle of
    others can make up for.
    """
    stated = [Fraction(number) for number in (*(bound for _, _, bound, _ in bounds), *sizes)]
    unit = lcm(*(number.denominator for number in stated)) * (n_arms + 1)
    largest = max((abs(int(number * unit)) for number in stated), default=0) + 1
    far = largest * (n_arms + 1)
    # Around a cycle that adds up to less than 0, sums may double with every arm that they are led through.
    table = np.full((n_arms, n_arms), far, np.int64 if far * 4**n_arms < 2**62 else object)
    table[np.diag_indices(n_arms)] = 0
    for a, b, bound, strict in bounds:
        table[a, b] = min(table[a, b], int(bound * unit) - strict)
    return table, unit


def has_room(tables):
    """Whether no cycle of a table's bounds adds up to less than 0 (Floyd and Warshall), for each table."""
    for via in range(tables.shape[-1]):
        tables = np.minimum(tables, tables[..., via, None] + tables[..., via, None, :])
    return (np.diagonal(tables, axis1=-2, axis2=-1) >= 0).all(axis=-1)


def lists_of(relations):
    """Relations of a proof as the four lists that a user gives."""
    lists = {"similar": [], "dissimilar": [], "better": [], "ranges": []}
    for a, b, word, *ends in relations:
        if word == "range":
            lists["ranges"].append((a, b, *ends))
        else:
            lists[word].append((a, b))
    return lists
