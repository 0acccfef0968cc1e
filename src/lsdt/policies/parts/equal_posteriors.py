"""Thompson sampling among arms with equal posteriors: one draw for all of them.

The largest of m independent draws from one posterior is at most x with probability F(x)^m. So it is drawn at
once: it is exceeded by a single draw with probability 1 - U^(1/m), U uniform. By symmetry each of the m arms
is as likely to have drawn it. That is the law of a draw for every arm, at the cost of the number of distinct
posteriors: with very many arms most were never played, and share the prior.

Arms lie in `order`, those of a group side by side, and groups by their posterior, of which two numbers are
the key: ``keys_a[g]``, then ``keys_b[g]``. Group g is ``order[starts[g]:starts[g + 1]]``; the entry after the
last group holds where that one ends. A reward never makes a key smaller: an arm moves to the right, and every
group that it passes gives its last arm a place in front. That costs O(groups), as a choice does.

Several families of arms (the classes of `lsdt_ts_csi`) lie one after the other in the same arrays: number
`which` has the groups ``first .. first + n_groups[which] - 1``, and room for them up to `end`. Once there are
groups for a quarter of the arms, they are given up for good, and every arm is drawn for, as it is where there
are few: ``n_groups[which]`` is then 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import (
    Array,
    below,
    beta_exceeds,
    beta_isf,
    compiled,
    gamma_from,
    inlined,
    normal,
    normal_isf,
    normal_sf,
    safe_expm1,
    safe_log1p,
    tournament,
    uniform,
    whole_below,
)

if TYPE_CHECKING:
    from lsdt.kernel import Allowed, Reals, Wholes


class Groups(NamedTuple):
    """Arms by their posterior; ``place[arm]`` is where an arm lies in ``order``."""

    order: Wholes
    place: Wholes
    keys_a: Reals
    keys_b: Reals
    starts: Wholes
    n_groups: Wholes


def room_for(n_arms: int) -> int:
    """Return how many entries the groups of this many arms take: none for few arms, which are not grouped."""
    return n_arms // 4 + 8 if n_arms >= tournament.MANY_ARMS else 0


def new_groups(key_a: float, key_b: float, sizes: Array, members: Array) -> tuple[Groups, Array]:
    """Return groups for families of these sizes, whose arms are all equal, and where each family begins.

    The arms of the families lie one after the other in `members`.
    """
    rooms = np.array([room_for(int(size)) for size in sizes], np.int64)
    tables = np.concatenate([[0], np.cumsum(rooms)])
    firsts, some = np.cumsum(sizes) - sizes, rooms > 0
    n_entries = max(int(tables[-1]), 1)
    starts = np.zeros(n_entries, np.int64)
    starts[tables[:-1][some]] = firsts[some]
    starts[tables[:-1][some] + 1] = (firsts + sizes)[some]
    n_arms = len(members) if some.any() else 0
    place = np.zeros(n_arms, np.int64)
    place[members[:n_arms]] = np.arange(n_arms)
    order = np.append(members[:n_arms], 0)  # one more: places of its end are places of it
    keys = np.full(n_entries, key_a), np.full(n_entries, key_b)
    return Groups(order, place, *keys, starts, some.astype(np.int64)), tables


def fill_groups(groups: Groups, keys_a: Array, keys_b: Array) -> None:
    """Group the arms of one family by these keys; with too many distinct ones there are no groups."""
    if not groups.n_groups[0]:
        return
    n_arms = len(keys_a)
    order = np.lexsort((np.arange(n_arms), keys_b, keys_a))
    a, b = keys_a[order], keys_b[order]
    first = np.flatnonzero(np.concatenate([[True], (a[1:] != a[:-1]) | (b[1:] != b[:-1])]))
    n_groups = len(first)
    if n_groups + 1 >= len(groups.starts):
        groups.n_groups[0] = 0
        return
    groups.order[:n_arms], groups.place[order] = order, np.arange(n_arms)
    groups.keys_a[:n_groups], groups.keys_b[:n_groups] = a[first], b[first]
    groups.starts[:n_groups], groups.starts[n_groups] = first, n_arms
    groups.n_groups[0] = n_groups


@inlined
def lower_bound(keys_a: Array, keys_b: Array, first: int, last: int, key_a: float, key_b: float) -> int:
    """Return the first of some groups whose key is at least this one, `last` if there is none."""
    while first < last:
        middle = (first + last) >> 1
        if keys_a[middle] < key_a or (keys_a[middle] == key_a and keys_b[middle] < key_b):
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def last_of(groups: Groups, first: int, end: int, which: int) -> int:
    """Return the entry after the last group of a family."""
    return min(first + groups.n_groups[which], end - 1)


@inlined
def pass_groups(groups: Groups, arm: int, source: int, target: int) -> int:
    """Carry an arm from one group to the front of another to its right; return the place it has there."""
    order, place, starts = groups.order, groups.place, groups.starts
    hole = place[arm]
    for group in range(source, target):
        end = starts[group + 1] - 1
        other = order[end]
        order[hole] = other
        place[other] = hole
        hole = end
        if group > source:
            starts[group] -= 1
    order[hole] = arm
    place[arm] = hole
    return hole


@inlined
def remove_group(groups: Groups, group: int, last: int, which: int) -> None:
    """Take an empty group out."""
    for at in range(group, last):
        groups.keys_a[at] = groups.keys_a[at + 1]
        groups.keys_b[at] = groups.keys_b[at + 1]
        groups.starts[at] = groups.starts[at + 1]
    groups.n_groups[which] -= 1


@compiled
def move_arm(
    groups: Groups,
    first: int,
    end: int,
    which: int,
    arm: int,
    old_a: float,
    old_b: float,
    new_a: float,
    new_b: float,
) -> None:
    """Move an arm to the group of its new posterior, whose key is larger than the old one."""
    keys_a, keys_b, starts = groups.keys_a, groups.keys_b, groups.starts
    last = last_of(groups, first, end, which)
    source = lower_bound(keys_a, keys_b, first, last, old_a, old_b)
    if source >= last:  # in no state that this code has made
        groups.n_groups[which] = 0
        return
    target = lower_bound(keys_a, keys_b, source + 1, last, new_a, new_b)
    is_alone = starts[source + 1] - starts[source] == 1
    is_new = target == last or keys_a[target] != new_a or keys_b[target] != new_b
    if is_new and not is_alone and last + 1 >= end:  # too many groups: from now on every arm is drawn for
        groups.n_groups[which] = 0
        return
    hole = pass_groups(groups, arm, source, target)
    if not is_new:
        starts[target] -= 1
        if is_alone:
            remove_group(groups, source, last, which)
        return
    if is_alone:  # its group goes with it
        for at in range(source, target - 1):
            keys_a[at] = keys_a[at + 1]
            keys_b[at] = keys_b[at + 1]
            starts[at] = starts[at + 1]
        target -= 1
    else:
        for at in range(last, target - 1, -1):
            keys_a[at + 1] = keys_a[at]
            keys_b[at + 1] = keys_b[at]
            starts[at + 1] = starts[at]
        groups.n_groups[which] += 1
    keys_a[target] = new_a
    keys_b[target] = new_b
    starts[target] = hole


@compiled
def drop_arm(groups: Groups, first: int, end: int, which: int, arm: int, key_a: float, key_b: float) -> None:
    """Take an arm out of its family, by moving it behind the end of the last group."""
    last = last_of(groups, first, end, which)
    source = lower_bound(groups.keys_a, groups.keys_b, first, last, key_a, key_b)
    if source >= last:
        return
    is_alone = groups.starts[source + 1] - groups.starts[source] == 1
    pass_groups(groups, arm, source, last)
    groups.starts[last] -= 1
    if is_alone:
        remove_group(groups, source, last, which)


@inlined
def n_allowed(groups: Groups, group: int, allowed: Allowed) -> int:
    """Return how many arms of a group may be played."""
    first, last = groups.starts[group], groups.starts[group + 1]
    if allowed.everything:
        return last - first
    count = 0
    for place in range(first, last):
        count += allowed.flags[groups.order[place]]
    return count


@inlined
def allowed_member(groups: Groups, group: int, number: int, allowed: Allowed) -> int:
    """Return arm `number` of those of a group that may be played."""
    first, last = groups.starts[group], groups.starts[group + 1]
    if allowed.everything:
        return groups.order[first + number]
    for place in range(first, last):
        arm = groups.order[place]
        if allowed.flags[arm]:
            if number == 0:
                return arm
            number -= 1
    return groups.order[first]


@inlined
def share_above(size: int, stream: Array) -> float:
    """Draw the probability that one more draw exceeds the largest of `size` draws: 1 - U^(1/size)."""
    return -safe_expm1(safe_log1p(-uniform(stream)) / size)


@inlined
def whole_shape(depth: float) -> float:
    """Return the shape of a gamma draw, a whole number, from its depth, which is 1/3 less."""
    return whole_below(depth + 5.0 / 6.0)


@inlined
def largest_beta_group(
    groups: Groups,
    first: int,
    end: int,
    which: int,
    widths_a: Array,
    widths_b: Array,
    allowed: Allowed,
    stream: Array,
) -> int:
    """Draw for the arms of a family from their Beta posteriors, and return the arm with the largest draw.

    The keys are wins and losses as `gamma_from` takes them. A group of one arm draws as a scan does. Of a
    larger one the number itself is worked out only if it is the largest so far.
    """
    best, highest, replay_log = first, -1.0, 0
    for group in range(first, last_of(groups, first, end, which)):
        size = n_allowed(groups, group, allowed)
        if size <= 0:
            continue
        value = -1.0
        if size == 1:
            arm = allowed_member(groups, group, 0, allowed)
            x = gamma_from(stream, groups.keys_a[group], widths_a[arm])
            y = gamma_from(stream, groups.keys_b[group], widths_b[arm])
            value = x / (x + y)
        else:
            share = share_above(size, stream)
            a, b = whole_shape(groups.keys_a[group]), whole_shape(groups.keys_b[group])
            if beta_exceeds(share, a, b, highest):
                value = beta_isf(share, a, b)
        if value > highest:
            best, highest, replay_log = group, value, size
    return allowed_member(groups, best, below(stream, replay_log) if replay_log > 1 else 0, allowed)


@inlined
def largest_normal_group(
    groups: Groups, end: int, centres: Array, widths: Array, allowed: Allowed, stream: Array
) -> int:
    """Draw for all arms from their normal posteriors, and return the arm with the largest draw."""
    best, highest, replay_log = 0, -math.inf, 0
    for group in range(last_of(groups, 0, end, 0)):
        size = n_allowed(groups, group, allowed)
        if size <= 0:
            continue
        arm = groups.order[groups.starts[group]]  # any: they are equal
        centre, width = centres[arm], widths[arm]
        value = -math.inf
        if size == 1:
            value = centre + width * normal(stream)
        else:
            share = share_above(size, stream)
            if highest == -math.inf or normal_sf((highest - centre) / width) > share:
                value = centre + width * normal_isf(share)
        if value > highest:
            best, highest, replay_log = group, value, size
    return allowed_member(groups, best, below(stream, replay_log) if replay_log > 1 else 0, allowed)
