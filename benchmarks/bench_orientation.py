"""Orientation: arms left and seconds of the triangle rule, of the stages arm by arm, and of orientation.

All three start from stored side information, in one run; the ratio is that of the stages after the triangle
rule, arm by arm over oriented. Then rounds of the closure policy among the candidates.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

import lsdt
from lsdt.candidates.options import Options
from lsdt.candidates.propagation import method
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from timing import Row, peak_mib

if TYPE_CHECKING:
    from lsdt.candidates.outcome import Outcome

MANY = 50_000  # arms, which are swept all at once
EPSILON = 0.1


def _sparse(n_arms: int, relations: float, locality: float) -> lsdt.SideInformation:
    problem = lsdt.problems.sparse(n_arms, relations, locality=locality, epsilon=EPSILON)
    means = np.random.default_rng(0).uniform(0.1, 1.0, n_arms)
    return lsdt.SideInformation(n_arms, *problem.pairs(means, 1), epsilon=EPSILON)


def _dense(n_arms: int, share: float) -> lsdt.SideInformation:
    means = np.random.default_rng(0).uniform(0.1, 1.0, n_arms)
    return lsdt.from_means(means, EPSILON).reveal(share, share).explicit()


def _run(side: lsdt.SideInformation, oriented: bool) -> tuple[Outcome, float]:
    """Return the answer and the seconds of all stages after the triangle rule."""
    fewest = method._WORTH_ORIENTING if oriented else side.n_arms + 1
    many = method._MANY_ARMS if oriented else side.n_arms + 1
    with patch.object(method, "_WORTH_ORIENTING", fewest), patch.object(method, "_MANY_ARMS", many):
        started = perf_counter()
        found = method.find_propagation(side, Options())
        seconds = perf_counter() - started
    return found, seconds - sum(stage.seconds for stage in found.stages if stage.name == "triangles")


def _row(named: str, side: lsdt.SideInformation, most_seconds: float, arm_by_arm: bool = True) -> Row:
    for oriented in (True, False):
        _run(_dense(60, 0.3), oriented)  # compiles
    if side.n_arms >= MANY:
        _run(_sparse(MANY, 80.0, 1.0), True)  # so does this, what is for very many arms alone
    kept = []
    peak = peak_mib(lambda: kept.append(_run(side, True)), whole_process=side.n_arms >= 10**6)
    found, seconds = kept[0]
    by_triangles = [stage for stage in found.stages if stage.name == "triangles"]
    words = "without triangles"
    if by_triangles:
        words = f"triangles {by_triangles[0].examined - by_triangles[0].excluded:,}"
        words += f" in {by_triangles[0].seconds:.3g} s"
    other = None
    if arm_by_arm:
        today, other = _run(side, False)
        words += f", arm by arm {len(today.arms):,}"
    proven = ", each proven by means" if found.is_exact else ""
    ratio = "" if other is None else f", {other / seconds:.2g} x"
    return Row(
        f"orientation, {named}: {words}, oriented {len(found.arms):,}{proven}",
        seconds,
        "stages arm by arm",
        other,
        f"{seconds:.3g} s{ratio}",
        f"<= {most_seconds:g} s",
        seconds <= most_seconds,
        peak,
    )


def ten_thousand() -> Row:
    return _row("10^4 arms, 30 near relations each", _sparse(10**4, 30, 1.0), 1.0)


def ten_thousand_more() -> Row:
    return _row("10^4 arms, 50 near relations each", _sparse(10**4, 50, 1.0), 0.3)


def hundred_thousand_few() -> Row:
    return _row("10^5 arms, 60 near relations each", _sparse(10**5, 60, 1.0), 10.0)


def hundred_thousand() -> Row:
    return _row("10^5 arms, 100 near relations each", _sparse(10**5, 100, 1.0), 3.0)


def hundred_thousand_any() -> Row:
    return _row("10^5 arms, 200 relations each, any", _sparse(10**5, 200, 0.0), 5.0)


def million() -> Row:
    return _row("10^6 arms, 200 near relations each", _sparse(10**6, 200, 1.0), 60.0, arm_by_arm=False)


def _closure_rounds(family: str, sigma: float, law: int) -> Row:
    """Time rounds of the closure policy among the candidates of very many arms, and their bounds."""
    side, rounds = _sparse(10**5, 100, 1.0), 10_000
    found = lsdt.candidate_set(side)
    lsdt.candidate_set(_dense(60, 0.5)).mutual_bounds  # noqa: B018 (compiles)
    started = perf_counter()
    found.mutual_bounds  # noqa: B018
    offline = perf_counter() - started
    means, n_arms = np.random.default_rng(0).uniform(0.1, 1.0, 10**5), len(found.arms)
    model = RewardModel(family, sigma)
    ready = lsdt.Policy("lsdt_closure").begin(side, model, rounds, new_stream(1), found)
    setting = Setting(ready.arms, means, means.max() - means, law, 1.0, 0.0)
    plays = np.zeros(10**5, np.int64)
    ends = np.array([rounds])
    totals = RunTotals(new_stream(2), np.zeros(2, np.int64), np.zeros(2), ends, *np.zeros((2, 1)), plays)
    ready.player.play(setting, totals, 1)
    started = perf_counter()
    ready.player.play(setting, totals, rounds)
    seconds = (perf_counter() - started) / (rounds - 1)
    return Row(
        f"lsdt_closure, {family} rewards, a round of {rounds:,} among {n_arms:,} candidates of 10^5 arms; "
        f"bounds on their gaps took {offline:.2g} s",
        seconds,
        "",
        None,
        f"{1e6 * seconds:.0f} us",
        "<= 100 us",
        seconds <= 1e-4,
    )


def closure_rounds() -> Row:
    return _closure_rounds("bernoulli", 0.5, 1)


def closure_rounds_gaussian() -> Row:
    return _closure_rounds("gaussian", 1.0, 0)


def thousand() -> Row:
    return _row("1,000 arms, p = .05", _dense(1_000, 0.05), 0.05)


def hundred() -> Row:
    return _row("100 arms, p = .5", _dense(100, 0.5), 0.005)


WORKS = [
    hundred,
    thousand,
    ten_thousand,
    ten_thousand_more,
    hundred_thousand_few,
    hundred_thousand,
    hundred_thousand_any,
    closure_rounds,
    closure_rounds_gaussian,
    million,
]
