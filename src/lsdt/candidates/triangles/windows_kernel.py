"""The triangle rule on implicit information: no pair is stored, coins are tossed as the scan needs them.

Both arms of a witness lie in the window of the arm, on opposite sides: two arms on the same side are
similar. The scan starts at the far ends, where nearly every pair is dissimilar. It takes the next revealed
arm from the left and from the right in turn, and stops at the first (or r-th disjoint) dissimilar pair.
Growing both sides evenly matters when few relations are revealed: n arms on either side give n^2 pairs to
try.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.kernel import Array, compiled, inlined
from lsdt.side_information import CoinLayers, relation_after


class SeenWindows(NamedTuple):
    """Windows over sorted means, and the coins through which they are seen."""

    layers: CoinLayers
    order: Array
    means: Array
    epsilon: float
    left_end: Array
    right_end: Array


@inlined
def _is_revealed(seen: SeenWindows, relation: int, low: int, high: int) -> bool:
    """Return whether the true `relation` of the arms at two positions is revealed."""
    if len(seen.layers.kind) == 0:
        return True
    distance = (seen.means[high] - seen.means[low]) / seen.epsilon
    return relation_after(seen.layers, relation, distance, seen.order[low], seen.order[high]) != 0


@inlined
def _free_partner_of_left(seen: SeenWindows, low: int, right: Array, mate_of_right: Array) -> int:
    """Return the number of an unmatched arm on the right that is revealed dissimilar to `low`, or -1."""
    for number in range(len(right)):
        if right[number] < seen.right_end[low]:
            return -1  # this one and the nearer ones are similar to it
        if mate_of_right[number] < 0 and _is_revealed(seen, -1, low, right[number]):
            return number
    return -1


@inlined
def _free_partner_of_right(seen: SeenWindows, high: int, left: Array, mate_of_left: Array) -> int:
    """Return the number of an unmatched arm on the left that is revealed dissimilar to `high`, or -1."""
    for number in range(len(left)):
        if high < seen.right_end[left[number]]:
            return -1
        if mate_of_left[number] < 0 and _is_revealed(seen, -1, left[number], high):
            return number
    return -1


@compiled
def _augment(seen: SeenWindows, left: Array, right: Array, mate_of_right: Array, root: int) -> bool:
    """Grow the bipartite matching by a path from the free left arm number `root`, if there is one."""
    came_from = np.full(len(right), -1, np.int64)
    queue = np.empty(len(left), np.int64)
    matched_by = np.full(len(left), -1, np.int64)
    for number in range(len(right)):
        if mate_of_right[number] >= 0:
            matched_by[mate_of_right[number]] = number
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        number = queue[head]
        head += 1
        low = left[number]
        for other in range(len(right)):
            high = right[other]
            if high < seen.right_end[low]:
                break
            if came_from[other] >= 0 or not _is_revealed(seen, -1, low, high):
                continue
            came_from[other] = number
            if mate_of_right[other] < 0:
                while other >= 0:
                    before = came_from[other]
                    following = matched_by[before]
                    mate_of_right[other] = before
                    other = following
                return True
            queue[tail] = mate_of_right[other]
            tail += 1
    return False


@compiled
def _grow(seen: SeenWindows, left: Array, right: Array, mate_of_right: Array, wanted: int) -> int:
    """Augment the matching until it has `wanted` pairs or is maximum; return its size."""
    is_free = np.ones(len(left), np.bool_)
    matched = 0
    for number in range(len(right)):
        if mate_of_right[number] >= 0:
            is_free[mate_of_right[number]] = False
            matched += 1
    for root in range(len(left)):
        if matched == wanted:
            break
        if is_free[root]:
            matched += _augment(seen, left, right, mate_of_right, root)
    return matched


@compiled
def eliminate_by_windows(seen: SeenWindows, first: int, last: int, witnesses: Array) -> None:
    """Write the witnesses of the arms at positions ``first .. last - 1``; see `eliminate_by_rows`."""
    order, left_end, right_end = seen.order, seen.left_end, seen.right_end
    wanted = witnesses.shape[1]
    widest = 1
    for position in range(first, last):
        widest = max(widest, right_end[position] - left_end[position])
    left = np.empty(widest, np.int64)
    right = np.empty(widest, np.int64)
    mate_of_left = np.empty(widest, np.int64)
    mate_of_right = np.empty(widest, np.int64)
    for position in range(first, last):
        low, high = left_end[position], right_end[position] - 1
        # Arms nearer than these are similar to every arm on the other side.
        nearest_high = right_end[low]
        n_left, n_right, matched = 0, 0, 0
        while matched < wanted:
            while low < position and not _is_revealed(seen, 1, low, position):
                low += 1
            if low < position and right_end[low] < right_end[position]:
                left[n_left] = low
                mate_of_left[n_left] = -1
                mate = _free_partner_of_left(seen, low, right[:n_right], mate_of_right)
                if mate >= 0:
                    mate_of_left[n_left], mate_of_right[mate] = mate, n_left
                    matched += 1
                n_left += 1
                low += 1
            else:
                low = position
            if matched == wanted:
                break
            while high >= nearest_high and not _is_revealed(seen, 1, position, high):
                high -= 1
            if high >= nearest_high:
                right[n_right] = high
                mate_of_right[n_right] = -1
                mate = _free_partner_of_right(seen, high, left[:n_left], mate_of_left)
                if mate >= 0:
                    mate_of_left[mate], mate_of_right[n_right] = n_right, mate
                    matched += 1
                n_right += 1
                high -= 1
            elif low == position:
                break  # both sides are exhausted
        if matched < wanted and 2 * matched >= wanted:
            matched = _grow(seen, left[:n_left], right[:n_right], mate_of_right, wanted)
        if matched == wanted:
            arm = order[position]
            written = 0
            for number in range(n_right):
                if mate_of_right[number] >= 0:
                    pair = order[left[mate_of_right[number]]], order[right[number]]
                    witnesses[arm, written, 0] = min(pair[0], pair[1])
                    witnesses[arm, written, 1] = max(pair[0], pair[1])
                    written += 1
