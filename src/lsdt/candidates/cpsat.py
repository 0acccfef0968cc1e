"""Whether an arm can be the best of its part, by the exhaustive solver CP-SAT of OR-Tools, where installed.

A depth in whole steps for every arm. Similar pairs, and dissimilar ones whose order follows, are linear
constraints; every other dissimilar pair has a yes or no for its order. What comes out is checked by the
caller; that there is nothing is the solver's word.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.exact_kernel import CAN, CANNOT, UNDECIDED
from lsdt.candidates.joined_parts import Verdict, relations_among

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.candidates.joined_parts import Part, Relations


def is_installed() -> bool:
    """Say whether OR-Tools is there, and can be loaded.

    It brings a HiGHS of its own: in a process in which another version was loaded first it may not be.
    """
    if find_spec("ortools") is None:
        return False
    try:
        import_module("ortools.sat.python.cp_model")
    except ImportError:
        return False
    return True


def decide_by_cpsat(part: Part, arm: int, seconds: float, orders: int = 0) -> Verdict:
    """Decide whether an arm can be the best of a part, or say UNDECIDED when time is over."""
    bounds, possible = part.derived(arm)
    if not possible:
        return Verdict(CANNOT, orders)
    answer, depths = _solved(bounds, *relations_among(part.field, part.arms), part.place(arm), seconds)
    return part.shown(arm, depths, orders) if depths is not None else Verdict(answer, orders)


def _listed(pairs: Relations) -> Iterator[tuple[int, int, int]]:
    return zip(pairs.first.tolist(), pairs.second.tolist(), pairs.steps.tolist(), strict=True)


def _solved(
    bounds: NDArray[np.signedinteger],
    near: Relations,
    far: Relations,
    best: int,
    seconds: float,
) -> tuple[int, NDArray[np.int64] | None]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    depth = [
        model.new_int_var(-int(bounds[arm, best]), int(bounds[best, arm]), f"d{arm}")
        for arm in range(len(bounds))
    ]
    for a, b, steps in _listed(near):
        model.add_linear_constraint(depth[a] - depth[b], -steps, steps)
    for a, b, steps in _listed(far):
        if bounds[a, b] < steps:  # b cannot lie below a
            model.add(depth[a] - depth[b] >= steps)
        elif bounds[b, a] < steps:
            model.add(depth[b] - depth[a] >= steps)
        else:
            lies_below = model.new_bool_var(f"o{a},{b}")
            model.add(depth[b] - depth[a] >= steps).only_enforce_if(lies_below)
            model.add(depth[a] - depth[b] >= steps).only_enforce_if(~lies_below)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1  # the same depths every time
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return CAN, np.array([solver.value(one) for one in depth])
    return (CANNOT if status == cp_model.INFEASIBLE else UNDECIDED), None
