"""How good items are: the fit beside least squares, its errors, and chances to be the best."""

from __future__ import annotations

import numpy as np
import pytest

from lsdt.ratings import ItemStatistics, RatingLog, item_statistics, make_log, read_log
from lsdt.ratings.statistics.items import kindness_of

nan = float("nan")


def random_log(seed, n_users=60, n_items=7):
    rng = np.random.default_rng(seed)
    values = rng.random(n_items) * 0.5 + 0.3 * rng.random((n_users, 1)) + 0.2 * rng.random((n_users, n_items))
    values[rng.random(values.shape) < 0.4] = nan
    return RatingLog.from_matrix(values, scale=(0, 1))


def test_the_fit_is_least_squares():
    log = random_log(0)
    users = np.repeat(np.arange(log.n_users), np.diff(log.starts))
    design = np.zeros((log.n_ratings, log.n_items + log.n_users))
    design[np.arange(log.n_ratings), log.items] = 1
    design[np.arange(log.n_ratings), log.n_items + users] = 1
    solution = np.linalg.lstsq(design, log.ratings, rcond=None)[0][: log.n_items]
    found = item_statistics(log)
    assert found.effects - found.effects.mean() == pytest.approx(solution - solution.mean(), abs=1e-4)
    assert found.ratings.tolist() == log.counts().tolist()
    assert found.means == pytest.approx(log.means())
    rest = log.ratings - found.effects[log.items] - kindness_of(log, found.effects)[users]
    assert np.bincount(users, rest, log.n_users) == pytest.approx(np.zeros(log.n_users), abs=1e-9)


def test_errors_are_as_large_as_differences_of_effects_vary():
    """Effects of 200 logs of one truth: the spread of their differences is their error, within 15%.

    A standard deviation of 200 values has a relative error of 5%, so that is three of them.
    """
    found = [item_statistics(random_log_of(np.linspace(0.3, 0.7, 8), seed)) for seed in range(200)]
    effects, errors = np.array([one.effects for one in found]), np.array([one.errors for one in found])
    apart = np.std(effects[:, 1:] - effects[:, :-1], axis=0, ddof=1)
    assert apart == pytest.approx(np.hypot(errors[:, 1:], errors[:, :-1]).mean(axis=0), rel=0.15)


def random_log_of(quality, seed, n_users=150):
    rng = np.random.default_rng(seed)
    values = quality + rng.normal(0, 0.1, (n_users, 1)) + rng.normal(0, 0.1, (n_users, len(quality)))
    values[rng.random(values.shape) < 0.3] = nan
    return RatingLog.from_matrix(values, scale=(-1, 2))


def test_kind_raters_do_not_make_an_item_good():
    rng = np.random.default_rng(1)
    kind = np.array([[0.7, 0.8, nan]]) + 0.02 * rng.normal(size=(50, 3))
    harsh = np.array([[nan, 0.3, 0.4]]) + 0.02 * rng.normal(size=(50, 3))
    log = RatingLog.from_matrix(np.concatenate((kind, harsh)), scale=(0, 1))
    found = item_statistics(log)
    assert found.means.argmax() == 0
    assert found.effects.argmax() == 2
    assert found.effects - found.effects[1] == pytest.approx([-0.1, 0, 0.1], abs=0.02)


def test_items_of_which_nothing_is_known():
    log = RatingLog.from_matrix(
        [[0.5, 0.6, nan, nan], [0.4, 0.6, nan, nan], [nan, nan, 0.9, nan]], scale=(0, 1)
    )
    found = item_statistics(log)
    assert found.ratings.tolist() == [2, 2, 1, 0]
    assert np.isnan(found.means[3])
    assert (found.errors[2:] == 1).all()
    assert (found.errors[:2] < 0.2).all()
    assert np.isfinite(found.effects).all()
    assert found.best_chances(0).sum() == pytest.approx(1)


def test_chances_to_be_the_best():
    """Two items a known distance apart: the chance of the better one is that of one normal number."""
    from scipy.stats import norm

    effects, errors = np.array([0.5, 0.6, 0.1, 0.2]), np.array([0.1, 0.05, 0.01, 0.01])
    apart = ItemStatistics(np.full(4, 9), np.zeros(4), effects, errors, np.zeros(4), np.full(4, 9.0), 0.0)
    chances = apart.best_chances(0)
    assert chances[1] == pytest.approx(norm.cdf(0.1 / np.hypot(0.1, 0.05)), abs=4 * 0.5 / 100)
    assert chances[2:].tolist() == [0, 0]
    assert chances.sum() == 1
    assert np.array_equal(chances, apart.best_chances(0))
    assert not np.array_equal(chances, apart.best_chances(1))


def test_the_best_item_of_a_large_log_is_likely_the_best():
    log, means = make_log(n_users=5000, n_items=15, ratings_per_user=10)
    assert item_statistics(read_log(log)).best_chances(0)[means.idxmax()] > 0.9
