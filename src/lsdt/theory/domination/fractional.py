"""Linear programme P2: the fewest plays, fractions allowed, with one play in every neighbourhood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_positive, checked_word
from lsdt.candidates import check_side_information, proper_order
from lsdt.side_information import WindowStore
from lsdt.theory.domination import fractional_kernel as kernel
from lsdt.theory.domination.primal_dual import solution_with_certificate
from lsdt.theory.domination.simplex import exact_pair
from lsdt.theory.domination.twins import without_twins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency, SideInformation, WindowedOrder

METHODS = ("auto", "simplex", "primal_dual")
# The simplex method takes about a second for this many arms, and time grows faster than their square.
_MOST_EXACT = 2_000
# Limit on the steps of the first-order method: a gap of 1% took 20 to 200 on graphs of 10,000 arms, .1% 600.
_MOST_STEPS = 20_000


class FractionalDomination(NamedTuple):
    """A solution of P2 with a proof of its quality.

    Attributes
    ----------
    z : array of float
        Exploration values, one per arm: the values in every closed neighbourhood sum to 1 or more.
    size : float
        Their sum: the paper's C2, or at most `gap` above it.
    lower : float
        The sum of `packing`: a lower bound on C2.
    packing : array of float
        A solution of the dual: the values in every closed neighbourhood sum to 1 or less.
    """

    z: NDArray[np.float64]
    size: float
    lower: float
    packing: NDArray[np.float64]

    @property
    def gap(self) -> float:
        """How far `size` may be above C2, as a fraction of it; 0 for an exact solution, up to rounding."""
        return max(self.size / self.lower - 1.0, 0.0)

    def _repr_html_(self) -> str:
        return fields_card(self)


def fractional_domination(
    side: SideInformation, gap: float = 0.01, method: str = "auto"
) -> FractionalDomination:
    """Solve P2: the smallest fractional dominating set of the similar pairs.

    Minimise the sum of z subject to ``sum of z_j over j in N[i] >= 1`` for every arm i and ``z >= 0``, where
    N[i] is arm i with the arms similar to it. Arms with the same N[i] are merged first; the lowest carries
    the value. The same input gives the same z on every run.

    Parameters
    ----------
    side : SideInformation
        Only its similar pairs count. Fully revealed means need no list of pairs: the last arm similar to the
        first uncovered one covers more than any other, so one pass solves P2.
    gap : float
        How far above the optimum `size` may be where P2 is not solved exactly, proven by `lower`. If the
        steps run out first, the best solution is returned with its larger gap.
    method : {"auto", "simplex", "primal_dual"}
        ``"simplex"`` is exact, ``"primal_dual"`` a first-order method with a proof. ``"auto"`` is exact for
        up to 2,000 arms after merging and for unit interval graphs of any size, first-order otherwise.

    Examples
    --------
    >>> import lsdt
    >>> star = lsdt.SideInformation(4, similar=[(0, 1), (0, 2), (0, 3)])
    >>> solution = lsdt.theory.fractional_domination(star)
    >>> solution.z.tolist(), solution.size
    ([1.0, 0.0, 0.0, 0.0], 1.0)
    >>> means = [arm * 7919 % 10007 for arm in range(10007)]
    >>> side = lsdt.from_means(means, 20).reveal(p_similar=0.5)
    >>> solution = lsdt.theory.fractional_domination(side)
    >>> solution.gap <= 0.01
    True
    """
    gap = checked_positive(gap, "gap", ", 0.01 for one percent")
    checked_word(method, "method", METHODS)
    check_side_information(side)
    store = side.store
    if method == "auto" and isinstance(store, WindowStore) and not store.layers:
        return _solution(*_of_order(store.windows))
    return solve_domination(store.listed_similar(), gap, method)


def solve_domination(
    similar: Adjacency, gap: float = 0.01, method: str = "auto", most_steps: int = _MOST_STEPS
) -> FractionalDomination:
    """Solve P2 for a graph given by its adjacency rows; see `fractional_domination`."""
    kept, among = without_twins(similar)
    if method == "simplex" or (method == "auto" and len(kept) <= _MOST_EXACT):
        pair = exact_pair(among)
    else:
        order = proper_order(among) if method == "auto" else None
        pair = solution_with_certificate(among, gap, most_steps) if order is None else _of_order(order)
    z, packing = np.zeros((2, len(similar.indptr) - 1))
    z[kept], packing[kept] = pair
    return _solution(z, packing)


def _of_order(order: WindowedOrder) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return optimal solutions of P2 and of its dual for a unit interval graph."""
    z, packing = np.zeros((2, len(order.order)))
    kernel.cover_windows(order.order, order.right_end, z, packing)
    return z, packing


def _solution(z: NDArray[np.float64], packing: NDArray[np.float64]) -> FractionalDomination:
    return FractionalDomination(z, float(z.sum()), float(packing.sum()), packing)
