"""P2 on small graphs: exactly, by the dual simplex method of HiGHS; the same vertex every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.theory.domination import primal_dual_kernel as kernel
from lsdt.theory.solver import new_solver, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency

# Smaller values are the solver's rounding; left in, they would cause plays of arms that need none.
_NOISE = 1e-9


def exact_pair(similar: Adjacency) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return optimal solutions of P2 and of its dual."""
    n_arms = len(similar.indptr) - 1
    z = np.ones(n_arms)  # an arm without neighbours must be played itself
    y = np.ones(n_arms)
    linked = np.flatnonzero(np.diff(similar.indptr))
    if len(linked):
        solution = _solve(similar, linked)
        z[linked] = _without_noise(solution.col_value)
        y[linked] = _without_noise(solution.row_dual)
    return _covering(similar, z), _packing(similar, y)


def _without_noise(values: Any) -> NDArray[np.float64]:
    clean: NDArray[np.float64] = np.clip(np.asarray(values, np.float64), 0.0, 1.0)
    clean[clean < _NOISE] = 0.0
    return clean


def _covering(similar: Adjacency, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return z, scaled where the solver's tolerance (1e-7) let a constraint fall short."""
    rows = (similar.indptr, similar.indices)
    sums, scaled = kernel.closed_sums(*rows, z), np.empty_like(z)
    if sums.min() >= 1.0 - _NOISE or not np.isfinite(kernel.scale_up(*rows, z, sums, scaled)):
        return z
    return scaled


def _packing(similar: Adjacency, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return y, scaled if a sum is above 1, so that it proves a lower bound."""
    rows = (similar.indptr, similar.indices)
    sums, scaled = kernel.closed_sums(*rows, y), np.empty_like(y)
    if sums.max() <= 1.0 + _NOISE:
        return y
    kernel.scale_down(*rows, y, sums, scaled)
    return scaled


def _solve(similar: Adjacency, linked: NDArray[np.int64]) -> Any:
    """Return HiGHS's solution for the arms that have neighbours."""
    solver = new_solver()
    solver.passModel(_programme(similar, linked))
    return solve(solver, f"the linear programme P2 of {len(linked):,} arms")


def _programme(similar: Adjacency, linked: NDArray[np.int64]) -> Any:
    import highspy

    place = np.full(len(similar.indptr) - 1, -1, np.int32)
    place[linked] = np.arange(len(linked), dtype=np.int32)
    rows = [np.sort(np.append(place[similar.neighbours(int(arm))], place[arm])) for arm in linked]
    programme = highspy.HighsLp()
    programme.num_col_ = programme.num_row_ = len(linked)
    programme.col_cost_ = np.ones(len(linked))
    programme.col_lower_ = np.zeros(len(linked))
    programme.col_upper_ = np.full(len(linked), highspy.kHighsInf)
    programme.row_lower_ = np.ones(len(linked))
    programme.row_upper_ = np.full(len(linked), highspy.kHighsInf)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    programme.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    programme.a_matrix_.index_ = np.concatenate(rows)
    programme.a_matrix_.value_ = np.ones(int(programme.a_matrix_.start_[-1]))
    return programme
