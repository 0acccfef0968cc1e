from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.errors import InvalidInput
from naive.graphs import complement, pair_set, similar_from_means
from strategies import any_relations, integer_means

SideInformation = lsdt.SideInformation


def test_pairs_are_unordered_and_repeats_count_once():
    side = SideInformation(3, [(1, 0), (0, 1), (0, 1)], [(2, 1)])
    assert side.similar_pairs().tolist() == [[0, 1]]
    assert side.dissimilar_pairs().tolist() == [[1, 2]]
    assert (side.n_similar, side.n_dissimilar, side.is_complete) == (1, 1, False)


@given(any_relations())
def test_pairs_come_back(relations):
    n_arms, similar, dissimilar = relations
    side = SideInformation(n_arms, np.array(similar).reshape(-1, 2), (pair for pair in dissimilar))
    assert side.similar_pairs().tolist() == sorted(map(list, similar))
    assert side.dissimilar_pairs().tolist() == sorted(map(list, dissimilar))
    for a in range(n_arms):
        for b in range(a):
            expected = "similar" if (b, a) in similar else "dissimilar" if (b, a) in dissimilar else None
            assert side.relation(a, b) == expected


def test_all_pairs_listed_is_complete():
    side = SideInformation(3, [(0, 1)], [(0, 2), (1, 2)])
    assert side.is_complete
    assert side == lsdt.complete(3, [(0, 1)])


def test_complete_never_stores_the_dissimilar_pairs():
    side = lsdt.complete(100_000, [(0, 1)])
    assert side.n_dissimilar == 100_000 * 99_999 // 2 - 1
    assert side.store.dissimilar is None
    assert side.relation(5, 99_999) == "dissimilar"


def test_storage_is_compact():
    rng = np.random.default_rng(0)
    side = SideInformation(1000, rng.integers(0, 500, (4000, 2)) * [1, 1] + [0, 500], [])
    rows = side.store.similar
    assert rows.indices.dtype == np.int32
    assert rows.indices.nbytes + rows.indptr.nbytes <= 8 * side.n_similar + 8 * 1001


@given(integer_means())
def test_from_means_is_the_definition(problem):
    means, epsilon = problem
    similar = similar_from_means(means, epsilon)
    side = lsdt.from_means(means, epsilon)
    assert side.is_complete
    assert side.is_implicit
    assert pair_set(side.similar_pairs()) == similar
    assert pair_set(side.dissimilar_pairs()) == complement(len(means), similar)
    assert (side.n_similar, side.n_dissimilar) == (len(similar), len(complement(len(means), similar)))
    assert side == side.explicit()
    for a in range(len(means)):
        for b in range(a):
            assert side.relation(a, b) == ("similar" if frozenset((a, b)) in similar else "dissimilar")


def test_from_means_holds_sixteen_bytes_an_arm():
    side = lsdt.from_means(np.random.default_rng(0).random(10_000), 0.01)
    windows = side.store.windows
    assert windows.means.nbytes + windows.order.nbytes + windows.right_end.nbytes == 16 * 10_000


def test_float_means_are_compared_with_the_stated_tolerance():
    assert lsdt.from_means([0.1, 0.2, 0.3], 0.1).n_similar == 0
    assert lsdt.from_means([0.1, 0.2, 0.3], 0.1, tolerance=0.0).n_similar == 1  # the trap
    assert lsdt.from_means([0.1, 0.2 - 1e-7, 0.3], 0.1).n_similar == 1
    assert lsdt.from_means([1, 2, 3], 1).n_similar == 0
    assert lsdt.from_means([1, 2, 3], 2).n_similar == 2


def test_ids_come_back_and_say_what_pairs_mean():
    by_id = SideInformation(3, [("x", "y")], [("y", "z")], arm_ids=["x", "y", "z"])
    by_index = SideInformation(3, [(0, 1)], [(1, 2)], arm_ids=["x", "y", "z"])
    assert by_id == by_index
    assert by_id.arm_ids == ("x", "y", "z")
    assert (by_id.label(2), by_id.index("z"), by_id.index(2)) == ("z", 2, 2)
    numbers = SideInformation(3, [(30, 10)], [], arm_ids=np.array([30, 10, 20]))
    assert numbers.similar_pairs().tolist() == [[0, 1]]
    assert numbers.arm_ids == (30, 10, 20)
    assert type(numbers.arm_ids[0]) is int
    assert numbers.index(20) == 2


def test_it_is_an_immutable_value():
    side = SideInformation(3, [(0, 1)], [(1, 2)], epsilon=0.5)
    with pytest.raises(AttributeError, match="immutable"):
        side.epsilon = 1.0
    with pytest.raises(ValueError, match="read-only"):
        side.store.similar.indices[0] = 2
    again = pickle.loads(pickle.dumps(side))
    assert again == side
    assert hash(again) == hash(side)
    assert side != SideInformation(3, [(0, 1)], [], epsilon=0.5)
    assert side != SideInformation(3, [(0, 1)], [(1, 2)])
    assert side != "something else"


