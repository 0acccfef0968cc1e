"""Ratings missing at random, or not: what the check sees, and what it says."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lsdt.ratings import Missingness, RatingLog, check_missingness, make_log, read_log
from lsdt.ratings.statistics.missingness import _shifts
from naive.ratings import moved

nan = float("nan")


def taste_log(seed, strength, n_users=3000, n_items=10):
    """Two tastes: users of either like one half of the items better and, by `strength`, rate more of them.

    Items differ in how much taste matters, so that what a pair's co-raters like less does not cancel out.
    """
    rng = np.random.default_rng(seed)
    taste = rng.choice([-1.0, 1.0], (n_users, 1)) * np.where(np.arange(n_items) % 2, 1, -1)
    values = 0.5 + np.linspace(0, 0.4, n_items) * taste + 0.1 * rng.normal(size=(n_users, n_items))
    values[rng.random(values.shape) > 0.5 + strength * taste] = nan
    return RatingLog.from_matrix(np.clip(values, 0, 1), scale=(0, 1))


def test_what_is_missing_at_random_is_not_said_to_be_otherwise():
    excesses = [check_missingness(taste_log(seed, 0.0)).excess for seed in range(5)]
    assert np.mean(excesses) < 1.3
    found = check_missingness(read_log(make_log(n_users=3000).log))
    assert not found.matters(0.05)
    assert "shows little" in found.note(0.05)


def test_who_rates_both_may_like_them_otherwise():
    found = check_missingness(taste_log(0, 0.3))
    assert found.pairs == 45
    assert found.excess > 5
    assert found.matters(0.1)
    note = found.note(0.1)
    assert "missing not at random" in note
    assert f"{found.shift:.3f} of the scale" in note
    assert not found.matters(10 * found.shift)


def test_shifts_are_the_naive_ones():
    log = taste_log(4, 0.2, n_users=300, n_items=6)
    kindness = np.random.default_rng(0).normal(size=300)
    rows = (log.matrix() - kindness[:, None]).tolist()
    chosen = np.array([0, 2, 3, 5])
    expected = []
    for a, b in combinations(chosen.tolist(), 2):
        one, other = moved(rows, a, b), moved(rows, b, a)
        if one is not None and other is not None:
            expected.append((one[0] - other[0], np.sqrt(one[1] + other[1])))
    found = _shifts(log, kindness, chosen)
    assert len(expected) >= 3
    assert np.column_stack(found) == pytest.approx(np.array(expected))


def test_who_rates_more_and_what_is_rated_more():
    rng = np.random.default_rng(3)
    eager = rng.random((2000, 1))
    values = 0.3 * eager + np.linspace(0.1, 0.5, 8) + 0.05 * rng.normal(size=(2000, 8))
    values[rng.random(values.shape) > 0.2 + 0.3 * eager + np.linspace(0, 0.4, 8)] = nan
    found = check_missingness(RatingLog.from_matrix(values, scale=(-1, 2)))
    assert found.activity > 0.3
    assert found.popularity > 0.8
    assert "rate more kindly" in found.note(0.1)
    assert "are rated higher" in found.note(0.1)


def test_a_log_too_small_to_check():
    found = check_missingness(RatingLog.from_matrix([[0.1, 0.4], [0.5, 0.2]], scale=(0, 1)))
    assert (found.pairs, found.shift, found.activity) == (0, 0, 0)
    assert "Too few ratings to check" in found.note(0.1)
    assert not found.matters(0.001)


def test_a_sample_of_many_items_is_drawn_by_seed():
    log = read_log(make_log(n_users=1500, n_items=200, ratings_per_user=40).log)
    first, again, other = (check_missingness(log, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert 100 < first.pairs <= 40 * 39 / 2


def test_words_for_correlations():
    note = Missingness(9, 0.01, 2.0, -0.3, 0.0).note(0.1)
    assert "rate more harshly (correlation -0.30)" in note
    assert "much the same (0.00)" in note
