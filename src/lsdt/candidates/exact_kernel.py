"""Can one arm be the best? Difference constraints over the orders of dissimilar pairs, searched depth first.

All is about one part: arms joined by similar pairs, directly or through others. ``bounds[a, b]`` is the
largest that x_b - x_a may be, x being the depth below the best arm in steps, with `unit` steps to an epsilon.
Similar arms are at most ``unit - 1`` steps apart, dissimilar ones at least `unit`, one way or the other. The
bounds are kept closed: ``bounds[a, c] <= bounds[a, b] + bounds[b, c]``.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel.compiling import Array, compiled, inlined

CANNOT, CAN, UNDECIDED = 0, 1, 2

_FIRST_STACK = 16


@compiled
def similar_bounds(table: Array, unit: int) -> Array:
    """Return the closed bounds that similar pairs (1 in `table`) alone impose: ``unit - 1`` for every hop."""
    n_arms = len(table)
    near = np.empty((n_arms, n_arms), np.int64)
    degree = np.zeros(n_arms, np.int64)
    for arm in range(n_arms):
        for other in range(n_arms):
            if table[arm, other] > 0:
                near[arm, degree[arm]] = other
                degree[arm] += 1
    bounds = np.zeros((n_arms, n_arms), np.int32)
    queue = np.empty(n_arms, np.int64)
    for start in range(n_arms):
        reached = np.zeros(n_arms, np.bool_)
        reached[start] = True
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            arm = queue[head]
            head += 1
            for place in range(degree[arm]):
                other = near[arm, place]
                if not reached[other]:
                    reached[other] = True
                    bounds[start, other] = bounds[start, arm] + unit - 1
                    queue[tail] = other
                    tail += 1
    return bounds


@inlined
def _place_below(bounds: Array, upper: int, lower: int, unit: int) -> bool:
    """Demand that `lower` lies an epsilon or more below `upper`; False when the bounds forbid it.

    A way through the new constraint is shorter only for rows in which the way to `upper` already is.
    """
    if bounds[upper, lower] < unit:
        return False
    if bounds[lower, upper] <= -unit:
        return True
    n_arms = len(bounds)
    for row in range(n_arms):
        step = bounds[row, lower] - unit
        if step < bounds[row, upper]:
            for column in range(n_arms):
                through = step + bounds[upper, column]
                if through < bounds[row, column]:
                    bounds[row, column] = through
    return True


@compiled
def _propagate(bounds: Array, pairs: Array, unit: int) -> bool:
    """Order every dissimilar pair of which the bounds exclude one order; False when they exclude both."""
    changed = True
    while changed:
        changed = False
        for number in range(len(pairs)):
            a, b = pairs[number, 0], pairs[number, 1]
            if bounds[a, b] < unit:  # b cannot lie below a
                if bounds[a, b] > -unit:
                    changed = True
                    if not _place_below(bounds, b, a, unit):
                        return False
            elif bounds[b, a] < unit and bounds[b, a] > -unit:
                changed = True
                if not _place_below(bounds, a, b, unit):
                    return False
    return True


@compiled
def _tightest_violated(bounds: Array, pairs: Array, depths: Array, unit: int) -> int:
    """Return the dissimilar pair too close at `depths` whose distance is bounded best, or -1 for none."""
    chosen, least = -1, 0
    for number in range(len(pairs)):
        a, b = pairs[number, 0], pairs[number, 1]
        if abs(depths[a] - depths[b]) < unit:
            room = bounds[a, b] + bounds[b, a]
            if chosen < 0 or room < least:
                chosen, least = number, room
    return chosen


@compiled
def search(
    similar: Array, pairs: Array, unit: int, best: int, most_orders: int, depths: Array
) -> tuple[int, int]:
    """Look for depths that satisfy every relation with none above `best`; write them into `depths`.

    Parameters
    ----------
    similar : array of int32, (arms, arms)
        What `similar_bounds` returns; all arms are joined.
    pairs : array of int64, (m, 2)
        The dissimilar pairs.
    unit : int
        Steps to an epsilon, at least as many as there are arms.
    best : int
        The arm, or -1 when any arm may be the best.
    most_orders : int
        How many orders of a pair may be assumed before the search gives up.
    depths : array of int64
        Depths in steps, written when the answer is CAN.

    Returns
    -------
    (int, int)
        CAN, CANNOT or UNDECIDED, and how many orders of a pair were assumed.
    """
    n_arms = len(similar)
    bounds = similar.copy()
    if best >= 0:  # x_best <= x_j for all j: every way may go on from `best` at no cost
        for row in range(n_arms):
            for column in range(n_arms):
                bounds[row, column] = min(bounds[row, column], bounds[best, column])
    origin = max(best, 0)
    saved = np.empty((_FIRST_STACK, n_arms, n_arms), np.int32)
    other_order = np.empty((_FIRST_STACK, 2), np.int64)
    level, assumed = 0, 0
    possible = _propagate(bounds, pairs, unit)
    while True:
        while not possible:
            # Without a best arm every model has a mirror image: the first pair's other order adds nothing.
            if level == 0 or (level == 1 and best < 0):
                return CANNOT, assumed
            if assumed == most_orders:
                return UNDECIDED, assumed
            level -= 1
            assumed += 1
            bounds[:] = saved[level]
            possible = _place_below(
                bounds, other_order[level, 0], other_order[level, 1], unit
            ) and _propagate(bounds, pairs, unit)
        # The least depths that the bounds allow satisfy everything but some of the pairs not yet ordered.
        for arm in range(n_arms):
            depths[arm] = -bounds[arm, origin]
        chosen = _tightest_violated(bounds, pairs, depths, unit)
        if chosen < 0:
            return CAN, assumed
        if assumed == most_orders:
            return UNDECIDED, assumed
        if level == len(saved):
            saved = np.concatenate((saved, np.empty_like(saved)))
            other_order = np.concatenate((other_order, np.empty_like(other_order)))
        upper, lower = pairs[chosen, 0], pairs[chosen, 1]
        if bounds[lower, upper] > bounds[upper, lower]:  # the order with more room first
            upper, lower = lower, upper
        saved[level] = bounds
        other_order[level, 0], other_order[level, 1] = lower, upper
        level += 1
        assumed += 1
        possible = _place_below(bounds, upper, lower, unit) and _propagate(bounds, pairs, unit)
