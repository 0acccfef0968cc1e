"""Compiled side of :mod:`lsdt.side_information.layouts.thresholds`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, inlined

_NEAR = 1e-12  # relative difference below which floats count as equal: .1 + .2 is .3


@inlined
def _place(indptr: Array, indices: Array, arm: int, other: int) -> int:
    """Return the entry of `other` in the row of `arm`, which must contain it."""
    low, high = indptr[arm], indptr[arm + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < other:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def over_rows(indptr: Array, indices: Array, pairs: Array, values: Array, largest: bool) -> Array:
    """Return the threshold of every entry: the smallest, or the `largest`, of those given for its pair."""
    spread = np.full(len(indices), -np.inf if largest else np.inf)
    for pair in range(len(pairs)):
        first, second = pairs[pair, 0], pairs[pair, 1]
        for turn in range(2):
            arm, other = (first, second) if turn == 0 else (second, first)
            entry = _place(indptr, indices, arm, other)
            if largest:
                spread[entry] = max(spread[entry], values[pair])
            else:
                spread[entry] = min(spread[entry], values[pair])
    return spread


@compiled
def first_empty_range(
    similar_indptr: Array,
    similar_indices: Array,
    similar: Array,
    dissimilar_indptr: Array,
    dissimilar_indices: Array,
    dissimilar: Array,
) -> tuple[int, int]:
    """Return the entries of the first pair whose two relations leave no possible distance, or ``(-1, -1)``.

    A similar pair is less than its threshold apart, a dissimilar pair at least its threshold.
    """
    stride_similar, stride_dissimilar = int(len(similar) > 1), int(len(dissimilar) > 1)
    for arm in range(len(similar_indptr) - 1):
        left, right = similar_indptr[arm], dissimilar_indptr[arm]
        while left < similar_indptr[arm + 1] and right < dissimilar_indptr[arm + 1]:
            if similar_indices[left] < dissimilar_indices[right]:
                left += 1
            elif similar_indices[left] > dissimilar_indices[right]:
                right += 1
            elif similar[left * stride_similar] <= dissimilar[right * stride_dissimilar] * (1.0 + _NEAR):
                return int(left), int(right)
            else:
                left += 1
                right += 1
    return -1, -1
