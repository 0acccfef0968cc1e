"""Ranges of very many items: what is left out follows from what is kept, or is not about the best."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pytest

import lsdt
from lsdt.ratings import RatingWarning, item_statistics, make_log, read_log
from lsdt.ratings.engines.lazy_frames import open_log
from lsdt.ratings.from_ratings import RatingRequest, relate
from lsdt.ratings.rules import hubs


@pytest.fixture
def few_are_many(monkeypatch):
    """Let ten items pass for very many, and six for all hubs."""

    def patch():
        monkeypatch.setattr(hubs, "MANY_ITEMS", 10)
        monkeypatch.setattr(hubs, "_MOST_RATED", 4)
        monkeypatch.setattr(hubs, "_BEST", 2)

    return patch


def closure(n_items, ranges, kept):
    """The least upper bound on every difference that follows from some of the ranges: Floyd and Warshall."""
    upper = np.full((n_items, n_items), np.inf)
    np.fill_diagonal(upper, 0.0)
    first, second = ranges.pairs[kept].T
    upper[first, second], upper[second, first] = ranges.high[kept], -ranges.low[kept]
    for middle in range(n_items):
        np.minimum(upper, upper[:, [middle]] + upper[[middle]], out=upper)
    return upper


@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_the_same_and_what_is_implied_is_implied(few_are_many, seed):
    # From strong to weak logs: ever fewer items lie below a hub, and ever more ranges are implied.
    frame, _ = make_log(n_users=(6000, 2500, 1200)[seed % 3], n_items=40, ratings_per_user=12, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RatingWarning)
        whole = lsdt.from_ratings(frame, guarantee="all")
        few_are_many()
        some = lsdt.from_ratings(frame, guarantee="all")
    assert some.evidence.left_out == len(whole.ranges.pairs) - len(some.ranges.pairs) > 0
    assert lsdt.candidate_set(some).arms.tolist() == lsdt.candidate_set(whole).arms.tolist()
    left_out = np.array([not some.ranges.at(*pair).is_known for pair in whole.ranges.pairs])
    for (a, b), low in zip(some.ranges.pairs[:50], some.ranges.low[:50], strict=True):
        assert whole.ranges.at(a, b).low == low
    # But for pairs of two items below a hub, the ranges kept bound every difference as all of them do.
    is_below = np.zeros(40, bool)
    hub = hubs.hubs_of(item_statistics(read_log(frame)))
    for better, worse in whole.ranges.ordered_pairs():
        is_below[worse] |= better in hub
    about_best = ~is_below[whole.ranges.pairs].all(axis=1)
    np.testing.assert_array_equal(
        closure(40, whole.ranges, ~left_out | (about_best & left_out)), closure(40, whole.ranges, ~left_out)
    )
    note = next(note for note in some.evidence.notes if "are not kept" in note)
    both = int((left_out & ~about_best).sum())
    assert f"{both:,} of two items that others lie above, and {left_out.sum() - both:,} that follow" in note
    assert f"{left_out.sum():,} left out, " in str(some.evidence)


def test_the_same_from_an_engine(few_are_many):
    frame, _ = make_log(n_users=2000, n_items=20, ratings_per_user=10, seed=3)
    few_are_many()
    here = lsdt.from_ratings(frame, guarantee="all")
    request = RatingRequest("auto", 0.95, "interval", "family", 0.1, "grid", None, "student", 0).checked()
    there = relate(request, open_log(duckdb.from_df(frame)))
    np.testing.assert_array_equal(here.ranges.pairs, there.ranges.pairs)
    np.testing.assert_allclose(here.ranges.low, there.ranges.low, atol=1e-8)
    assert here.evidence.left_out == there.evidence.left_out > 0
