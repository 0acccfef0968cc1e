"""Thresholds in whole steps, which decide strict and non-strict inequalities without rounding.

A *quantum* is a length of which every threshold is a whole multiple, and `unit` steps make a quantum. Less
than n quanta apart becomes at most ``n * unit - 1`` steps, at least n quanta becomes at least ``n * unit``. A
closed chain of m such relations is impossible in steps exactly when it is impossible in real numbers, as long
as ``unit > m``: s similar relations of n quanta in total leave ``n * unit - s`` steps, and s stays below a
quantum. Converting bounds back from steps needs ``unit`` above the number of arms for the same reason.

Ordinary information has one quantum, epsilon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.layouts.thresholds import Thresholds

MOST_QUANTA = 2**20  # in the largest threshold: six decimal digits, and room for sums in 64 bits
_MOST_STEPS = 2**58  # the largest sum of thresholds along all arms: a few such sums can be added in 64 bits
_PARTS = 2**14  # the finest quantum tried, as a part of the smallest threshold; trying more takes longer
_LOOKED_AT = 64  # size of a sample that is tried first: it nearly always shows when there is no quantum
_NEAR = 1e-13  # relative error of floats that still count as a whole multiple: .1 + .2 is three times .1


class Steps(NamedTuple):
    """Relations in steps: at most `similar` apart, at least `dissimilar`.

    Attributes
    ----------
    similar, dissimilar : ndarray of int64
        One number per entry of the rows of the store, or one for all of them (length 1).
    unit : int
        Steps to a quantum.
    size : float
        The length of a quantum in rewards. With one threshold for all: epsilon, or 1 if it is unknown.
    exact : bool
        Whether every threshold is a whole number of quanta. If not, similar ones are rounded up and
        dissimilar ones down: what the steps exclude is impossible, but they may exclude a little less.
    """

    similar: NDArray[np.int64]
    dissimilar: NDArray[np.int64]
    unit: int
    size: float
    exact: bool


def steps_of(limits: Thresholds, n_arms: int) -> Steps:
    """Return the relations in steps, with one more of them to a quantum than there are arms.

    Examples
    --------
    >>> from lsdt import SideInformation
    >>> from lsdt.side_information.layouts.integer_steps import steps_of
    >>> side = SideInformation(3, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)], epsilon=([.1, .2], .3))
    >>> steps = steps_of(side.limits, side.n_arms)
    >>> steps.similar.tolist(), steps.dissimilar.tolist(), steps.unit, steps.size
    ([3, 3, 7, 7], [12], 4, 0.1)
    """
    unit = n_arms + 1
    most = min(MOST_QUANTA, max(_MOST_STEPS // (n_arms * unit), 1))
    similar, dissimilar, size, exact = in_quanta(limits, most)
    return Steps(similar * unit - 1, dissimilar * unit, unit, size, exact)


def in_quanta(
    thresholds: Thresholds, most: int = MOST_QUANTA
) -> tuple[NDArray[np.int64], NDArray[np.int64], float, bool]:
    """Return thresholds as whole numbers of quanta, the length of a quantum, and whether none was rounded."""
    common = common_quantum(thresholds, most)
    if common is not None:
        rounded = (np.rint(values / common).astype(np.int64) for values in thresholds)
        return *rounded, common, True  # type: ignore[return-value]
    # Dividing by a power of two does not round, so rounding up and down is exact.
    power = int(np.frexp(thresholds.largest / most)[1])
    similar = np.maximum(np.ceil(np.ldexp(thresholds.similar, -power)), 1.0).astype(np.int64)
    dissimilar = np.floor(np.ldexp(thresholds.dissimilar, -power)).astype(np.int64)
    return similar, dissimilar, float(np.ldexp(1.0, power)), False


def common_quantum(thresholds: Thresholds, most: int = MOST_QUANTA) -> float | None:
    """Return the largest length of which all thresholds are whole multiples, or None if it is too small.

    Floats that miss a multiple by their last digits count as that multiple: .1, .2 and .3 are 1, 2 and 3
    times .1.
    """
    smallest, largest = thresholds.smallest, thresholds.largest
    if smallest == largest:
        return smallest
    values = np.concatenate(thresholds)
    if largest / smallest > most:
        return None
    parts = np.arange(1, min(_PARTS, int(most * (smallest / largest))) + 1)
    for some in (values[:: max(len(values) // _LOOKED_AT, 1)], values):  # a few nearly always decide
        while len(parts):  # the candidate quantum is the smallest threshold / parts[0]
            missed = ~_is_whole(some / smallest * parts[0])
            if not missed.any():
                break
            parts = parts[_is_whole(some[np.argmax(missed)] / smallest * parts)]
    return smallest / int(parts[0]) if len(parts) else None


def _is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = np.abs(numbers - np.rint(numbers)) <= _NEAR * numbers
    return whole
