"""Compiled building blocks of :mod:`lsdt.side_information.layouts.windows`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def right_ends(means: Array, threshold: float) -> Array:
    """Return for every position the first later position whose mean is at least `threshold` larger.

    `means` ascend. Rounding keeps a difference monotone in each mean, so one pointer that only moves right
    finds every end and the ends ascend.
    """
    n_arms = len(means)
    ends = np.empty(n_arms, np.int32)
    end = 0
    for position in range(n_arms):
        while end < n_arms and means[end] - means[position] < threshold:
            end += 1
        ends[position] = end
    return ends


@compiled
def left_ends(right_end: Array) -> Array:
    """Return for every position the first position of its window (itself or an earlier similar one)."""
    n_arms = len(right_end)
    starts = np.empty(n_arms, np.int32)
    start = 0
    for position in range(n_arms):
        while right_end[start] <= position:
            start += 1
        starts[position] = start
    return starts


@compiled
def count_window_pairs(right_end: Array) -> int:
    """Return the number of pairs that lie within a window."""
    total = 0
    for position in range(len(right_end)):
        total += int(right_end[position]) - position - 1
    return total


@compiled
def rows_from_windows(order: Array, right_end: Array, left_end: Array) -> tuple[Array, Array]:
    """Return ``indptr, indices`` of the similarity graph; visiting the arms in order fills sorted rows."""
    n_arms = len(order)
    position_of = np.empty(n_arms, np.int32)
    indptr = np.zeros(n_arms + 1, np.int64)
    for position in range(n_arms):
        position_of[order[position]] = position
        indptr[order[position] + 1] = right_end[position] - left_end[position] - 1
    for arm in range(n_arms):
        indptr[arm + 1] += indptr[arm]
    free = indptr[:-1].copy()
    indices = np.empty(indptr[n_arms], np.int32)
    for arm in range(n_arms):
        position = position_of[arm]
        for other in range(left_end[position], right_end[position]):
            if other != position:
                neighbour = order[other]
                indices[free[neighbour]] = arm
                free[neighbour] += 1
    return indptr, indices
