"""The triangle rule on implicit information: no pair is stored, coins are tossed where the scan goes.

Both arms of a witness lie in the window of the arm, on opposite sides: two arms on the same side are
similar. The scan starts at the far ends, where nearly every pair is dissimilar, and stops at the first
(or r-th disjoint) pair, so it tosses a handful of coins for nearly every arm.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel.compiling import Array, compiled, inlined
from lsdt.side_information.revealing_kernel import CoinLayers, relation_after


@inlined
def _revealed(
    layers: CoinLayers, order: Array, means: Array, epsilon: float, relation: int, low: int, high: int
) -> bool:
    if len(layers.kind) == 0:
        return True
    distance = (means[high] - means[low]) / epsilon
    return relation_after(layers, relation, distance, order[low], order[high]) != 0


@inlined
def _extend_right(
    layers: CoinLayers,
    order: Array,
    means: Array,
    epsilon: float,
    position: int,
    bound: int,
    state: Array,
    right: Array,
    mate_of_right: Array,
) -> bool:
    """Append the next revealed similar arm right of `position` and not left of `bound`, far ones first."""
    while state[0] > position and state[0] >= bound:
        candidate = state[0]
        state[0] -= 1
        if _revealed(layers, order, means, epsilon, 1, position, candidate):
            right[state[1]] = candidate
            mate_of_right[state[1]] = -1
            state[1] += 1
            return True
    return False


@compiled
def _augment(
    layers: CoinLayers,
    order: Array,
    means: Array,
    epsilon: float,
    right_end: Array,
    left: Array,
    right: Array,
    mate_of_right: Array,
    root: int,
) -> bool:
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
            if high < right_end[low]:
                break
            if came_from[other] >= 0 or not _revealed(layers, order, means, epsilon, -1, low, high):
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
def _grow(
    layers: CoinLayers,
    order: Array,
    means: Array,
    epsilon: float,
    right_end: Array,
    left: Array,
    right: Array,
    mate_of_right: Array,
    wanted: int,
) -> int:
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
            matched += _augment(layers, order, means, epsilon, right_end, left, right, mate_of_right, root)
    return matched


@compiled
def eliminate_by_windows(
    layers: CoinLayers,
    order: Array,
    means: Array,
    epsilon: float,
    left_end: Array,
    right_end: Array,
    first: int,
    last: int,
    witnesses: Array,
) -> None:
    """Write the witnesses of the arms at positions ``first .. last - 1``; see `eliminate_by_rows`."""
    wanted = witnesses.shape[1]
    widest = 1
    for position in range(first, last):
        widest = max(widest, right_end[position] - left_end[position])
    left = np.empty(widest, np.int64)
    right = np.empty(widest, np.int64)
    mate_of_right = np.empty(widest, np.int64)
    state = np.empty(2, np.int64)  # next position to look at on the right, number of right arms found
    for position in range(first, last):
        state[0] = right_end[position] - 1
        state[1] = 0
        n_left = 0
        matched = 0
        for low in range(left_end[position], position):
            if matched == wanted or right_end[low] >= right_end[position]:
                break  # enough, or no arm on the right is dissimilar to this one and those after it
            if not _revealed(layers, order, means, epsilon, 1, low, position):
                continue
            left[n_left] = low
            n_left += 1
            number = 0
            while number < state[1] or _extend_right(
                layers, order, means, epsilon, position, right_end[low], state, right, mate_of_right
            ):
                if right[number] < right_end[low]:
                    break
                if mate_of_right[number] < 0 and _revealed(
                    layers, order, means, epsilon, -1, low, right[number]
                ):
                    mate_of_right[number] = n_left - 1
                    matched += 1
                    break
                number += 1
        if matched < wanted and 2 * matched >= wanted:
            while _extend_right(
                layers, order, means, epsilon, position, right_end[left[0]], state, right, mate_of_right
            ):
                pass
            matched = _grow(
                layers,
                order,
                means,
                epsilon,
                right_end,
                left[:n_left],
                right[: state[1]],
                mate_of_right,
                wanted,
            )
        if matched == wanted:
            arm = order[position]
            written = 0
            for number in range(state[1]):
                if mate_of_right[number] >= 0:
                    pair = order[left[mate_of_right[number]]], order[right[number]]
                    witnesses[arm, written, 0] = min(pair[0], pair[1])
                    witnesses[arm, written, 1] = max(pair[0], pair[1])
                    written += 1
