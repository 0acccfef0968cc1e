"""The triangle rule on stored pairs: exclude an arm if enough pairs of arms similar to it are dissimilar.

For arm ``i`` the pairs must be vertex-disjoint, that is a matching of the dissimilarity graph on ``S(i)``.
A greedy matching nearly always decides; if it does not, an exact one does.
"""

from __future__ import annotations

import numpy as np

from lsdt.candidates.triangles.matching_kernel import grow_matching, write_pairs
from lsdt.kernel import Array, compiled, inlined

# A long row is searched by bisection instead of scanned when it is this many times longer than the other: a
# search takes about as many steps.
_BISECT = 16


@inlined
def _contains(indices: Array, start: int, end: int, wanted: int) -> bool:
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < end and indices[low] == wanted


@inlined
def _dissimilar_neighbours(
    indptr: Array,
    indices: Array,
    implied: bool,
    near: Array,
    arm: int,
    place: Array,
    at_most: int,
    out: Array,
) -> int:
    """Write up to `at_most` arms of `near` that are dissimilar to `arm` and have ``place >= 0``; count them.

    ``place`` is -1 for every arm outside `near`. With `implied` the rows are those of the similar pairs, and
    every arm outside a row is dissimilar.
    """
    start, end = indptr[arm], indptr[arm + 1]
    found = 0
    if implied:
        entry = start
        for other in near:
            while entry < end and indices[entry] < other:
                entry += 1
            if other != arm and not (entry < end and indices[entry] == other) and place[other] >= 0:
                out[found] = other
                found += 1
                if found == at_most:
                    return found
    elif end - start > _BISECT * len(near):
        for other in near:
            if place[other] >= 0 and _contains(indices, start, end, other):
                out[found] = other
                found += 1
                if found == at_most:
                    return found
    else:
        for entry in range(start, end):
            if place[indices[entry]] >= 0:
                out[found] = indices[entry]
                found += 1
                if found == at_most:
                    return found
    return found


@compiled
def _exact_pairs(
    indptr: Array,
    indices: Array,
    implied: bool,
    near: Array,
    place: Array,
    greedy: Array,
    enough: int,
    out: Array,
) -> int:
    """Grow a greedy matching (rows of `greedy`) on `near` to `enough` pairs if possible; write them."""
    size = len(near)
    for number in range(size):
        place[near[number]] = number
    local_indptr = np.zeros(size + 1, np.int64)
    found = np.empty(size, np.int32)
    for number in range(size):
        count = _dissimilar_neighbours(indptr, indices, implied, near, near[number], place, size, found)
        local_indptr[number + 1] = local_indptr[number] + count
    local_indices = np.empty(local_indptr[size], np.int64)
    for number in range(size):
        count = _dissimilar_neighbours(indptr, indices, implied, near, near[number], place, size, found)
        for entry in range(count):
            local_indices[local_indptr[number] + entry] = place[found[entry]]
    mate = np.full(size, -1, np.int64)
    for pair in range(len(greedy)):
        mate[place[greedy[pair, 0]]] = place[greedy[pair, 1]]
        mate[place[greedy[pair, 1]]] = place[greedy[pair, 0]]
    reached = grow_matching(local_indptr, local_indices, mate, enough)
    if reached >= enough:
        write_pairs(near, mate, enough, out)
    return reached


@compiled
def eliminate_by_rows(
    similar_indptr: Array,
    similar_indices: Array,
    dissimilar_indptr: Array,
    dissimilar_indices: Array,
    implied: bool,
    first: int,
    last: int,
    needed: Array,
    witnesses: Array,
) -> None:
    """Write the disjoint dissimilar pairs that eliminate an arm into its row of `witnesses`.

    Arm i is excluded by ``needed[i]`` of them. ``witnesses`` is (arms, most needed, 2); rows of arms
    that stay keep their -1. With `implied` pass the similar rows as the dissimilar ones: every pair outside
    them is dissimilar.
    """
    n_arms = len(similar_indptr) - 1
    place = np.full(n_arms, -1, np.int32)
    partner = np.empty(1, np.int32)
    for arm in range(first, last):
        near = similar_indices[similar_indptr[arm] : similar_indptr[arm + 1]]
        wanted = needed[arm]
        if len(near) < 2 * wanted:
            continue
        for other in near:
            place[other] = 0
        matched = 0
        for other in near:
            if place[other] < 0:
                continue
            if _dissimilar_neighbours(
                dissimilar_indptr, dissimilar_indices, implied, near, other, place, 1, partner
            ):
                witnesses[arm, matched, 0] = min(other, partner[0])
                witnesses[arm, matched, 1] = max(other, partner[0])
                place[other] = -1
                place[partner[0]] = -1
                matched += 1
                if matched == wanted:
                    break
        if matched < wanted:
            # A maximal matching is at least half a maximum one.
            if 2 * matched >= wanted:
                _exact_pairs(
                    dissimilar_indptr,
                    dissimilar_indices,
                    implied,
                    near,
                    place,
                    witnesses[arm, :matched].copy(),
                    wanted,
                    witnesses[arm],
                )
            if witnesses[arm, wanted - 1, 0] < 0:
                witnesses[arm] = -1
        for other in near:
            place[other] = -1


@compiled
def count_among_similar(
    similar_indptr: Array,
    similar_indices: Array,
    dissimilar_indptr: Array,
    dissimilar_indices: Array,
    first: int,
    last: int,
    counts: Array,
) -> None:
    """Count the known relations among the arms similar to each arm."""
    is_near = np.zeros(len(similar_indptr) - 1, np.bool_)
    for arm in range(first, last):
        near = similar_indices[similar_indptr[arm] : similar_indptr[arm + 1]]
        for other in near:
            is_near[other] = True
        ends = 0
        for other in near:
            for entry in range(similar_indptr[other], similar_indptr[other + 1]):
                ends += is_near[similar_indices[entry]]
            for entry in range(dissimilar_indptr[other], dissimilar_indptr[other + 1]):
                ends += is_near[dissimilar_indices[entry]]
        counts[arm] = ends // 2
        for other in near:
            is_near[other] = False


@compiled
def bits_from_rows(indptr: Array, indices: Array, first: int, last: int, bits: Array) -> None:
    """Set bit ``b`` of row ``a`` for every pair; rows outside ``first .. last - 1`` are left alone."""
    for arm in range(first, last):
        for entry in range(indptr[arm], indptr[arm + 1]):
            other = indices[entry]
            bits[arm, other >> 6] |= np.uint64(1) << np.uint64(other & 63)


@compiled
def eliminate_by_bits(similar: Array, dissimilar: Array, first: int, last: int, witnesses: Array) -> None:
    """Find one dissimilar pair among the similar neighbours of each arm, 64 arms at a time."""
    n_words = similar.shape[1]
    one = np.uint64(1)
    for arm in range(first, last):
        row = similar[arm]
        found = False
        for word in range(n_words):
            left = row[word]
            while left != 0 and not found:
                lowest = left & (~left + one)
                left ^= lowest
                other = 64 * word + _bit_number(lowest)
                theirs = dissimilar[other]
                for place in range(n_words):
                    common = row[place] & theirs[place]
                    if common != 0:
                        partner = 64 * place + _bit_number(common & (~common + one))
                        witnesses[arm, 0, 0] = min(other, partner)
                        witnesses[arm, 0, 1] = max(other, partner)
                        found = True
                        break
            if found:
                break


@inlined
def _bit_number(single: np.uint64) -> int:
    """Return the position of the one bit that is set in a word."""
    number = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if single >> np.uint64(shift) != 0:
            single >>= np.uint64(shift)
            number += shift
    return number
