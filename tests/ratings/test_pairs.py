"""Rating matrices, distances of pairs, relations: by hand, and beside the naive ones."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lsdt
from lsdt.ratings import RatingMatrix, pair_distances, side_information_of_distances
from naive.graphs import pair_set
from naive.ratings import common_raters, mean_difference, relations

nan = float("nan")


def random_matrix(seed, n_users=30, n_items=8, missing=0.4):
    rng = np.random.default_rng(seed)
    values = rng.random((n_users, n_items)).round(2)
    values[rng.random(values.shape) < missing] = nan
    return RatingMatrix(values)


def test_a_matrix_by_hand():
    matrix = RatingMatrix([[-10, 0, nan], [10, nan, nan]], ["a", "b", "c"], low=-10, high=10)
    assert np.array_equal(matrix.means(), [0, 0, nan], equal_nan=True)
    assert np.array_equal(matrix.unit().values, [[0, 0.5, nan], [1, nan, nan]], equal_nan=True)
    assert (matrix.unit().low, matrix.unit().high) == (0, 1)
    rows = matrix.rows()
    assert rows.starts.tolist() == [0, 2, 3]
    assert rows.items.tolist() == [0, 1, 0]
    assert rows.ratings.tolist() == [-10, 0, 10]
    assert matrix.of_users([1]).values[0, 0] == 10
    assert repr(matrix) == "RatingMatrix(2 users, 3 items, 3 ratings from -10 to 10)"
    assert np.array_equal(pickle.loads(pickle.dumps(matrix)).values, matrix.values, equal_nan=True)


def test_a_matrix_cannot_be_changed_and_keeps_no_link_to_its_source():
    source = np.array([[0.1, 0.2]])
    matrix = RatingMatrix(source)
    source[0, 0] = 0.9
    assert matrix.values[0, 0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        matrix.values[0, 0] = 0.5
    with pytest.raises(AttributeError, match="cannot be changed"):
        matrix.low = 3.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0, 2.0],), r"users by items; got the shape \(2,\)"),
        ((np.zeros((0, 3)),), r"users by items; got the shape \(0, 3\)"),
        (([[0.1, 0.2]], ["a"]), "2 items and 1 item ids"),
        (([[0.1, 1.2]], ["a", "b"]), "between 0 and 1, or be NaN; user 0 gave item 'b' 1.2"),
        (([[0.1]], None, 1.0, 1.0), "from low to high; got 1.0 to 1.0"),
    ],
)
def test_a_bad_matrix_is_refused(given, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        RatingMatrix(*given)


@pytest.mark.parametrize("seed", range(6))
def test_distances_are_the_naive_ones(seed):
    matrix = random_matrix(seed, n_users=(1, 2, 30)[seed % 3], missing=0.6)
    found, rows = pair_distances(matrix), matrix.values.tolist()
    for a in range(8):
        for b in range(8):
            assert found.raters[a, b] == len(common_raters(rows, a, b))
            expected = mean_difference(rows, a, b)
            if expected is None:
                assert np.isnan(found.differences[a, b])
            else:
                assert found.differences[a, b] == pytest.approx(float(expected), abs=1e-12)
    assert found.largest == pytest.approx(np.nanmax(np.abs(found.differences), initial=0.0))


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_relations_are_the_naive_ones(seed, alpha):
    matrix = random_matrix(seed, n_users=4)
    for epsilon in (0.05, 0.2, 0.5):
        side = side_information_of_distances(pair_distances(matrix), epsilon, alpha)
        similar, dissimilar = relations(matrix.values.tolist(), epsilon, alpha)
        assert pair_set(side.similar_pairs()) == similar
        assert pair_set(side.dissimilar_pairs()) == dissimilar
        assert side.epsilon == epsilon


def test_the_limits_themselves_are_unknown_and_ids_are_kept():
    matrix = RatingMatrix([[0.0, 0.5, 1.5, 2.5, nan]], [10, 20, 30, 40, 50], high=4)
    side = side_information_of_distances(pair_distances(matrix), epsilon=1.0, alpha=0.5)
    found = {(a, b): side.relation(a, b) for a, b in ((10, 20), (10, 30), (10, 40), (20, 50))}
    assert found == {(10, 20): None, (10, 30): None, (10, 40): "dissimilar", (20, 50): None}
    assert side_information_of_distances(pair_distances(matrix), 1.1, 0.5).relation(10, 20) == "similar"


def test_bad_parameters_are_named():
    distances = pair_distances(random_matrix(0))
    with pytest.raises(lsdt.errors.InvalidInput, match="epsilon must be positive"):
        side_information_of_distances(distances, 0.0, 0.1)
    with pytest.raises(lsdt.errors.InvalidInput, match="alpha must lie between 0 and 1; got 2"):
        side_information_of_distances(distances, 0.1, 2)
