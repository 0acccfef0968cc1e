"""One relation as compressed rows: by hand, and against sets of pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from lsdt.side_information.layouts.adjacency import adjacency_of_pairs, common_pair, two_adjacencies
from naive.graphs import closed_neighbours, pair_set
from strategies import any_graph, any_relations


def graph_of(n_arms, pairs):
    return adjacency_of_pairs(np.array(pairs, np.int64).reshape(-1, 2), n_arms)


def test_rows_by_hand():
    graph = graph_of(4, [(2, 0), (0, 2), (3, 0), (2, 3), (0, 3)])  # two pairs are listed twice
    assert graph.indptr.tolist() == [0, 2, 2, 4, 6]
    assert graph.indices.tolist() == [2, 3, 0, 3, 0, 2]
    assert graph.n_pairs == 3
    assert graph.neighbours(3).tolist() == [0, 2]
    assert graph.pairs().tolist() == [[0, 2], [0, 3], [2, 3]]


@given(any_graph())
def test_rows_hold_the_pairs_in_any_order(drawn):
    n_arms, pairs = drawn
    graph, expected = graph_of(n_arms, [pair[::-1] for pair in reversed(pairs)] + pairs), pair_set(pairs)
    assert pair_set(graph.pairs()) == expected
    assert graph.pairs().tolist() == sorted(sorted(pair) for pair in expected)
    for arm in range(n_arms):
        near = closed_neighbours(n_arms, expected, arm) - {arm}
        assert graph.neighbours(arm).tolist() == sorted(near)
        assert {other for other in range(n_arms) if graph.has(arm, other)} == near


def test_rows_of_very_many_arms_are_those_of_their_pairs():
    rng = np.random.default_rng(0)
    n_arms = 3_000  # several groups of rows
    pairs = rng.integers(0, n_arms, (20_000, 2)).astype(np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    expected = np.unique(np.sort(pairs, axis=1), axis=0)
    for graph in two_adjacencies(pairs, pairs[::-1], n_arms):
        assert (graph.pairs() == expected).all()
        rows = np.repeat(np.arange(n_arms), np.diff(graph.indptr))
        both = np.concatenate([expected, expected[:, ::-1]])
        order = np.lexsort((both[:, 1], both[:, 0]))
        assert (np.stack([rows, graph.indices], axis=1) == both[order]).all()


@given(any_relations(), any_relations())
def test_the_smallest_common_pair(one, other):
    n_arms = max(one[0], other[0])
    both = sorted(sorted(pair) for pair in pair_set(one[1]) & pair_set(other[1]))
    found = common_pair(graph_of(n_arms, one[1]), graph_of(n_arms, other[1]))
    assert found == (tuple(both[0]) if both else None)


def test_rows_stay_read_only_through_a_pickle():
    graph = pickle.loads(pickle.dumps(graph_of(3, [(0, 2)])))
    assert graph.pairs().tolist() == [[0, 2]]
    for array in graph:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
