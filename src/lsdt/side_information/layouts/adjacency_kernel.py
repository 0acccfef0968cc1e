"""Compiled building blocks of :mod:`lsdt.side_information.layouts.adjacency`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel.arrays import copy_into
from lsdt.kernel.jit import Array, compiled


@compiled
def rows_from_pairs(pairs: Array, n_arms: int) -> tuple[Array, Array]:
    """Return ``indptr, indices`` of the symmetric graph of `pairs`: rows sorted, duplicates merged.

    Two counting passes: scattering the pairs gives rows in file order; transposing a symmetric graph row by
    row gives the same rows in ascending order. Linear time, no comparison sort.
    """
    indptr = np.zeros(n_arms + 1, np.int64)
    for pair in range(len(pairs)):
        indptr[pairs[pair, 0] + 1] += 1
        indptr[pairs[pair, 1] + 1] += 1
    for arm in range(n_arms):
        indptr[arm + 1] += indptr[arm]
    free = indptr[:-1].copy()
    scattered = np.empty(indptr[n_arms], np.int32)
    for pair in range(len(pairs)):
        first, second = pairs[pair, 0], pairs[pair, 1]
        scattered[free[first]] = second
        free[first] += 1
        scattered[free[second]] = first
        free[second] += 1
    ordered = np.empty_like(scattered)
    copy_into(free, indptr[:-1])
    for arm in range(n_arms):
        for entry in range(indptr[arm], indptr[arm + 1]):
            neighbour = scattered[entry]
            ordered[free[neighbour]] = arm
            free[neighbour] += 1
    return _without_repeats(indptr, ordered)


@compiled
def _without_repeats(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Drop equal neighbours in a row; work in place and keep the arrays when nothing was dropped."""
    n_arms = len(indptr) - 1
    kept = 0
    row_start = indptr[0]
    for arm in range(n_arms):
        row_end = indptr[arm + 1]
        indptr[arm] = kept
        for entry in range(row_start, row_end):
            if entry == row_start or indices[entry] != indices[entry - 1]:
                indices[kept] = indices[entry]
                kept += 1
        row_start = row_end
    indptr[n_arms] = kept
    if kept == len(indices):
        return indptr, indices
    return indptr, indices[:kept].copy()


@compiled
def pairs_from_rows(indptr: Array, indices: Array) -> Array:
    """Return every pair once, as rows ``(a, b)`` with a < b, in ascending order."""
    pairs = np.empty((len(indices) // 2, 2), np.int32)
    found = 0
    for arm in range(len(indptr) - 1):
        for entry in range(indptr[arm], indptr[arm + 1]):
            if indices[entry] > arm:
                pairs[found, 0] = arm
                pairs[found, 1] = indices[entry]
                found += 1
    return pairs


@compiled
def first_common_pair(
    indptr_a: Array, indices_a: Array, indptr_b: Array, indices_b: Array
) -> tuple[int, int]:
    """Return the smallest pair that is in both graphs, or ``(-1, -1)``."""
    for arm in range(len(indptr_a) - 1):
        left, right = indptr_a[arm], indptr_b[arm]
        while left < indptr_a[arm + 1] and right < indptr_b[arm + 1]:
            if indices_a[left] == indices_b[right]:
                return arm, int(indices_a[left])
            if indices_a[left] < indices_b[right]:
                left += 1
            else:
                right += 1
    return -1, -1
