"""Compiled side of :mod:`lsdt.problems.sparse_pairs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.kernel import Array, compiled, pair_coin

if TYPE_CHECKING:
    import numpy as np

_TO_UNIT = 2.0**-53  # scales the 53 random bits of `pair_coin` to [0, 1)


@compiled
def write_pairs(
    near_key: np.uint64,
    partner_key: np.uint64,
    order: Array,
    position: Array,
    windows: Array,
    n_pairs: int,
    locality: float,
    first: int,
    last: int,
    pairs: Array,
) -> None:
    """Write the pairs with numbers ``first .. last - 1`` to `pairs`.

    ``windows[p]`` holds the first position near position p, and the one after the last; ``position[arm]`` is
    the position of an arm in `order`. A pair depends only on its number, so pairs can be written in blocks.
    """
    n_arms = len(order)
    for number in range(first, last):
        arm = number * n_arms // n_pairs
        at = position[arm]
        start, end = 0, n_arms
        is_near = pair_coin(near_key, 0, number) * _TO_UNIT < locality
        if is_near and windows[at, 1] - windows[at, 0] > 1:
            start, end = windows[at, 0], windows[at, 1]
        partner = start + int(pair_coin(partner_key, 0, number) * _TO_UNIT * (end - start - 1))
        partner += partner >= at
        pairs[number, 0] = arm
        pairs[number, 1] = order[partner]
