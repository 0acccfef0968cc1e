"""Sorted means with a window of similar arms each: by hand, and against every pair."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from lsdt.errors import InvalidInput
from lsdt.side_information.layouts.windows import windows_of_means
from naive.graphs import pair_set, similar_from_means
from strategies import integer_means


def test_windows_by_hand():
    windows = windows_of_means([5, 0, 2, 6], 3.0, 0.0)  # sorted: arms 1, 2, 0, 3 at 0, 2, 5, 6
    assert windows.order.tolist() == [1, 2, 0, 3]
    assert windows.position.tolist() == [2, 0, 1, 3]
    assert windows.right_end.tolist() == [2, 2, 4, 4]  # 2 and 5 are 3 apart: dissimilar
    assert windows.left_end.tolist() == [0, 0, 2, 2]
    assert windows.means_by_arm().tolist() == [5, 0, 2, 6]
    assert windows.n_similar == 2
    assert windows.are_similar(1, 2)
    assert not windows.are_similar(2, 0)


@given(integer_means())
def test_windows_agree_with_every_pair(drawn):
    means, epsilon = drawn
    windows, similar = windows_of_means(means, float(epsilon), 1e-9), similar_from_means(means, epsilon)
    assert pair_set(windows.adjacency().pairs()) == similar
    assert windows.n_similar == len(similar)
    for a in range(len(means)):
        for b in range(a):
            assert windows.are_similar(a, b) == windows.are_similar(b, a) == (frozenset((a, b)) in similar)
    # Equal means stand in the order of the arms.
    assert windows.order.tolist() == sorted(range(len(means)), key=lambda arm: (means[arm], arm))


def test_a_distance_short_of_epsilon_by_rounding_counts_as_epsilon():
    means = [0.1, 0.2, 0.3]  # .3 - .2 is less than .1 in floats
    assert windows_of_means(means, 0.1, 1e-9).n_similar == 0
    assert windows_of_means(means, 0.1, 0.0).n_similar == 1


def test_a_narrower_threshold_narrows_the_windows():
    windows = windows_of_means([0, 2, 5, 6], 3.0, 0.0)
    assert windows.with_threshold(3.0) is windows
    narrow = windows.with_threshold(1.5)
    assert (narrow.n_similar, narrow.epsilon, narrow.threshold) == (1, 3.0, 1.5)
    for wrong in (0.0, 3.5):
        with pytest.raises(InvalidInput, match=f"above 0 and at most at epsilon; got {wrong}"):
            windows.with_threshold(wrong)


def test_windows_stay_read_only_through_a_pickle():
    windows = pickle.loads(pickle.dumps(windows_of_means([5, 0, 2, 6], 3.0, 0.0)))
    assert windows.right_end.tolist() == [2, 2, 4, 4]
    for array in (windows.order, windows.right_end, windows.means):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
