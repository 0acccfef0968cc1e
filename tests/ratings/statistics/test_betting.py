"""E-values by betting: against a slow twin, for every order of users, and their level on known truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom
from tests.naive import betting as naive

from lsdt.ratings import RatingLog, item_statistics
from lsdt.ratings.rules.beaten_items import beaten_by_bets
from lsdt.ratings.statistics.betting import place_bets


def log_of(table):
    return RatingLog.from_matrix(table, scale=(0.0, 1.0))


def all_pairs(n_items):
    items, rivals = (
        grid.ravel() for grid in np.meshgrid(np.arange(n_items), np.arange(n_items), indexing="ij")
    )
    return items[items != rivals], rivals[items != rivals]


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 150), st.sampled_from([0.0, 0.3]))
def test_e_values_are_those_of_a_slow_twin(seed, n_items, n_users, missing):
    rng = np.random.default_rng(seed)
    table = rng.choice([0.0, 0.25, 1.0, 0.6], (n_users, n_items))
    table[rng.random(table.shape) < missing] = np.nan
    table[0] = 0.5  # every item was rated
    found = place_bets(log_of(table), *all_pairs(n_items))
    for item, rival, raters, log_e in zip(found.items, found.rivals, found.raters, found.log_e, strict=True):
        both = ~np.isnan(table[:, item] + table[:, rival])
        assert raters == both.sum()
        np.testing.assert_allclose(np.exp(log_e), naive.e_value(table, item, rival), rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_beaten_items_are_those_of_a_slow_twin(seed):
    rng = np.random.default_rng(seed)
    table = np.clip(rng.normal(np.linspace(0.3, 0.7, 5), 0.2, (60, 5)), 0.0, 1.0)
    log = log_of(table)
    found = beaten_by_bets(log, item_statistics(log), 0.05)
    wanted = naive.beaten(table, 0.05)
    # Pairs that hardly matter are left out: at most e^1 each of the 80 that are needed.
    assert set(np.flatnonzero(found.is_out)) <= set(wanted)
    clear = naive.beaten(table, 0.04)
    assert set(clear) <= set(np.flatnonzero(found.is_out))


def test_the_order_of_users_does_not_matter_so_that_a_log_may_grow():
    rng = np.random.default_rng(3)
    table = rng.random((300, 4))
    pairs = all_pairs(4)
    found = place_bets(log_of(table), *pairs).log_e
    np.testing.assert_allclose(
        place_bets(log_of(table[rng.permutation(300)]), *pairs).log_e, found, rtol=1e-9
    )


def skewed(rng, shape):
    return rng.beta(0.3, 2.7, shape)


def binary(rng, shape):
    return (rng.random(shape) < 0.1).astype(float)


def tied(rng, shape):
    return rng.choice([0.0, 0.1, 1.0], shape, p=[0.02, 0.9, 0.08])


@pytest.mark.parametrize("draw", [skewed, binary, tied])
def test_the_best_item_is_beaten_no_more_often_than_stated(draw):
    # All means are equal, which is the hardest case; one of eight looks at each log as it grows.
    rng, runs, lost = np.random.default_rng(11), 150, 0
    for _ in range(runs):
        table = draw(rng, (120, 6))
        logs = [log_of(table[:size]) for size in (20, 50, 120)]
        lost += any(beaten_by_bets(log, item_statistics(log), 0.2).is_out[0] for log in logs)
    # More than this would come about with a probability below 0.001 at the stated level.
    assert lost <= binom.ppf(0.999, runs, 0.2)


def test_clear_differences_are_seen_and_ties_are_not():
    rng = np.random.default_rng(5)
    same = rng.random((200, 1))
    table = np.clip(np.hstack([same, same, same - 0.2]), 0.0, 1.0)
    log = log_of(table)
    assert beaten_by_bets(log, item_statistics(log), 0.05).is_out.tolist() == [False, False, True]
