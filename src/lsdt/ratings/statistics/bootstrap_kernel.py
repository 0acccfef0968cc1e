"""Compiled side of `bootstrap`: weighted sums of the differences of every pair, many weights at a time."""

from __future__ import annotations

from lsdt.kernel import Array, compiled


@compiled
def add_weighted(
    rows: tuple[Array, Array, Array], number_of: Array, means: Array, weights: Array, sums: Array
) -> None:
    """Add, for every user and every pair that they rated, weight times (difference - mean) to the sums.

    ``number_of[a, b]`` is the row of a pair in `sums`, -1 where it has none; `weights` has a row per user and
    a column per draw, like `sums`.
    """
    starts, items, ratings = rows
    draws = weights.shape[1]
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        for at in range(starts[user], end):
            for later in range(at + 1, end):
                pair = number_of[items[at], items[later]]
                if pair >= 0:
                    apart = ratings[at] - ratings[later] - means[pair]
                    for draw in range(draws):
                        sums[pair, draw] += apart * weights[user, draw]
