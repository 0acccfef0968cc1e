"""Compiled side of `items`: sweeps over the ratings of an additive fit."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def sweep(starts: Array, items: Array, ratings: Array, effects: Array, sums: Array) -> None:
    """Fit every user's kindness to the items, then add up by item what the users' ratings imply."""
    sums[:] = 0.0
    for user in range(len(starts) - 1):
        first, last = starts[user], starts[user + 1]
        if first == last:
            continue
        kindness = 0.0
        for at in range(first, last):
            kindness += ratings[at] - effects[items[at]]
        kindness /= last - first
        for at in range(first, last):
            sums[items[at]] += ratings[at] - kindness


@compiled
def residuals(starts: Array, items: Array, ratings: Array, effects: Array) -> tuple[Array, Array, Array]:
    """Return the kindness of every user, and by item the squared residuals and the degrees of freedom.

    A user who rated m items takes one degree of freedom from them: 1 / m from each.
    """
    kindness = np.zeros(len(starts) - 1)
    squares = np.zeros(len(effects))
    freedom = np.zeros(len(effects))
    for user in range(len(starts) - 1):
        first, last = starts[user], starts[user + 1]
        for at in range(first, last):
            kindness[user] += (ratings[at] - effects[items[at]]) / (last - first)
        for at in range(first, last):
            left = ratings[at] - effects[items[at]] - kindness[user]
            squares[items[at]] += left * left
            freedom[items[at]] += 1.0 - 1.0 / (last - first)
    return kindness, squares, freedom
