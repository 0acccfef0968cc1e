"""Try both orders of a dissimilar pair: if one leads to a contradiction, the other holds.

If neither does, whatever follows from both holds as well. The depth is one level: everything that follows
from an order is derived (`closure_kernel`), but no second pair is tried meanwhile.
"""

from __future__ import annotations

import numpy as np

from lsdt.candidates.propagation.closure_kernel import (
    close_members,
    closed_bounds,
    nearest,
    order_pairs,
    place_below,
)
from lsdt.candidates.propagation.method_kernel import Constraints, clear, narrow, new_scratch
from lsdt.kernel import Array, ascending, compiled, copy_table, inlined


@inlined
def _is_open(bounds: Array, a: int, b: int, apart: int) -> bool:
    """Return whether the bounds allow both orders of a dissimilar pair."""
    return bool(bounds[a, b] >= apart and bounds[b, a] >= apart)


@inlined
def _open_pairs(bounds: Array, pairs: Array, apart: Array) -> Array:
    """Return the pairs that are not yet ordered, those with the least room first."""
    numbers = np.empty(len(pairs), np.int64)
    room = np.empty(len(pairs), np.int64)
    count = 0
    for number in range(len(pairs)):
        a, b = pairs[number, 0], pairs[number, 1]
        if _is_open(bounds, a, b, apart[number]):
            numbers[count], room[count] = number, bounds[a, b] + bounds[b, a] - 2 * apart[number]
            count += 1
    order = ascending(room[:count])
    for place in range(count):
        order[place] = numbers[order[place]]
    return order


@inlined
def _follows(bounds: Array, pairs: Array, apart: Array, upper: int, lower: int, steps: int) -> bool:
    """Place an arm below another and derive what follows; return False on a contradiction."""
    return place_below(bounds, upper, lower, steps) and order_pairs(bounds, pairs, apart)


@inlined
def _take_weaker(bounds: Array, first: Array, second: Array) -> bool:
    """Tighten `bounds` to what follows from both orders; return whether one changed. They stay closed."""
    news = False
    for row in range(len(bounds)):
        for column in range(len(bounds)):
            either = max(first[row, column], second[row, column])
            if either < bounds[row, column]:
                bounds[row, column] = either
                news = True
    return news


@compiled
def probe(bounds: Array, pairs: Array, apart: Array, most_tries: int) -> tuple[bool, int]:
    """Try both orders of every open pair until nothing changes; return False when both orders of one fail.

    Parameters
    ----------
    bounds : array of int, (members, members)
        Closed, with every order that follows from them applied; tightened in place.
    pairs, apart : array of int64
        Dissimilar pairs and their steps.
    most_tries : int
        How many orders may be tried.

    Returns
    -------
    (bool, int)
        Whether there is no contradiction yet, and how many orders were tried.
    """
    first, second = np.empty_like(bounds), np.empty_like(bounds)
    tries, n_open = 0, len(pairs) + 1
    numbers = _open_pairs(bounds, pairs, apart)
    while len(numbers) < n_open:  # a pass that ordered a pair may have made room for more
        n_open = len(numbers)
        for number in numbers:
            a, b, steps = pairs[number, 0], pairs[number, 1], apart[number]
            if not _is_open(bounds, a, b, steps):
                continue
            if tries + 2 > most_tries:
                return True, tries
            tries += 2
            copy_table(first, bounds)
            copy_table(second, bounds)
            first_holds = _follows(first, pairs, apart, a, b, steps)
            second_holds = _follows(second, pairs, apart, b, a, steps)
            if first_holds and second_holds:
                if _take_weaker(bounds, first, second) and not order_pairs(bounds, pairs, apart):
                    return False, tries
            elif first_holds or second_holds:
                copy_table(bounds, first if first_holds else second)
            else:
                return False, tries
        numbers = _open_pairs(bounds, pairs, apart)
    return True, tries


@compiled
def eliminate_by_probing(
    constraints: Constraints,
    arms: Array,
    first: int,
    last: int,
    most_near: int,
    most_arms: int,
    most_tries: int,
    possible: Array,
    tries: Array,
) -> None:
    """Write into `possible` whether each of ``arms[first:last]`` can still be the best, and count tries.

    `most_near` and `most_arms` are those of `closure_kernel.eliminate_by_closure`.
    """
    n_arms = len(constraints.similar_starts) - 1
    scratch, place_of = new_scratch(n_arms), np.full(n_arms, -1, np.int64)
    for place in range(first, last):
        possible[place], n_reached = narrow(constraints, arms[place], most_near, scratch)
        if possible[place]:
            members = nearest(scratch, n_reached, most_arms)
            bounds, pairs, apart = closed_bounds(constraints, members, place_of)
            possible[place] = close_members(bounds, pairs, apart, members, arms[place], scratch)
            if possible[place]:
                possible[place], tries[place] = probe(bounds, pairs, apart, most_tries)
        clear(scratch, n_reached)


@compiled
def members_around(constraints: Constraints, best: int, most_near: int, most_arms: int) -> Array:
    """Return the arms among which `eliminate_by_probing` looks for a contradiction, ascending."""
    scratch = new_scratch(len(constraints.similar_starts) - 1)
    n_reached = narrow(constraints, best, most_near, scratch)[1]
    members = nearest(scratch, n_reached, most_arms)
    order = ascending(members)
    for place in range(len(order)):
        order[place] = members[order[place]]
    return order
