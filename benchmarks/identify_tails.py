"""How many tries ``lsdt.identify`` takes, over many problems: mean, median, 95%, worst, and runs cut off.

    python benchmarks/identify_tails.py [--runs 10000] [--first 0] [--only NAME ...] [--most 1000000]

The settings are those of ``lsdt reproduce --beyond --only beyond-identify``, and two with similar pairs
alone: groups of similar arms, nothing being known between groups, and half of the similar pairs of arms with
means anywhere. All of 10,000 runs take some hours of one core.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import lsdt
from lsdt.problems.problems import Instance
from lsdt.reproduce.beyond.identification.arenas import ARENAS
from lsdt.reproduce.beyond.identification.contest import _draw, identified

SEED, DELTA, EPSILON = 90, 0.05, 0.1


class Groups:
    """Groups of arms that are similar to one another; what lies between groups is unknown."""

    def __init__(self, n_groups: int, size: int) -> None:
        self.n_groups, self.size = n_groups, size
        first = np.arange(n_groups * size).reshape(n_groups, size)
        one, two = np.triu_indices(size, 1)
        self.similar = np.column_stack([first[:, one].ravel(), first[:, two].ravel()])

    def draw(self, seed: int, run: int) -> Instance:
        """Return the problem of one run."""
        rng = np.random.default_rng([seed, run])
        centres = np.repeat(rng.uniform(0.2, 0.8, self.n_groups), self.size)
        means = centres + rng.uniform(-EPSILON / 2, EPSILON / 2, len(centres))
        side = lsdt.SideInformation(len(means), similar=self.similar, epsilon=EPSILON)
        return Instance(means, side, lsdt.rewards.bernoulli())


SETTINGS = {name: (arena.problem, arena.tolerance) for name, arena in ARENAS.items()} | {
    "groups": (lambda: Groups(10, 10), EPSILON),
    "similar": (lambda: lsdt.problems.uniform(40, 0.1, 0.9, EPSILON, "bernoulli", 0.5, 0.0), EPSILON),
}


def play(name: str, first: int, runs: int, most: int) -> str:
    """Play the runs of a setting; return a row of the table."""
    (make, tolerance), started = SETTINGS[name], process_time()
    problem, tries, errors = make(), [], 0
    for run in range(first, first + runs):
        draw = _draw(problem.draw(SEED, run))
        if draw.found is not None:  # else the relations contradict one another, which is noticed
            taken, gap = identified(draw, tolerance, DELTA, most, (SEED, run))
            tries.append(taken)
            errors += taken < most and gap > tolerance * (1.0 + 1e-9)
    at = np.quantile(tries, [0.5, 0.95, 1.0])
    cut = int(np.sum(np.array(tries) >= most))
    return (
        f"| {name} | {len(tries):,} | {np.mean(tries):,.1f} | {at[0]:,.0f} | {at[1]:,.0f} | {at[2]:,.0f} "
        f"| {cut} | {errors} | {process_time() - started:,.0f} s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    given = parser.parse_args()
    print(
        "| setting | runs | mean | median | 95% | worst | cut off | errors | CPU time |\n" + 9 * "|---" + "|"
    )
    for name in given.only:
        print(play(name, given.first, given.runs, given.most), flush=True)


if __name__ == "__main__":
    main()
