"""The parts about judges and comparisons: simulated judges, rivals, and what the claims say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.beyond.pairs import comparison_level, judge_calibration, judge_contest
from lsdt.reproduce.beyond.pairs.noisy_judges import NoisyJudge, halving, win_counts

MEANS = np.array([0.5, 0.55, 0.7, 0.9])


def _said(judge, a, b, times=2_000):
    words = [judge(a, b) for _ in range(times)]
    return {word: words.count(word) / times for word in set(words)}


def test_a_judge_errs_as_described():
    """Nine of ten answers are right, the two other words 5% each; 4 standard errors are .027."""
    judge = NoisyJudge(MEANS, np.random.default_rng(0))
    assert _said(judge, 0, 1)["equal"] == pytest.approx(0.9, abs=0.027)
    assert _said(judge, 3, 0)["better"] == pytest.approx(0.9, abs=0.027)
    assert _said(judge, 0, 3)["better"] == pytest.approx(0.05, abs=0.02)
    biased = NoisyJudge(MEANS, np.random.default_rng(0), bias=0.1)
    assert _said(biased, 0, 1)["equal"] == pytest.approx(0.9, abs=0.027)
    assert _said(biased, 1, 0)["better"] == pytest.approx(0.9, abs=0.027)
    repeating = NoisyJudge(MEANS, np.random.default_rng(0), kind="repeats")
    assert len(_said(repeating, 0, 1)) == 1
    odds = NoisyJudge(MEANS, np.random.default_rng(0), kind="odds")
    assert _said(odds, 2, 0)["better"] == pytest.approx(1.0 / (1.0 + np.exp(-2.4)), abs=0.03)
    grudging = NoisyJudge(MEANS, np.random.default_rng(0), kind="grudges")
    assert grudging._grudges == pytest.approx(-grudging._grudges.T)


def test_rivals():
    rng = np.random.default_rng(1)
    assert halving(np.array([0.0, 1.0, 0.0]), np.arange(3), 60, rng) == 1
    assert halving(MEANS, np.array([2]), 10, rng) == 2
    order = win_counts(lambda a, b: "better" if a > b else "worse", 6, 60, rng)
    assert order.tolist() == [5, 4, 3, 2, 1, 0]


def test_claims_of_the_contest():
    rows = [
        {"judge": judge, "way": way, "run": run, "gap": gap, "near": gap <= 0.03}
        | {"calls": 600, "left": 3, "kept": run > 2, "collapsed": run == 7 and judge == "repeats itself"}
        for judge in judge_contest.JUDGES
        for way, gap in (
            (judge_contest.OURS, 0.01),
            (judge_contest.COUNTS, 0.02),
            (judge_contest.ALONE, 0.04),
        )
        for run in range(100)
    ]
    independent, biased, ahead, kept = judge_contest._claims({"runs": pd.DataFrame(rows)})
    assert {check.outcome for check in independent.checks} == {"confirmed"}
    assert [check.outcome for check in biased.checks] == ["confirmed"] * 3 + ["refuted"]  # one collapse
    assert {check.outcome for check in ahead.checks} == {"confirmed"}
    assert {check.outcome for check in kept.checks} == {"confirmed"}  # 3 of 100 lost


def test_claims_of_calibration_and_level():
    rows = [
        {
            "world": world,
            "risk": risk,
            "run": run,
            "calls": 60,
            "stated": 1.0 - risk,
            "kept": run % 10 > lost,
            "behind": 0.0,
            "left": 3,
        }
        for risk, lost in ((0.1, 0), (0.05, 1))
        for world in judge_calibration.WORLDS
        for run in range(100)
    ]
    tables = {"runs": pd.DataFrame(rows)}
    calibrated, risk = judge_calibration._claims(tables)
    assert {check.outcome for check in calibrated.checks} == {"confirmed"}
    n_worlds = len(judge_calibration.WORLDS)
    assert [check.outcome for check in risk.checks] == ["undecided"] * n_worlds + ["refuted"] * n_worlds
    assert judge_calibration._table(tables)["judge and arms"].nunique() == 2 * n_worlds + 2
    rows = [
        {"world": world, "each": 10, "run": run, "wrong": run < 6, "lost": run < 5, "left": 3, "ordered": 0.5}
        for world in comparison_level.WORLDS
        for run in range(100)
    ]
    level, kept = comparison_level._claims({"runs": pd.DataFrame(rows)})
    assert {check.outcome for check in level.checks} == {"refuted"}
    assert {check.outcome for check in kept.checks} == {"confirmed"}
    assert len(level.checks) == len(comparison_level.WORLDS) - 1
