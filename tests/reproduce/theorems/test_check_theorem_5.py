"""How often the triangle rule leaves too much: counts beside the naive rule, claims on made-up counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request
from lsdt.reproduce.theorems import check_theorem_5 as part
from lsdt.theory import check_assumptions
from naive.candidates import by_triangles
from naive.graphs import pair_set


@pytest.mark.parametrize("size", [1, 2])
def test_copies_are_draws_of_the_graph(size):
    graph = {"arms": 6 * size, "class_size": size, "p_similar": 0.7, "p_dissimilar": 0.8}
    many = part._copies(graph, 5)
    revealed = many.reveal(0.7, 0.8, seed=3)
    similar, dissimilar = pair_set(revealed.similar_pairs()), pair_set(revealed.dissimilar_pairs())
    left = by_triangles(many.n_arms, similar, dissimilar)
    places = [arm % graph["arms"] for arm in left]
    inner = [arm for arm, at in zip(left, places, strict=True) if size <= at < graph["arms"] - size]
    counted = part._count(graph, many, 5, seed=3)
    assert counted == {"failed": len({arm // graph["arms"] for arm in inner}), "extra": len(inner)}
    assert 0 < counted["failed"] < counted["extra"]
    assert {arm // graph["arms"] for pair in similar for arm in pair} == set(range(5))
    assert all(first // graph["arms"] == second // graph["arms"] for first, second in similar)


def test_every_graph_is_at_the_limit_of_the_assumptions():
    for graph in part._setting(Request(replications=1))["graphs"]:
        side, shares = part._copies(graph, 1), [graph["p_similar"], graph["p_dissimilar"]]
        assert check_assumptions(side, *shares).hold
        shares[int(shares[0] == 1.0)] -= 1e-6
        assert not check_assumptions(side, *shares).hold


def made_up(failed, n_arms=12, draws=10_000, held=True):
    """One run in which this many draws failed, each by one arm."""
    graphs = [(part._PATH, 1), ("classes of 2", 2)]
    rows = [
        {
            "graph": kind,
            "arms": n_arms,
            "class_size": size,
            "p_similar": 1.0,
            "p_dissimilar": 0.99,
            "kappa": 1.0,
            "assumptions_hold": held,
            "draws": draws,
            "run": 0,
            "failed": failed,
            "extra": failed,
        }
        for kind, size in graphs
    ]
    return {"runs": pd.DataFrame(rows)}


@pytest.mark.parametrize(
    ("failed", "verdicts"),
    [
        (0, [HOLDS, HOLDS, HOLDS]),
        (500, [FAILS, HOLDS, HOLDS]),  # .05: above 1/144, below 1/12
        (2_000, [FAILS, IN_PART, FAILS]),  # .2; the assumptions do hold
    ],
)
def test_verdicts(failed, verdicts):
    assert [claim.verdict for claim in part._claims(made_up(failed))] == verdicts


def test_graphs_beyond_the_assumptions_are_seen():
    assert part._claims(made_up(0, held=False))[1].verdict == IN_PART


def test_the_path_fails_as_often_as_worked_out_by_hand():
    """Ten inner arms, each with its own dissimilar pair hidden with probability 1/144."""
    graph = part._graph(part._PATH, 12, 1, "dissimilar")
    draws = 20_000
    failed = part._count(graph, part._copies(graph, draws), draws, seed=1)["failed"]
    expected = 1 - (1 - 1 / 144) ** 10
    assert failed / draws == pytest.approx(expected, abs=4 * np.sqrt(expected / draws))
