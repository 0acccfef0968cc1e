"""How often ranges out of ratings are wrong, and the best item lost, on logs whose truth is known.

    python benchmarks/known_truth.py --logs 300

Every log has other items and users. A range is wrong if the true difference lies outside. At the level
``family`` it is the share of the logs with any wrong range that has a limit, 1 - confidence, and with it the
share of those that lose the best item. At ``fdr`` it is the mean share of wrong ranges.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import lsdt
from lsdt.errors import NoRelations
from lsdt.ratings import make_log

WAYS = {
    "student": {"guarantee": "all"},
    "bootstrap": {"guarantee": "all", "interval": "bootstrap"},
    "bernstein": {"interval": "bernstein"},
    "student, fdr": {"level": "fdr"},
}


def measure(way, frame, truth, confidence, seed):
    """Whether any range is wrong, the share that is, whether the best item is lost, and how many are left."""
    try:
        log = lsdt.ratings.read_log(frame, scale=(1, 5))
        side = lsdt.from_ratings(log, confidence=confidence, seed=seed, **WAYS[way])
    except NoRelations:
        return False, 0.0, False, len(truth)
    if side.ranges is None:
        return False, 0.0, False, len(truth)
    first, second = side.ranges.pairs.T
    apart = truth[first] - truth[second]
    wrong = (apart < side.ranges.low) | (apart > side.ranges.high)
    found = lsdt.candidate_set(side, "order")
    return wrong.any(), wrong.mean(), int(np.argmax(truth)) not in found, len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=300)
    parser.add_argument("--confidences", type=float, nargs="+", default=[0.95, 0.8])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| intervals, confidence | logs with a wrong one | allowed | wrong ranges | best lost | left of 10 |"
    )
    print("|---|---|---|---|---|---|")
    for confidence in options.confidences:
        rows = {way: [] for way in options.ways}
        for seed in range(options.logs):
            frame, means = make_log(n_users=1200, n_items=10, ratings_per_user=6, seed=seed)
            for way in options.ways:
                rows[way].append(measure(way, frame, (means.to_numpy() - 1.0) / 4.0, confidence, seed))
        for way, row in rows.items():
            any_wrong, shares, lost, left = np.array(row, float).T
            allowed = f"{(1 - confidence) * options.logs:.0f}" if "fdr" not in way else ""
            print(
                f"| {way}, {confidence:g} | {int(any_wrong.sum())} of {options.logs} | {allowed} | "
                f"{shares.mean():.2%} | {int(lost.sum())} | {left.mean():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
