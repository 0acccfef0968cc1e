"""Compiled side of `pairs`: differences of ratings, added up for a block of items at a time.

An item is compared with all later ones. The sums of a block of items stay in the cache: three numbers for
every later item, side by side, the number of common raters and the sums of differences and their squares.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def relabel_rows(
    rows: tuple[Array, Array, Array],
    scale: tuple[float, float],
    label: Array,
    first: int,
    last: int,
    to: tuple[Array, Array],
) -> None:
    """Write the rows of some users with renumbered items, in the new order, on the unit scale."""
    starts, items, ratings = rows
    new_items, new_ratings = to
    low, length = scale[0], scale[1] - scale[0]
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        keys = np.empty(end - begin, np.int64)
        for at in range(begin, end):
            keys[at - begin] = (np.int64(label[items[at]]) << 32) | (at - begin)
        keys.sort()
        for at in range(begin, end):
            new_items[at] = keys[at - begin] >> 32
            new_ratings[at] = (ratings[begin + (keys[at - begin] & 0xFFFFFFFF)] - low) / length


@compiled
def later_ratings(starts: Array, items: Array, n_items: int) -> Array:
    """Return for every item how many ratings its raters gave to later items: the work it takes."""
    later = np.zeros(n_items, np.int64)
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        for at in range(starts[user], end):
            later[items[at]] += end - 1 - at
    return later


@compiled
def rows_from(starts: Array, items: Array, item: int) -> Array:
    """Return, for every user, the place in their row where the items from `item` on begin."""
    place = np.empty(len(starts) - 1, np.int64)
    for user in range(len(starts) - 1):
        low, high = starts[user], starts[user + 1]
        while low < high:
            middle = (low + high) // 2
            if items[middle] < item:
                low = middle + 1
            else:
                high = middle
        place[user] = low
    return place


@compiled
def add_block(
    starts: Array, items: Array, ratings: Array, place: Array, first: int, last: int, sums: Array
) -> None:
    """Add up the pairs of the items from `first` to `last` with later ones, user by user.

    `place` says where a user's row continues, and is advanced; pair i, j is ``sums[i - first, j - first]``.
    """
    flat = sums.reshape(-1)
    width = 3 * sums.shape[1]
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        at = place[user]
        while at < end and items[at] < last:
            # Unsigned indices avoid the check for negative ones, a third of the time of this loop.
            row = (items[at] - first) * width - 3 * first
            rating = ratings[at]
            for later in range(at + 1, end):
                cell = np.uint64(row + 3 * items[np.uint64(later)])
                difference = rating - ratings[np.uint64(later)]
                flat[cell] += 1.0
                flat[cell + np.uint64(1)] += difference
                flat[cell + np.uint64(2)] += difference * difference
            at += 1
        place[user] = at


# The arrays of `found` are long enough for any block, and mostly empty.
@partial(compiled, work=lambda sums, *_: sums.size)
def take_block(
    sums: Array, first: int, names: Array, min_raters: int, found: tuple[Array, ...]
) -> tuple[int, int]:
    """Write the pairs of a block with enough raters to `found`, and set the sums back to zero.

    Items get their numbers from `names`, the smaller one first. Return how many pairs were written, and how
    many have any common rater.
    """
    firsts, seconds, raters, differences, variances = found
    written = compared = 0
    for row in range(sums.shape[0]):
        for column in range(row + 1, sums.shape[1]):
            count = sums[row, column, 0]
            if count > 0.0:
                compared += 1
                if count >= min_raters:
                    mean = sums[row, column, 1] / count
                    spread = np.nan
                    if count > 1.0:
                        spread = max(0.0, (sums[row, column, 2] - count * mean * mean) / (count - 1.0))
                    one, two = names[first + row], names[first + column]
                    firsts[written] = min(one, two)
                    seconds[written] = max(one, two)
                    raters[written] = np.int32(count)
                    differences[written] = mean if one < two else -mean
                    variances[written] = spread
                    written += 1
                sums[row, column, 0] = 0.0
                sums[row, column, 1] = 0.0
                sums[row, column, 2] = 0.0
    return written, compared


@compiled
def order_of_pairs(first: Array, second: Array, n_items: int) -> Array:
    """Return the order that sorts pairs by first item, then second: two counting passes."""
    order = np.arange(len(first))
    for column in range(2):
        place = np.zeros(n_items + 1, np.int64)
        for at in range(len(first)):
            place[(second[at] if column == 0 else first[at]) + 1] += 1
        for item in range(n_items):
            place[item + 1] += place[item]
        moved = np.empty_like(order)
        for at in range(len(first)):
            item = second[order[at]] if column == 0 else first[order[at]]
            moved[place[item]] = order[at]
            place[item] += 1
        order = moved
    return order
