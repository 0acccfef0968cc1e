"""The picture of gadgets: the arms that can be best by the book, and the truth table judged."""

from __future__ import annotations

import pytest

from lsdt.reproduce.framework.claims import FAILS, HOLDS
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.theorems.hardness import example_gadgets as part


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
    names = {text.get_text() for text in part._draw(tables).axes[0].texts}
    assert {"p", "x1", "not x1'", "v1,2"} <= names
