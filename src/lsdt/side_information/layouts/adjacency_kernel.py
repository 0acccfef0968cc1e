"""Compiled building blocks of :mod:`lsdt.side_information.layouts.adjacency`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, inlined

_GROUP_BITS = 10  # rows of about a thousand arms with hundreds of relations each stay in a core's cache


@compiled
def rows_from_pairs(pairs: Array, n_arms: int) -> tuple[Array, Array]:
    """Return ``indptr, indices`` of the symmetric graph of `pairs`: rows sorted, duplicates merged.

    Grouping the pairs by arm gives rows in input order; transposing a symmetric graph row by row gives the
    same rows in ascending order. Linear time, no comparison sort. Entries first go to the group of their row,
    then to the row: with very many arms, writing to rows scattered over memory would miss the cache.
    """
    indptr = np.zeros(n_arms + 1, np.int64)
    for pair in range(len(pairs)):
        indptr[pairs[pair, 0] + 1] += 1
        indptr[pairs[pair, 1] + 1] += 1
    for arm in range(n_arms):
        indptr[arm + 1] += indptr[arm]
    n_groups = ((n_arms - 1) >> _GROUP_BITS) + 1
    grouped, within = np.empty(indptr[n_arms], np.int32), np.empty(indptr[n_arms], np.int16)
    free, rows = np.empty(n_groups, np.int64), np.empty(indptr[n_arms], np.int32)
    _begin_groups(indptr, free)
    for pair in range(len(pairs)):
        _put(pairs[pair, 0], pairs[pair, 1], grouped, within, free)
        _put(pairs[pair, 1], pairs[pair, 0], grouped, within, free)
    _write_rows(indptr, grouped, within, rows)
    _begin_groups(indptr, free)
    for arm in range(n_arms):
        for entry in range(indptr[arm], indptr[arm + 1]):
            _put(rows[entry], arm, grouped, within, free)
    _write_rows(indptr, grouped, within, rows)
    return _without_repeats(indptr, rows)


@inlined
def _begin_groups(indptr: Array, free: Array) -> None:
    for group in range(len(free)):
        free[group] = indptr[group << _GROUP_BITS]


@inlined
def _put(arm: int, other: int, grouped: Array, within: Array, free: Array) -> None:
    """Put an entry of the row of an arm into the group of that row."""
    group = arm >> _GROUP_BITS
    at = free[group]
    grouped[at] = other
    within[at] = arm & ((1 << _GROUP_BITS) - 1)
    free[group] = at + 1


@compiled
def _write_rows(indptr: Array, grouped: Array, within: Array, rows: Array) -> None:
    """Distribute the entries of every group among its rows, in the order in which they came."""
    n_arms = len(indptr) - 1
    free = np.empty(1 << _GROUP_BITS, np.int64)
    for first in range(0, n_arms, 1 << _GROUP_BITS):
        last = min(first + (1 << _GROUP_BITS), n_arms)
        for arm in range(first, last):
            free[arm - first] = indptr[arm]
        for entry in range(indptr[first], indptr[last]):
            row = within[entry]
            rows[free[row]] = grouped[entry]
            free[row] += 1


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
