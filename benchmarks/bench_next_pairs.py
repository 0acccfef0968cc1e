"""Answers until few arms are left: about random pairs, and about those that `lsdt.Inquiry` chooses.

For example: ``python benchmarks/bench_next_pairs.py --runs 10 --seed 1000``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import lsdt

EPSILON = 0.1


def judged(kind: str, difference: float) -> str:
    """Return the true answer about two arms whose means differ by so much."""
    if kind == "similar":
        return "similar" if abs(difference) < EPSILON else "dissimilar"
    if abs(difference) < EPSILON:
        return "equal"
    return "better" if difference > 0.0 else "worse"


def asked(
    kind: str, means: np.ndarray, until: int, batch: int, wrong: float, seed: int
) -> tuple[int, int, bool]:
    """Return how many answers an inquiry took, how many arms are left, and whether the best is among them."""
    side = lsdt.SideInformation(len(means), epsilon=EPSILON)
    inquiry = lsdt.Inquiry(side, kind, wrong_rate=wrong, until=until)
    words = ("similar", "dissimilar") if kind == "similar" else ("better", "worse", "equal")
    coins = np.random.default_rng([seed, 1])
    while questions := inquiry.next(batch):
        for one in questions:
            answer = judged(kind, means[one.a] - means[one.b])
            if coins.random() < wrong:
                answer = str(coins.choice([word for word in words if word != answer]))
            inquiry.tell(one.a, one.b, answer)
    return inquiry.n_answers, len(inquiry.found), bool(means.argmax() in inquiry.found)


def random_pairs(kind: str, means: np.ndarray, until: int, seed: int) -> int:
    """Return how many pairs in random order leave at most so many arms, found by bisection."""
    n_arms = len(means)
    first, second = np.triu_indices(n_arms, 1)
    order = np.random.default_rng([seed, 2]).permutation(len(first))
    first, second = first[order], second[order]
    difference = means[first] - means[second]
    near = np.abs(difference) < EPSILON
    pairs = np.stack([first, second], axis=1)
    turned = np.where((difference > 0.0)[:, None], pairs, pairs[:, ::-1])

    def left(n: int) -> int:
        some = np.arange(len(first)) < n
        better = turned[some & ~near] if kind == "better" else ()
        side = lsdt.SideInformation(
            n_arms, pairs[some & near], pairs[some & ~near], epsilon=EPSILON, better=better
        )
        return len(lsdt.candidate_set(side, "propagation", progress=False))

    low, high = 0, len(first)
    while high - low > 10:
        middle = (low + high) // 2
        low, high = (low, middle) if left(middle) <= until else (middle, high)
    return high


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--n-arms", type=int, default=100)
    parser.add_argument("--until", type=int, default=10)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--wrong-rate", type=float, default=0.0)
    parser.add_argument("--kinds", nargs="+", default=["similar", "better"])
    parser.add_argument("--random", action="store_true", help="random pairs instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind in options.kinds:
        counts, lost = [], 0
        for seed in range(options.seed, options.seed + options.runs):
            means = np.random.default_rng([seed, 0]).uniform(0.1, 1.0, options.n_arms)
            started = time.perf_counter()
            if options.random:
                counts.append(random_pairs(kind, means, options.until, seed))
                print(f"{kind} random {seed}: {counts[-1]}", flush=True)
                continue
            n, left, kept = asked(kind, means, options.until, options.batch, options.wrong_rate, seed)
            counts.append(n)
            lost += not kept
            seconds = time.perf_counter() - started
            print(f"{kind} {seed}: {n} answers, {left} left, best kept {kept}, {seconds:.1f} s", flush=True)
        print(
            f"{kind}: mean {np.mean(counts):.0f}, median {np.median(counts):.0f}, worst {max(counts)}, "
            f"best arm lost in {lost} of {len(counts)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
