"""The synthetic look-alike has the shape it says it has."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.ratings import look_alike
from lsdt.ratings.datasets.look_alike import LOOK_ALIKE, USERS, _draw_rated


def test_has_the_published_size_and_shape():
    log = look_alike()
    assert (log.n_users, log.n_items) == (USERS, 100) == (24_983, 100)
    assert log.item_ids == tuple(range(1, 101))
    assert np.diff(log.starts).min() == 36
    shares = np.sort(log.counts() / USERS)
    assert 0.3 < shares[0] < 0.45
    assert (shares[-10:] > 0.99).all()
    assert shares[-11] < 0.97
    values = log.ratings
    assert values.min() == -10
    assert values.max() == 10
    assert np.array_equal(values, values.round(2))


def test_what_is_rated_is_liked_a_little_more():
    """Taste of what is rated minus of what is not: clearly above 0, clearly below one spread of taste."""
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(4000, 100))
    rated = _draw_rated(np.full(100, 0.6), taste, rng)
    gap = taste[rated].mean() - taste[~rated].mean()
    error = np.sqrt(1 / rated.sum() + 1 / (~rated).sum())
    assert 5 * error < gap < 0.2


def test_the_same_seed_gives_the_same_ratings_and_another_others():
    first, again, other = (look_alike(seed, 50).ratings for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_says_what_it_is():
    assert "not Jester" in LOOK_ALIKE
    assert "not Jester" in look_alike.__doc__


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_a_bad_number_of_users_is_named(wrong):
    with pytest.raises(lsdt.errors.InvalidInput, match="n_users must be a whole number"):
        look_alike(0, wrong)
