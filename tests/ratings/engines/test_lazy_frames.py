"""Logs that stay in their engine give what the same logs give in memory."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.memory import memory_limit
from lsdt.ratings import make_log, read_log
from lsdt.ratings.engines import lazy_frames
from lsdt.ratings.engines.lazy_frames import EngineLog, open_log
from lsdt.ratings.engines.source import LogSource, source_of
from lsdt.ratings.engines.user_hash import UserCoins
from lsdt.ratings.from_ratings import RatingRequest, relate
from lsdt.ratings.reading.triples import BYTES_PER_RATING
from lsdt.ratings.rules.relations import Screen
from lsdt.ratings.statistics.intervals import DifferenceIntervals
from naive.engine_pairs import coins, pair_statistics, with_means
from strategies import examples

# What is a risk in memory is one in an engine; here it matters only that both do the same.
pytestmark = pytest.mark.filterwarnings("ignore::lsdt.ratings.RatingWarning")
COLUMNS = ("user", "item", "rating")


def in_duckdb(frame):
    return duckdb.from_df(frame)


def in_polars(frame):
    return pl.from_pandas(frame).lazy()


ENGINES = pytest.mark.parametrize("opened", [in_duckdb, in_polars], ids=["duckdb", "polars lazy"])


def same_pairs(first, second):
    """Whether two statistics list the same pairs with the same numbers, up to rounding."""
    for name in ("first", "second", "raters"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    for name in ("difference", "variance"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-9, atol=1e-12)
    assert first.item_ids == second.item_ids
    assert first.n_compared == second.n_compared
    return True


@st.composite
def small_logs(draw):
    """A few rows, with or without repeats, ids as text or numbers."""
    name = draw(st.sampled_from([lambda number: number - 2, lambda number: f"n{number}"]))
    row = st.tuples(st.integers(0, 5), st.integers(0, 4), st.sampled_from([1.0, 2.0, 3.5, 5.0]))
    rows = draw(st.lists(row, min_size=1, max_size=25))
    return [(name(user), name(item), rating) for user, item, rating in rows]


@examples(0.3)
@given(rows=small_logs(), min_raters=st.integers(1, 3))
def test_pairs_of_small_logs_are_those_of_the_definition(rows, min_raters):
    source = open_log(in_duckdb(pd.DataFrame(rows, columns=COLUMNS)), duplicates="mean", scale=(1, 5))
    found = source.pairs(min_raters)
    expected, compared = pair_statistics(rows, (1, 5), min_raters)
    ids = source.item_ids
    assert [(ids[a], ids[b]) for a, b in zip(found.first, found.second, strict=True)] == sorted(expected)
    assert found.n_compared == compared
    for at, pair in enumerate(sorted(expected)):
        raters, mean, variance = expected[pair]
        assert found.raters[at] == raters
        assert math.isclose(found.difference[at], mean, abs_tol=1e-14)
        if variance is None:
            assert np.isnan(found.variance[at])
        else:
            assert math.isclose(found.variance[at], variance, abs_tol=1e-14)
    rated = with_means(rows)
    assert source.n_ratings == len(rated)
    assert source.n_users == len({user for user, _ in rated})


@pytest.fixture(scope="module")
def log():
    return make_log(n_users=1_500, n_items=30, ratings_per_user=9, seed=4).log


@ENGINES
@pytest.mark.parametrize(
    ("kind", "low_high"), [("student", (0.1, 0.1)), ("student", (0.0, 1.0)), ("bernstein", (0.02, 0.3))]
)
def test_a_screen_keeps_the_same_pairs_in_an_engine(log, opened, low_high, kind):
    memory, engine = LogSource(read_log(log)), open_log(opened(log))
    screen = Screen(DifferenceIntervals(kind, 0.05), *low_high)
    here, there = memory.pairs(10, screen), engine.pairs(10, screen)
    assert same_pairs(here, there)
    if kind == "student":
        assert 0 < len(here) <= 435


def test_what_a_screen_leaves_out_stays_in_the_engine(log, monkeypatch):
    brought = []
    collect = lazy_frames.collect
    monkeypatch.setattr(lazy_frames, "collect", lambda frame: brought.append(collect(frame)) or brought[-1])
    source = open_log(in_duckdb(log))
    kept = source.pairs(10, Screen(DifferenceIntervals("student", 1e-4), 0.1, 0.1))
    assert len(kept) <= len(brought[-1]) < 200 < kept.n_compared
    assert source.pairs(10_000).n_compared == kept.n_compared
    assert len(brought[-1]) == 1  # all of them left out, in one row


def related_in_engine(frame, **asked):
    """What `from_ratings` does with so many rows that it leaves them in their engine."""
    usual = {name: of.default for name, of in inspect.signature(lsdt.from_ratings).parameters.items()}
    names = [field.name for field in dataclasses.fields(RatingRequest)]
    request = RatingRequest(**{name: asked.get(name, usual[name]) for name in names})
    return relate(request.checked(), open_log(frame))


@pytest.mark.parametrize(
    ("opened", "epsilon", "level"),
    [
        (in_duckdb, 0.1, "family"),
        (in_duckdb, "auto", "fdr"),
        (in_polars, "auto", "family"),
        (in_polars, 0.1, "fdr"),
    ],
)
def test_side_information_is_the_same(log, opened, epsilon, level):
    """With FDR and a search the users are halved: the same halves everywhere."""
    frame = opened(log)
    asked = {"relations": "threshold", "epsilon": epsilon, "level": level, "min_raters": 10}
    here, there = lsdt.from_ratings(log, **asked), related_in_engine(frame, **asked)
    assert here == there
    assert here.n_similar + here.n_dissimilar > 10
    pd.testing.assert_frame_equal(here.evidence.pairs, there.evidence.pairs)
    pd.testing.assert_frame_equal(here.evidence.items, there.evidence.items)
    assert here.evidence.notes == there.evidence.notes


def test_the_paper_rule_and_other_scales(log):
    stars = log.assign(rating=(log.rating - 1) * 2.5)  # from 0 to 10: no float holds a tenth of it
    here = lsdt.from_ratings(stars, rule="paper", epsilon=0.1)
    assert related_in_engine(in_duckdb(stars), rule="paper", epsilon=0.1) == here
    huge = log.assign(rating=log.rating * 1e99)
    scaled = open_log(in_duckdb(huge)).pairs(5)
    assert same_pairs(scaled, LogSource(read_log(huge)).pairs(5, None))


def test_ids_of_every_kind(log):
    log = log[log.user < 300]
    dates = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * item) for item in range(30)]
    for frame in (
        log.assign(item=[f"item {30 - item}" for item in log.item], rating=log.rating > 3),
        log.assign(item=[dates[item] for item in log.item], user=[f"é{user}" for user in log.user]),
        log.assign(item=log.item * 1.0),
        log.assign(item=pd.Categorical([f"c{item}" for item in log.item])),
    ):
        here = LogSource(read_log(frame))
        pairs = here.pairs(5, None)
        assert len(pairs) > 100
        for there in (open_log(in_duckdb(frame)), open_log(in_polars(frame))):
            assert same_pairs(pairs, there.pairs(5))
            assert there.sample(50, 1).ratings.tolist() == here.sample(50, 1).ratings.tolist()


@given(st.integers(1, 300), st.integers(0, 50))
def test_coins_are_a_polynomial(n_users, seed):
    made = UserCoins(n_users, seed)
    expected = coins(n_users, made._coefficients)
    assert made.of(np.arange(n_users)).tolist() == expected
    most = n_users // 3
    assert made.lowest(most).tolist() == [k for k in range(n_users) if expected[k] < sorted(expected)[most]]
    assert len(made.lowest(n_users)) == n_users


def test_coins_deal_fairly():
    """Over many seeds: every user lands in the first half about as often, and two of them independently."""
    first = np.zeros((2_000, 20), bool)
    for seed in range(len(first)):
        first[seed, UserCoins(20, seed).lowest(10)] = True
    share, both = first.mean(axis=0), (first[:, 0] & first[:, 1]).mean()
    assert np.abs(share - 0.5).max() < 4 * 0.5 / 2_000**0.5
    assert abs(both - 0.5 * 9 / 19) < 4 * 0.43 / 2_000**0.5  # 10 of 20: drawn without replacement


@ENGINES
def test_halves_share_the_users(log, opened):
    source, memory = open_log(opened(log)), LogSource(read_log(log))
    for there, here in zip(source.halves(3), memory.halves(3), strict=True):
        assert there.n_users == here.n_users
        assert same_pairs(here.pairs(3, None), there.pairs(3))
        np.testing.assert_allclose(there.items().effects, here.items().effects)
        assert there.items().ratings.tolist() == here.items().ratings.tolist()


def test_effects_of_large_logs_come_from_a_sample(log):
    source, memory = open_log(in_duckdb(log)), LogSource(read_log(log)).items()
    items = source.items(most_sampled=4_000)
    assert items.ratings.tolist() == memory.ratings.tolist()
    np.testing.assert_allclose(items.means, memory.means)
    assert (items.errors > memory.errors).all()
    assert np.abs(items.effects - memory.effects).max() < 5 * items.errors.max()


def test_logs_that_do_not_fit_stay_in_their_engine(log):
    with memory_limit(len(log) * BYTES_PER_RATING - 1):
        for frame in (in_duckdb(log), in_polars(log)):
            assert isinstance(source_of(frame), EngineLog)


def test_short_logs_are_read_and_spark_is_not_asked(log):
    for frame in (in_duckdb(log), in_polars(log), log):
        assert isinstance(source_of(frame), LogSource)


def rows(*given, columns=COLUMNS):
    return in_duckdb(pd.DataFrame(given, columns=columns))


@pytest.mark.parametrize(
    ("frame", "asked", "message"),
    [
        (
            lambda: rows((1, 2, 3.0)),
            {"item": "itm"},
            "no column 'itm' for the item; the columns are 'user', 'item'",
        ),
        (lambda: rows((1, 2, "x")), {}, "must hold ratings, which are numbers; it holds String"),
        (
            lambda: rows((1, 2, 3.0), (1, 3, math.nan), (1, 4, math.inf)),
            {},
            "2 rows of 3 have no finite rating.*, such as that of user 1, item 3, rating (nan|None); leave",
        ),
        (
            lambda: rows((1, "a", 3.0), (7, None, 3.0)),
            {},
            "1 row of 2 have nothing in column 'item', .* user 7",
        ),
        (lambda: rows(("", "a", 3.0)), {}, "nothing in column 'user'"),
        (lambda: rows((1.5, 2, 3.0), (math.nan, 2, 3.0)), {}, "1 row of 2 have nothing in column 'user'"),
        (
            lambda: rows((1, 2, 3.0), (1, 2, 4.0), (1, 3, 4.0)),
            {},
            "1 pair of a user and an item occur more than once, such as user 1 and item 2, 2 times",
        ),
        (lambda: rows((1, 2, 3.0), (1, 3, 3.0)), {}, "all ratings are 3"),
        (
            lambda: rows((1, 2, 3.0), (1, 3, 9.0)),
            {"scale": (1, 5)},
            "the largest rating is 9; the scale goes",
        ),
        (lambda: duckdb.sql("select 1 as user, 2 as item, 3.0 as rating where false"), {}, "no rows"),
        (lambda: duckdb.sql("select [1] as user, 2 as item, 3.0 as rating"), {}, "'user' must hold ids"),
        (lambda: rows((1, 2.5, 3.0), (1, 3, 4.0)), {}, "must be whole numbers or text; item 2.5 has 2.5"),
    ],
)
def test_bad_logs_are_named(frame, asked, message):
    with pytest.raises(InvalidInput, match=message):
        open_log(frame(), **asked)


def test_the_last_rating_needs_an_order(log):
    with pytest.raises(Unsupported, match="needs an order of the rows"):
        open_log(in_duckdb(log), duplicates="last")
    with pytest.raises(Unsupported, match=r"needs an order of the rows.*\(time=...\)"):
        read_log(in_duckdb(log), duplicates="last")
    twice = pd.concat([log, log.assign(rating=1.0)]).assign(time=lambda frame: range(len(frame)))
    latest = read_log(in_duckdb(twice), duplicates="last", time="time")
    assert (latest.ratings == 1.0).all()
    assert (read_log(in_polars(twice), duplicates="last").ratings == 1.0).all()


def test_a_log_in_an_engine_may_have_other_columns(log):
    named = log.rename(columns={"user": "who", "item": "what", "rating": "stars"})
    opened = open_log(in_duckdb(named), "who", "what", "stars", min_ratings=2, top=5)
    here = read_log(log, min_ratings=2, top=5)
    assert opened.item_ids == here.item_ids
    assert opened.note == here.note
    side, same = lsdt.from_ratings(opened), lsdt.from_ratings(here, guarantee="all")
    assert side.evidence.notes == same.evidence.notes
    assert side.evidence.pairs["relation"].tolist() == same.evidence.pairs["relation"].tolist()
    with memory_limit(len(log) * BYTES_PER_RATING - 1):
        told = r"no column 'user' .*options of lsdt\.ratings\.open_log; give what"
        with pytest.raises(InvalidInput, match=told):
            lsdt.from_ratings(in_duckdb(named))
    for wrong in ("log.csv", 3):
        with pytest.raises(InvalidInput, match="a log is a path or a dataframe .* got (str|int)"):
            open_log(wrong)


def test_min_raters_is_checked(log):
    with pytest.raises(InvalidInput, match="min_raters must be a whole number from 1 to"):
        open_log(in_duckdb(log)).pairs(0)
