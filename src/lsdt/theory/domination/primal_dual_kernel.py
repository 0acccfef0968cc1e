"""Compiled side of :mod:`lsdt.theory.domination.primal_dual`.

A point is four rows of one array: z, y, and the sums of each over every closed neighbourhood.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import Array, compiled, inlined

Z, Y, SUMS_OF_Z, SUMS_OF_Y = range(4)
_STEP = 0.998  # steps times the norm of the scaled matrix must stay below 1


@inlined
def _closed_sum(indptr: Array, indices: Array, values: Array, arm: int) -> float:
    total = values[arm]
    for entry in range(indptr[arm], indptr[arm + 1]):
        total += values[indices[entry]]
    return float(total)


@compiled
def closed_sums(indptr: Array, indices: Array, values: Array) -> Array:
    """Return the sum of `values` over every closed neighbourhood."""
    sums = np.empty(len(values))
    for arm in range(len(values)):
        sums[arm] = _closed_sum(indptr, indices, values, arm)
    return sums


@compiled
def advance(
    indptr: Array,
    indices: Array,
    point: Array,
    anchor: Array,
    stepped: Array,
    weight: float,
    taken: int,
    n_steps: int,
) -> None:
    """Take `n_steps` steps from `point` in place; `stepped` gets the last one before reflection and pull.

    A step is one of the primal-dual hybrid gradient method, with steps divided by the closed degree; it is
    reflected and pulled towards `anchor` by ``1 / (steps since the anchor was set + 2)`` (Halpern). Sums are
    linear, so those of the new point need no extra pass.
    """
    n_arms = point.shape[1]
    for step in range(taken, taken + n_steps):
        pull = 1.0 / (step + 2.0)
        for arm in range(n_arms):
            size = _STEP / (weight * (indptr[arm + 1] - indptr[arm] + 1))
            stepped[Z, arm] = max(0.0, point[Z, arm] - size * (1.0 - point[SUMS_OF_Y, arm]))
        for arm in range(n_arms):
            total = _closed_sum(indptr, indices, stepped[Z], arm)
            stepped[SUMS_OF_Z, arm] = total
            size = _STEP * weight / (indptr[arm + 1] - indptr[arm] + 1)
            ahead = 2.0 * total - point[SUMS_OF_Z, arm]
            stepped[Y, arm] = max(0.0, point[Y, arm] + size * (1.0 - ahead))
        for arm in range(n_arms):
            stepped[SUMS_OF_Y, arm] = _closed_sum(indptr, indices, stepped[Y], arm)
            for row in range(4):
                reflected = 2.0 * stepped[row, arm] - point[row, arm]
                point[row, arm] = (1.0 - pull) * reflected + pull * anchor[row, arm]


@compiled
def scale_up(indptr: Array, indices: Array, values: Array, sums: Array, scaled: Array) -> float:
    """Divide every value by the least sum that it is part of; return the total, infinite if a sum is 0.

    Every closed neighbourhood of the scaled values sums to 1 or more: no member is divided by more than
    the sum before scaling. One divisor for all would give a far larger total.
    """
    total = 0.0
    for arm in range(len(values)):
        least = sums[arm]
        for entry in range(indptr[arm], indptr[arm + 1]):
            least = min(least, sums[indices[entry]])
        if not least > 0.0:
            return math.inf
        scaled[arm] = values[arm] / least
        total += scaled[arm]
    return total


@compiled
def scale_down(indptr: Array, indices: Array, values: Array, sums: Array, scaled: Array) -> float:
    """Divide every value by the largest sum that it is part of; return the total.

    Every closed neighbourhood of the scaled values sums to 1 or less.
    """
    total = 0.0
    for arm in range(len(values)):
        largest = sums[arm]
        for entry in range(indptr[arm], indptr[arm + 1]):
            largest = max(largest, sums[indices[entry]])
        scaled[arm] = values[arm] / largest if values[arm] > 0.0 else 0.0
        total += scaled[arm]
    return total


@compiled
def distances_moved(indptr: Array, point: Array, anchor: Array) -> tuple[float, float]:
    """Return how far z and y are from the anchor, squared, in the norm of the step sizes."""
    of_z = 0.0
    of_y = 0.0
    for arm in range(point.shape[1]):
        degree = indptr[arm + 1] - indptr[arm] + 1
        z, y = point[Z, arm] - anchor[Z, arm], point[Y, arm] - anchor[Y, arm]
        of_z += degree * (z * z)
        of_y += degree * (y * y)
    return of_z, of_y
