"""Short ways from many arms at once, against one search after the other."""

from __future__ import annotations

import numpy as np

from lsdt.candidates.propagation.orientation.near_gaps_kernel import lengths_of, near_gaps

FAR = 10**6


def naive_ways(n_arms, edges, top):
    """Shortest ways by trying every bound until nothing changes."""
    ways = [FAR] * n_arms
    ways[top] = 0
    while True:
        before = list(ways)
        for b, a, bound in edges:
            if ways[b] < FAR:
                ways[a] = min(ways[a], ways[b] + bound)
        if ways == before:
            return np.array(ways)


def test_ways_from_many_arms_are_those_from_each(thorough):
    compared = 0
    for seed in range(60 if thorough else 6):
        rng = np.random.default_rng(seed)
        n_arms, longest = 90, int(rng.integers(1, 6))
        levels = -rng.integers(0, 4, n_arms)
        levels[:70] = 0  # more tops than bits in a word
        pairs = np.unique(rng.integers(0, n_arms, (250, 2)), axis=0)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        bounds = levels[pairs[:, 0]] - levels[pairs[:, 1]] + rng.integers(0, 3, len(pairs))
        starts = np.searchsorted(pairs[:, 0], np.arange(n_arms + 1))
        others = pairs[:, 1].astype(np.int32)
        lengths = lengths_of(starts, others, bounds, levels, longest)
        columns = np.where(rng.random(n_arms) < 0.7, np.arange(n_arms), -1)
        gaps = np.full((70, n_arms), FAR)
        near_gaps(starts, others, lengths, levels, np.arange(70), columns, longest, gaps)
        edges = [(*pair, bound) for pair, bound in zip(pairs.tolist(), bounds.tolist(), strict=True)]
        for top in range(70):
            ways = naive_ways(n_arms, edges, top)
            expected = np.where((columns >= 0) & (ways + levels < longest), ways, FAR)
            assert gaps[top].tolist() == expected.tolist()
            compared += int((expected < FAR).sum())
    assert compared > 1_000
