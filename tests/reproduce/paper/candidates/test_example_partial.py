from __future__ import annotations

import numpy as np
import pytest

from lsdt.reproduce.framework.certificates import makes_best, relations_hold
from lsdt.reproduce.framework.claims import FAILS, HOLDS, IN_PART
from lsdt.reproduce.framework.experiment import Request, Work
from lsdt.reproduce.paper.candidates.example_partial import EXPERIMENT
from lsdt.side_information import SideInformation


@pytest.fixture(scope="module")
def tables():
    return EXPERIMENT.compute(EXPERIMENT.setting(Request(replications=5, quick=True)), Work())


def test_the_example_is_as_stated(tables):
    assert {claim.verdict for claim in EXPERIMENT.claims(tables)} == {HOLDS}
    assert "on a graph of our own" in EXPERIMENT.claims(tables)[0].text
    shown = EXPERIMENT.table(tables)
    assert shown.loc[shown["candidate"], "arm"].tolist() == [1, 2, 3, 5, 6, 10, 11]
    assert (shown["reason"] != "").sum() == 4
    assert "arms 5, 6 remain possible" in EXPERIMENT.discussion(tables)
    assert "reconstruction" in EXPERIMENT.discussion(tables)
    axes = EXPERIMENT.draw(tables).axes[0]
    assert [len(lines.get_segments()) for lines in axes.collections[:2]] == [17, 21]


@pytest.mark.parametrize(
    ("table", "column", "value", "claim", "verdict"),
    [
        ("arms", "candidate", False, "partial-candidates", IN_PART),
        ("arms", "has_means", False, "partial-candidates", IN_PART),
        ("trials", "between_excluded", False, "partial-triangles", FAILS),
        ("trials", "b_star_in_b", False, "partial-nested", IN_PART),
        ("trials", "b_in_b0", False, "partial-nested", IN_PART),
    ],
)
def test_one_difference_is_enough(tables, table, column, value, claim, verdict):
    changed = {name: rows.copy() for name, rows in tables.items()}
    changed[table].loc[0, column] = value
    verdicts = {found.name: found.verdict for found in EXPERIMENT.claims(changed)}
    assert verdicts.pop(claim) == verdict
    assert set(verdicts.values()) == {HOLDS}


def test_certificates_are_checked_relation_by_relation():
    side = SideInformation(3, [(0, 1)], [(0, 2)])
    assert relations_hold(side, [0.0, 0.5, 1.0], 1.0).tolist() == [True, True]
    assert relations_hold(side, [0.0, 1.0, 0.9], 1.0).tolist() == [False, False]
    assert makes_best(side, np.array([1.0, 0.5, 0.0]), 1.0, 0)
    assert not makes_best(side, np.array([1.0, 0.5, 0.0]), 1.0, 1)
    assert not makes_best(side, np.array([1.0, 0.0, 0.0]), 1.0, 0)
    assert not makes_best(side, None, 1.0, 0)
