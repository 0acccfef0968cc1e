"""Difference constraints among few arms, kept closed: sharper than `method_kernel`, and slower.

``bounds[a, b]`` is the largest that x_b - x_a may be, x being the depth in steps. Closed means ``bounds[a,
c] <= bounds[a, b] + bounds[b, c]``. As soon as the bounds exclude one order of a dissimilar pair, the other
holds.
"""

from __future__ import annotations

import numpy as np

from lsdt.candidates.propagation.method_kernel import (
    FAR,
    Constraints,
    Scratch,
    clear,
    narrow,
    new_scratch,
    reach_all,
)
from lsdt.kernel import Array, ascending, compiled, copy_into, inlined, least_of

_HALF = FAR // 2


@compiled
def place_below(bounds: Array, upper: int, lower: int, steps: int) -> bool:
    """Place `lower` at least `steps` below `upper`; return False if the bounds forbid it.

    A path through the new constraint is shorter only in rows whose path to `upper` gets shorter.
    """
    if bounds[upper, lower] < steps:
        return False
    if bounds[lower, upper] <= -steps:
        return True
    onward = bounds[upper].copy()  # a copy and a single dtype let the inner loop be vectorised
    for row in range(len(bounds)):
        step = bounds[row, lower] - steps
        if step < bounds[row, upper] and step < _HALF:
            narrow_step, ways = bounds.dtype.type(step), bounds[row]
            for column in range(np.uint64(len(bounds))):
                through = narrow_step + onward[column]
                if through < ways[column]:
                    ways[column] = through
    return True


@compiled
def order_pairs(bounds: Array, pairs: Array, steps: Array) -> bool:
    """Order every dissimilar pair with one order excluded by the bounds; return False on a contradiction.

    That is a pair with both orders excluded, or bounds that contradict one another before any pair is
    ordered, as those of ranges can.
    """
    for arm in range(len(bounds)):
        if bounds[arm, arm] < 0:
            return False
    changed = True
    while changed:
        changed = False
        for number in range(len(pairs)):
            a, b, apart = pairs[number, 0], pairs[number, 1], steps[number]
            if bounds[a, b] < apart:  # b cannot lie below a
                if bounds[a, b] > -apart:
                    changed = True
                    if not place_below(bounds, b, a, apart):
                        return False
            elif bounds[b, a] < apart and bounds[b, a] > -apart:
                changed = True
                if not place_below(bounds, a, b, apart):
                    return False
    return True


@compiled
def similar_bounds(starts: Array, others: Array, steps: Array) -> Array:
    """Return the closed bounds that similar pairs and ranges imply: shortest paths from every arm.

    If ranges contradict one another, paths may get shorter without end; the search from such an arm is given
    up, with a bound below 0 on its difference to itself.
    """
    n_arms = len(starts) - 1
    bounds = np.full((n_arms, n_arms), FAR, np.int64)
    queue = np.empty(n_arms, np.int64)
    waiting = np.zeros(n_arms, np.bool_)
    for start in range(n_arms):
        row = bounds[start]
        row[start] = 0
        queue[0] = start
        head, n_waiting, visits = 0, 1, 0
        while n_waiting > 0:
            visits += 1
            if visits > n_arms * n_arms + 1:
                row[start] = -1
                waiting[:] = False
                break
            a = queue[head]
            head = head + 1 if head + 1 < n_arms else 0
            n_waiting -= 1
            waiting[a] = False
            for place in range(starts[a], starts[a + 1]):
                b = others[place]
                if steps[place] < _HALF and row[a] + steps[place] < row[b]:
                    row[b] = row[a] + steps[place]
                    if not waiting[b]:
                        waiting[b] = True
                        tail = head + n_waiting
                        queue[tail if tail < n_arms else tail - n_arms] = b
                        n_waiting += 1
    return bounds


@inlined
def _rows_among(
    starts: Array, others: Array, steps: Array, back: Array, members: Array, place_of: Array
) -> tuple[Array, ...]:
    """Return the pairs among `members` as rows of indices into it, with their steps in both directions."""
    one = 0 if len(steps) == 1 else 1
    count = 0
    for member in members:
        for at in range(starts[member], starts[member + 1]):
            count += place_of[others[at]] >= 0
    new_starts = np.zeros(len(members) + 1, np.int64)
    new_others = np.empty(count, np.int32)
    new_steps, new_back = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for row, member in enumerate(members):
        for at in range(starts[member], starts[member + 1]):
            if place_of[others[at]] >= 0:
                new_others[count] = place_of[others[at]]
                new_steps[count], new_back[count] = steps[at * one], back[at * one]
                count += 1
        new_starts[row + 1] = count
    return new_starts, new_others, new_steps, new_back


