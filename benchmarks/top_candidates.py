"""How many arms can be among the best m, and whether m = 1 gives the answers of the methods for the best arm.

python benchmarks/top_candidates.py            # sizes, K = 100, epsilon .1
python benchmarks/top_candidates.py compare    # m = 1 against the methods for the best arm
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import lsdt
from lsdt.candidates.complete.anchors import find_anchors
from lsdt.candidates.options import Options
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.order import find_order
from lsdt.candidates.propagation.orientation import orient
from lsdt.candidates.top.method import find_top_by_order
from lsdt.candidates.top.orders import count_in_reflections
from lsdt.candidates.top.positions import TopPositions

TOPS = (1, 2, 3, 5, 10)


def sizes(n_arms: int = 100, epsilon: float = 0.1, replications: int = 20) -> None:
    """Print the mean number of candidates by the share of relations revealed."""
    print("share", *(f"m={top}" for top in TOPS), "exact", "seconds", sep="\t")
    for share in (1.0, 0.7, 0.5, 0.3, 0.2):
        counts, exact, seconds = np.zeros(len(TOPS)), 0, 0.0
        for seed in range(replications):
            means = np.random.default_rng((7, seed)).uniform(0.1, 1.0, n_arms)
            side = lsdt.from_means(means, epsilon)
            side = side if share == 1.0 else side.reveal(share, share, seed=seed)
            for at, top in enumerate(TOPS):
                started = perf_counter()
                found = lsdt.candidate_set(side, top=top)
                seconds += perf_counter() - started
                assert set(np.argsort(-means)[:top]) <= set(found.arms.tolist())
                counts[at] += len(found) / replications
                exact += found.verb == "can be"
        shown = exact / (replications * len(TOPS)), seconds / (replications * len(TOPS))
        print(
            f"{share:g}",
            *(f"{count:.1f}" for count in counts),
            f"{shown[0]:.0%}",
            f"{shown[1]:.3f}",
            sep="\t",
        )


def compare(replications: int = 400) -> None:
    """Count instances in which counting at m = 1 differs from the methods for the best arm."""
    differ = {"anchors": 0, "orientation": 0, "order": 0}
    for seed in range(replications):
        rng = np.random.default_rng((8, seed))
        n_arms = int(rng.integers(5, 120))
        means, epsilon = rng.random(n_arms), float(rng.choice([0.05, 0.1, 0.2, 0.4]))
        side = lsdt.from_means(means, epsilon)
        anchors = find_anchors(side)
        differ["anchors"] += not np.array_equal(TopPositions(anchors.proper, 1).arms, anchors.arms)
        share = float(rng.choice([0.3, 0.6, 0.9]))
        system = system_around(side.reveal(share, share, seed=seed), np.arange(n_arms))
        counted = count_in_reflections(system, np.arange(n_arms), 1, lambda: False)
        differ["orientation"] += not np.array_equal(counted.is_out, orient(system).is_out)
        pairs = rng.integers(n_arms, size=(2 * n_arms, 2))
        ranges = [
            (int(a), int(b), round(means[a] - means[b] - rng.random() * 0.3, 2), None)
            for a, b in pairs
            if a != b
        ]
        ranges = list({(min(a, b), max(a, b)): (a, b, low, high) for a, b, low, high in ranges}.values())
        ordered = lsdt.SideInformation(n_arms, ranges=ranges)
        both = (find(ordered, Options()).arms for find in (find_top_by_order, find_order))
        differ["order"] += not np.array_equal(*both)
    print(f"of {replications} instances each, m = 1 differs:", differ)


if __name__ == "__main__":
    compare() if sys.argv[1:] == ["compare"] else sizes()
