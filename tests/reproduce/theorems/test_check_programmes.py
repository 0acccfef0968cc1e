"""Claims in passing: domination numbers beside all sets, verdicts on made-up numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems import check_programmes as part
from lsdt.reproduce.theorems.exploration_values import (
    degrees_and_values,
    domination_number,
    epsilon_rows,
    paper_problem,
)
from lsdt.side_information import SideInformation
from naive.candidates import by_triangles
from naive.domination import smallest_dominating
from naive.graphs import pair_set
from strategies import any_graph


@given(any_graph())
def test_domination_number(graph):
    n_arms, similar = graph
    found = domination_number(SideInformation(n_arms, similar))
    assert found == smallest_dominating(n_arms, pair_set(similar))


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_domination_number_of_larger_graphs(share):
    rng = np.random.default_rng(int(100 * share))
    pairs = np.argwhere(np.triu(rng.random((12, 12)) < share, 1))
    assert domination_number(SideInformation(12, pairs)) == smallest_dominating(12, pair_set(pairs))


@pytest.fixture(scope="module")
def tables():
    return part._compute(part._setting(Request(replications=4, quick=True)), Work())


def verdicts(tables):
    return {claim.name: claim.verdict for claim in part._claims(tables)}


def changed(tables, name, **columns):
    return {**tables, name: tables[name].assign(**columns)}


def test_a_dominating_set_below_c2_refutes_the_claim(tables):
    assert verdicts(tables)["c2-at-most-domination"] == HOLDS
    assert verdicts(changed(tables, "p2", domination=0.5))["c2-at-most-domination"] == FAILS


def test_values_above_one(tables):
    assert verdicts(tables)["z-at-most-one"] == HOLDS
    assert verdicts(changed(tables, "p2", largest_z=1.0 + 1e-8))["z-at-most-one"] == FAILS


def test_hardness_is_refuted_by_a_formula(tables):
    assert verdicts(tables)["p1-is-hard"] == FAILS
    far = changed(tables, "p1", formula=tables["p1"]["solved"] * 1.01, exact_gap=1.0)
    assert verdicts(far)["p1-is-hard"] == HOLDS


def test_many_candidates_refute_the_order(tables):
    assert verdicts(changed(tables, "candidates", candidates=1e9))["bstar-below-sqrt"] == FAILS


def test_wide_classes_refute_the_argument(tables):
    wide = changed(tables, "candidates", within_gap=False, connected=True)
    assert verdicts(wide)["bstar-argument"] != HOLDS


def test_degrees_and_values_by_hand():
    """A star of four arms and a pair: one value of 1 in the middle of the star, one in the pair."""
    side = SideInformation(6, [(0, 1), (0, 2), (0, 3), (4, 5)])
    z = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    found = degrees_and_values(side, z)
    assert (found["alone"], found["pairs"], found["higher"], found["lower"]) == (
        0,
        5,
        4,
        0,
    )  # the fifth pair is 0 and 4
    assert found["correlation"] == pytest.approx(
        np.corrcoef([6, 3, 3, 3, 3, 3], [5.5, 2.5, 2.5, 2.5, 5.5, 2.5])[0, 1]
    )
    assert np.isnan(degrees_and_values(SideInformation(2, [(0, 1)]), np.array([1.0, 0.0]))["correlation"])


def test_degrees_against_values_refute_the_intuition(tables):
    wrong = changed(tables, "p2", correlation=-0.5 - 0.01 * tables["p2"]["run"], higher=0, pairs=4)
    assert verdicts(wrong)["higher-degree-higher-z"] == FAILS
    right = changed(tables, "p2", correlation=0.5 + 0.01 * tables["p2"]["run"], higher=4, pairs=4)
    assert verdicts(right)["higher-degree-higher-z"] == HOLDS


def test_what_changes_with_epsilon(tables):
    rows = tables["epsilons"]
    grows = changed(tables, "epsilons", domination=10 * rows["epsilon"], near=10 * rows["epsilon"])
    assert verdicts(grows)["domination-falls-with-epsilon"] == FAILS
    assert verdicts(grows)["near-arms-rise-with-epsilon"] == HOLDS
    falls = changed(tables, "epsilons", domination=-rows["epsilon"], near=-rows["epsilon"])
    assert verdicts(falls)["domination-falls-with-epsilon"] == HOLDS
    assert verdicts(falls)["near-arms-rise-with-epsilon"] == FAILS


def test_what_is_counted_at_an_epsilon():
    case = {"arms": 20, "low": 0.1, "high": 0.9, "p": 0.5}
    (row,) = epsilon_rows(case, [0.3], runs=1, seed=3, fixed=False)
    means, side, _ = paper_problem(case, 0.3, False).draw(3, 0)
    similar, dissimilar = pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())
    kept = sorted(by_triangles(20, similar, dissimilar))
    place = {arm: number for number, arm in enumerate(kept)}
    inner = pair_set([(place[a], place[b]) for a, b in similar if a in place and b in place])
    assert row["left"] == len(kept)
    assert row["domination"] == smallest_dominating(len(kept), inner)
    assert row["near"] == sum(0 < max(means) - means[arm] <= 1.2 for arm in kept)
