"""The picture of gadgets: the arms that can be best by the book, and the truth table judged."""

from __future__ import annotations

import numpy as np
import pytest

from lsdt.reproduce.framework.certificates import makes_best
from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems.hardness import example_gadgets as part
from lsdt.reproduce.theorems.hardness.formulas import anchor_instance, interval_model, random_formula


@pytest.fixture(scope="module")
def tables():
    return part._compute(part._setting(Request()), Work())


def test_sizes_are_those_of_three_variables_and_one_clause(tables):
    relations = tables["relations"]["relation"]
    assert len(tables["arms"]) == 4 * 3 + 3 + 1
    assert (relations == "similar").sum() == 4 * 3 + 3
    assert (relations == "dissimilar").sum() == 6 * 3 + 9


def test_every_candidate_has_means_that_prove_it(tables):
    arms = tables["arms"]
    assert (arms["candidate"] == arms["has_means"]).all()
    assert not arms.set_index("arm")["candidate"]["p"]
    assert arms.set_index("arm")["candidate"]["x1"]


def test_a_row_with_three_true_literals_refutes_the_table(tables):
    assert part._claims(tables)[0].verdict == HOLDS
    assert len(tables["links"]) == 8
    wrong = tables["links"].copy()
    wrong.loc[0, "true_in_clause_2"] = 3
    assert part._claims({**tables, "links": wrong})[0].verdict == FAILS


def test_it_is_shown(tables):
    assert "x1" in part._discussion(tables)
    assert "42 of 42 relations hold in it, and x1 and v1,1 begin leftmost" in part._discussion(tables)
    for axes in part._draw(tables).axes:
        assert {"p", "x1", "not x1'", "v1,2"} <= {text.get_text() for text in axes.texts}


def test_intervals_of_the_clause_by_hand(tables):
    begins = tables["arms"].set_index("arm")["begins"]
    stairs = {"x1": -1.8, "x2": -1 - 1.6 / 3, "x3": -1 - 0.8 / 3, "p": 0.0, "x2'": -0.9, "not x2'": 0.9}
    hung = {"v1,1": -1.8, "v1,2": 2.4, "v1,3": 0.4}  # not x2 begins at 1 + 1.6 / 3, not x3 at 1 + 0.8 / 3
    for arm, place in (stairs | hung).items():
        assert begins[arm] == pytest.approx(place)
    assert tables["relations"]["holds_in_intervals"].all()


def test_intervals_satisfy_random_formulas_with_one_true_literal_a_clause():
    rng = np.random.default_rng(0)
    for n_clauses in (1, 2, 3, 5) * 5:
        formula = random_formula(rng, 6, n_clauses)
        rows = np.flatnonzero((formula.true_literals() == 1).all(axis=1))
        rows = rows[rows % 2 == 1]  # variable 1 is true
        if not len(rows):
            continue
        side = anchor_instance(formula)
        begins = interval_model(formula, [bool(rows[0] >> bit & 1) for bit in range(6)])
        assert makes_best(side, [-begins[arm] for arm in side.arm_ids], 1.0, side.index("x1"))
