"""Complete information: how deep the arms of a component lie below an arm at its end.

The order of a connected unit interval graph is unique up to reversal and twins (arms with equal closed
neighbourhoods), so depths rise along the order if its first arm is the best. Three constraints per arm imply
all others: the next arm is no higher, the last similar one lies less than epsilon below, the first dissimilar
one epsilon or more. Twins may stand in any order: each gets the smallest lower and the largest upper bound of
its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.complete.gap_bounds_kernel import relax_along
from lsdt.candidates.propagation.method_kernel import FAR
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.complete.proper_order import ProperOrder


def depths_along(
    proper: ProperOrder, arm: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the arms of a component, starting from `arm` at one end, and bounds on their depths in steps."""
    first, end = proper.component_bounds(int(proper.position[arm]))
    left, right = proper.left_end[first:end].astype(np.int64), proper.right_end[first:end].astype(np.int64)
    members, ends = proper.order[first:end], right - first
    place = int(proper.position[arm]) - first
    size = end - first
    if (left[place], right[place]) != (left[0], right[0]):  # not in the first class: reverse the order
        if (left[place], right[place]) != (left[-1], right[-1]):
            raise InvalidInput(f"arm {arm} cannot be the best: it is in neither end class of its component")
        members, ends, left, right = members[::-1], size - (left[::-1] - first), right[::-1], left[::-1]
    unit = len(proper.order) + 1
    lower, upper = np.zeros(size, np.int64), np.full(size, FAR)
    upper[0] = 0
    relax_along(np.ascontiguousarray(ends), unit, lower, upper)
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(left) != 0) | (np.diff(right) != 0)]))
    sizes = np.diff(np.concatenate([starts, [size]]))
    return members, np.repeat(lower[starts], sizes), np.repeat(upper[starts + sizes - 1], sizes)
