"""Index policies among very many arms: arms with the same count and the same sum have the same index.

An index is worked out once for all of them, and the lowest arm stands for the others, as ties go to the
lowest arm. So a choice costs the number of distinct tallies, not of arms; it is the very choice of a scan.
Groups lie in the order of counts, then of sums. The arms of a group are a pairing heap (Fredman, Sedgewick,
Sleator and Tarjan, 1986) with the lowest on top, since an arm may join and leave anywhere.

Arm i is node i + 1 of its heap, 0 is none. ``child`` is a node's first child, ``after`` its next sibling,
``before`` the sibling before it, the parent for a first child. Arms never played are in no group. Once there
are groups for a quarter of the arms, they are given up for good, and arms are scanned as they are where there
are few: ``n_groups`` is one more than there are groups, and then 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import compiled, inlined
from lsdt.policies.parts.equal_posteriors import lower_bound, room_for

if TYPE_CHECKING:
    from lsdt.kernel import Reals, Wholes


class Heaps(NamedTuple):
    """Arms by their tallies."""

    group_counts: Reals
    group_sums: Reals
    roots: Wholes
    child: Wholes
    after: Wholes
    before: Wholes
    n_groups: Wholes


# Where the fields point, for a policy that has ``heaps`` in its state.
HEAP_PLACES = {
    "heaps.roots": "heaps.child",
    "heaps.child": "heaps.child",
    "heaps.after": "heaps.child",
    "heaps.before": "heaps.child",
    "heaps.n_groups": "heaps.roots",
}


def new_heaps(n_arms: int) -> Heaps:
    """Return the heaps of arms that nobody played; few arms have none."""
    room = room_for(n_arms)
    keys, roots = np.zeros(max(room, 1)), np.zeros(max(room, 1), np.int64)
    links = np.zeros(n_arms + 1 if room else 1, np.int64)
    return Heaps(keys, keys, roots, links, links, links, np.array([min(room, 1)]))


@inlined
def meld(heaps: Heaps, one: int, other: int) -> int:
    """Put the higher of two roots under the lower one, which is returned."""
    if one == 0:
        return other
    if other == 0:
        return one
    low, high = min(one, other), max(one, other)
    first = heaps.child[low]
    heaps.after[high] = first
    heaps.before[first] = high
    heaps.before[high] = low
    heaps.child[low] = high
    return low


@inlined
def meld_siblings(heaps: Heaps, first: int) -> int:
    """Make one heap of siblings: in pairs from left to right, then all pairs from right to left."""
    pairs = 0
    for _ in range(len(heaps.child)):
        if first == 0:
            break
        second = heaps.after[first]
        heaps.after[first] = 0
        rest = 0
        if second > 0:
            rest = heaps.after[second]
            heaps.after[second] = 0
        top = meld(heaps, first, second)
        heaps.after[top] = pairs
        pairs, first = top, rest
    root = 0
    for _ in range(len(heaps.child)):
        if pairs == 0:
            break
        rest = heaps.after[pairs]
        heaps.after[pairs] = 0
        root = meld(heaps, root, pairs)
        pairs = rest
    heaps.before[root] = 0
    return root


@inlined
def without(heaps: Heaps, root: int, node: int) -> int:
    """Take a node out of a heap, and return the root of what is left."""
    child, after, before = heaps.child, heaps.after, heaps.before
    if node != root:
        if child[before[node]] == node:
            child[before[node]] = after[node]
        else:
            after[before[node]] = after[node]
        before[after[node]] = before[node]
    left = meld_siblings(heaps, child[node])
    child[node] = 0
    after[node] = 0
    before[node] = 0
    return left if node == root else meld(heaps, root, left)


@inlined
def leave_group(heaps: Heaps, arm: int, count: float, total: float) -> None:
    """Take an arm out of the group of these tallies."""
    counts, sums, roots = heaps.group_counts, heaps.group_sums, heaps.roots
    last = heaps.n_groups[0] - 1
    group = lower_bound(counts, sums, 0, last, count, total)
    if group >= last:  # in no state that this code has made
        heaps.n_groups[0] = 0
        return
    roots[group] = without(heaps, roots[group], arm + 1)
    if roots[group] == 0:
        for at in range(group, last - 1):
            counts[at], sums[at], roots[at] = counts[at + 1], sums[at + 1], roots[at + 1]
        heaps.n_groups[0] -= 1


@inlined
def join_group(heaps: Heaps, arm: int, count: float, total: float) -> None:
    """Put an arm into the group of these tallies."""
    counts, sums, roots = heaps.group_counts, heaps.group_sums, heaps.roots
    last = heaps.n_groups[0] - 1
    group = lower_bound(counts, sums, 0, last, count, total)
    if group < last and counts[group] == count and sums[group] == total:
        roots[group] = meld(heaps, roots[group], arm + 1)
        return
    if last + 2 >= len(roots):  # too many groups: from now on all arms are scanned
        heaps.n_groups[0] = 0
        return
    for at in range(last, group, -1):
        counts[at], sums[at], roots[at] = counts[at - 1], sums[at - 1], roots[at - 1]
    counts[group], sums[group], roots[group] = count, total, arm + 1
    heaps.n_groups[0] += 1


@compiled
def change_group(
    heaps: Heaps, arm: int, old_count: float, old_sum: float, count: float, total: float
) -> None:
    """Move an arm whose tallies changed to the group that has the new ones."""
    if heaps.n_groups[0] > 0 and old_count > 0.0:
        leave_group(heaps, arm, old_count, old_sum)
    if heaps.n_groups[0] > 0:
        join_group(heaps, arm, count, total)
