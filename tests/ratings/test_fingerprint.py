"""Ratings that make the relations and the prior are noticed, after saving and after a choice of items too."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidFile
from lsdt.ratings import RatingWarning, make_log, read_log
from lsdt.ratings.fingerprint import fingerprint_of, share_known

ON_ORDER = lsdt.Policy("ts", on="order")
TWICE = r"the prior holds the ratings that the relations rest on \(of 32 users looked up, 32 are in both\)"


@pytest.fixture(scope="module")
def log():
    return read_log(make_log(n_users=2000, n_items=8, ratings_per_user=6, seed=1).log)


def test_a_mark_is_what_a_user_said_in_any_order_and_unit(log):
    marks = fingerprint_of(log)
    assert len(marks) == 32
    moved = log.of_users(np.random.default_rng(0).permutation(log.n_users))
    assert share_known(marks, moved) == share_known(marks, log.unit()) == 1.0
    table = 100 - 10 * log.matrix()
    assert share_known(marks, lsdt.ratings.RatingLog.from_matrix(table, scale=(50, 90))) < 0.5
    first, second = log.halves(3)
    assert first.n_users + second.n_users == log.n_users
    assert share_known(fingerprint_of(first), second) < 0.5
    alone = lsdt.ratings.RatingLog.from_matrix([[1.0, np.nan], [np.nan, 2.0]])
    assert fingerprint_of(alone) == ()  # who rated one item compares no two
    assert share_known((), log) == 0.0


def test_a_prior_of_the_same_ratings_is_warned_of(log, tmp_path):
    side = lsdt.from_ratings(log)
    side.save(tmp_path / "side.parquet")
    side.save(tmp_path / "side.csv")
    others = [lsdt.load(tmp_path / f"side.{ending}") for ending in ("parquet", "csv")]
    for known in (side, side.subset([0, 2, 5]), pickle.loads(pickle.dumps(side)), *others):
        assert known.fingerprint == side.evidence.fingerprint
        with pytest.warns(RatingWarning, match=TWICE) as told:
            lsdt.Agent(known, ON_ORDER, prior=log)
        assert told[0].filename == __file__
    some = lsdt.from_ratings(lsdt.ratings.read_log(log, top=5))
    with pytest.warns(RatingWarning, match="the prior holds the ratings that the relations rest on"):
        lsdt.Agent(some, ON_ORDER, prior=log)


def test_other_ratings_are_not(log):
    first, second = log.halves()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lsdt.Agent(lsdt.from_ratings(first), ON_ORDER, prior=second)
        lsdt.Agent(lsdt.from_ratings(first), ON_ORDER, prior=([0, 1], [0.5, 1.0]))
        lsdt.Agent(lsdt.SideInformation(8), "ts", prior=log)


@pytest.mark.parametrize("marks", ['"none"', '["00"]', "[1]", '["zzzzzzzzzzzzzzzz"]'])
def test_a_file_with_other_marks_is_refused(log, tmp_path, marks):
    side = lsdt.from_ratings(log)
    path = tmp_path / "side.csv"
    side.save(path)
    text = path.read_text()
    begin = text.index('"fingerprint": [') + len('"fingerprint": ')
    end = text.index("]", begin) + 1
    path.write_text(text[:begin] + marks + text[end:])
    with pytest.raises(InvalidFile, match="fingerprint"):
        lsdt.load(path)
