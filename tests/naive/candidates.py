"""Candidate sets by definition, by Theorem 1, by the paper's two sweeps, and by the triangle rule."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np

from naive.graphs import closed_neighbours, components, is_proper_order


def by_definition(n_arms, similar):
    """Arms that stand first in some proper order: Definition 2 with all orders tried."""
    return {order[0] for order in permutations(range(n_arms)) if is_proper_order(order, n_arms, similar)}


def by_theorem_1(means, similar):
    """Per component, the classes of the largest and of the smallest mean; a set of frozensets."""
    n_arms = len(means)
    classes = set()
    for part in components(n_arms, similar):
        for end in (max(part, key=lambda arm: means[arm]), min(part, key=lambda arm: means[arm])):
            wanted = closed_neighbours(n_arms, similar, end)
            classes.add(frozenset(arm for arm in part if closed_neighbours(n_arms, similar, arm) == wanted))
    return classes


def by_two_sweeps(n_arms, similar, start):
    """The paper's offline step, word for word, on the component of `start`."""
    found = set()
    for _ in range(2):
        levels = _levels(n_arms, similar, start)
        last = [arm for arm in levels if levels[arm] == max(levels.values())]
        degree = {arm: len(closed_neighbours(n_arms, similar, arm)) for arm in last}
        ends = {arm for arm in last if degree[arm] == min(degree.values())}
        found |= ends
        start = min(ends)
    return found


def _levels(n_arms, similar, start):
    levels = {start: 0}
    waiting = [start]
    while waiting:
        arm = waiting.pop(0)
        for other in sorted(closed_neighbours(n_arms, similar, arm)):
            if other not in levels:
                levels[other] = levels[arm] + 1
                waiting.append(other)
    return levels


def by_triangles(n_arms, similar, dissimilar, min_witnesses=1):
    """Arms whose similar neighbours hold fewer than `min_witnesses` disjoint dissimilar pairs."""
    left = set()
    for arm in range(n_arms):
        near = closed_neighbours(n_arms, similar, arm) - {arm}
        pairs = [pair for pair in combinations(sorted(near), 2) if frozenset(pair) in dissimilar]
        if not has_disjoint(pairs, min_witnesses):
            left.add(arm)
    return left


def has_disjoint(pairs, wanted):
    """Whether `wanted` of the pairs share no arm, by trying all choices."""
    if wanted == 0:
        return True
    return any(
        has_disjoint([other for other in pairs[at + 1 :] if not set(other) & set(pair)], wanted - 1)
        for at, pair in enumerate(pairs)
    )


def by_orders(n_arms, similar, dissimilar):
    """Arms that can be first in an order in which no dissimilar pair lies within the span of a similar pair.

    Filling every span makes such an order proper for a graph that fits the relations, and there is no other
    way to fill it with fewer similar pairs.
    """
    orders = np.array(list(permutations(range(n_arms))))
    place = orders.argsort(axis=1)
    spans, apart = (
        [np.sort(place[:, sorted(pair)], axis=1).T for pair in pairs] for pairs in (similar, dissimilar)
    )
    fits = np.ones(len(orders), bool)
    for first, last in spans:
        for low, high in apart:
            fits &= (first > low) | (high > last)
    return set(orders[fits, 0].tolist())


def by_completions(n_arms, similar, dissimilar):
    """Arms that stand first in a proper order of some graph between the relations: the paper's definition."""
    unknown = sorted(
        pair
        for pair in combinations(range(n_arms), 2)
        if frozenset(pair) not in similar and frozenset(pair) not in dissimilar
    )
    found = set()
    for count in range(len(unknown) + 1):
        for chosen in combinations(unknown, count):
            found |= by_definition(n_arms, similar | {frozenset(pair) for pair in chosen})
    return found


def by_triangles_at_risk(n_arms, similar, dissimilar, rate, risk):
    """Arms with fewer disjoint witnesses than wrong relations can be blamed for at this risk."""

    def at_least(least, n):
        return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(least, n + 1))

    left = set()
    for arm in range(n_arms):
        near = closed_neighbours(n_arms, similar, arm) - {arm}
        pairs = [frozenset(pair) for pair in combinations(sorted(near), 2)]
        degree = sum(arm in pair for pair in similar | dissimilar)
        among = sum(pair in similar or pair in dissimilar for pair in pairs)
        own = next(k for k in range(1, degree + 2) if at_least(k, degree) <= risk / 2)
        rest = next(k for k in range(1, among + 2) if at_least(k, among) <= risk - at_least(own, degree))
        if not has_disjoint([tuple(pair) for pair in pairs if pair in dissimilar], own + rest - 1):
            left.add(arm)
    return left
