"""Intervals of paired differences: their formulas, their guard, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lsdt
from lsdt.ratings.statistics.intervals import DifferenceIntervals

DELTAS = (0.3, 0.05, 1e-3, 1e-5, 1e-9)


def test_student_is_the_textbook_interval_with_a_little_more_spread():
    rng = np.random.default_rng(0)
    sample = rng.uniform(-0.5, 0.7, 40)
    for delta in DELTAS:
        mean, squares = sample.mean(), ((sample - sample.mean()) ** 2).sum()
        wider = squares + (1 + abs(mean)) ** 2 * np.log(2 / delta)
        expected = stats.t(39).isf(delta / 2) * np.sqrt(wider / 39 / 40)
        found = DifferenceIntervals("student", delta).half_widths([40], [mean], [sample.var(ddof=1)])
        assert found[0] == pytest.approx(expected, rel=1e-9)
        assert found[0] > stats.t(39).isf(delta / 2) * np.sqrt(squares / 39 / 40)


def test_bernstein_is_the_published_bound():
    """Maurer and Pontil, Theorem 4, for [0, 1] and one side, applied to (1 + d) / 2 and (1 - d) / 2."""
    for n, variance, delta in ((30, 0.1, 0.05), (1000, 0.02, 1e-6)):
        log = np.log(2 / (delta / 2))
        unit = np.sqrt(2 * (variance / 4) * log / n) + 7 * log / (3 * (n - 1))
        found = DifferenceIntervals("bernstein", delta).half_widths([n], [0.3], [variance])
        assert found[0] == pytest.approx(2 * unit)


@pytest.mark.parametrize("kind", ["student", "bernstein"])
def test_raters_who_agree_do_not_make_certain(kind):
    """What n users who agree on m did not show may be true of a share log(1 / delta) / n of all users.

    With that share, all n agree with probability delta; each of them may be off by 1 + |m|.
    """
    raters = np.array([2, 5, 30, 300, 5_000, 200_000])
    for delta in (0.9, 0.5, *DELTAS):
        for mean in (0.0, 0.4, -1.0):
            unseen = (1 + abs(mean)) * np.log(1 / delta) / raters
            widths = DifferenceIntervals(kind, delta).half_widths(raters, np.full(6, mean), np.zeros(6))
            assert (widths >= unseen).all()


def test_narrower_with_more_raters_less_spread_and_less_confidence():
    for kind in ("student", "bernstein"):
        at = DifferenceIntervals(kind, 0.01).half_widths
        assert (np.diff(at(np.arange(2, 3000), np.zeros(2998), np.full(2998, 0.1))) < 0).all()
        assert (np.diff(at(np.full(50, 30), np.zeros(50), np.linspace(0, 1, 50))) > 0).all()
        assert at([30], [0.0], [0.1])[0] < DifferenceIntervals(kind, 0.001).half_widths([30], [0.0], [0.1])[0]
        assert np.isinf(at([1, 0], [0.5, 0.0], [np.nan, np.nan])).all()
    very_many = DifferenceIntervals("student", 0.01).half_widths([2**16, 2**20], [0.0, 0.0], [0.1, 0.1])
    assert very_many[1] < very_many[0] / 3.9


@pytest.mark.parametrize("kind", ["student", "bernstein"])
def test_tails_and_half_widths_are_two_views_of_one_thing(kind):
    """An interval that may fail with delta leaves at most delta / 2 beyond either end."""
    raters, mean, variance = np.array([2, 30, 500]), np.array([0.1, 0.0, -0.3]), np.array([0.3, 0.1, 0.05])
    for delta in DELTAS:
        intervals = DifferenceIntervals(kind, delta)
        widths = intervals.half_widths(raters, mean, variance)
        assert intervals.tails(raters, mean, variance, widths) == pytest.approx(
            np.full(3, delta / 2), rel=1e-6
        )
        assert (intervals.tails(raters, mean, variance, -widths) >= 0.5).all()
    assert intervals.tails(np.array([1]), mean[:1], np.array([np.nan]), np.array([0.5]))[0] == 1


def test_no_half_width_is_below_the_least_quantile():
    raters = np.unique(np.geomspace(2, 10**7, 60).astype(np.int32))
    for kind in ("student", "bernstein"):
        for delta in DELTAS:
            intervals = DifferenceIntervals(kind, delta)
            widths = intervals.half_widths(raters, np.zeros(len(raters)), np.full(len(raters), 0.1))
            assert (widths >= intervals.least_quantile * np.sqrt(0.1 / raters) * (1 - 1e-6)).all()


@pytest.mark.parametrize("share", [0.004, 0.02, 0.3])
def test_coarse_differences_are_covered_at_small_probabilities(share):
    """Differences of clicks: -1, 0 or 1, seldom other than 0. At one failure in a hundred and in a thousand.

    The number of failures may exceed its expectation by four standard deviations.
    """
    rng = np.random.default_rng(1)
    n, draws = 100, 200_000
    counts = rng.multinomial(n, [share, share / 4, 1 - 1.25 * share], draws)
    mean, truth = (counts[:, 0] - counts[:, 1]) / n, 0.75 * share
    variance = ((counts[:, 0] + counts[:, 1]) / n - mean**2) * n / (n - 1)
    for delta in (0.01, 0.001):
        widths = DifferenceIntervals("student", delta).half_widths(np.full(draws, n), mean, variance)
        failed = (np.abs(mean - truth) > widths).sum()
        assert failed <= draws * delta + 4 * np.sqrt(draws * delta)


def test_an_unknown_kind_is_named():
    with pytest.raises(
        lsdt.errors.InvalidInput, match="'student', 'bernstein'; got 'studnt'.*did you mean 'student'"
    ):
        DifferenceIntervals("studnt", 0.1)
