"""How true it is what rankings say of their first items: logs with a known truth, and Jester.

    python benchmarks/first_items.py [--logs 200] [--seed 1000] [--jester PATH]

Every log has items of known quality, rated by users of different kindness on a scale of five levels, or
clicked. Popularity is skewed and has nothing to do with quality. Shown for each setting: how often "at
least" holds for the first item, for the first ten, and for all; the quality of the first item, beside the
best there is and beside the item with the largest ordinary 95% lower end, which is how items were ranked
before.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy.special import stdtrit

import lsdt
from lsdt.ratings.datasets.jester import load_jester
from lsdt.ratings.statistics.ranking import lower_ends, shrunk_effects

LEVEL, FEW = 0.95, 10
QUALITIES = {
    "uniform": lambda rng, n: rng.uniform(0.3, 0.8, n),
    "bell-shaped": lambda rng, n: np.clip(rng.normal(0.55, 0.1, n), 0.05, 0.95),
    "three stand out": lambda rng, n: np.append(rng.normal(0.5, 0.03, n - 3), [0.7, 0.72, 0.75]),
    "all equal": lambda rng, n: np.full(n, 0.6),
    "near the top of the scale": lambda rng, n: rng.beta(6, 2, n),
    "clicks": lambda rng, n: rng.beta(2, 30, n),
}
SIZES = ((2_000, 1_000, 20), (1_000, 50, 8))  # users, items, ratings of a user
KINDNESS, TASTE = 0.15, 0.2


def stars(liking):
    return np.clip(np.rint(1 + 4 * liking), 1, 5)


def draw(kind, users, items, each, rng):
    """Return a log and the true quality of its items, on the scale from 0 to 1."""
    quality = QUALITIES[kind](rng, items)
    popular = rng.permutation(1 / np.arange(1, items + 1) ** 0.8)
    chosen = rng.choice(items, users * each, p=popular / popular.sum())
    keys = np.unique(np.repeat(np.arange(users), each) * items + chosen)
    user, item = keys // items, keys % items
    if kind == "clicks":
        rating, truth, scale = (rng.random(len(item)) < quality[item]).astype(float), quality, (0, 1)
    else:
        kindness = rng.normal(0, KINDNESS, users)
        rating = stars(quality[item] + kindness[user] + rng.normal(0, TASTE, len(item)))
        z = np.linspace(-6, 6, 4_001)
        weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
        liking = quality[:, None] + np.hypot(KINDNESS, TASTE) * z
        truth, scale = (stars(liking) @ weights - 1) / 4, (1, 5)
    log = lsdt.ratings.read_log(pd.DataFrame({"user": user, "item": item, "rating": rating}), scale=scale)
    return log, truth[np.array(log.item_ids)]


def ordinary_ends(found):
    """Return what items were ranked by before: the lower ends of single two-sided 95% intervals."""
    quantiles = stdtrit(np.maximum(found.ratings, 1), 0.5 + 0.5 * LEVEL)
    return np.clip(np.clip(found.effects, 0, 1) - quantiles * found.errors, 0, 1)


def judge(log, truth):
    found = lsdt.ratings.item_statistics(log)
    before, ends = ordinary_ends(found), lower_ends(found, LEVEL)
    order, once = np.lexsort((-shrunk_effects(found), found.ratings < FEW)), np.argsort(-before)
    holds, held = truth >= ends, truth >= before
    return (
        *(held[once[0]], held[once[:10]].all(), truth[once[0]]),
        *(holds[order[0]], holds[order[:10]].all(), holds.all(), truth[order[0]], truth.max()),
    )


def jester(path, rng, splits):
    """Rank jokes by the ratings of some users; the mean over all users is the truth."""
    ratings = load_jester(path)
    truth = (ratings.means() - ratings.low) / (ratings.high - ratings.low)
    for share in (0.002, 0.005, 0.01, 0.02):
        size = int(share * ratings.n_users)
        rows = []
        for _ in range(splits):
            some = ratings.of_users(np.sort(rng.choice(ratings.n_users, size, replace=False)))
            found = lsdt.ratings.item_statistics(some)
            first = np.lexsort((-shrunk_effects(found), found.ratings < FEW))[0]
            ends, before = lower_ends(found, LEVEL), ordinary_ends(found)
            once = before.argmax()
            rows.append((truth[once] >= before[once], truth[once], truth[first] >= ends[first], truth[first]))
        held, was, holds, now = np.mean(rows, axis=0)
        means = f"{20 * was - 10:.2f} before, {20 * now - 10:.2f} now"
        print(
            f"Jester, {size} users: true {held:.1%} before, {holds:.1%} now; mean of the first joke {means}"
        )
    print(f"the best joke: {20 * np.nanmax(truth) - 10:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1_000)
    parser.add_argument("--jester")
    options = parser.parse_args()
    print("| quality | items | before: first, ten, quality | now: first, ten, all, quality | best |")
    for kind in QUALITIES:
        for users, items, each in SIZES:
            seeds = range(options.seed, options.seed + options.logs)
            made = (draw(kind, users, items, each, np.random.default_rng([items, seed])) for seed in seeds)
            held, ten, was, *now, best = np.mean([judge(*one) for one in made], axis=0)
            first, all_ten, all_of_them, quality = now
            print(
                f"| {kind} | {items:,} | {held:.1%}, {ten:.1%}, {was:.3f} "
                f"| {first:.1%}, {all_ten:.1%}, {all_of_them:.1%}, {quality:.3f} | {best:.3f} |",
                flush=True,
            )
    if options.jester:
        jester(options.jester, np.random.default_rng(options.seed), options.logs)


if __name__ == "__main__":
    main()
