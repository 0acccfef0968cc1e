"""Complete side information as sorted means: the arms similar to an arm form a window around it.

With the means in ascending order, the arm at position ``p`` is similar to those at the positions
``left_end[p] .. right_end[p] - 1``. Sixteen bytes per arm replace up to K^2/2 pairs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.side_information.layouts import windows_kernel as kernel
from lsdt.side_information.layouts.adjacency import Adjacency, adjacency_of_rows, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TOLERANCE = 1e-9  # see `lsdt.from_means`
_EXACT_INTEGERS = 2**53  # whole numbers below this are exact as floats


@dataclass(frozen=True, eq=False)
class WindowedOrder:
    """Arms in an order in which the arms similar to an arm form a window around it.

    ``order[p]`` is the arm at position p, and it is similar to the arms at later positions up to
    ``right_end[p] - 1``; the ends ascend.
    """

    order: NDArray[np.int32]
    right_end: NDArray[np.int32]

    @cached_property
    def left_end(self) -> NDArray[np.int32]:
        """First position of every window."""
        return kernel.left_ends(self.right_end)

    @cached_property
    def position(self) -> NDArray[np.int32]:
        """Position of every arm: the inverse of `order`."""
        position = np.empty(len(self.order), np.int32)
        position[self.order] = np.arange(len(self.order), dtype=np.int32)
        return position


@dataclass(frozen=True, eq=False)
class Windows(WindowedOrder):
    """The order of known means, together with the means in ascending order."""

    means: NDArray[np.float64]
    epsilon: float
    threshold: float

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_windows, (self.order, self.right_end, self.means, self.epsilon, self.threshold)

    @cached_property
    def n_similar(self) -> int:
        """Number of similar pairs."""
        return int(kernel.count_window_pairs(self.right_end))

    def with_threshold(self, threshold: float) -> Windows:
        """Return the same means with windows of another width, above 0 and at most epsilon."""
        if not 0.0 < threshold <= self.epsilon:
            raise InvalidInput(f"threshold must lie above 0 and at most at epsilon; got {threshold}")
        if threshold == self.threshold:
            return self
        right_end: Any = frozen(kernel.right_ends(self.means, threshold))
        return replace(self, right_end=right_end, threshold=threshold)

    def means_by_arm(self) -> NDArray[np.float64]:
        """Return the means in the order of the arms."""
        means = np.empty_like(self.means)
        means[self.order] = self.means
        return means

    def are_similar(self, first: int, second: int) -> bool:
        """Return whether two different arms are similar."""
        low, high = sorted((int(self.position[first]), int(self.position[second])))
        return high < int(self.right_end[low])

    def among(self, arms: NDArray[np.int64]) -> Windows:
        """Return the windows of some arms, given as ascending indices; arm ``arms[i]`` becomes arm ``i``."""
        positions = self.position[arms]
        order = np.argsort(positions)  # equal means: lowest arm first, as before
        ascending = frozen(self.means[positions[order]])
        return Windows(
            order=frozen(order.astype(np.int32)),  # type: ignore[arg-type]
            right_end=frozen(kernel.right_ends(ascending, self.threshold)),  # type: ignore[arg-type]
            means=ascending,  # type: ignore[arg-type]
            epsilon=self.epsilon,
            threshold=self.threshold,
        )

    def adjacency(self) -> Adjacency:
        """Return the similar pairs as a graph."""
        return adjacency_of_rows(*kernel.rows_from_windows(self.order, self.right_end, self.left_end))


def rebuild_windows(
    order: NDArray[np.int32],
    right_end: NDArray[np.int32],
    means: NDArray[np.float64],
    epsilon: float,
    threshold: float,
) -> Windows:
    """Rebuild windows from the arrays of a pickle or a snapshot, read-only again."""
    return Windows(frozen(order), frozen(right_end), frozen(means), epsilon, threshold)  # type: ignore[arg-type]


def windows_of_means(means: ArrayLike, epsilon: float, tolerance: float) -> Windows:
    """Sort the means and find the windows; see `lsdt.from_means` for the parameters."""
    values, exact = _checked_means(means, epsilon)
    order = np.argsort(values)
    ascending = values[order]
    if (ascending[1:] == ascending[:-1]).any():  # equal means: lowest arm first, on every machine
        order = np.argsort(values, kind="stable")
    if not math.isfinite(float(ascending[-1]) - float(ascending[0])):
        raise InvalidInput(f"the means are too far apart: from {ascending[0]} to {ascending[-1]}")
    threshold = epsilon if exact else float_threshold(epsilon, tolerance)
    return Windows(
        order=frozen(order.astype(np.int32)),  # type: ignore[arg-type]
        right_end=frozen(kernel.right_ends(frozen(ascending), threshold)),  # type: ignore[arg-type]
        means=frozen(ascending),  # type: ignore[arg-type]
        epsilon=epsilon,
        threshold=threshold,
    )


def float_threshold(epsilon: float, tolerance: float) -> float:
    """Return the distance at which float means begin to count as dissimilar."""
    return max(epsilon * (1.0 - tolerance), math.ulp(0.0))


def sorted_rows(means: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort each row of means as `windows_of_means` does; return the orders and the read-only sorted means."""
    order = np.argsort(means, axis=1)
    ascending = np.take_along_axis(means, order, axis=1)
    if (ascending[:, 1:] == ascending[:, :-1]).any():
        order = np.argsort(means, axis=1, kind="stable")
    ascending.flags.writeable = False
    return order, ascending


def _checked_means(means: ArrayLike, epsilon: float) -> tuple[NDArray[np.float64], bool]:
    """Return the means as floats, and whether they can be compared exactly, as integers."""
    if isinstance(means, Mapping):
        raise InvalidInput(
            "means must be a list of numbers; for a mapping give its values, and arm_ids=its keys"
        )
    try:
        values = np.asarray(means)
    except ValueError as error:
        raise InvalidInput(f"means must be a list of numbers, one per arm: {error}") from None
    # To ask NumPy would load numpy.ma.
    if "numpy.ma" in sys.modules and np.ma.isMaskedArray(means) and np.ma.is_masked(means):
        raise InvalidInput("means must be known for every arm; some of them are masked")
    if values.ndim != 1 or len(values) == 0:
        raise InvalidInput(
            f"means must be a non-empty list of numbers, one per arm; got shape {values.shape}"
        )
    if values.dtype.kind not in "iuf":
        raise InvalidInput(f"means must be real numbers; got an array of {values.dtype}")
    exact = values.dtype.kind in "iu" and epsilon.is_integer()
    if exact:
        low, high = int(values.min()), int(values.max())
        if max(abs(low), abs(high), high - low, epsilon) >= _EXACT_INTEGERS:
            raise InvalidInput(
                "integer means, their differences and epsilon must stay below 2**53 to be compared exactly; "
                f"the means run from {low} to {high}, epsilon is {epsilon:g}"
            )
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        arm = int(np.argmin(finite))
        raise InvalidInput(f"means must be finite; the mean of arm {arm} is {values[arm]}")
    return values, exact
