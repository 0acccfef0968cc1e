"""Rankings of items: shrunk effects, and lower ends that hold although items are ranked by what is shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.ratings import item_statistics
from lsdt.ratings.statistics.items import standard_errors
from lsdt.ratings.statistics.ranking import lower_ends, shrunk_effects
from naive.ranking import lower_ends as naive_ends, shrunk_effects as naive_shrunk


def items_of(seed, **sizes):
    log, means = lsdt.ratings.make_log(**sizes, seed=seed)
    log = lsdt.ratings.read_log(log, scale=(1, 5))
    return item_statistics(log), (means.to_numpy()[np.array(log.item_ids)] - 1) / 4


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_the_twin(seed):
    items, _ = items_of(seed, n_users=60, n_items=9 + seed, ratings_per_user=4)
    average = items.squares.sum() / max(items.freedom.sum() - len(items.freedom), 1.0)
    efficiency = max(1.0 - 1.0 / len(items.freedom), 0.5)
    rows = list(zip(items.effects, items.squares, items.freedom, items.ratings, strict=True))
    shrunk = naive_shrunk(rows, average, efficiency)
    assert shrunk_effects(items) == pytest.approx(shrunk, abs=1e-9)
    ends = naive_ends(rows, average, efficiency, items.level_error, 0.95, shrunk)
    assert lower_ends(items, 0.95) == pytest.approx(ends, abs=1e-9)


def test_equal_items_are_shrunk_to_their_mean_and_different_ones_are_kept():
    """By hand: with next to no error nothing is shrunk; where errors explain the spread, nearly all."""
    rng = np.random.default_rng(0)
    quality = np.array([0.2, 0.4, 0.6, 0.8])
    sure = lsdt.ratings.RatingLog.from_matrix(quality + 1e-4 * rng.normal(size=(50, 4)), scale=(0, 1))
    assert shrunk_effects(item_statistics(sure)) == pytest.approx(quality, abs=1e-3)
    same = lsdt.ratings.RatingLog.from_matrix(0.5 + 0.1 * rng.normal(size=(50, 40)), scale=(-1, 2))
    items = item_statistics(same)
    assert np.ptp(shrunk_effects(items)) < 0.4 * np.ptp(items.effects)


def test_a_lower_end_is_never_above_the_shrunk_effect():
    for seed in range(5):
        items, _ = items_of(seed, n_users=40, n_items=30, ratings_per_user=4)
        assert (lower_ends(items, 0.5) <= shrunk_effects(items)).all()


def test_more_items_make_every_lower_end_lower():
    items, _ = items_of(0, n_users=400, n_items=10, ratings_per_user=5)
    assert (lower_ends(items, 0.95) > lower_ends(items, 0.9999)).all()
    errors = standard_errors(items.squares, items.freedom, added=math.inf)
    assert np.ptp(errors**2 * items.freedom) == pytest.approx(0, abs=1e-12)


def test_what_is_said_of_the_first_item_is_true(thorough):
    """Ranked by single 95% lower ends, as items once were, it was true in a tenth of such logs."""
    runs, true = 200 if thorough else 30, 0
    for seed in range(runs):
        items, truth = items_of(seed, n_users=600, n_items=300, ratings_per_user=12)
        first = shrunk_effects(items).argmax()
        true += bool(truth[first] >= lower_ends(items, 0.95)[first])
    assert true / runs >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)
