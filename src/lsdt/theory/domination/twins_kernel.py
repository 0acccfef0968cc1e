"""Compiled side of :mod:`lsdt.theory.domination.twins`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, inlined


@inlined
def _hash_of_arm(arm: int) -> np.uint64:
    """Return 64 pseudo-random bits (splitmix64), so that their sums tell sets of arms apart."""
    word = np.uint64(arm + 1) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def closed_hashes(indptr: Array, indices: Array) -> Array:
    """Return a hash of every closed neighbourhood: equal for twins."""
    n_arms = len(indptr) - 1
    words = np.empty(n_arms, np.uint64)
    for arm in range(n_arms):
        words[arm] = _hash_of_arm(arm)
    hashes = np.empty(n_arms, np.uint64)
    for arm in range(n_arms):
        total = words[arm]
        for entry in range(indptr[arm], indptr[arm + 1]):
            total += words[indices[entry]]
        hashes[arm] = total
    return hashes


@inlined
def _are_twins(indptr: Array, indices: Array, first: int, second: int) -> bool:
    """Return whether two arms are similar and have the same other neighbours."""
    left, left_end = indptr[first], indptr[first + 1]
    right, right_end = indptr[second], indptr[second + 1]
    if left_end - left != right_end - right:
        return False
    met = 0
    while left < left_end or right < right_end:
        if left < left_end and indices[left] == second:
            left += 1
            met += 1
        elif right < right_end and indices[right] == first:
            right += 1
            met += 1
        elif left < left_end and right < right_end and indices[left] == indices[right]:
            left += 1
            right += 1
        else:
            return False
    return met == 2


@compiled
def representatives(indptr: Array, indices: Array, hashes: Array, by_hash: Array) -> Array:
    """Return for every arm the lowest arm of its class; `by_hash` sorts the arms by hash, ties by number.

    Equal hashes only propose twins: the rows confirm each. A collision of hashes could leave twins unmerged,
    which costs time and nothing else.
    """
    lowest = np.arange(len(hashes)).astype(np.int32)
    first = 0
    for place in range(1, len(by_hash)):
        arm, head = by_hash[place], by_hash[first]
        if hashes[arm] != hashes[head]:
            first = place
        elif _are_twins(indptr, indices, head, arm):
            lowest[arm] = head
    return lowest
