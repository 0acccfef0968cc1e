from __future__ import annotations

import pytest

from lsdt.reproduce.framework.claims import HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.paper.candidates.example_uig import EXPERIMENT


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.compute(EXPERIMENT.setting(Request(replications=5, quick=True)), Work())


def test_the_example_is_as_stated(tables):
    assert {claim.verdict for claim in EXPERIMENT.claims(tables)} == {HOLDS}
    shown = EXPERIMENT.table(tables)
    assert shown.loc[shown["candidate"], "arm"].tolist() == [1, 2, 3, 10, 11]
    assert shown["class"].dropna().tolist() == [1, 1, 1, 2, 2]
    assert (shown["reason"] != "").sum() == 6
    assert "5 of 11 arms can be the best: 1, 2, 3 and 10, 11" in EXPERIMENT.discussion(tables)
    assert "5 of 11 arms can be the best" in EXPERIMENT.draw(tables).axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    ("table", "column", "value", "claim", "verdict"),
    [
        ("trials", "search_as_stated", False, "candidates-are-end-classes", IN_PART),
        ("trials", "anchors_as_stated", False, "candidates-are-end-classes", IN_PART),
        ("trials", "means_show_it", False, "candidates-are-end-classes", IN_PART),
    ],
)
def test_one_difference_is_enough(tables, table, column, value, claim, verdict):
    changed = {name: rows.copy() for name, rows in tables.items()}
    changed[table].loc[0, column] = value
    verdicts = {found.name: found.verdict for found in EXPERIMENT.claims(changed)}
    assert verdicts.pop(claim) == verdict
    assert not verdicts
