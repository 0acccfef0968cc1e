from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.errors import Unsupported
from naive.checkers import is_forbidden, means_fit
from naive.graphs import has_forbidden, is_proper_order, is_unit_interval, pair_set
from strategies import any_graph, integer_means

SideInformation = lsdt.SideInformation

CLAW = [(0, 1), (0, 2), (0, 3)]
NET = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 4), (2, 5)]
SUN = [(0, 1), (1, 2), (0, 2), (3, 0), (3, 1), (4, 1), (4, 2), (5, 0), (5, 2)]


@pytest.mark.parametrize(
    ("n_arms", "similar", "kind"),
    [
        (4, CLAW, "claw"),
        (6, NET, "net"),
        (6, SUN, "sun"),
        (4, [(0, 1), (1, 2), (2, 3), (3, 0)], "hole"),
        (50, [(arm, (arm + 1) % 50) for arm in range(50)], "hole"),
    ],
)
def test_each_obstruction_is_named(n_arms, similar, kind):
    side = lsdt.complete(n_arms, similar)
    certificate = lsdt.recognise(side)
    assert certificate.kind == kind
    assert len(certificate.arms) == n_arms
    assert is_forbidden(side, certificate)


@given(any_graph(max_arms=7))
def test_decision_agrees_with_all_orders_and_all_subsets(graph):
    n_arms, similar = graph
    decided = lsdt.recognise(lsdt.complete(n_arms, similar)).is_unit_interval
    assert decided == (not has_forbidden(n_arms, pair_set(similar)))
    if n_arms <= 6:
        assert decided == is_unit_interval(n_arms, pair_set(similar))


@given(any_graph(max_arms=12))
def test_both_answers_carry_their_proof(graph):
    n_arms, similar = graph
    side = lsdt.complete(n_arms, similar)
    answer = lsdt.recognise(side)
    if answer.is_unit_interval:
        assert is_proper_order(answer.order.tolist(), n_arms, pair_set(similar))
        assert means_fit(side, answer.coordinates, 1.0)
    else:
        assert is_forbidden(side, answer)


@given(integer_means())
def test_means_always_give_a_model(problem):
    means, epsilon = problem
    side = lsdt.from_means(means, epsilon)
    for held in (side, side.explicit()):
        model = lsdt.recognise(held)
        assert model.is_unit_interval
        assert means_fit(side, model.coordinates, 1.0)
        assert np.array_equal(np.sort(model.order), np.arange(len(means)))


@pytest.mark.large
def test_certificate_is_found_in_a_large_graph():
    rng = np.random.default_rng(1)
    side = lsdt.from_means(rng.random(3000), 0.02).explicit()
    pairs = side.similar_pairs()
    # One relation dropped in the middle: its two arms keep their common neighbours, a hole or a claw.
    broken = lsdt.complete(3000, np.delete(pairs, len(pairs) // 2, axis=0))
    certificate = lsdt.recognise(broken)
    assert not certificate.is_unit_interval
    assert is_forbidden(broken, certificate)


def test_sparse_random_graphs_of_many_shapes(thorough):
    rng = np.random.default_rng(8)
    kinds = set()
    for seed in range(300 if thorough else 80):
        n_arms = int(rng.integers(6, 40))
        graph = nx.gnm_random_graph(n_arms, int(n_arms * rng.uniform(0.6, 3)), seed=seed)
        side = lsdt.complete(n_arms, list(graph.edges))
        answer = lsdt.recognise(side)
        if not answer.is_unit_interval:
            kinds.add(answer.kind)
            assert is_forbidden(side, answer)
    assert {"claw", "hole"} <= kinds


def test_a_clique_with_a_net_or_sun_inside():
    for obstruction, kind in ((NET, "net"), (SUN, "sun")):
        clique = [(a, b) for a in range(6, 30) for b in range(a)]  # adjacent to everything: keeps it chordal
        side = lsdt.complete(30, obstruction + clique)
        assert is_forbidden(side, lsdt.recognise(side)), kind
        with_path = obstruction + [(arm, arm + 1) for arm in range(6, 29)]
        assert lsdt.recognise(lsdt.complete(30, with_path)).kind == kind


def test_certificate_names_arms_by_id_in_words():
    side = lsdt.complete(4, [("m", x) for x in "abc"], arm_ids=["m", "a", "b", "c"])
    certificate = lsdt.recognise(side)
    assert certificate.arms == ("m", "a", "b", "c")
    assert "claw of the arms 'm', 'a', 'b', 'c'" in str(certificate)


def test_partial_information_is_refused():
    with pytest.raises(Unsupported, match="this is partial"):
        lsdt.recognise(SideInformation(3, [(0, 1)], []))


@pytest.mark.large
def test_model_of_many_arms_is_exact_in_floats():
    rng = np.random.default_rng(0)
    side = lsdt.from_means(rng.random(20_000), 0.001)
    x = np.sort(lsdt.recognise(side).coordinates)
    ends = side.store.windows.right_end
    places = np.arange(len(x))
    inside = ends - 1 > places
    assert (x[ends[inside] - 1] - x[places[inside]] < 1).all()
    outside = ends < len(x)
    assert (x[ends[outside]] - x[places[outside]] >= 1).all()
