"""What makes side information a value: completeness, equality, pickling, and odd but fair ways to give it."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from strategies import integer_means

SideInformation = lsdt.SideInformation


@given(integer_means(max_arms=5), st.sampled_from([0.5, 0.9]), st.integers(0, 5), st.booleans())
def test_the_pairs_alone_determine_explicit_information(problem, p, seed, corrupt):
    means, epsilon = problem
    implicit = lsdt.from_means(means, epsilon).reveal(p, p, seed)
    if corrupt:
        implicit = implicit.corrupt(0.3, seed)
    rebuilt = SideInformation(
        len(means), implicit.similar_pairs(), implicit.dissimilar_pairs(), epsilon=implicit.epsilon
    )
    assert rebuilt == implicit.explicit()
    assert rebuilt.is_complete == implicit.explicit().is_complete
    assert rebuilt == implicit
    assert hash(rebuilt) == hash(implicit)


def test_all_relations_revealed_by_luck_are_complete_and_stay_so_in_a_file(tmp_path):
    side = lsdt.from_means([0, 1, 2], 1.5).explicit()
    shown = side.reveal(0.9999, 0.9999, seed=1)
    assert shown.is_complete
    assert shown == side
    shown.save(tmp_path / "x.csv")
    assert lsdt.load(tmp_path / "x.csv") == shown


def test_equality_looks_at_relations_not_at_recipes():
    first, second = (lsdt.from_means(means, 1.5) for means in ([0, 1, 2], [0, 1, 2.1]))
    assert first == second
    assert first != lsdt.from_means([0, 1, 2], 2.5)
    assert lsdt.from_means([0.1, 0.2], 0.1) != lsdt.from_means([0.1, 0.2 - 1e-4], 0.1)


def test_pickles_come_back_read_only():
    implicit = lsdt.from_means([0.1, 0.2, 0.9], 0.3, arm_ids=["a", "b", "c"]).reveal(0.5, 0.5)
    for side in (implicit, implicit.explicit()):
        again = pickle.loads(pickle.dumps(side))
        assert again == side
        arrays = (
            [again.store.windows.means, again.store.windows.right_end]
            if again.is_implicit
            else [again.store.similar.indices, again.store.similar.indptr]
        )
        assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(AttributeError, match="immutable; cannot delete"):
        del implicit._store


def test_answers_cannot_be_changed_either():
    found = lsdt.candidate_set(lsdt.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=["a", "b", "c"]))
    with pytest.raises(ValueError, match="read-only"):
        found.arms[0] = 1
    assert list(found) == ["a", "c"]
    assert "nobody" not in found
    assert ["a"] not in found


@pytest.mark.parametrize(
    "pairs",
    [
        [(np.str_("a"), np.str_("b"))],
        [{"a", "b"}],
        [frozenset("ab")],
        [["a", "b"]],
        np.array([["a", "b"]]),
        np.array([["a", "b"]], object),
        {("a", "b")},
        iter([("a", "b")]),
        [(np.int8(0), np.int64(1))],
        np.array([[0, 1]], object),
        np.array([[0, 1]], np.uint8),
        np.asfortranarray(np.array([[0, 1], [1, 0]], ">i4")),
    ],
)
def test_fair_ways_to_give_pairs(pairs):
    assert SideInformation(3, pairs, arm_ids=["a", "b", "c"]).similar_pairs().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SideInformation(2, pd.DataFrame({"a": [0], "b": [1]})), "for a dataframe use .*from_frame"),
        (
            lambda: SideInformation(4, pl.DataFrame({"a": [0, 2], "b": [1, 3]})),
            "for a dataframe use .*from_frame",
        ),
        (lambda: SideInformation(2, [("a", 1)], arm_ids=["a", "b"]), "there is no arm 1"),
        (lambda: SideInformation(2, [(0, 1)], arm_ids=[10, 20]), "with integer ids a number is an id"),
        (lambda: SideInformation(2, arm_ids={"a", "b"}), "a set has no order"),
        (lambda: SideInformation(2, arm_ids=[1, 2**63]), "integer arm ids must fit in 64 bits"),
        (lambda: SideInformation(1, arm_ids=["\ud800"]), "can be written in UTF-8"),
        (lambda: SideInformation(2, [(1, 2**70)]), "there is no arm 1180591620717411303424"),
        (lambda: SideInformation(2, [("a", "\ud800")], arm_ids=["a", "b"]), "there is no arm '.ud800'"),
        (lambda: SideInformation(2, arm_ids=5), "arm_ids must be a list of ids, one per arm; got 5"),
        (lambda: SideInformation(3, [(True, 2)]), "there is no arm True"),
        (lambda: SideInformation(3).label(-7), "there is no arm -7"),
        (
            lambda: lsdt.from_means(np.ma.array([0.0, 5.0], mask=[0, 1]), 0.1),
            "some of them are masked",
        ),
        (
            lambda: lsdt.from_networkx(nx.path_graph(2), complete="no"),
            "complete must be True or False",
        ),
        (lambda: lsdt.from_scipy(np.array(5), complete=True), "must be 0 x 0"),
        (lambda: lsdt.from_frame(pd.DataFrame({"a": [1]}), a=["a"]), "names of different columns"),
        (
            lambda: lsdt.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"])),
            "cannot be read as pairs",
        ),
        (
            lambda: lsdt.candidate_set(lsdt.complete(2, []), max_wrong=np.array([1, 2])),
            "max_wrong must be a whole number",
        ),
        (lambda: SideInformation(2, epsilon=10**400), "epsilon must be positive and finite"),
        (lambda: SideInformation(2, arm_ids=[0, 1]).index(True), "there is no arm True"),
        (lambda: SideInformation(2, arm_ids=[0, 1]).index(1.0), "there is no arm 1.0"),
        (lambda: SideInformation(2, arm_ids=["a", "b"]).index(["a"]), r"there is no arm \['a'\]"),
        (lambda: lsdt.from_means({"a": 0.1}, 1), "for a mapping give its values, and arm_ids"),
        (lambda: lsdt.from_means([[1], [1, 2]], 1), "means must be a list of numbers"),
        (lambda: lsdt.from_means([-1e308, 1e308], 1), "the means are too far apart"),
        (lambda: lsdt.from_means([0.1, 0.2], 1, tolerance=1.0), "tolerance must be below 1"),
        (lambda: lsdt.from_means([-(2**53 - 1), 4], 2**53 + 4), "to be compared exactly"),
        (lambda: lsdt.from_means([0, 1], 1).reveal(lambda x: None), "must return a probability"),
        (lambda: lsdt.from_networkx([(0, 1)]), "takes a networkx graph; got list"),
        (
            lambda: lsdt.from_scipy([[0, 1], [1, 0]], complete=True),
            "must be a scipy sparse matrix; got list",
        ),
        (lambda: lsdt.from_frame(pd.DataFrame({"a": [1]}), b="a"), "names of different columns"),
        (
            lambda: lsdt.from_frame(
                pd.DataFrame({"a": [1, "x"], "b": ["y", 2], "relation": ["similar"] * 2})
            ),
            "the frame cannot be read as pairs of arms",
        ),
        (lambda: lsdt.candidate_set([(0, 1)]), "a SideInformation is needed; got list"),
        (lambda: lsdt.recognise(None), "a SideInformation is needed; got NoneType"),
    ],
)
def test_unfair_ways_are_named(build, message):
    with pytest.raises(InvalidInput, match=message):
        build()


def test_networkx_keeps_completeness_and_epsilon():
    side = lsdt.complete(4, [(0, 1), (1, 2)], epsilon=0.2)
    assert lsdt.from_networkx(side.to_networkx()) == side
    graph = nx.Graph()
    graph.add_edge("a", "b", relation=["similar"])
    with pytest.raises(InvalidInput, match=r"has the relation \['similar'\]"):
        lsdt.from_networkx(graph)


def test_more_arms_than_memory_are_refused_at_once():
    refused = pytest.raises(TooLarge, match="0 pairs of 2,147,483,647 arms would need about")
    with memory_limit(2**30), refused:
        SideInformation(2**31 - 1)


def test_epsilon_may_be_of_any_kind_of_number():
    for epsilon in (np.float32(0.5), np.int8(1), np.float64(0.25), 1, np.longdouble(0.5)):
        assert SideInformation(2, epsilon=epsilon).epsilon == float(epsilon)


def test_extreme_epsilons_still_explain_themselves():
    for scale in (1e-300, 1e300):
        found = lsdt.candidate_set(lsdt.from_means(np.array([0.0, 1.0, 1.5]) * scale, 1.2 * scale))
        means = found.explain(0).means
        assert np.isfinite(means).all()
        assert means[0] == means.max()


def test_matrices_of_scipy_may_be_of_any_kind():
    expected = lsdt.complete(2, [(0, 1)])
    for kind in (sp.csr_matrix, sp.coo_array, sp.lil_array, sp.dok_array):
        assert lsdt.from_scipy(kind(np.array([[0, 1], [0, 0]])), complete=True) == expected