def test_the_callers_arrays_are_left_alone():
    pairs = np.array([[2, 0], [1, 2]])
    means = np.array([0.5, 0.1])
    side = SideInformation(3, pairs, [])
    lsdt.from_means(means, 0.1)
    pairs[0] = 1, 0
    means[0] = 9.0
    assert side.similar_pairs().tolist() == [[0, 2], [1, 2]]
    assert pairs.flags.writeable


def test_implicit_information_does_not_follow_the_callers_means():
    means = np.array([0.5, 0.1, 0.55])
    side = lsdt.from_means(means, 0.1)
    means[:] = 0
    assert side.similar_pairs().tolist() == [[0, 2]]


def test_repr_says_what_is_known():
    assert repr(SideInformation(3, [(0, 1)], [])) == (
        "SideInformation(3 arms, 1 similar pair, 0 dissimilar pairs, partial)"
    )
    assert repr(lsdt.from_means([1, 2], 1)) == "SideInformation(2 arms, implicit, complete, epsilon=1)"


IDS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SideInformation(0, [], []), "at least one arm; got n_arms=0"),
        (lambda: SideInformation(2.5, [], []), "n_arms must be a whole number; got 2.5"),
        (lambda: SideInformation(3, [(0, 3)], []), r"similar pair number 0 is \(0, 3\): there is no arm 3"),
        (lambda: SideInformation(3, [], [(0, 1), (-1, 2)]), r"dissimilar pair number 1 is \(-1, 2\)"),
        (lambda: SideInformation(3, [(1, 1)], []), "similar pair number 0 joins arm 1 to itself"),
        (lambda: SideInformation(3, [(0, 1)], [(1, 0)]), r"pair \(0, 1\) is listed both as similar and"),
        (lambda: SideInformation(3, [("a", "b")], [("b", "a")], IDS), r"pair \('a', 'b'\) is listed both"),
        (lambda: SideInformation(3, [("a", "bb")], [], IDS), r"there is no arm 'bb'.*did you mean 'b'"),
        (lambda: SideInformation(3, [("a", "b")], []), "there is no arm 'a'.*give arm_ids"),
        (lambda: SideInformation(3, [(0, 1, 2)], []), r"pair number 0 must be two arms; got \(0, 1, 2\)"),
        (lambda: SideInformation(3, np.zeros((2, 3), int), []), r"must have two columns.*got shape \(2, 3\)"),
        (
            lambda: SideInformation(3, np.ones((2, 2)), []),
            "must hold arm numbers or ids; got an array of float64",
        ),
        (lambda: SideInformation(3, 7, []), "must be a list of pairs of arms; got 7"),
        (lambda: SideInformation(3, ["ab"], []), "must be two arms; got 'ab'"),
        (lambda: SideInformation(2, [], [], ["a"]), "one id for each of the 2 arms; got 1"),
        (lambda: SideInformation(2, [], [], ["a", "a"]), "'a' is the id of arms 0 and 1"),
        (lambda: SideInformation(2, [], [], ["a", 1]), "all strings or all ints; got 'a' and 1"),
        (lambda: SideInformation(2, [], [], ["a", ""]), "non-empty strings or ints; arm 1 has ''"),
        (lambda: SideInformation(2, [], [], [1.5, 2]), "non-empty strings or ints; arm 0 has 1.5"),
        (lambda: SideInformation(2, [], [], "ab"), "got the single 'ab'"),
        (lambda: SideInformation(2, [], [], epsilon=0), "epsilon must be positive and finite; got 0"),
        (
            lambda: SideInformation(2, [], [], epsilon=float("nan")),
            "epsilon must be positive and finite; got nan",
        ),
        (lambda: SideInformation(2, [], [], epsilon="x"), "epsilon must be a positive number; got 'x'"),
        (lambda: lsdt.from_means([], 0.1), "means must be a non-empty list"),
        (lambda: lsdt.from_means([[1.0]], 0.1), r"got shape \(1, 1\)"),
        (lambda: lsdt.from_means([0.1, float("nan")], 0.1), "the mean of arm 1 is nan"),
        (lambda: lsdt.from_means([0.1, float("inf")], 0.1), "the mean of arm 1 is inf"),
        (lambda: lsdt.from_means(["a"], 0.1), "means must be real numbers"),
        (lambda: lsdt.from_means([0.1], -1), "epsilon must be positive and finite; got -1"),
        (
            lambda: lsdt.from_means([2**60, 1], 1),
            "integer means, their differences and epsilon must stay below",
        ),
        (lambda: SideInformation(2, [], []).relation(1, 1), "needs two different arms; got 1 twice"),
        (lambda: SideInformation(2, [], []).relation(0, 2), "there is no arm 2; arms are numbered 0 to 1"),
        (lambda: SideInformation(2, [], []).reveal(1.5), "p_similar must lie between 0 and 1; got 1.5"),
        (lambda: SideInformation(2, [], []).reveal(seed=-1), "seed must be a non-negative integer; got -1"),
        (lambda: SideInformation(2, [], []).corrupt("x"), "q must be a number from 0 to 1; got 'x'"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(InvalidInput, match=message):
        build()
