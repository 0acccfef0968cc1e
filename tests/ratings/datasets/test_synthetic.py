"""Logs with a known truth: the truth, the shape, and what is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.ratings import make_log, read_log


def test_the_truth_is_the_mean_over_all_users():
    """Means of some ten thousand ratings, missing at random, are within 4 standard errors of the truth."""
    for levels in ((1, 2, 3, 4, 5), (0, 1), (0.0, 0.1, 3.0)):
        log, means = make_log(40_000, 6, 3, levels)
        found = log.groupby("item")["rating"].agg(["mean", "std", "count"])
        assert (found["count"] > 10_000).all()
        error = found["std"] / np.sqrt(found["count"])
        assert ((found["mean"] - means).abs() < 4 * error).all()
        assert set(log["rating"].unique()) <= set(map(float, levels))


def test_sizes_are_about_those_asked_for():
    log, means = make_log(4000, 50, 12, skew=1.0)
    assert log["user"].between(0, 3999).all()
    assert not log.duplicated(["user", "item"]).any()
    assert len(log) / 4000 == pytest.approx(12, rel=0.03)
    popular = np.sort(log["item"].value_counts().to_numpy())[::-1]
    assert popular[0] / popular[9] > 2
    assert means.between(1, 5).all()
    assert len(make_log(4000, 50, 45).log) / 4000 == pytest.approx(45, rel=0.03)
    even = np.sort(make_log(4000, 50, 12, skew=0.0).log["item"].value_counts().to_numpy())
    assert even[-1] < 1.3 * even[0]


def test_what_is_liked_is_rated_more_often_when_asked():
    means = {}
    for liking in (0.0, 0.7):
        log, truth = make_log(3000, 20, 6, liking=liking, seed=2)
        means[liking] = (log.groupby("item")["rating"].mean() - truth).mean()
    assert abs(means[0.0]) < 0.05
    assert means[0.7] > 0.3


def test_the_same_seed_gives_the_same_log_in_memory_and_in_a_file(tmp_path):
    """Of so many items that the users come in two parts."""
    log, means = make_log(3_000, 1_500, 8, seed=4)
    again, means_again = make_log(3_000, 1_500, 8, path=tmp_path / "log.parquet", seed=4)
    pd.testing.assert_frame_equal(log, pd.read_parquet(again))
    pd.testing.assert_series_equal(means, means_again)
    assert read_log(again).n_ratings == len(log)
    other = make_log(3_000, 1_500, 8, seed=5).log
    assert not log.equals(other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_users": 0}, "n_users must be a whole number of at least 1; got 0"),
        ({"n_items": 2.5}, "n_items must be a whole number of at least 1; got 2.5"),
        ({"ratings_per_user": 50}, "ratings_per_user must be a number above 0 .* at most 36; got 50"),
        ({"levels": (1,)}, r"levels must be two or more numbers, ascending; got \(1,\)"),
        ({"levels": (2, 1)}, "levels must be two or more numbers, ascending"),
        ({"levels": ("a", "b")}, "a level must be a finite number"),
        ({"skew": -1}, r"skew must be a number from 0 to 1e\+100; got -1"),
        ({"skew": "steep"}, r"skew must be a number from 0 to 1e\+100; got 'steep'"),
        ({"liking": 9}, "liking must be a number from -3 to 3; got 9"),
        ({"seed": -1}, "seed must be a non-negative integer"),
        ({"path": "log.csv"}, "path must end in .parquet, which is what is written; got 'log.csv'"),
    ],
)
def test_a_bad_parameter_is_named(wrong, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        make_log(**wrong)
