"""The one way to HiGHS: an answer, or an error that names the programme."""

from __future__ import annotations

import highspy
import numpy as np
import pytest

from lsdt.errors import LsdtError
from lsdt.theory.solver import new_solver, solve


def least_number(least, most, tolerance=None):
    """A programme of one unknown x between two ends, which minimises x."""
    solver = new_solver(tolerance)
    solver.addCols(
        1,
        np.ones(1),
        np.array([least]),
        np.array([most]),
        0,
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.zeros(0),
    )
    return solver


@pytest.mark.parametrize("tolerance", [None, 1e-9])
def test_by_hand(tolerance):
    assert solve(least_number(2.0, 5.0, tolerance), "x").col_value == [2.0]


def test_what_has_no_answer_is_named():
    with pytest.raises(LsdtError, match="without an answer on a line without an end: Unbounded"):
        solve(least_number(-highspy.kHighsInf, 5.0), "a line without an end")


def test_options_are_kept():
    solver = new_solver(1e-8)
    wanted = {"output_flag": False, "threads": 1, "solver": "simplex", "dual_feasibility_tolerance": 1e-8}
    assert {name: solver.getOptionValue(name)[1] for name in wanted} == wanted
