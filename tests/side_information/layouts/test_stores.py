"""Stored pairs and windows behind one interface: each must answer what the other does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.reveal import Corrupt, Reveal
from lsdt.side_information.layouts.stores import (
    PairStore,
    WindowStore,
    all_pairs,
    known_store,
    pair_store,
    same_relations,
    threshold_store,
)
from lsdt.side_information.layouts.thresholds import PairThresholds, at_pairs
from lsdt.side_information.layouts.windows import windows_of_means
from naive.graphs import complement, pair_set, similar_from_means
from strategies import integer_means


def pairs_of(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def graph_of(n_arms, *pairs):
    return adjacency_of_pairs(pairs_of(*pairs), n_arms)


def relations(store):
    return {(a, b): store.relation(a, b) for a in range(store.n_arms) for b in range(store.n_arms) if a != b}


def test_a_list_of_every_other_pair_is_complete():
    similar, others = graph_of(3, (0, 1)), graph_of(3, (0, 2), (1, 2))
    partial = known_store(3, similar, graph_of(3, (0, 2)))
    assert (partial.is_complete, partial.n_dissimilar, partial.relation(1, 2)) == (False, 1, 0)
    whole = known_store(3, similar, others)
    assert whole.dissimilar is None
    assert (whole.is_complete, whole.n_similar, whole.n_dissimilar) == (True, 1, 2)
    assert (whole.relation(1, 0), whole.relation(1, 2)) == (1, -1)
    assert whole.listed_dissimilar().pairs().tolist() == [[0, 2], [1, 2]]
    assert whole.explicit() is whole


def test_a_pair_in_both_lists_is_named():
    names = ArmNames(3, ["x", "y", "z"])
    with pytest.raises(InvalidInput, match=r"the pair \('x', 'z'\) is listed both as similar and"):
        pair_store(graph_of(3, (0, 2)), graph_of(3, (0, 1), (0, 2)), names)


@given(integer_means(max_arms=9), st.integers(0, 3), st.floats(0.0, 1.0), st.integers(0, 99))
def test_windows_and_their_pairs_answer_alike(drawn, n_layers, share, seed):
    means, epsilon = drawn
    windows = WindowStore(windows_of_means(means, float(epsilon), 0.0))
    pairs = windows.explicit()
    similar = similar_from_means(means, epsilon)
    assert pair_set(pairs.similar.pairs()) == similar
    assert pair_set(pairs.listed_dissimilar().pairs()) == complement(len(means), similar)
    for number in range(n_layers):
        layer = Corrupt(share, seed) if number == 1 else Reveal(share, 1.0 - share, seed + number)
        windows, pairs = windows.with_layer(layer), pairs.with_layer(layer)
    assert relations(windows) == relations(pairs)
    assert (windows.n_similar, windows.n_dissimilar) == (pairs.n_similar, pairs.n_dissimilar)
    for word in ("listed_similar", "listed_dissimilar"):
        one, other = (getattr(store, word)().pairs() for store in (windows, pairs))
        assert one.tolist() == other.tolist()
    assert same_relations(windows, pairs)


def test_the_same_recipe_is_the_same_relations():
    store = WindowStore(windows_of_means([0, 2, 5, 6], 3.0, 0.0))
    again = WindowStore(windows_of_means([0, 2, 5, 6], 3.0, 0.0))
    assert store.same_recipe(again)
    hidden = again.with_layer(Reveal(0.5, 0.5, 1))
    assert not store.same_recipe(hidden)
    assert (store.is_complete, hidden.is_complete, hidden.is_true) == (True, False, True)
    assert not hidden.with_layer(Corrupt(0.1, 1)).is_true
    assert hidden.expected_counts() == (1.0, 2.0)
    assert not same_relations(store, PairStore(4, graph_of(4, (0, 1)), None))


def test_thresholds_of_pairs():
    similar, dissimilar = pairs_of((0, 1), (0, 2), (1, 0)), pairs_of((0, 1), (1, 2))
    values = PairThresholds(np.array([0.5, 0.3, 0.4]), np.array([0.1, 0.2]))
    store = threshold_store(3, similar, dissimilar, values)
    assert store.range_of(0, 1) == (0.1, 0.4)  # of (0, 1), listed twice as similar, the tighter counts
    assert store.range_of(2, 0) == (0.0, 0.3)
    assert store.range_of(1, 2) == (0.2, np.inf)
    by_pair = store.pair_thresholds()
    assert [column.tolist() for column in by_pair] == [[0.4, 0.3], [0.1, 0.2]]
    assert store.with_one_epsilon() == (store, None)
    with pytest.raises(Unsupported, match="corrupt information without such pairs"):
        store.with_layer(Corrupt(0.5, 0))
    nothing = store.with_layer(Reveal(0.0, 0.0, 0))
    assert (nothing.n_similar, nothing.n_dissimilar, nothing.thresholds) == (0, 0, None)


def test_equal_thresholds_are_one_epsilon():
    values = PairThresholds(np.array([0.2]), np.array([0.2]))
    store, epsilon = threshold_store(3, pairs_of((0, 1)), pairs_of((1, 2)), values).with_one_epsilon()
    assert (store.thresholds, epsilon) == (None, 0.2)


def test_the_number_of_all_pairs():
    assert [all_pairs(n) for n in (1, 2, 5, 100_000)] == [0, 1, 10, 4_999_950_000]


@pytest.mark.parametrize(
    "side",
    [
        lsdt.from_means([0.1, 0.2, 0.4, 0.45, 0.9], 0.15).explicit(),
        lsdt.from_means([0.1, 0.2, 0.4, 0.45, 0.9], 0.15).reveal(0.6, 0.6, seed=4).explicit(),
        lsdt.SideInformation(
            5, [(0, 1), (3, 2)], [(0, 1), (1, 4), (2, 4)], epsilon=([0.3, 0.4], [0.1, 0.2, 0.5])
        ),
        lsdt.SideInformation(5, [(0, 1), (3, 2)], [(4, 1)]),
        lsdt.SideInformation(5, ranges=[(0, 1, 0.1, None)], epsilon=0.2),
    ],
)
def test_many_pairs_are_as_far_apart_as_each_of_them(side):
    pairs = np.array([(a, b) for a in range(5) for b in range(5) if a != b], np.int32)
    least = side.store.least_distances(pairs, side.limits)
    assert np.nan_to_num(least).tolist() == [side.distance_at(a, b)[0] for a, b in pairs.tolist()]
    near = at_pairs(side.store.similar, side.limits.similar, pairs, np.inf)
    assert near.tolist() == [side.distance_at(a, b)[1] for a, b in pairs.tolist()]


def test_limits_are_in_epsilons_where_epsilon_is_unknown():
    unknown = lsdt.SideInformation(3, [(0, 1)], [(1, 2)])
    assert (unknown.has_epsilon, unknown.limits.largest, unknown.distance_at(2, 1)) == (
        False,
        1.0,
        (1.0, np.inf),
    )
    assert lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.3, 0.1)).has_epsilon


def test_a_range_is_that_of_the_pair_either_way_round():
    side = lsdt.SideInformation(4, better=[(2, 0)], ranges=[(0, 1, -0.1, 0.3), (3, 1, None, 0.2)])
    assert side.range_at(1, 0) == (-0.3, 0.1, False, False)
    assert side.range_at(0, 2) == (-np.inf, 0.0, False, True)
    assert side.range_at(1, 3) == (-0.2, np.inf, False, False)
    for first, second in ((0, 3), (3, 0), (2, 3), (1, 2)):
        assert side.range_at(first, second) == (-np.inf, np.inf, False, False)
        assert not side.range_at(first, second).is_known
