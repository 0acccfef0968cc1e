"""Random instances that mix similar, dissimilar and better pairs with ranges, as a user lists them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

KINDS = ("similar", "dissimilar", "better", "ranges")


def mixed_instance(seed, decimals=1):
    """Three to six arms with relations of all four kinds, mostly true of some means; epsilon is .2.

    A pair may have several. At most six pairs are dissimilar, so that all their orders can be tried.
    """
    rng = np.random.default_rng((seed, 17))
    while True:
        n_arms = int(rng.integers(3, 7))
        grain = 10.0**-decimals
        means = np.round(rng.uniform(-0.5, 0.5, n_arms) / grain) * grain
        lies, dense = rng.choice([0.0, 0.05, 0.3]), rng.choice([0.3, 0.5, 0.8])
        lists = {kind: [] for kind in KINDS}
        pairs = list(combinations(range(n_arms), 2))
        for pair in [pairs[at] for at in rng.permutation(len(pairs))]:
            gap = means[pair[0]] - means[pair[1]]
            if rng.random() < lies:
                gap = -gap if rng.random() < 0.5 else round(rng.uniform(-0.5, 0.5), decimals)
            _state(rng, lists, pair, round(float(gap), decimals), dense, decimals)
        if all(lists.values()) and len(lists["dissimilar"]) <= 6:
            return n_arms, lists, 0.2


def _state(rng, lists, pair, gap, dense, decimals):
    """Add what is said of one pair of means that differ by `gap`."""
    if rng.random() < dense:
        lists["similar" if abs(gap) < 0.2 - 1e-9 else "dissimilar"].append(pair)
    if rng.random() < 0.6 * dense:
        if rng.random() < 0.5:
            lists["better"] += [pair] if gap > 0 else ([pair[::-1]] if gap < 0 else [])
        else:
            wide = rng.choice([0.0, 0.2, 0.6])
            ends = [round(gap - wide * rng.random(), decimals), round(gap + wide * rng.random(), decimals)]
            ends = [None if rng.random() < 0.3 else end for end in ends]
            turned = rng.random() < 0.5
            low, high = (None if end is None else -end for end in ends[::-1]) if turned else ends
            lists["ranges"].append((*(pair[::-1] if turned else pair), low, high))
