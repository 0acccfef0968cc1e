"""The solver HiGHS: quiet, on one thread, by the simplex method, so that answers repeat exactly."""

from __future__ import annotations

from typing import Any

from lsdt.errors import LsdtError


def new_solver(tolerance: float | None = None) -> Any:
    """Return a solver without a programme; `tolerance` is that of feasibility, HiGHS's own by default."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"output_flag": False, "threads": 1, "solver": "simplex"}
    if tolerance is not None:
        options |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver


def solve(solver: Any, programme: str) -> Any:
    """Return the optimal solution; raise, naming the programme, if there is none. Restarts are warm."""
    import highspy

    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise LsdtError(
            f"the solver stopped without an answer on {programme}: {solver.modelStatusToString(status)}"
        )
    return solver.getSolution()
