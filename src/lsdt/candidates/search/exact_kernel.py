"""Can one arm be the best? A depth-first search through the orders of dissimilar pairs decides.

Orders that follow from others are never tried. Pairs that turned out to have no order left are tried first
from then on: the search then meets a contradiction among few pairs near the root, and not again below every
unrelated choice.

Everything is about one component: arms joined by similar pairs, directly or through others. ``bounds[a, b]``
is the largest that x_b - x_a may be, x being the depth below the best arm in steps; the bounds are kept
closed (see `closure_kernel`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.candidates.propagation.closure_kernel import order_pairs, place_below, tighten
from lsdt.candidates.propagation.method_kernel import FAR, Constraints, narrow, new_scratch
from lsdt.kernel import Array, compiled, copy_table, least_of

CANNOT, CAN, UNDECIDED, NO_ROOM = 0, 1, 2, 3  # answers of `search`
_HALF = FAR // 2


class Search(NamedTuple):
    """The state of a search, from which it can be resumed.

    ``saved[level]`` holds the bounds before order number `level` was assumed, ``other_order[level]`` what to
    try when that fails: the upper arm, the lower arm, their steps. ``counts`` holds the level, how many
    orders were assumed, and whether the bounds are free of contradiction. ``weights`` starts at 1 for every
    pair and grows by one each time no order was left for it.
    """

    bounds: Array
    saved: Array
    other_order: Array
    counts: Array
    weights: Array


@compiled
def suppose_best(constraints: Constraints, bounds: Array, best: int) -> bool:
    """Add the constraint that no arm lies above `best`; return False when that leads to a contradiction.

    Intervals come first: they order most pairs at little cost, before the costlier closure.
    """
    n_arms = len(bounds)
    scratch = new_scratch(n_arms)
    if not narrow(constraints, best, n_arms, scratch)[0]:
        return False
    onward = bounds[best].copy()
    for row in range(n_arms):
        least = least_of(bounds, row)  # every path can be extended to `best` at no cost, and on from there
        for column in range(n_arms):
            if onward[column] < _HALF:
                bounds[row, column] = min(bounds[row, column], least + onward[column])
    tighten(bounds, np.arange(n_arms), scratch.lower, scratch.upper)
    return True


@compiled
def _next_pair(bounds: Array, pairs: Array, apart: Array, weights: Array, depths: Array) -> int:
    """Return the number of a dissimilar pair that is too close at `depths`, or -1.

    Of several, it is the one with the least room between its bounds, divided by its weight.
    """
    chosen, least = -1, 0.0
    for number in range(len(pairs)):
        a, b = pairs[number, 0], pairs[number, 1]
        if abs(depths[a] - depths[b]) < apart[number]:
            room = (bounds[a, b] + bounds[b, a]) / weights[number]
            if chosen < 0 or room < least:
                chosen, least = number, room
    return chosen


@compiled
def _blame(bounds: Array, pairs: Array, apart: Array, weights: Array) -> None:
    """Add 1 to the weight of every pair with both orders excluded by the bounds."""
    for number in range(len(pairs)):
        a, b = pairs[number, 0], pairs[number, 1]
        if bounds[a, b] < apart[number] and bounds[b, a] < apart[number]:
            weights[number] += 1.0


@compiled
def search(state: Search, pairs: Array, apart: Array, best: int, most_orders: int, depths: Array) -> int:
    """Search for depths that satisfy every relation with no arm above `best`; write them into `depths`.

    Parameters
    ----------
    state : Search
        A new one has level 0, and bounds that follow from the similar pairs, the best arm and every order
        they imply. It is updated in place.
    pairs, apart : array of int64
        The dissimilar pairs and their steps.
    best : int
        The arm, -1 when any arm may be the best and means may be reflected, -2 when they may not.
    most_orders : int
        How many orders the search may assume in total before it stops.
    depths : array of int64
        Depths in steps, written when the answer is CAN.

    Returns
    -------
    int
        CAN, CANNOT, UNDECIDED when it stopped, or NO_ROOM when `saved` is full.
    """
    bounds, saved, other_order = state.bounds, state.saved, state.other_order
    level, assumed, possible = state.counts[0], state.counts[1], state.counts[2] > 0
    while True:
        answer = UNDECIDED
        if not possible:
            # Without ranges every model has a reflection: if any arm may be the best, the other order of the
            # first pair adds nothing.
            if level == 0 or (level == 1 and best == -1):
                answer = CANNOT
            elif assumed < most_orders:
                _blame(bounds, pairs, apart, state.weights)
                level -= 1
                assumed += 1
                copy_table(bounds, saved[level])
                upper, lower, steps = other_order[level, 0], other_order[level, 1], other_order[level, 2]
                possible = place_below(bounds, upper, lower, steps) and order_pairs(bounds, pairs, apart)
                continue
        else:
            # The least depths that the bounds allow satisfy all but some of the pairs not yet ordered.
            for arm in range(len(bounds)):
                depths[arm] = -(bounds[arm, best] if best >= 0 else least_of(bounds, arm))
            chosen = _next_pair(bounds, pairs, apart, state.weights, depths)
            if chosen < 0:
                answer = CAN
            elif assumed < most_orders and level == len(saved):
                answer = NO_ROOM
            elif assumed < most_orders:
                upper, lower, steps = pairs[chosen, 0], pairs[chosen, 1], apart[chosen]
                if bounds[lower, upper] > bounds[upper, lower]:  # the order with more room first
                    upper, lower = lower, upper
                copy_table(saved[level], bounds)
                other_order[level, 0], other_order[level, 1], other_order[level, 2] = lower, upper, steps
                level += 1
                assumed += 1
                possible = place_below(bounds, upper, lower, steps) and order_pairs(bounds, pairs, apart)
                continue
        state.counts[0], state.counts[1], state.counts[2] = level, assumed, possible
        return answer
