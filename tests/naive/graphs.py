"""Graphs as Python sets of pairs, and the definitions of the paper's Section 2 and 3 by brute force."""

from __future__ import annotations

from itertools import combinations, permutations


def pair_set(pairs):
    return {frozenset(map(int, pair)) for pair in pairs}


def similar_from_means(means, epsilon):
    """Every pair with |mu_i - mu_j| < epsilon; exact for integers."""
    return {
        frozenset((i, j)) for i, j in combinations(range(len(means)), 2) if abs(means[i] - means[j]) < epsilon
    }


def complement(n_arms, pairs):
    return {frozenset(pair) for pair in combinations(range(n_arms), 2)} - pairs


def closed_neighbours(n_arms, similar, arm):
    return {arm} | {other for other in range(n_arms) if frozenset((arm, other)) in similar}


def components(n_arms, similar):
    left = set(range(n_arms))
    while left:
        part, waiting = set(), [min(left)]
        while waiting:
            arm = waiting.pop()
            if arm not in part:
                part.add(arm)
                waiting += closed_neighbours(n_arms, similar, arm)
        left -= part
        yield sorted(part)


def is_proper_order(order, n_arms, similar):
    """Whether every closed neighbourhood is consecutive in the order."""
    place = {arm: at for at, arm in enumerate(order)}
    for arm in order:
        places = sorted(place[other] for other in closed_neighbours(n_arms, similar, arm) if other in place)
        if places[-1] - places[0] + 1 != len(places):
            return False
    return True


def is_unit_interval(n_arms, similar):
    """By trying all orders of all arms."""
    return any(is_proper_order(order, n_arms, similar) for order in permutations(range(n_arms)))


def has_forbidden(n_arms, similar):
    """By looking at every subset of arms for a claw, net, sun or chordless cycle."""
    for size in range(4, n_arms + 1):
        for arms in combinations(range(n_arms), size):
            if forbidden_kind(arms, similar) is not None:
                return True
    return False


def forbidden_kind(arms, similar):
    """Return which minimal obstruction the arms induce, or None."""
    near = {a: {b for b in arms if frozenset((a, b)) in similar} for a in arms}
    degrees = sorted(len(others) for others in near.values())
    if len(arms) == 4 and degrees == [1, 1, 1, 3]:
        return "claw"
    if len(arms) == 6 and degrees in ([1, 1, 1, 3, 3, 3], [2, 2, 2, 4, 4, 4]):
        inner = [a for a in arms if len(near[a]) == degrees[-1]]
        outer = [a for a in arms if a not in inner]
        triangle = all(b in near[a] for a, b in combinations(inner, 2))
        apart = all(b not in near[a] for a, b in combinations(outer, 2))
        distinct = len({frozenset(near[a] & set(inner)) for a in outer}) == 3
        if triangle and apart and distinct:
            return "net" if degrees[0] == 1 else "sun"
    if len(arms) >= 4 and degrees == [2] * len(arms):
        seen, waiting = set(), [arms[0]]
        while waiting:
            arm = waiting.pop()
            if arm not in seen:
                seen.add(arm)
                waiting += near[arm]
        if len(seen) == len(arms):
            return "hole"
    return None
