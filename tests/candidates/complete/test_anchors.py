from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.complete.anchors import find_anchors
from lsdt.errors import InvalidInput, NotUnitInterval, Unsupported
from naive.candidates import by_definition, by_theorem_1, by_two_sweeps
from naive.graphs import components, has_forbidden, pair_set, similar_from_means
from strategies import any_graph, integer_means

SideInformation = lsdt.SideInformation


def as_sets(classes):
    return {frozenset(map(int, members)) for members in classes}


def test_hand_worked_path():
    found = lsdt.candidate_set(lsdt.complete(4, [(2, 0), (0, 3), (3, 1)]))
    assert found.arms.tolist() == [1, 2]
    assert [members.tolist() for members in found.classes] == [[1], [2]]
    assert found.method == "anchors"


def test_complete_component_is_one_class():
    found = lsdt.candidate_set(lsdt.complete(3, [(0, 1), (0, 2), (1, 2)]))
    assert [members.tolist() for members in found.classes] == [[0, 1, 2]]


def test_isolated_arms_are_classes_of_their_own():
    found = lsdt.candidate_set(lsdt.complete(5, [(1, 2), (2, 3)]))
    assert [members.tolist() for members in found.classes] == [[0], [1], [3], [4]]


def test_single_arm():
    assert lsdt.candidate_set(lsdt.complete(1, [])).arms.tolist() == [0]
    assert lsdt.candidate_set(lsdt.from_means([0.3], 0.1)).arms.tolist() == [0]


def test_paper_example_where_full_revelation_is_not_triangles():
    side = lsdt.from_means([0, 0.9, 1, 1.1, 2], 1)
    assert lsdt.candidate_set(side).arms.tolist() == [0, 4]
    assert lsdt.candidate_set(side, "triangles").arms.tolist() != [0, 4]


@given(integer_means())
def test_explicit_and_implicit_agree_with_theorem_1(problem):
    means, epsilon = problem
    similar = similar_from_means(means, epsilon)
    implicit = lsdt.from_means(means, epsilon)
    explicit = lsdt.complete(len(means), [tuple(pair) for pair in similar])
    expected = by_theorem_1(means, similar)
    for side in (implicit, explicit):
        found = lsdt.candidate_set(side)
        assert as_sets(found.classes) == expected
        assert found.arms.tolist() == sorted(arm for members in expected for arm in members)
        smallest = [int(members[0]) for members in found.classes]
        assert smallest == sorted(smallest)


@given(integer_means(max_arms=6))
def test_agrees_with_the_definition(problem):
    means, epsilon = problem
    similar = similar_from_means(means, epsilon)
    found = lsdt.candidate_set(lsdt.complete(len(means), [tuple(p) for p in similar]))
    assert set(found.arms.tolist()) == by_definition(len(means), similar)


@given(integer_means(max_arms=12))
def test_every_start_gives_the_same_set_as_the_papers_sweeps(problem):
    means, epsilon = problem
    similar = similar_from_means(means, epsilon)
    side = lsdt.complete(len(means), [tuple(pair) for pair in similar])
    expected = set(lsdt.candidate_set(side).arms.tolist())
    for start in range(len(means)):
        assert set(find_anchors(side, first_start=start).arms.tolist()) == expected
    swept = set()
    for part in components(len(means), similar):
        results = [by_two_sweeps(len(means), similar, start) for start in part]
        assert all(result == results[0] for result in results)
        swept |= results[0]
    assert swept == expected


@given(integer_means(), st.randoms(use_true_random=False))
def test_relabelling_arms_relabels_the_answer(problem, random):
    means, epsilon = problem
    new_name = list(range(len(means)))
    random.shuffle(new_name)
    renamed = [0] * len(means)
    for arm, name in enumerate(new_name):
        renamed[name] = means[arm]
    before = lsdt.candidate_set(lsdt.from_means(means, epsilon))
    after = lsdt.candidate_set(lsdt.from_means(renamed, epsilon).explicit())
    assert sorted(new_name[arm] for arm in before.arms) == after.arms.tolist()
    assert as_sets([[new_name[arm] for arm in members] for members in before.classes]) == as_sets(
        after.classes
    )


@given(any_graph(max_arms=7))
def test_refuses_exactly_what_is_no_unit_interval_graph(graph):
    n_arms, similar = graph
    side = lsdt.complete(n_arms, similar)
    if not has_forbidden(n_arms, pair_set(similar)):
        lsdt.candidate_set(side)
    else:
        with pytest.raises(NotUnitInterval) as caught:
            lsdt.candidate_set(side)
        assert not caught.value.conflict.is_unit_interval


def test_the_refusal_shows_the_arms_by_id():
    side = lsdt.complete(4, [("hub", "x"), ("hub", "y"), ("hub", "z")], arm_ids=["hub", "x", "y", "z"])
    with pytest.raises(NotUnitInterval, match="claw of the arms 'hub', 'x', 'y', 'z'"):
        lsdt.candidate_set(side)


def test_partial_information_is_refused():
    with pytest.raises(Unsupported, match="needs complete side information"):
        lsdt.candidate_set(SideInformation(3, [(0, 1)], []), "anchors")


def test_unknown_method_is_named_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"method must be one of .* got 'anchor' \(did you mean 'anchors'"):
        lsdt.candidate_set(lsdt.complete(2, []), "anchor")


def test_max_wrong_needs_triangles():
    with pytest.raises(InvalidInput, match="max_wrong=1 belongs to the method 'triangles'"):
        lsdt.candidate_set(lsdt.complete(2, []), max_wrong=1)


@pytest.mark.large
def test_large_random_graphs_agree_on_both_routes():
    rng = np.random.default_rng(7)
    for n_arms, epsilon in [(3000, 0.01), (3000, 0.0004), (2500, 0.3)]:
        side = lsdt.from_means(rng.random(n_arms), epsilon)
        first, second = lsdt.candidate_set(side), lsdt.candidate_set(side.explicit())
        assert as_sets(first.classes) == as_sets(second.classes)


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.5, 0.9])
def test_about_four_arms_can_be_best_of_a_hundred(epsilon):
    """The paper's first figure: near 5 there, 4 in the limit.

    Near an end the class is the run of points before the first point of an independent shifted stream, a
    geometric number with mean 2 and variance 2: the two ends together have mean 4 and variance 4. The margin
    is four standard errors, and .15 for the finite number of arms. Rarely the arms all lie within epsilon:
    then all 100 are candidates, and the draw says nothing about the ends.
    """
    rng = np.random.default_rng(11)
    runs = 400
    sizes = np.array(
        [len(lsdt.candidate_set(lsdt.from_means(rng.random(100), epsilon))) for _ in range(runs)]
    )
    assert (sizes == 100).sum() <= 3
    assert abs(sizes[sizes < 100].mean() - 4.0) < 4 * np.sqrt(4.0 / runs) + 0.15
