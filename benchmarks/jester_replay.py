"""What policies earn on Jester with ranges, with the paper's rule and with neither, by the share trained on.

    python benchmarks/jester_replay.py PATH --splits 50 --figure jester.svg

PATH is the published file, which is not part of this project: `lsdt.ratings.where_to_get_jester()` says where
it is. Users are divided at random, the same for all; side information and priors come from those trained on.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import lsdt

ALPHA = {0.01: 0.2, 0.02: 0.2, 0.05: 0.2, 0.1: 0.1, 0.2: 0.1}  # of the paper's rule
WARM = "ts:prior_weight=1"
# Side information, and the policies that play on what it leaves.
ON_RANGES = [
    *("ts@order", "imed@order", "soft_closure:most=0", "ts@order:prior_weight=1"),
    *(WARM, "best_training_mean", "ts"),
]
ON_PAPER = ["ts@paper", "lsdt_psi:lambda_=0.03125"]
NAMES = {
    "ts on order": "TS on what ranges leave",
    "imed on order": "IMED on what ranges leave",
    "soft_closure (most=0)": "IMED on the bounds",
    "ts on order (prior_weight=1)": "TS on what ranges leave, warm",
    "ts (prior_weight=1)": "TS, warm",
    "best_training_mean": "best training mean",
    "ts": "TS",
    "ts on paper": "TS on what the paper's rule leaves",
    "lsdt_psi (lambda_=0.03125)": "LSDT-PSI, the paper's rule",
}


def replay(log, share, policies, side, options):
    """Mean rating per round of every policy, with its 95% interval."""
    result = lsdt.replay(
        log, policies, horizon=options.horizon, splits=options.splits, train=share, test=0.7, side=side,
        seed=options.seed, n_jobs=1,
    )  # fmt: skip
    return result.summary()[["reward", "low", "high"]]


def draw(rows, path):
    """Average rating against the share of users trained on."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for policy in dict.fromkeys(policy for _, policy, *_ in rows):
        mine = sorted(row for row in rows if row[1] == policy)
        shares = [100 * row[0] for row in mine]
        ax.plot(shares, [row[2] for row in mine], marker="o", label=NAMES.get(policy, policy))
        ax.fill_between(shares, [row[3] for row in mine], [row[4] for row in mine], alpha=0.12)
    ticks = sorted({100 * row[0] for row in rows})
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{tick:g}%" for tick in ticks], minor=False)
    ax.minorticks_off()
    means = [row[2] for row in rows]
    ax.set_ylim(min(means) - 0.3, max(means) + 0.3)  # one interval is wider than all of it
    ax.set_xlabel("users trained on")
    ax.set_ylabel("average rating of a round, -10 to 10")
    ax.legend(fontsize=8)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="the published Jester ratings: jester-data-1 as zip, xls or csv")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shares", type=float, nargs="+", default=list(ALPHA))
    parser.add_argument("--figure", help="where to draw it: .svg, .png or .pdf")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    log = lsdt.ratings.load_jester(options.path)
    rows = []
    print("| policy, share of users | average rating | 95% interval |")
    print("|---|---|---|")
    for share in options.shares:
        by_paper = partial(lsdt.from_ratings, rule="paper", search="paper", alpha=ALPHA.get(share, 0.2))
        for policies, side in ((ON_RANGES, "interval"), (ON_PAPER, by_paper)):
            for policy, (mean, low, high) in replay(log, share, policies, side, options).iterrows():
                rows.append((share, policy, mean, low, high))
                name = NAMES.get(policy, policy)
                print(f"| {name}, {share:.0%} | {mean:.2f} | {low:.2f} to {high:.2f} |", flush=True)
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
