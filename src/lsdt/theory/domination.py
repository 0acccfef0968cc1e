"""Linear programme P2: the least play that gives every arm one play in its neighbourhood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import LsdtError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation
    from lsdt.side_information.adjacency import Adjacency

# Values that small are the solver's rounding; left in, they would become plays of arms that need none.
_NOISE = 1e-9


class FractionalDomination(NamedTuple):
    """The solution of P2: exploration values `z`, one per arm, and their sum `size` (the paper's C2)."""

    z: NDArray[np.float64]
    size: float


def fractional_domination(side: SideInformation) -> FractionalDomination:
    """Solve P2 exactly: the smallest fractional dominating set of the similar pairs.

    Minimise the sum of z subject to ``sum of z_j over j in N[i] >= 1`` for every arm i and ``z >= 0``, where
    N[i] is arm i with the arms similar to it. Solved by the dual simplex method of HiGHS, which ends in the
    same vertex every time.

    Examples
    --------
    >>> import lsdt
    >>> star = lsdt.SideInformation(4, similar=[(0, 1), (0, 2), (0, 3)])
    >>> solution = lsdt.theory.fractional_domination(star)
    >>> solution.z.tolist(), solution.size
    ([1.0, 0.0, 0.0, 0.0], 1.0)
    """
    return solve_domination(side.store.explicit().similar)


def solve_domination(similar: Adjacency) -> FractionalDomination:
    """Solve P2 for a graph given by its rows."""
    n_arms = len(similar.indptr) - 1
    z = np.ones(n_arms)  # an arm without neighbours must be played itself
    linked = np.flatnonzero(np.diff(similar.indptr))
    if len(linked):
        z[linked] = _solved(similar, linked)
    return FractionalDomination(z, float(z.sum()))


def _solved(similar: Adjacency, linked: NDArray[np.int64]) -> NDArray[np.float64]:
    import highspy

    place = np.full(len(similar.indptr) - 1, -1, np.int32)
    place[linked] = np.arange(len(linked), dtype=np.int32)
    rows = [np.sort(np.append(place[similar.neighbours(int(arm))], place[arm])) for arm in linked]
    programme = highspy.HighsLp()
    programme.num_col_ = programme.num_row_ = len(linked)
    programme.col_cost_ = np.ones(len(linked))
    programme.col_lower_ = np.zeros(len(linked))
    programme.col_upper_ = np.ones(len(linked))
    programme.row_lower_ = np.ones(len(linked))
    programme.row_upper_ = np.full(len(linked), highspy.kHighsInf)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    programme.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    programme.a_matrix_.index_ = np.concatenate(rows)
    programme.a_matrix_.value_ = np.ones(int(programme.a_matrix_.start_[-1]))
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", "simplex")
    solver.passModel(programme)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise LsdtError(
            f"the solver stopped without an answer on the linear programme P2 of {len(linked):,} arms: "
            f"{solver.modelStatusToString(solver.getModelStatus())}"
        )
    z: NDArray[np.float64] = np.clip(np.asarray(solver.getSolution().col_value), 0.0, 1.0)
    z[z < _NOISE] = 0.0
    return z
