"""Short paths from many arms at the top to all others near it, searched together with sets of bits.

The levels of a reflection satisfy every bound: the amount by which a bound exceeds the difference of two
levels, its *length*, is never negative, and mostly 0, 1 or 2 quanta. So a search from one arm goes by
increasing length, and searches from hundreds of arms visit the same arms in the same order. They run
together: every arm has, as bits, the set of top arms that reach it by a path of the current length.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, inlined

_BITS = 64  # of a word


@compiled
def lengths_of(starts: Array, others: Array, bounds: Array, levels: Array, most: int) -> Array:
    """Return the length of each bound (see the top of this file), at most `most`."""
    lengths = np.empty(len(others), np.int8)
    for b in range(len(levels)):
        for at in range(starts[b], starts[b + 1]):
            lengths[at] = min(bounds[at] + levels[others[at]] - levels[b], most)
    return lengths


@inlined
def _pass_on(source: Array, reached: Array, waiting: Array, place: int) -> bool:
    """Add to the set that waits at an arm the members of `source` that have not reached it; return if any."""
    some = np.uint64(0)
    for word in range(len(source)):
        more = source[word] & ~reached[place, word]
        waiting[place, word] |= more
        some |= more
    return bool(some)


@compiled
def near_gaps(
    starts: Array,
    others: Array,
    lengths: Array,
    levels: Array,
    tops: Array,
    columns: Array,
    longest: int,
    gaps: Array,
) -> None:
    """Write upper bounds, in quanta, on how far `tops` lie above other arms, where a path is short enough.

    Paths of length `longest` or more are not followed, nor bounds of that length, which may stand for more.
    ``columns[a]`` is the column for the gap above arm a in the row of each of `tops`, or -1; the levels of
    `tops` are 0.
    """
    n_arms, n_words = len(levels), (len(tops) + _BITS - 1) // _BITS
    reached, waiting = np.zeros((n_arms, n_words), np.uint64), np.zeros((n_arms, n_words), np.uint64)
    queue, is_listed = np.empty(n_arms, np.int32), np.zeros(n_arms, np.bool_)
    # For every length: the tops that reached an arm by paths of that length, and the arms reached.
    came, new = np.zeros((longest, n_arms, n_words), np.uint64), np.zeros(n_words, np.uint64)
    visited, is_visited = np.empty((longest, n_arms), np.int32), np.zeros((longest, n_arms), np.bool_)
    n_visited, head, n_waiting, n_open = np.zeros(longest, np.int64), 0, 0, 0
    for arm in range(n_arms):
        n_open += len(tops) if columns[arm] >= 0 else 0
    for row in range(len(tops)):
        waiting[tops[row], row // _BITS] |= np.uint64(1) << np.uint64(row % _BITS)
        queue[row], is_listed[tops[row]] = tops[row], True
        n_waiting += 1
    for length in range(longest):
        for more in range(1, length + 1):
            for place in range(n_visited[length - more]):
                b = visited[length - more, place]
                source = came[length - more, b]
                for at in range(starts[b], starts[b + 1]):
                    if lengths[at] != more:
                        continue
                    a = others[at]
                    if _pass_on(source, reached, waiting, a) and not is_listed[a]:
                        is_listed[a] = True
                        queue[(head + n_waiting) % n_arms] = a
                        n_waiting += 1
        while n_waiting > 0 and n_open > 0:
            b = queue[head]
            head = head + 1 if head + 1 < n_arms else 0
            n_waiting -= 1
            is_listed[b] = False
            some = np.uint64(0)
            for word in range(n_words):
                new[word] = waiting[b, word] & ~reached[b, word]
                waiting[b, word] = 0
                reached[b, word] |= new[word]
                came[length, b, word] |= new[word]
                some |= new[word]
            if some == 0:
                continue
            if not is_visited[length, b]:
                is_visited[length, b] = True
                visited[length, n_visited[length]] = b
                n_visited[length] += 1
            if columns[b] >= 0:
                for row in range(len(tops)):
                    if new[row // _BITS] >> np.uint64(row % _BITS) & np.uint64(1):
                        gaps[row, columns[b]] = length - levels[b]
                        n_open -= 1
            for at in range(starts[b], starts[b + 1]):
                if lengths[at] != 0:
                    continue
                a = others[at]
                if _pass_on(new, reached, waiting, a) and not is_listed[a]:
                    is_listed[a] = True
                    queue[(head + n_waiting) % n_arms] = a
                    n_waiting += 1
        if n_open == 0:
            return
