"""Tries until the best m arms are known, and how often they are wrong, against LUCB on all arms.

    python benchmarks/top_identify.py               # tries: K = 50, tolerance = epsilon = .1, delta = .05
    python benchmarks/top_identify.py errors        # wrong answers: delta = .2, zeros at once and late

LUCB is that of Kalyanakrishnan, Tewari, Auer and Stone (2012) for m arms: of the m arms with the largest
means it plays the one with the smallest lower bound, of the others the one with the largest upper bound,
until these are within the tolerance. It uses no relations. Seeds from 1,000 on are reported; the rule was
tried on others.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import lsdt
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.top_stopping import TopStoppingRule

MOST = 400_000  # tries; LUCB goes on beyond a budget of `identify` without any result
FIRST_SEED = 1_000


def drawn(seed: int, n_arms: int, share: float, epsilon: float = 0.1):
    """Return means and side information of a problem."""
    means = np.random.default_rng((seed, 11)).uniform(0.1, 0.9, n_arms)
    side = lsdt.from_means(means, epsilon)
    if share == 0.0:
        side = lsdt.SideInformation(n_arms, epsilon=epsilon)
    elif share < 1.0:
        side = side.reveal(share, share, seed=seed)
    return means, side


def lucb(means, top, sigma, tolerance, delta, rng):
    """Return the number of tries of LUCB, and the arms it names."""
    n_arms, counts = len(means), np.ones(len(means))
    sums = pay(means, sigma, rng)
    while True:
        tries = counts.sum()
        width = sigma * np.sqrt(2.0 * np.log(1.25 * n_arms * tries**4 / delta) / counts)
        order = np.argsort(-sums / counts, kind="stable")
        high, low = order[:top], order[top:]
        weak = high[np.argmin((sums / counts - width)[high])]
        strong = low[np.argmax((sums / counts + width)[low])]
        if (sums / counts + width)[strong] - (sums / counts - width)[weak] <= tolerance or tries > MOST:
            return int(tries), high
        times = max(int(tries // 2_000), 1)  # a choice is repeated, as in the other contests
        for arm in (weak, strong):
            counts[arm] += times
            sums[arm] += pay(np.full(times, means[arm]), sigma, rng).sum()


def pay(means, sigma, rng):
    """Draw a reward for each mean: coins where sigma is .5, else Gaussian."""
    return (
        (rng.random(len(means)) < means).astype(float)
        if sigma == 0.5
        else means + sigma * rng.normal(size=len(means))
    )


def guided(rule, means, sigma, delta, rng):
    """Return the number of tries when the rule says what to try, and the arms it names."""
    counts, sums, tries = np.zeros(len(means), np.int64), np.zeros(len(means)), 0
    while True:
        verdict = rule.judge(counts, sums)
        if verdict.least >= math.log(1.0 / delta) or tries > MOST:
            return tries, verdict.named
        times = max(tries // 100, 1)
        arm = int(verdict.to_try[0])
        counts[arm] += times
        sums[arm] += pay(np.full(times, means[arm]), sigma, rng).sum()
        tries += times


def tries(n_arms: int = 50, replications: int = 20) -> None:
    """Print the median number of tries by setting."""
    print("rewards", "relations", "m", "candidates", "median tries", "LUCB", "wrong", "LUCB wrong", sep="\t")
    for family, sigma in (("gaussian", 1.0), ("bernoulli", 0.5)):
        for share in (1.0, 0.5, 0.2, 0.0):
            for top in (2, 5):
                found, other, sizes, wrong = [], [], [], [0, 0]
                for seed in range(FIRST_SEED, FIRST_SEED + replications):
                    means, side = drawn(seed, n_arms, share)
                    rule = TopStoppingRule(side, RewardModel(family, sigma), None, top)
                    least = np.sort(means)[-top] - 0.1 - 1e-9
                    for at, (count, named) in enumerate(
                        (
                            guided(rule, means, sigma, 0.05, np.random.default_rng((seed, top, 1))),
                            lucb(means, top, sigma, 0.1, 0.05, np.random.default_rng((seed, top, 2)))
                            if share == 0.0
                            else (0, []),
                        )
                    ):
                        (found, other)[at].append(count)
                        wrong[at] += bool(len(named)) and bool(means[named].min() < least)
                    sizes.append(len(rule.arms))
                print(
                    family, f"{share:g}", top, f"{np.mean(sizes):.1f}", f"{np.median(found):,.0f}",
                    f"{np.median(other):,.0f}" if share == 0.0 else "", *wrong, sep="\t", flush=True,
                )  # fmt: skip


def errors(replications: int = 200, n_arms: int = 6, delta: float = 0.2) -> None:
    """Print how often named arms are wrong, at delta .2; zeros may be told later than ones."""
    print("late", "top", "stopped", "wrong", "told rewards alone: stopped", "wrong", sep="\t")
    for late in (0, 30, 300):
        for top in (2, "all"):
            rows = [[0, 0], [0, 0]]
            for seed in range(FIRST_SEED, FIRST_SEED + replications):
                means, side = drawn(seed, n_arms, float(seed % 2) / 2, 0.2)
                rule = TopStoppingRule(side, RewardModel("bernoulli", 0.5), 0.2, top)
                for row, counts_pending in zip(rows, (True, False), strict=True):
                    named = told_late(
                        rule, means, late, delta, counts_pending, np.random.default_rng((seed, late))
                    )
                    if named is not None:
                        row[0] += 1
                        row[1] += is_wrong(means, named, top)
            print(late, top, *rows[0], *rows[1], sep="\t", flush=True)


def told_late(rule, means, late, delta, counts_pending, rng, most=2_000):
    """Return the arms named when a zero is told `late` tries after it was asked for; None after `most`."""
    n_arms = len(means)
    counts, sums, pending = np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(n_arms, np.int64)
    waiting, look = [], 0
    for at in range(most):
        while waiting and waiting[0][0] <= at:
            arm = waiting.pop(0)[1]
            counts[arm] += 1
            pending[arm] -= 1
        if at >= look:
            verdict = rule.judge(counts, sums, pending if counts_pending else None)
            if verdict.least >= math.log(1.0 / delta):
                return verdict.named
            look = at + max(at // 20, 1)
        arm = int(verdict.to_try[at % len(verdict.to_try)])
        if rng.random() < means[arm]:
            counts[arm] += 1
            sums[arm] += 1.0
        else:
            pending[arm] += 1
            waiting.append((at + 1 + late, arm))
    return None


def is_wrong(means, named, top):
    """Return whether the arms named are not what is promised, at a tolerance of .2."""
    if top != "all":
        return bool(means[named].min() < np.sort(means)[-top] - 0.2 - 1e-9)
    missed = set(np.flatnonzero(means >= means.max() - 0.2).tolist()) - set(named.tolist())
    return bool(missed) or bool(means[named].min() < means.max() - 0.4 - 1e-9)


if __name__ == "__main__":
    errors() if sys.argv[1:] == ["errors"] else tries()
