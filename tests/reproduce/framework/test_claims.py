"""The rule that decides claims, on made-up numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lsdt.reproduce.framework import claims
from lsdt.reproduce.framework.claims import CONFIRMED, REFUTED, UNDECIDED, Check, Claim, Estimate
from naive import intervals as naive


def claim_with(*outcomes):
    checks = tuple(Check("x", Estimate(0.0, 0.0, 0.0), "0", outcome) for outcome in outcomes)
    return Claim("name", "text", "Section 1", checks)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([CONFIRMED], "holds"),
        ([CONFIRMED, CONFIRMED], "holds"),
        ([REFUTED], "does not hold"),
        ([REFUTED, UNDECIDED], "does not hold"),
        ([UNDECIDED], "holds in part"),
        ([CONFIRMED, REFUTED], "holds in part"),
        ([CONFIRMED, UNDECIDED], "holds in part"),
    ],
)
def test_a_verdict_follows_from_the_checks(outcomes, verdict):
    assert claim_with(*outcomes).verdict == verdict


INSIDE, ACROSS, OUTSIDE = Estimate(1.0, 0.5, 1.5), Estimate(2.0, 1.5, 2.5), Estimate(3.0, 2.5, 3.5)
ONE_RUN = Estimate(1.0, math.nan, math.nan)


@pytest.mark.parametrize(
    "check",
    [
        lambda it: claims.below("x", it, 2.0),
        lambda it: claims.at_most("x", it, 2.0),
        lambda it: claims.between("x", it, 0.0, 2.0),
        lambda it: claims.above("x", Estimate(-it.value, -it.high, -it.low), -2.0),
        lambda it: claims.at_least("x", Estimate(-it.value, -it.high, -it.low), -2.0),
    ],
)
def test_an_interval_decides_a_check(check):
    outcomes = [check(estimate).outcome for estimate in (INSIDE, ACROSS, OUTSIDE, ONE_RUN)]
    assert outcomes == [CONFIRMED, UNDECIDED, REFUTED, UNDECIDED]


def test_a_tie_is_no_win_and_no_loss():
    same = claims.exactly(0.0)
    assert claims.below("x", same, 0.0).outcome == REFUTED
    assert claims.above("x", same, 0.0).outcome == REFUTED
    assert claims.at_most("x", same, 0.0).outcome == CONFIRMED
    assert claims.at_least("x", same, 0.0).outcome == CONFIRMED


def test_a_claim_without_a_decided_check_says_so():
    assert claim_with(UNDECIDED, UNDECIDED).undecided
    assert not claim_with(UNDECIDED, CONFIRMED).undecided
    assert claim_with(UNDECIDED).to_dict()["undecided"] is True


def test_one_counterexample_refutes_always():
    assert claims.always("it", [True] * 5).outcome == CONFIRMED
    check = claims.always("it", [True] * 4 + [False])
    assert check.outcome == REFUTED
    assert check.measured == "4 of 5"


def test_intervals_are_those_of_the_textbook():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    estimate = claims.mean_of(values)
    half = 3.182446 * values.std(ddof=1) / 2  # t quantile with 3 degrees of freedom
    assert estimate == pytest.approx((2.5, 2.5 - half, 2.5 + half), rel=1e-6)
    share = claims.share_of([True] * 3 + [False] * 7)
    assert share == pytest.approx((0.3, 0.06674, 0.65245), abs=1e-5)  # Clopper and Pearson's table
    assert claims.share_of([True] * 10)[1:] == pytest.approx((0.69150, 1.0), abs=1e-5)


def test_a_ratio_of_means_is_paired():
    rng = np.random.default_rng(0)
    base = rng.uniform(1.0, 2.0, 400)
    exact = claims.ratio_of(3.0 * base, base)
    assert exact == pytest.approx((3.0, 3.0, 3.0))
    noisy = claims.ratio_of(3.0 * base + rng.normal(0.0, 0.3, 400), base)
    assert noisy.low < 3.0 < noisy.high
    assert noisy.high - noisy.low == pytest.approx(2 * 1.966 * 0.3 / base.mean() / 20, rel=0.1)


def test_shares_are_clopper_and_pearsons():
    for count in (1, 2, 3, 10, 57, 1000):
        for yes in {0, 1, count // 3, count - 1, count}:
            share = claims.share_of_counts(yes, count)
            assert share == pytest.approx((yes / count, *naive.clopper_pearson(yes, count)), abs=1e-11)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (4.0612, "4.06"),
        (-301.2, "-301"),
        (0.0198, "0.0198"),
        (1.5e-9, "1.5e-09"),
        (330000.0, "330,000"),
        (math.nan, "none"),
        (100.0, "100"),
        (9.999, "10"),
        (0.002754, "0.00275"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert claims.number(value) == text


def test_a_claim_as_data_has_no_nan():
    check = claims.below("x", ONE_RUN, 2.0)
    data = Claim("name", "text", "Section 1", (check,)).to_dict()
    assert data["checks"][0] == {
        "what": "x",
        "estimate": 1.0,
        "low": None,
        "high": None,
        "wanted": "below 2",
        "outcome": UNDECIDED,
    }
