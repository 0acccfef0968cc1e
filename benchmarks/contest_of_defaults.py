"""What policies lose in the settings that decide which of them is the default: means and tails.

    python benchmarks/contest_of_defaults.py --seed 1 --runs 200
    python benchmarks/contest_of_defaults.py --seed 1 --runs 50 --rounds 10000 complete half
    python benchmarks/contest_of_defaults.py --seed 1 --policies lsdt_posterior:lift=0 lsdt_closure

One row for each setting and policy: mean regret with its 95% interval, the regret that 95% and 99% of
the runs do not exceed, the mean of the worst hundredth, and the worst run. All policies meet the same
problems and the same noise. `lsdt_closure:sigma=2` is a policy that is told a wrong sigma.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import lsdt
from lsdt.problems import Instance, checked_rewards
from lsdt.reproduce import Request
from lsdt.reproduce.beyond.contests.contest import contest_setting
from lsdt.reproduce.beyond.contests.shapes import SHAPES, contest_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.problems import Problem

POLICIES = ("lsdt_posterior", "lsdt_closure", "soft_closure")


@dataclass(frozen=True)
class Ranges:
    """Arms, and ranges for a tenth of the pairs: their difference, blurred, and how far off that may be."""

    n_arms: int = 40
    share: float = 0.1
    error: float = 0.1
    rewards: str = "bernoulli"

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        rng = np.random.default_rng([seed, replication, 7])
        means = rng.uniform(0.1, 0.9, self.n_arms)
        first, second = np.triu_indices(self.n_arms, 1)
        known = np.flatnonzero(rng.random(len(first)) < self.share)
        ranges = []
        for pair in known:
            a, b = int(first[pair]), int(second[pair])
            middle = means[a] - means[b] + rng.uniform(-self.error, self.error)
            ranges.append((a, b, middle - self.error, middle + self.error))
        side = lsdt.SideInformation(self.n_arms, ranges=ranges)
        return Instance(means, side, checked_rewards(self.rewards))

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {"kind": "ranges", **vars(self)}


@dataclass(frozen=True)
class Cliques:
    """Ten cliques of ten equal arms with means 1.0, .9, ... .1, and one at 1.3; dissimilar pairs or not."""

    epsilon: float = 0.001
    complete: bool = False
    n_arms: int = 101
    rewards: str = "gaussian"

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication: its arms in a random order."""
        rng = np.random.default_rng([seed, replication, 8])
        place = rng.permutation(101)
        means = np.empty(101)
        means[place] = np.concatenate([np.repeat(np.arange(10, 0, -1) / 10.0, 10), [1.3]])
        similar = [
            (int(place[10 * clique + i]), int(place[10 * clique + j]))
            for clique in range(10)
            for i in range(10)
            for j in range(i)
        ]
        side = lsdt.SideInformation(101, similar=similar, epsilon=self.epsilon)
        if self.complete:
            side = lsdt.complete(101, similar, epsilon=self.epsilon)
        return Instance(means, side, checked_rewards(self.rewards))

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {"kind": "cliques", **vars(self)}


def _contest(**setting: Any) -> Problem:
    return contest_problem(contest_setting(Request(), **setting))


SETTINGS: dict[str, Callable[[], Problem]] = {
    "complete": partial(_contest, revealed=1.0, rewards="gaussian", connected=True),
    "half": partial(_contest, revealed=0.5, rewards="bernoulli"),
    "fifth": partial(_contest, revealed=0.2, rewards="bernoulli"),
    "disconnected": partial(_contest, revealed=1.0, rewards="gaussian", epsilon=0.03),
    **{shape: partial(_contest, revealed=0.5, rewards="bernoulli", shape=shape) for shape in SHAPES},
    "half-gaussian": partial(_contest, revealed=0.5, rewards="gaussian"),
    "ranges": Ranges,
    "cliques": Cliques,
    "complete-cliques": partial(Cliques, complete=True),
}
ROUNDS = {"cliques": 2_000, "complete-cliques": 2_000}


def row_of(name: str, policy: str, regret: Any) -> dict[str, Any]:
    """Return what is said of one policy in one setting."""
    n, worst = len(regret), np.sort(regret)[-max(len(regret) // 100, 1) :]
    return {
        "setting": name,
        "policy": policy,
        "mean": regret.mean(),
        "+-": 1.96 * regret.std(ddof=1) / np.sqrt(n),
        "95%": np.quantile(regret, 0.95),
        "99%": np.quantile(regret, 0.99),
        "worst hundredth": worst.mean(),
        "worst": regret.max(),
    }


def main() -> None:
    """Play the settings that are named, and print a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", default=[], help=f"of {', '.join(SETTINGS)}; all by default")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", help="a CSV file that rows are added to")
    request = parser.parse_args()
    for name in request.settings or SETTINGS:
        if name not in SETTINGS:
            parser.error(f"there is no setting {name!r}; there are {', '.join(SETTINGS)}")
        rounds = max(request.rounds, ROUNDS.get(name, 0))
        result = lsdt.simulate(
            SETTINGS[name](),
            list(request.policies),
            rounds,
            request.runs,
            request.seed,
            request.jobs,
            plays=False,
            checkpoints=[rounds],
            progress=False,
        )
        for label in result.policies:
            row = row_of(name, label, np.asarray(result.regret(label))[:, -1])
            start, per_round = result.seconds(label)
            row["start, ms"] = 1e3 * float(np.median(start))
            row["us a round"] = 1e6 * float(np.median(per_round)) / rounds
            print(
                f"{name:14} {label:30} {row['mean']:7.1f} +- {row['+-']:5.1f}  "
                f"({row['95%']:.0f}, {row['99%']:.0f}, {row['worst hundredth']:.0f}, {row['worst']:.0f})  "
                f"{row['start, ms']:.1f} ms, {row['us a round']:.1f} us",
                flush=True,
            )
            if request.out:
                with open(request.out, "a", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, ["seed", "rounds", "runs", *row])
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow({"seed": request.seed, "rounds": rounds, "runs": request.runs, **row})


if __name__ == "__main__":
    sys.exit(main())
