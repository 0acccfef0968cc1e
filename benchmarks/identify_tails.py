"""How many tries ``lsdt.identify`` takes, over many problems: mean, median, 95%, worst, and runs cut off.

    python benchmarks/identify_tails.py [--runs 10000] [--first 0] [--only NAME ...] [--into FILE]

The settings are those of ``lsdt reproduce --beyond --only beyond-identify``, and two with similar pairs
alone: groups of similar arms, nothing being known between groups, and half of the similar pairs of arms with
means anywhere. With ``--into``, every run is a line of a file; runs that it has are not played again, and the
table is of all that it has, so that hours of runs can be spread over days.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
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


HEADER = "| setting | runs | mean | median | 95% | worst | cut off | errors | CPU time |\n" + 9 * "|---" + "|"


def play(name: str, runs: range, most: int, into: Path | None) -> str:
    """Play the runs of a setting; return a row of the table."""
    (make, tolerance), started = SETTINGS[name], process_time()
    problem, done = make(), _read(name, into)
    for run in runs:
        if run in done:
            continue
        draw = _draw(problem.draw(SEED, run))
        if draw.found is None:  # the relations contradict one another, which is noticed
            continue
        tries, gap, known = identified(draw.instance, draw.found, tolerance, DELTA, most, (SEED, run))
        done[run] = tries, not known, known and gap > tolerance * (1.0 + 1e-9)
        if into is not None:
            with into.open("a", newline="") as file:
                csv.writer(file).writerow([name, run, tries, int(done[run][1]), int(done[run][2])])
    tries, cut, wrong = np.array(list(done.values()), np.int64).reshape(-1, 3).T
    if not len(tries):
        return f"| {name} | 0 | | | | | | | |"
    at = np.quantile(tries, [0.5, 0.95, 1.0])
    return (
        f"| {name} | {len(tries):,} | {np.mean(tries):,.1f} | {at[0]:,.0f} | {at[1]:,.0f} | {at[2]:,.0f} "
        f"| {cut.sum()} | {wrong.sum()} | {process_time() - started:,.0f} s |"
    )


def _read(name: str, file: Path | None) -> dict[int, tuple[int, bool, bool]]:
    """Return the runs of a setting in a file: tries, whether cut off, and whether a worse arm was named."""
    if file is None or not file.exists():
        return {}
    with file.open(newline="") as lines:
        found = [row for row in csv.reader(lines) if row[0] == name]
    return {int(run): (int(tries), cut == "1", wrong == "1") for _, run, tries, cut, wrong in found}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    print(HEADER)
    for name in given.only:
        print(play(name, range(given.first, given.first + given.runs), given.most, given.into), flush=True)


if __name__ == "__main__":
    main()
