"""Beaten items: which rows are kept, the bootstrap, very many items."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.naive import betting as naive

import lsdt
from lsdt.errors import InvalidInput, NoRelations, Unsupported
from lsdt.ratings import RatingLog, RatingWarning, item_statistics, pair_statistics
from lsdt.ratings.rules.beaten_items import beaten_by_bets, beaten_by_bootstrap
from lsdt.ratings.rules.hubs import MANY_ITEMS
from lsdt.ratings.statistics.best_bootstrap import margins


def table_of(means, n_users, seed=0):
    return np.clip(np.random.default_rng(seed).normal(means, 0.2, (n_users, len(means))), 0.0, 1.0)


def test_the_rows_that_are_kept_beat_their_items_and_the_strongest_come_first():
    log = RatingLog.from_matrix(table_of(np.linspace(0.4, 0.6, 12), 150), scale=(0.0, 1.0))
    source = beaten_by_bets(log, item_statistics(log), 0.05).source
    assert source.needed == 11 / 0.05
    for item in np.unique(source.arms):
        mine = source.evidence[source.arms == item]
        assert (np.diff(mine) <= 0.0).all()
        assert np.exp(mine).sum() >= source.needed
    assert (np.diff(source.arms) >= 0).all()


def test_bootstrap_margins_of_few_raters_are_those_of_students_test():
    table = table_of([0.4, 0.5, 0.6], 60)
    log = RatingLog.from_matrix(table, scale=(0.0, 1.0))
    listed = pair_statistics(log, 2)
    first, second = margins(log, listed, 0.05, seed=0)
    for at, (a, b) in enumerate(zip(listed.first, listed.second, strict=True)):
        np.testing.assert_allclose(first[at], naive.best_margin(table, a, b, 0.05 / 2))
        np.testing.assert_allclose(second[at], naive.best_margin(table, b, a, 0.05 / 2))


def test_bootstrap_margins_of_many_raters_are_shorter_than_bonferronis_and_longer_than_a_single_tests():
    table = table_of(np.linspace(0.4, 0.6, 6), 120)
    log = RatingLog.from_matrix(table, scale=(0.0, 1.0))
    listed = pair_statistics(log, 2)
    first, _ = margins(log, listed, 0.05, seed=0)
    for at in range(0, len(listed), 7):
        pair = int(listed.first[at]), int(listed.second[at])
        assert first[at] < naive.best_margin(table, *pair, 0.05 / 5)
        assert first[at] > naive.best_margin(table, *pair, 0.05)


def test_the_bootstrap_loses_the_best_item_no_more_often_than_stated():
    rng, runs, lost = np.random.default_rng(2), 100, 0
    for seed in range(runs):
        log = RatingLog.from_matrix(rng.beta(0.5, 1.5, (150, 6)), scale=(0.0, 1.0))
        lost += bool(beaten_by_bootstrap(log, 0.2, 30, seed).is_out[0])
    assert lost <= binom.ppf(0.999, runs, 0.2)


def test_very_many_items_are_compared_with_some_of_them():
    rng = np.random.default_rng(1)
    n_items, per_user, n_users = MANY_ITEMS + 100, 5, 800
    quality = np.full(n_items, 0.5)
    quality[:2] = 0.9, 0.1
    items = np.column_stack([np.zeros(n_users, int), np.ones(n_users, int)])
    others = rng.integers(2, n_items, (n_users, per_user))
    rows = [np.unique(np.concatenate(row)) for row in zip(items, others, strict=True)]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    flat = np.concatenate(rows)
    ratings = np.clip(rng.normal(quality[flat], 0.05), 0.0, 1.0)
    log = RatingLog(starts, flat, ratings, range(n_items), 0.0, 1.0)
    found = beaten_by_bets(log, item_statistics(log), 0.05)
    assert found.is_out[1]
    assert not found.is_out[0]


def test_from_ratings_takes_the_guarantee_from_its_options():
    log = RatingLog.from_matrix(table_of([0.3, 0.5, 0.7], 400), scale=(0.0, 1.0))
    best = lsdt.from_ratings(log)
    assert best.ranges is None
    assert lsdt.candidate_set(best).arm_ids == [2]
    assert best == lsdt.from_ratings(log, guarantee="best")
    for options in ({"guarantee": "all"}, {"relations": "ranges"}, {"level": "fdr"}, {"interval": "student"}):
        side = lsdt.from_ratings(log, **options)
        assert side.beaten is None
        assert side.ranges is not None
    assert lsdt.from_ratings(log, epsilon=0.1).epsilon == 0.1
    assert lsdt.from_ratings(log, interval="bootstrap").beaten.sources[0].kind == "bootstrap"
    with pytest.raises(InvalidInput, match=r"guarantee='best' .* epsilon=0.1 is about relations"):
        lsdt.from_ratings(log, guarantee="best", epsilon=0.1)
    with pytest.raises(InvalidInput, match="has interval='betting' or 'bootstrap'; got 'student'"):
        lsdt.from_ratings(log, guarantee="best", interval="student")
    with pytest.raises(InvalidInput, match="guarantee must be"):
        lsdt.from_ratings(log, guarantee="most")


def test_logs_that_beat_no_item_say_so():
    log = RatingLog.from_matrix(table_of([0.5, 0.5], 20), scale=(0.0, 1.0))
    with pytest.warns(RatingWarning, match=r"No item is beaten: the strongest evidence .* of what is needed"):
        side = lsdt.from_ratings(log)
    assert side.beaten is None
    assert lsdt.candidate_set(side).arm_ids == [0, 1]
    alone = RatingLog([0, 1, 2], [0, 1], [0.2, 0.4], ["a", "b"], 0.0, 1.0)
    with pytest.raises(NoRelations, match="no user rated two of the items"):
        lsdt.from_ratings(alone)


def test_logs_in_an_engine_get_ranges_unless_the_best_is_asked_for():
    table = table_of([0.3, 0.5, 0.7], 200).round(2)
    rows = [(user, item, float(table[user, item])) for user in range(200) for item in range(3)]
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    log = lsdt.ratings.open_log(duckdb.from_df(frame), scale=(0.0, 1.0))
    assert lsdt.from_ratings(log).ranges is not None
    with pytest.raises(Unsupported, match="goes through the log user by user"):
        lsdt.from_ratings(log, guarantee="best")


def test_ratings_that_a_log_happens_not_to_have_need_a_given_scale():
    """Two items of the same mean; the first gets its rare 10 in too few of the logs."""
    rng, lost = np.random.default_rng(3), 0
    for _ in range(100):
        rare, steady = np.where(rng.random(60) < 0.02, 10.0, 1.0), np.where(rng.random(60) < 0.18, 2.0, 1.0)
        log = RatingLog.from_matrix(np.column_stack([rare, steady]), scale=(1, 10))
        lost += bool(beaten_by_bets(log, item_statistics(log), 0.05).is_out[0])
    assert lost <= binom.ppf(0.999, 100, 0.05)
    notes = str(lsdt.from_ratings(RatingLog.from_matrix([[1.0, 2.0]] * 60)).evidence)
    assert "ratings from 1 to 2 and however few the raters" in notes
