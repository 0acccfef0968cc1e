from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given

import lsdt
from lsdt.errors import InvalidInput, MissingDependency
from strategies import any_relations

SideInformation = lsdt.SideInformation
COLUMNS = {
    "a": ["x", "y", "w"],
    "b": ["y", "z", None],
    "relation": ["similar", "dissimilar", None],
}
EXPECTED = SideInformation(4, [("x", "y")], [("y", "z")], arm_ids=["x", "y", "w", "z"])


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pl.LazyFrame(COLUMNS), pa.table(COLUMNS)],
    ids=["pandas", "polars", "polars lazy", "pyarrow"],
)
def test_any_dataframe(frame):
    assert lsdt.from_frame(frame) == EXPECTED


def test_frames_with_other_names_numbers_and_categories():
    frame = pd.DataFrame(
        {"i": [0, 1, 2], "j": [1.0, 2.0, np.nan], "kind": pd.Categorical(["similar"] * 2 + [None])}
    )
    side = lsdt.from_frame(frame, "i", "j", "kind", epsilon=0.5)
    assert side == SideInformation(3, [(0, 1), (1, 2)], [], epsilon=0.5)
    complete = lsdt.from_frame(frame[["i", "j"]], "i", "j", complete=True)
    assert complete == lsdt.complete(3, [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [2]}, r"lacks the columns 'relation'; found 'a', 'b'"),
        (
            {"a": [1], "b": [2], "relation": ["near"]},
            "the row at position 0 of the frame has the relation 'near'",
        ),
        ({"a": [1], "b": ["x"], "relation": ["similar"]}, "both hold text or both whole numbers"),
        ({"a": [1.5], "b": [2.0], "relation": ["similar"]}, "column 'a' must hold whole numbers or text"),
        ({"a": [[1]], "b": [[2]], "relation": ["similar"]}, "column 'a' must hold arm ids"),
        ({"a": [1], "b": [1], "relation": ["similar"]}, "position 0 of the frame joins arm 1 to itself"),
    ],
)
def test_bad_frames_are_named(columns, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_frame(pl.DataFrame(columns))


def test_what_is_no_frame_is_named():
    with pytest.raises(InvalidInput, match="takes a dataframe .* got list"):
        lsdt.from_frame([1, 2])


@given(any_relations())
def test_networkx_round_trip(relations):
    side = SideInformation(*relations, arm_ids=[f"n{a}" for a in range(relations[0])], epsilon=0.3)
    graph = side.to_networkx()
    assert graph.graph["epsilon"] == 0.3
    again = lsdt.from_networkx(graph, complete=graph.graph["complete"], epsilon=0.3)
    assert again == side


def test_networkx_plain_graphs_and_errors(monkeypatch):
    path = nx.path_graph(4)
    assert lsdt.from_networkx(path, complete=True) == lsdt.complete(4, [(0, 1), (1, 2), (2, 3)])
    with pytest.raises(InvalidInput, match=r"edge \(0, 1\) has no relation; its attribute 'relation'"):
        lsdt.from_networkx(path)
    wrong = nx.Graph()
    wrong.add_edge("a", "b", relation="simmilar")
    with pytest.raises(InvalidInput, match="has the relation 'simmilar'.*did you mean 'similar'"):
        lsdt.from_networkx(wrong)
    wrong.add_edge("a", "a", relation="similar")
    wrong["a"]["b"]["relation"] = "similar"
    with pytest.raises(InvalidInput, match="node 'a' has an edge to itself"):
        lsdt.from_networkx(wrong)
    both = nx.MultiGraph()
    both.add_edge("a", "b", relation="similar")
    both.add_edge("a", "b", relation="dissimilar")
    with pytest.raises(InvalidInput, match=r"\('a', 'b'\) is listed both"):
        lsdt.from_networkx(both)
    with pytest.raises(InvalidInput, match="at least one arm"):
        lsdt.from_networkx(nx.Graph())
    with pytest.raises(InvalidInput, match="arm ids must be non-empty strings or ints; arm 0 has"):
        lsdt.from_networkx(nx.grid_graph([2, 2]), complete=True)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependency, match=r"pip install 'lsdt\[networkx\]'"):
        EXPECTED.to_networkx()


@given(any_relations())
def test_scipy_matrices(relations):
    n_arms, similar, dissimilar = relations
    matrices = []
    for pairs in (similar, dissimilar):
        matrix = np.zeros((n_arms, n_arms))
        for a, b in pairs:
            matrix[a, b] = 1.0  # one triangle is enough
        matrices.append(matrix)
    np.fill_diagonal(matrices[0], 1.0)
    assert lsdt.from_scipy(*map(sp.csr_array, matrices)) == SideInformation(*relations)
    assert lsdt.from_scipy(sp.coo_matrix(matrices[0]), complete=True) == lsdt.complete(n_arms, similar)


def test_bad_matrices_are_named():
    eye = sp.eye_array(3, format="csr")
    with pytest.raises(InvalidInput, match="leave `dissimilar` out"):
        lsdt.from_scipy(eye, eye, complete=True)
    with pytest.raises(InvalidInput, match="or say complete=True"):
        lsdt.from_scipy(eye)
    with pytest.raises(InvalidInput, match="arm 0 is dissimilar to itself"):
        lsdt.from_scipy(eye, eye)
    with pytest.raises(InvalidInput, match=r"`dissimilar` must be 3 x 3.*got \(2, 2\)"):
        lsdt.from_scipy(eye, sp.eye_array(2, format="csr"))
    ids = lsdt.from_scipy(sp.csr_array((2, 2)), complete=True, arm_ids=[7, 8])
    assert ids.arm_ids == (7, 8)


@pytest.mark.parametrize("ids", [None, ["w", "x", "y", "z"], [7, 5, 3, 9]])
@pytest.mark.parametrize("is_complete", [False, True])
def test_a_frame_comes_back_as_the_same_information(ids, is_complete):
    side = lsdt.from_means([0.1, 0.2, 0.3, 0.9], 0.15, arm_ids=ids)
    side = side if is_complete else side.reveal(1.0, 0.4, seed=1)
    frame = side.to_frame()
    assert list(frame.columns) == ["a", "b", "relation"]
    assert set(frame.relation.dropna()) <= {"similar"} or not is_complete
    assert lsdt.from_frame(frame, complete=is_complete, epsilon=0.15) == side.explicit()


def test_a_frame_has_the_thresholds_and_the_arms_in_no_pair():
    side = lsdt.SideInformation(4, [(0, 1)], [(0, 1)], epsilon=(0.3, 0.1))
    frame = side.to_frame()
    assert frame[frame.b.notna()].values.tolist() == [[0, 1, "similar", 0.3], [0, 1, "dissimilar", 0.1]]
    assert frame.a[frame.b.isna()].tolist() == [2, 3]
    assert lsdt.from_frame(frame) == side
