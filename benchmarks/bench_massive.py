"""Massive action spaces: from pairs to the first decision and on, with time and memory by stage."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import lsdt
from lsdt.candidates.options import Options
from lsdt.candidates.propagation.method import find_propagation
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from timing import Row, peak_mib, timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EPSILON = 0.1
BERNOULLI = 1


class Step(NamedTuple):
    """One step on the way: what it is called, how long it took, how much memory the process had at most."""

    name: str
    seconds: float
    peak: float

    def __str__(self) -> str:
        return f"{self.name} {self.seconds:.2g} s, {self.peak / 1024:.1f} GiB"


def _step(name: str, work: Callable[[], Any], steps: list[Step]) -> Any:
    kept: list[Any] = []
    started = perf_counter()
    peak = peak_mib(lambda: kept.append(work()), whole_process=True)
    steps.append(Step(name, perf_counter() - started, peak))
    return kept[0]


def _play(ready: Any, means: np.ndarray, rounds: int) -> None:
    setting = Setting(ready.arms, means, means.max() - means, BERNOULLI, 1.0, 0.0)
    plays = np.zeros(len(means), np.int64)
    totals = RunTotals(
        new_stream(2), np.zeros(2, np.int64), np.zeros(2), np.array([rounds]), *np.zeros((2, 1)), plays
    )
    ready.player.play(setting, totals, rounds)


def _from_pairs(
    problem: Any, means: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], rounds: int
) -> list[Step]:
    """Go all the way once and return the steps."""
    steps: list[Step] = []
    side = _step(
        "side information",
        lambda: lsdt.SideInformation(len(means), *pairs, epsilon=problem.epsilon),
        steps,
    )
    outcome = _step("candidates", lambda: find_propagation(side, Options()), steps)
    steps[-1:] = [Step(stage.name, stage.seconds, steps[-1].peak) for stage in outcome.stages]
    found = lsdt.candidates.CandidateSet("propagation", outcome, 0.0)
    ready = _step(
        f"bounds among {len(found):,} candidates",
        lambda: lsdt.Policy("lsdt_closure").begin(
            side, RewardModel("bernoulli", 0.5), None, new_stream(1), found
        ),
        steps,
    )
    _step("first decision", lambda: _play(ready, means, 1), steps)
    _step(f"{rounds:,} rounds", lambda: _play(ready, means, rounds), steps)
    return steps


def _row(n_arms: int, relations: float, rounds: int, most_seconds: float, most_gib: float) -> Row:
    small = lsdt.problems.sparse(5_000, 60)
    means = np.random.default_rng(0).uniform(0.1, 1.0, 5_000)
    _from_pairs(small, means, small.pairs(means, 1), 10)  # compiles
    problem = lsdt.problems.sparse(n_arms, relations, locality=1.0, epsilon=EPSILON)
    means = np.random.default_rng(0).uniform(0.1, 1.0, n_arms)
    pairs = problem.pairs(means, 1)
    sorting = timed(lambda: [np.unique(each[:, 0].astype(np.int64) * n_arms + each[:, 1]) for each in pairs])
    steps = _from_pairs(problem, means, pairs, rounds)
    seconds = sum(step.seconds for step in steps[:-1])
    peak = max(step.peak for step in steps)
    return Row(
        f"{n_arms:,} arms, {relations:g} near relations each, from pairs to a first decision: "
        + "; ".join(map(str, steps)),
        seconds,
        "numpy.unique of the pairs",
        sorting,
        f"{seconds:.2g} s, {peak / 1024:.1f} GiB",
        f"<= {most_seconds:g} s, <= {most_gib:g} GiB",
        seconds <= most_seconds and peak <= most_gib * 1024,
        peak,
    )


def ten_thousand() -> Row:
    return _row(10**4, 50, 10**4, 0.3, 1)


def hundred_thousand() -> Row:
    return _row(10**5, 100, 10**4, 5, 1)


def million() -> Row:
    return _row(10**6, 200, 10**4, 90, 6)


WORKS = [ten_thousand, hundred_thousand, million]
