"""What common raters say of pairs: by hand, and beside plain loops."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.kernel.memory import memory_limit
from lsdt.ratings import RatingLog, pair_statistics, read_log
from lsdt.ratings.statistics.pairs import Blocks, compare_items
from naive.ratings import pair_table

module = importlib.import_module("lsdt.ratings.statistics.pairs")

nan = float("nan")

TRIPLES = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 7)), st.integers(0, 16), min_size=1, max_size=40
)


def as_log(ratings):
    rows = [(user, item, rating / 16) for (user, item), rating in ratings.items()]
    return rows, read_log(pd.DataFrame(rows, columns=["user", "item", "rating"]), scale=(0, 1))


def assert_naive(found, rows, log, min_raters=1):
    expected = pair_table((user, log.item_ids.index(item), rating) for user, item, rating in rows)
    assert found.n_compared == len(expected)
    listed = {pair: told for pair, told in expected.items() if told[0] >= min_raters}
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == sorted(listed)
    for at, pair in enumerate(pairs):
        raters, mean, variance = listed[pair]
        assert found.raters[at] == raters
        assert found.difference[at] == pytest.approx(float(mean), abs=1e-12)
        if variance is None:
            assert np.isnan(found.variance[at])
        else:
            assert found.variance[at] == pytest.approx(float(variance), abs=1e-12)


@given(TRIPLES, st.integers(1, 3))
def test_are_the_naive_ones(ratings, min_raters):
    rows, log = as_log(ratings)
    assert_naive(pair_statistics(log, min_raters), rows, log, min_raters)


@given(TRIPLES, st.integers(1, 40), st.integers(1, 3))
def test_are_the_naive_ones_in_blocks_and_with_items_in_another_order(ratings, cells, parts):
    """As with very many items: from the rarest to the most common, some at a time, on several threads."""
    rows, log = as_log(ratings)
    assert_naive(compare_items(log, 1, blocks=Blocks(cells, few_items=1, items_in_part=parts)), rows, log)


def random_log(seed, n_users=400, n_items=300, share=0.2):
    rng = np.random.default_rng(seed)
    values = rng.random((n_users, n_items))
    values[rng.random(values.shape) > share * rng.random(n_items) * 2] = nan
    return RatingLog.from_matrix(values, scale=(0, 1))


def columns(found):
    return [found.first, found.second, found.raters, found.difference, found.variance]


def test_neither_threads_nor_blocks_nor_the_order_of_items_change_a_bit(monkeypatch):
    """Pairs of 700 items are added up in several blocks, by popularity; those of 40 in one, as they come."""
    rng = np.random.default_rng(0)
    values = rng.random((150, 700))
    values[rng.random(values.shape) > rng.random(700)] = nan
    expected = columns(pair_statistics(RatingLog.from_matrix(values[:, :40], scale=(0, 1))))
    log = RatingLog.from_matrix(values, scale=(0, 1))
    for cores in (1, 2, 3):
        monkeypatch.setattr(module, "available_cores", lambda cores=cores: cores)
        found = pair_statistics(log)
        few = found.select((found.first < 40) & (found.second < 40))
        for one, other in zip(columns(few), expected, strict=True):
            assert np.array_equal(one, other, equal_nan=True)


def test_only_what_is_worth_keeping_is_kept():
    log = random_log(2)
    everything = pair_statistics(log, 5)
    far = pair_statistics(log, 5, lambda raters, difference, variance: np.abs(difference) > 0.1)
    assert far.n_compared == everything.n_compared
    chosen = everything.select(np.abs(everything.difference) > 0.1)
    assert 0 < len(far) < len(everything)
    for one, other in zip(columns(far), columns(chosen), strict=True):
        assert np.array_equal(one, other)


def test_pairs_can_be_looked_up():
    found = pair_statistics(random_log(3, 50, 20), 3)
    for at in range(len(found)):
        first, second = int(found.first[at]), int(found.second[at])
        assert found.at(first, second) == found.at(second, first) == at
    listed = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    missing = [(a, b) for a in range(20) for b in range(a + 1, 20) if (a, b) not in listed]
    assert missing
    assert all(found.at(*pair) is None for pair in missing)
    assert found.n_pairs == 190
    assert repr(found) == f"PairStatistics({len(found)} pairs of 20 items)"
    assert found.largest == np.abs(found.difference).max()
    assert found.select(np.zeros(len(found), bool)).largest == 0


def test_users_with_one_rating_say_nothing():
    log = RatingLog.from_matrix([[0.1, nan], [nan, 0.9], [0.5, nan]], scale=(0, 1))
    found = pair_statistics(log)
    assert (len(found), found.n_compared, found.largest) == (0, 0, 0.0)


def test_more_pairs_than_memory_holds_are_refused():
    log = random_log(4, 40, 700, share=0.9)
    with memory_limit(2**22):
        assert len(pair_statistics(log, 39)) < 100_000
    refused = pytest.raises(lsdt.errors.TooLarge, match="pairs of items and more would need .* min_raters")
    with memory_limit(2**16), refused:
        pair_statistics(log)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, None])
def test_a_bad_number_of_raters_is_named(wrong):
    with pytest.raises(lsdt.errors.InvalidInput, match="min_raters must be a whole number from 1 to"):
        pair_statistics(random_log(0, 5, 5), wrong)
