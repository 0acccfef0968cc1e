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
    assert SideInformation.from_frame(frame) == EXPECTED


def test_frames_with_other_names_numbers_and_categories():
    frame = pd.DataFrame(
        {"i": [0, 1, 2], "j": [1.0, 2.0, np.nan], "kind": pd.Categorical(["similar"] * 2 + [None])}
    )
    side = SideInformation.from_frame(frame, "i", "j", "kind", epsilon=0.5)
    assert side == SideInformation(3, [(0, 1), (1, 2)], [], epsilon=0.5)
    complete = SideInformation.from_frame(frame[["i", "j"]], "i", "j", complete=True)
    assert complete == SideInformation.complete(3, [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [2]}, r"lacks the columns \['relation'\]; found \['a', 'b'\]"),
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
        SideInformation.from_frame(pl.DataFrame(columns))


def test_what_is_no_frame_is_named():
    with pytest.raises(InvalidInput, match="takes a dataframe .* got list"):
        SideInformation.from_frame([1, 2])


@given(any_relations())
def test_networkx_round_trip(relations):
    side = SideInformation(*relations, arm_ids=[f"n{a}" for a in range(relations[0])], epsilon=0.3)
    graph = side.to_networkx()
    assert graph.graph["epsilon"] == 0.3
    again = SideInformation.from_networkx(graph, complete=graph.graph["complete"], epsilon=0.3)
    assert again == side


def test_networkx_plain_graphs_and_errors(monkeypatch):
    path = nx.path_graph(4)
    assert SideInformation.from_networkx(path, complete=True) == SideInformation.complete(
        4, [(0, 1), (1, 2), (2, 3)]
    )
    with pytest.raises(InvalidInput, match=r"edge \(0, 1\) has no relation; its attribute 'relation'"):
        SideInformation.from_networkx(path)
    wrong = nx.Graph()
    wrong.add_edge("a", "b", relation="simmilar")
    with pytest.raises(InvalidInput, match="has the relation 'simmilar'.*did you mean 'similar'"):
        SideInformation.from_networkx(wrong)
    wrong.add_edge("a", "a", relation="similar")
    wrong["a"]["b"]["relation"] = "similar"
    with pytest.raises(InvalidInput, match="node 'a' has an edge to itself"):
        SideInformation.from_networkx(wrong)
    both = nx.MultiGraph()
    both.add_edge("a", "b", relation="similar")
    both.add_edge("a", "b", relation="dissimilar")
    with pytest.raises(InvalidInput, match=r"\('a', 'b'\) is listed both"):
        SideInformation.from_networkx(both)
    with pytest.raises(InvalidInput, match="at least one arm"):
        SideInformation.from_networkx(nx.Graph())
    with pytest.raises(InvalidInput, match="arm ids must be non-empty strings or ints; arm 0 has"):
        SideInformation.from_networkx(nx.grid_graph([2, 2]), complete=True)
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
    assert SideInformation.from_scipy(*map(sp.csr_array, matrices)) == SideInformation(*relations)
    assert SideInformation.from_scipy(sp.coo_matrix(matrices[0]), complete=True) == SideInformation.complete(
        n_arms, similar
    )


def test_bad_matrices_are_named():
    eye = sp.eye_array(3, format="csr")
    with pytest.raises(InvalidInput, match="leave `dissimilar` out"):
        SideInformation.from_scipy(eye, eye, complete=True)
    with pytest.raises(InvalidInput, match="or say complete=True"):
        SideInformation.from_scipy(eye)
    with pytest.raises(InvalidInput, match="arm 0 is dissimilar to itself"):
        SideInformation.from_scipy(eye, eye)
    with pytest.raises(InvalidInput, match=r"`dissimilar` must be 3 x 3.*got \(2, 2\)"):
        SideInformation.from_scipy(eye, sp.eye_array(2, format="csr"))
    ids = SideInformation.from_scipy(sp.csr_array((2, 2)), complete=True, arm_ids=[7, 8])
    assert ids.arm_ids == (7, 8)