@inlined
def _pairs_of_rows(starts: Array, others: Array, steps: Array) -> tuple[Array, ...]:
    """Return every pair of symmetric rows once, with its steps."""
    pairs = np.empty((len(others) // 2, 2), np.int64)
    apart = np.empty(len(others) // 2, np.int64)
    count = 0
    for a in range(len(starts) - 1):
        for at in range(starts[a], starts[a + 1]):
            if a < others[at]:
                pairs[count, 0], pairs[count, 1], apart[count] = a, others[at], steps[at]
                count += 1
    return pairs, apart


@compiled
def constraints_among(constraints: Constraints, members: Array, place_of: Array) -> Constraints:
    """Return the constraints among `members`, which are numbered in that order.

    ``place_of`` must be -1 for every arm, and is restored to that.
    """
    c = constraints
    for place, member in enumerate(members):
        place_of[member] = place
    near = _rows_among(c.similar_starts, c.similar, c.similar_steps, c.similar_back, members, place_of)
    apart = c.dissimilar_steps
    far = _rows_among(c.dissimilar_starts, c.dissimilar, apart, apart, members, place_of)
    for member in members:
        place_of[member] = -1
    return Constraints(near[0], near[1], near[2], near[3], far[0], far[1], far[2])


@compiled
def closed_bounds(constraints: Constraints, members: Array, place_of: Array) -> tuple[Array, ...]:
    """Return the bounds from the similar pairs among `members`, the dissimilar pairs, and their steps.

    ``place_of`` is as for `constraints_among`.
    """
    c = constraints_among(constraints, members, place_of)
    pairs, apart = _pairs_of_rows(c.dissimilar_starts, c.dissimilar, c.dissimilar_steps)
    return similar_bounds(c.similar_starts, c.similar, c.similar_steps), pairs, apart


@inlined
def tighten(bounds: Array, members: Array, lower: Array, upper: Array) -> None:
    """Tighten closed bounds on differences by the bounds on depths, in place.

    If ranges say that an arm lies below another, or bound a difference on one side only, bounds on depths may
    not have reached all arms yet; they are closed among the members first.
    """
    if len(members) > 0 and (_has_negative(bounds) or _has_depths_of_one_side(members, lower, upper)):
        for a in range(len(members)):
            low, high = lower[members[a]], upper[members[a]]
            for k in range(len(members)):
                if bounds[a, k] < _HALF:
                    low = max(low, lower[members[k]] - bounds[a, k])
                if bounds[k, a] < _HALF and upper[members[k]] < FAR:
                    high = min(high, upper[members[k]] + bounds[k, a])
            lower[members[a]], upper[members[a]] = low, high
    for b in range(len(members)):
        if upper[members[b]] < FAR:
            for a in range(len(members)):
                through = upper[members[b]] - lower[members[a]]
                if through < bounds[a, b]:
                    bounds[a, b] = through


@inlined
def _has_negative(bounds: Array) -> bool:
    """Return whether one arm is known to lie below another."""
    found = False
    for a in range(len(bounds)):
        found = found or least_of(bounds, a) < 0
    return found


@inlined
def _has_depths_of_one_side(members: Array, lower: Array, upper: Array) -> bool:
    """Return whether an arm has a lower bound above 0 but no upper one: `narrow` does not pass that on."""
    found = False
    for place in range(len(members)):
        found = found or (upper[members[place]] >= FAR and lower[members[place]] > 0)
    return found


@inlined
def nearest(scratch: Scratch, n_reached: int, most_arms: int) -> Array:
    """Return the first `most_arms` arms reached along similar pairs: those with an upper bound."""
    members = np.empty(min(n_reached, most_arms), np.int64)
    count = 0
    for place in range(n_reached):
        arm = scratch.reached[place]
        if scratch.upper[arm] < FAR and count < len(members):
            members[count] = arm
            count += 1
    return members[:count]


@compiled
def close_members(
    bounds: Array, pairs: Array, apart: Array, members: Array, best: int, scratch: Scratch
) -> bool:
    """Close the constraints among `members` with `best` as their best; return False on a contradiction.

    ``bounds`` come from `closed_bounds` and are overwritten. `scratch` comes from `narrow` and is narrowed
    further.
    """
    tighten(bounds, members, scratch.lower, scratch.upper)
    if not order_pairs(bounds, pairs, apart):
        return False
    at = 0
    while members[at] != best:
        at += 1
    for place in range(len(members)):
        arm = members[place]
        if bounds[at, place] < _HALF:
            scratch.upper[arm] = min(scratch.upper[arm], bounds[at, place])
        scratch.lower[arm] = max(scratch.lower[arm], -bounds[place, at])
    return True


@compiled
def eliminate_by_closure(
    constraints: Constraints,
    arms: Array,
    first: int,
    last: int,
    most_near: int,
    most_arms: int,
    possible: Array,
    lower: Array,
    upper: Array,
) -> None:
    """Write into `possible` whether each of ``arms[first:last]`` can still be the best.

    `most_near` is as for `narrow`; constraints are closed among at most `most_arms` arms near each. `lower`
    and `upper` are tables with a row and a column for every arm, or empty: they receive the bounds on all
    depths below each arm that can be the best.
    """
    n_arms = len(constraints.similar_starts) - 1
    scratch, place_of = new_scratch(n_arms), np.full(n_arms, -1, np.int64)
    members = np.arange(min(n_arms, most_arms))
    bounds, pairs, apart = closed_bounds(constraints, members, place_of)
    for place in range(first, last):
        possible[place], n_reached = narrow(constraints, arms[place], most_near, scratch)
        if possible[place]:
            if n_arms <= most_arms:  # all arms are closed: similar pairs give the same bounds for each
                n_reached = reach_all(scratch, n_reached)
            else:
                members = nearest(scratch, n_reached, most_arms)
                bounds, pairs, apart = closed_bounds(constraints, members, place_of)
            possible[place] = close_members(bounds.copy(), pairs, apart, members, arms[place], scratch)
        if possible[place] and len(lower) > 0:
            copy_into(lower[arms[place]], scratch.lower)
            copy_into(upper[arms[place]], scratch.upper)
        clear(scratch, n_reached)


@compiled
def bounds_below(
    constraints: Constraints, best: int, most_near: int, most_arms: int, scratch: Scratch, place_of: Array
) -> tuple[bool, int]:
    """Bound the depths of all arms below `best` as tightly as this method can, in `scratch`.

    Return whether `best` can be the best, and how many arms were reached. `scratch` must be clear.
    """
    possible, n_reached = narrow(constraints, best, most_near, scratch)
    if possible:
        if len(scratch.lower) <= most_arms:
            n_reached = reach_all(scratch, n_reached)
            members = np.arange(n_reached)
        else:
            members = nearest(scratch, n_reached, most_arms)
        bounds, pairs, apart = closed_bounds(constraints, members, place_of)
        possible = close_members(bounds, pairs, apart, members, best, scratch)
    return possible, n_reached


@inlined
def _doubled(values: Array) -> Array:
    """Return the values in an array twice as long."""
    room = np.empty(2 * len(values), np.int64)
    copy_into(room, values)
    return room


@inlined
def _rearrange(values: Array, order: Array) -> None:
    """Permute values in place by `order`."""
    before = values.copy()
    for place in range(len(order)):
        values[place] = before[order[place]]


@compiled
def mutual_rows(
    constraints: Constraints,
    arms: Array,
    first: int,
    last: int,
    most_near: int,
    most_arms: int,
    most_entries: int,
    number: Array,
) -> tuple[Array, ...]:
    """Return bounds on the depths of the other `arms` if each of ``arms[first:last]`` is the best.

    ``number`` is the index of an arm in `arms`, or -1. Rows hold indices, lower and upper bounds in steps, at
    most `most_entries` each: arms with an upper bound are taken first, in the order in which they were
    reached. Arms without bounds are left out. If the arm cannot be the best, its row holds only itself.
    """
    n_arms = len(constraints.similar_starts) - 1
    scratch, place_of = new_scratch(n_arms), np.full(n_arms, -1, np.int64)
    counts = np.zeros(last - first, np.int64)
    places = np.empty(64, np.int64)
    lower, upper = np.empty(64, np.int64), np.empty(64, np.int64)
    filled, is_small = 0, n_arms <= most_arms
    members = np.arange(n_arms if is_small else 0)
    bounds, pairs, apart = closed_bounds(constraints, members, place_of)  # the same for every row, if small
    for row in range(first, last):
        best = arms[row]
        if is_small:
            possible, n_reached = narrow(constraints, best, most_near, scratch)
            if possible:
                n_reached = reach_all(scratch, n_reached)
                possible = close_members(bounds.copy(), pairs, apart, members, best, scratch)
        else:
            possible, n_reached = bounds_below(constraints, best, most_near, most_arms, scratch, place_of)
        if not possible:
            scratch.lower[best] = scratch.upper[best] = 0
        start = filled
        for bounded in (True, False):
            for at in range(n_reached if possible or bounded else 0):
                arm = scratch.reached[at]
                known = (
                    scratch.upper[arm] < FAR
                    if bounded
                    else scratch.upper[arm] == FAR and scratch.lower[arm] > 0
                )
                if not known or number[arm] < 0 or filled - start == most_entries:
                    continue
                if arm != best and not possible:
                    continue
                if filled == len(places):
                    places, lower, upper = _doubled(places), _doubled(lower), _doubled(upper)
                places[filled], lower[filled], upper[filled] = (
                    number[arm],
                    scratch.lower[arm],
                    scratch.upper[arm],
                )
                filled += 1
        order = ascending(places[start:filled])
        _rearrange(places[start:filled], order)
        _rearrange(lower[start:filled], order)
        _rearrange(upper[start:filled], order)
        counts[row - first] = filled - start
        clear(scratch, n_reached)
    return counts, places[:filled].copy(), lower[:filled].copy(), upper[:filled].copy()
