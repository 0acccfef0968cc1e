"""One linear programme that grows by rows, solved by the simplex method of HiGHS."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.theory.solver import new_solver, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# Below HiGHS's default of 1e-7: bounds are asked for with a relative precision of 1e-6 and finer.
_TOLERANCE = 1e-9


class Optimum(NamedTuple):
    """The largest value, a point that attains it, and each row's dual: the gain per unit of its bound."""

    value: float
    point: NDArray[np.float64]
    duals: NDArray[np.float64]


class LinearProgramme:
    """Maximise ``cost @ x`` with ``lower <= x <= upper`` and rows ``a @ x <= right``."""

    def __init__(
        self, cost: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        self._highs = new_solver(_TOLERANCE)
        none = np.zeros(0, np.int32)
        n_columns = len(cost)
        self._highs.addCols(
            n_columns, -cost, lower, upper, 0, np.zeros(n_columns, np.int32), none, np.zeros(0)
        )

    def add(self, rows: csr_array, right: NDArray[np.float64]) -> None:
        """Add rows ``rows @ x <= right``."""
        n_rows = rows.shape[0]
        self._highs.addRows(
            n_rows,
            np.full(n_rows, -np.inf),
            right,
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
        )

    def solve(self) -> Optimum:
        """Return the optimum; a second call starts from the answer of the first."""
        answer = solve(self._highs, f"a linear programme of {self._highs.getNumCol():,} unknowns")
        return Optimum(
            -float(self._highs.getInfo().objective_function_value),
            np.asarray(answer.col_value),
            -np.asarray(answer.row_dual),
        )
