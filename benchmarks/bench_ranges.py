"""The order rule: who is below whom, through chains of ranges and better pairs."""

from __future__ import annotations

import numpy as np

import lsdt
from timing import Row, in_turns, peak_mib


def _order(title: str, side: lsdt.SideInformation, pairs: np.ndarray, most_seconds: float) -> Row:
    lsdt.candidate_set(lsdt.SideInformation(3, better=[(0, 1)], ranges=[(1, 2, 0.1, 0.2)]), "order")
    n_arms = side.n_arms
    found = lsdt.candidate_set(side, "order")
    peak = peak_mib(lambda: lsdt.candidate_set(side, "order"))
    keys = pairs[:, 0] * n_arms + pairs[:, 1]
    ours, sorting = in_turns(lambda: lsdt.candidate_set(side, "order"), lambda: np.unique(keys), 3)
    return Row(
        f"order, {title}: {len(found):,} arms left",
        ours,
        "numpy.unique of the pairs",
        sorting,
        f"{ours:.2g} s, {ours / sorting:.2g} x",
        f"<= {most_seconds:g} s",
        ours <= most_seconds,
        peak,
    )


def ranges() -> Row:
    rng = np.random.default_rng(0)
    n_arms, means = 10**4, rng.uniform(0.1, 1.0, 10**4)
    pairs = np.unique(np.sort(rng.integers(0, n_arms, (1_050_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][: 10**6]
    apart = means[pairs[:, 0]] - means[pairs[:, 1]]
    width = rng.uniform(0.05, 0.4, len(pairs))
    columns = (*pairs.T.tolist(), (apart - width).tolist(), (apart + width).tolist())
    side = lsdt.SideInformation(n_arms, ranges=list(zip(*columns, strict=True)))
    return _order("10^4 arms, 10^6 ranges", side, pairs, 1.0)


def ranking() -> Row:
    n_arms = 10**6
    ranked = np.random.default_rng(0).permutation(n_arms)
    pairs = np.column_stack([ranked[:-1], ranked[1:]])
    side = lsdt.SideInformation(n_arms, better=pairs)
    return _order("a ranking of 10^6 arms, each better than the next", side, pairs, 2.0)


WORKS = [ranges, ranking]
