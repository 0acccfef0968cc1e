"""The domination number by trying all sets of arms, the smallest first."""

from __future__ import annotations

from itertools import combinations

from naive.graphs import closed_neighbours


def smallest_dominating(n_arms, similar):
    closed = [set(closed_neighbours(n_arms, similar, arm)) for arm in range(n_arms)]
    for size in range(n_arms + 1):
        for chosen in combinations(range(n_arms), size):
            if len(set().union(*(closed[arm] for arm in chosen))) == n_arms:
                return size
    raise AssertionError("all arms dominate all arms")
