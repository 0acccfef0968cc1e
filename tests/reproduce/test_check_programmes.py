"""Claims in passing: domination numbers beside all sets, verdicts on made-up numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from lsdt.reproduce import check_programmes as part
from lsdt.reproduce.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.dominating_sets import domination_number
from lsdt.reproduce.experiments import Request, Work
from lsdt.side_information import SideInformation
from naive.domination import smallest_dominating
from naive.graphs import pair_set
from strategies import any_graph


@settings(max_examples=150)
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
    return part._compute(part._setting(Request(runs=4, quick=True)), Work())


def verdicts(tables):
    return {claim.name: claim.verdict for claim in part._claims(tables)}


def changed(tables, name, **columns):
    return {**tables, name: tables[name].assign(**columns)}


def test_a_dominating_set_below_c2_refutes_the_claim(tables):
    assert verdicts(tables)["c2-at-most-domination"] == HOLDS
    assert verdicts(changed(tables, "p2", domination=0.5))["c2-at-most-domination"] == FAILS


def test_values_above_one_or_far_from_the_optimum(tables):
    assert verdicts(tables)["z-at-most-one"] == HOLDS
    assert verdicts(changed(tables, "p2", largest_z=1.1))["z-at-most-one"] == IN_PART
    assert verdicts(changed(tables, "p2", largest_z=1.1, gap=0.1))["z-at-most-one"] == FAILS


def test_hardness_is_refuted_by_a_formula(tables):
    assert verdicts(tables)["p1-is-hard"] == FAILS
    far = changed(tables, "p1", formula=tables["p1"]["solved"] * 1.01, exact_gap=1.0)
    assert verdicts(far)["p1-is-hard"] == HOLDS


def test_many_candidates_refute_the_order(tables):
    assert verdicts(changed(tables, "candidates", candidates=1e9))["bstar-below-sqrt"] == FAILS


def test_wide_classes_refute_the_argument(tables):
    wide = changed(tables, "candidates", within_gap=False, connected=True)
    assert verdicts(wide)["bstar-argument"] != HOLDS
