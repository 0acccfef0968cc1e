"""Compiled side of `pairs`: differences of ratings, added up user by user."""

from __future__ import annotations

from lsdt.kernel.compiling import Array, compiled


@compiled
def add_pairs(starts: Array, items: Array, ratings: Array, sums: Array, raters: Array) -> None:
    """Add to every pair of items a user rated, the smaller one first, the difference of the two ratings.

    The items of a user must ascend; only the upper triangles of `sums` and `raters` are written.
    """
    for user in range(len(starts) - 1):
        first, last = starts[user], starts[user + 1]
        for one in range(first, last):
            item, rating = items[one], ratings[one]
            for two in range(one + 1, last):
                sums[item, items[two]] += rating - ratings[two]
                raters[item, items[two]] += 1
