"""Pairs of points that lie near one another.

A sweep follows the coordinate that varies most: only points less than a radius further along can be near, and
most of those are dropped after a few coordinates, taken from the most varying to the least. That is exact in
floats, needs memory only for the pairs found, and works for few features as well as for hundreds, where a
tree would examine nearly all pairs anyway.

scipy's k-d tree (`cKDTree.query_pairs`) takes a third to a half of the processor time with 2 to 5 features,
but three times as much with 10. Its radius is inclusive and it rounds differently, so that pairs at the
border differ, and it cannot stop when the pairs no longer fit in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import over_blocks, require_memory
from lsdt.side_information.sources import near_points_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

NORMS = {"euclidean": 2, "manhattan": 1, "chebyshev": 0}
SMALLEST_RADIUS = 1e-300  # its inverse is a finite float

_PAIRS_AT_ONCE = 2**23  # at most 64 MiB of pairs between two checks of memory
_BYTES_PER_PAIR = 32  # in blocks, in one list, and as a graph that is being built


def near_pairs(
    points: NDArray[np.float64], radius: float, norm: int, instead: str, at_once: int = _PAIRS_AT_ONCE
) -> NDArray[np.int32]:
    """Return the pairs of points less than `radius` apart, ``(m, 2)``, smaller first, in no special order.

    Parameters
    ----------
    points : array of shape (points, coordinates)
        Finite.
    radius : float
        At least `SMALLEST_RADIUS`.
    norm : int
        One of `NORMS`.
    instead : str
        What to do when there are more pairs than fit in memory; for the error.
    at_once : int
        Pairs to examine, and at most to find, before memory is checked again.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the spread only affects speed
        spread = np.nan_to_num(points.std(axis=0))
    along = np.argsort(-spread, kind="stable")
    arms = np.argsort(points[:, along[0]], kind="stable").astype(np.int32)
    columns, per_radius = np.ascontiguousarray(points[arms][:, along].T), 1.0 / radius
    ends = kernel.sweep_ends(columns[0], per_radius)
    rows = max(at_once // len(points), 1)
    found: dict[int, NDArray[np.int32]] = {}

    def look(first: int, last: int) -> None:
        for start in range(first, last, rows):
            stop = min(start + rows, last)
            found[start] = kernel.near_in_rows(columns, arms, ends, per_radius, norm, start, stop)
            count = sum(map(len, found.copy().values()))
            require_memory(count * _BYTES_PER_PAIR, f"listing more than {count:,} similar pairs", instead)

    over_blocks(look, len(points))
    return np.concatenate([found[start] for start in sorted(found)])
