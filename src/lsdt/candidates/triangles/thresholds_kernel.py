"""The triangle rule with distinct thresholds, on stored pairs.

Suppose arm i is the best. An arm a similar to it has a depth in ``[low[a], high[a])``: less than the pair's
similar threshold, and at least its dissimilar threshold if it has one. A pair (a, b) that is at least D apart
excludes i when ``D >= high[a] - low[b]`` and ``D >= high[b] - low[a]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.candidates.triangles.matching_kernel import grow_matching, write_pairs
from lsdt.kernel import Array, compiled, inlined

# A long row is searched by bisection instead of scanned when it is this many times longer than the other: a
# search takes about as many steps.
_BISECT = 16


class WeightedRows(NamedTuple):
    """One relation: rows, and a number for every entry (or one for all, with stride 0)."""

    indptr: Array
    indices: Array
    values: Array
    stride: int


@inlined
def _reaches(least: float, high: float, low: float) -> bool:
    """Return whether ``least >= high - low`` in exact arithmetic on the given floats."""
    difference = high - low
    if difference != least:  # rounding keeps the order
        return difference < least
    back = difference - high
    lost = (high - (difference - back)) - (low + back)  # what rounding took off the difference
    return lost <= 0.0


@inlined
def _excludes(least: float, first: int, second: int, low: Array, high: Array) -> bool:
    return _reaches(least, high[first], low[second]) and _reaches(least, high[second], low[first])


@inlined
def _partners(
    far: WeightedRows, near: Array, arm: int, low: Array, high: Array, at_most: int, out: Array
) -> int:
    """Write up to `at_most` arms with ``high > 0`` that form an excluding pair with `arm`; count them."""
    start, end = far.indptr[arm], far.indptr[arm + 1]
    found = 0
    if end - start > _BISECT * len(near):
        for other in near:
            if high[other] > 0.0:
                place = start + np.searchsorted(far.indices[start:end], other)
                if place < end and far.indices[place] == other:
                    if _excludes(far.values[place * far.stride], arm, other, low, high):
                        out[found] = other
                        found += 1
                        if found == at_most:
                            return found
        return found
    for place in range(start, end):
        other = far.indices[place]
        if high[other] > 0.0 and _excludes(far.values[place * far.stride], arm, other, low, high):
            out[found] = other
            found += 1
            if found == at_most:
                return found
    return found


@inlined
def _mark(near: WeightedRows, far: WeightedRows, arm: int, low: Array, high: Array) -> None:
    """Write the depths that arms similar to `arm` can have below it."""
    for entry in range(near.indptr[arm], near.indptr[arm + 1]):
        high[near.indices[entry]] = near.values[entry * near.stride]
    for entry in range(far.indptr[arm], far.indptr[arm + 1]):
        if high[far.indices[entry]] > 0.0:
            low[far.indices[entry]] = far.values[entry * far.stride]


@compiled
def _exact_pairs(far: WeightedRows, near: Array, low: Array, high: Array, greedy: Array, out: Array) -> None:
    """Grow a greedy matching to as many pairs as `out` has rows, if possible; write them."""
    size, enough = len(near), len(out)
    starts = np.zeros(size + 1, np.int64)
    found = np.empty(size, np.int32)
    for number in range(size):
        starts[number + 1] = starts[number] + _partners(far, near, near[number], low, high, size, found)
    partners = np.empty(starts[size], np.int64)
    for number in range(size):
        for entry in range(_partners(far, near, near[number], low, high, size, found)):
            partners[starts[number] + entry] = np.searchsorted(near, found[entry])
    mate = np.full(size, -1, np.int64)
    for pair in range(len(greedy)):
        first, second = np.searchsorted(near, greedy[pair, 0]), np.searchsorted(near, greedy[pair, 1])
        mate[first], mate[second] = second, first
    if grow_matching(starts, partners, mate, enough) >= enough:
        write_pairs(near, mate, enough, out)


@compiled
def eliminate_by_thresholds(
    near: WeightedRows, far: WeightedRows, first: int, last: int, witnesses: Array
) -> None:
    """Write the disjoint pairs that eliminate an arm into its row of `witnesses`; others keep their -1."""
    n_arms, wanted = len(near.indptr) - 1, witnesses.shape[1]
    low, high = np.zeros(n_arms), np.zeros(n_arms)
    partner = np.empty(1, np.int32)
    for arm in range(first, last):
        similar = near.indices[near.indptr[arm] : near.indptr[arm + 1]]
        if len(similar) < 2 * wanted:
            continue
        _mark(near, far, arm, low, high)
        matched = 0
        for other in similar:
            if high[other] > 0.0 and _partners(far, similar, other, low, high, 1, partner):
                witnesses[arm, matched, 0] = min(other, partner[0])
                witnesses[arm, matched, 1] = max(other, partner[0])
                high[other], high[partner[0]] = 0.0, 0.0
                matched += 1
                if matched == wanted:
                    break
        if matched < wanted:
            if 2 * matched >= wanted:  # a maximal matching is at least half a maximum one
                _mark(near, far, arm, low, high)
                _exact_pairs(far, similar, low, high, witnesses[arm, :matched].copy(), witnesses[arm])
            if witnesses[arm, wanted - 1, 0] < 0:
                witnesses[arm] = -1
        for other in similar:
            low[other], high[other] = 0.0, 0.0
