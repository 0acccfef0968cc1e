"""The worlds of the part on features, past experiments and orders."""

from __future__ import annotations

import numpy as np
import pytest

from lsdt.reproduce.beyond.pairs.features_contest import WAYS
from lsdt.reproduce.beyond.pairs.features_worlds import (
    WORLDS,
    FeatureWorld,
    clicks,
    linear_sampling,
    weekly,
)
from tiny_parts import tables_of


def test_the_honest_constant_by_hand():
    world = FeatureWorld(np.array([[0.0], [1.0], [3.0]]), np.array([0.1, 0.2, 0.7]))
    assert world.steepest == pytest.approx(0.25)


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_have_means_that_are_probabilities(name):
    world = WORLDS[name](np.random.default_rng(0), 60)
    assert len(world.points) == len(world.means) == 60
    assert ((world.means > 0) & (world.means < 1)).all()


def test_tables_say_what_was_tried():
    rng, means = np.random.default_rng(0), np.array([0.0, 1.0, 0.5])
    table = clicks(rng, means, np.array([0, 1]), 20, ["a", "b", "c"])
    assert table == {"arm": ["a", "b"], "successes": [0, 20], "trials": [20, 20]}
    rows = weekly(rng, np.full(8, 0.5), 3, 100, [f"arm {arm}" for arm in range(8)])
    assert [row["experiment"] for row in rows] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(10 <= row["trials"] < 100 and 0 <= row["successes"] <= row["trials"] for row in rows)


def test_linear_sampling_learns_a_linear_world():
    """Far below the regret of choosing at random, which is exact."""
    points = np.random.default_rng(1).normal(size=(50, 3))
    world = FeatureWorld(points, np.clip(0.3 + 0.1 * points[:, 0], 0.0, 1.0))
    at_random = 2_000 * float(world.means.max() - world.means.mean())
    assert linear_sampling(world, 2_000, np.random.default_rng(2)) < 0.3 * at_random


def test_every_way_plays_every_draw():
    regret = tables_of("beyond-pairs-features")["regret"]
    assert regret.groupby("run")["way"].apply(list).tolist() == [list(WAYS)] * 2
    assert (regret["regret"] >= 0).all()
