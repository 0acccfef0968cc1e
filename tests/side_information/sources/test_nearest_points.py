from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial import cKDTree

from lsdt.errors import TooLarge
from lsdt.kernel.memory import memory_limit
from lsdt.side_information.sources.nearest_points import nearest_pairs
from naive import sources as naive
from naive.graphs import pair_set


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 13), st.integers(0, 10**6))
def test_every_point_is_paired_with_its_nearest(n, features, count, seed):
    points = np.random.default_rng(seed).normal(3.0, 1.0, (n, features))
    pairs = nearest_pairs(points, count)
    assert pair_set(pairs) == naive.nearest_pairs(points.tolist(), count)
    assert pairs.tolist() == sorted(pairs.tolist())
    assert len(pairs) == len(pair_set(pairs))


def test_many_points_in_blocks():
    points = np.random.default_rng(1).normal(size=(700, 5)) * 1e200
    _, near = cKDTree(points / 1e200).query(points / 1e200, 8)
    assert pair_set(nearest_pairs(points, 7, at_once=5_000)) == {
        frozenset((here, there)) for here, row in enumerate(near.tolist()) for there in row if there != here
    }


@pytest.mark.parametrize(("n", "count"), [(97, 3), (160, 9), (161, 10), (175, 12)])
def test_groups_of_columns_lose_no_neighbour(n, count):
    """Fewer groups than neighbours, as many, more; with points that do not fill the last group."""
    points = np.random.default_rng(n).integers(0, 40, (n, 3)).astype(float)
    for table in (points + np.arange(n)[:, None] / 1000.0, np.sort(points, axis=0) + np.arange(n)[:, None]):
        pairs = nearest_pairs(table, count, at_once=2_000)
        apart = np.linalg.norm(table[:, None] - table, axis=2)
        near = np.zeros((n, n), bool)
        near[tuple(pairs.T)] = near[tuple(pairs.T[::-1])] = True
        np.fill_diagonal(apart, np.inf)
        limits = np.sort(apart, axis=1)[:, count - 1]
        must = apart < limits[:, None] * (1.0 - 1e-5)  # beyond the rounding of single precision
        may = apart <= limits[:, None] * (1.0 + 1e-5)
        assert near[must].all()
        assert not near[~(may | may.T)].any()


def test_equal_points_are_neighbours_of_one_another():
    pairs = nearest_pairs(np.zeros((40, 3)), 5)
    assert np.bincount(pairs.ravel(), minlength=40).min() >= 5


def test_points_above_are_near():
    """With coordinates that only count when they fall short, the points just above come first."""
    heights = np.arange(6.0)[:, None]
    pairs = nearest_pairs(np.zeros((6, 0)), 1, heights)
    assert pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]


def test_too_many_are_refused():
    with memory_limit(2**16), pytest.raises(TooLarge, match="use fewer neighbours, or fewer arms"):
        nearest_pairs(np.zeros((1_000, 2)), 32)
