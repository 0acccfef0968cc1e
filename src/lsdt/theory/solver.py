"""The solver HiGHS: quiet, on one thread, by the simplex method, so that answers are reproducible."""

from __future__ import annotations

from typing import Any

from lsdt.errors import LsdtError


def new_solver(tolerance: float | None = None) -> Any:
    """Return an empty solver; `tolerance` is its feasibility tolerance, by default that of HiGHS."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"output_flag": False, "threads": 1, "solver": "simplex"}
    if tolerance is not None:
        options |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver


def solve(solver: Any, programme: str) -> Any:
    """Return the optimal solution, or raise an error that names `programme`. Repeated calls start warm."""
    import highspy

    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise LsdtError(
            f"the solver stopped without an answer on {programme}: {solver.modelStatusToString(status)}"
        )
    return solver.getSolution()
