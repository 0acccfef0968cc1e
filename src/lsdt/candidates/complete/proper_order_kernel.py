"""Compiled side of :mod:`lsdt.candidates.complete.proper_order`: two breadth-first sweeps and a check.

The neighbours come as unsigned integers and a row at a time: Numba then has no negative index to allow for,
and the sweeps run a fifth faster.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def _farthest_of_least_degree(indptr: Array, indices: Array, start: int, seen: Array, queue: Array) -> int:
    """Breadth-first search; return an arm of least degree in the last level (`seen` is 0 before)."""
    queue[0] = start
    seen[start] = 1
    head, tail = 0, 1
    level_start, level_end = 0, 1
    while head < tail:
        if head == level_end:
            level_start, level_end = head, tail
        arm = queue[head]
        head += 1
        row = indices[indptr[arm] : indptr[arm + 1]]
        for entry in range(len(row)):
            neighbour = row[entry]
            if seen[neighbour] == 0:
                seen[neighbour] = 1
                queue[tail] = neighbour
                tail += 1
    best = queue[level_start]
    for place in range(level_start, tail):
        arm = queue[place]
        if indptr[arm + 1] - indptr[arm] < indptr[best + 1] - indptr[best]:
            best = arm
    return np.int64(best)  # type: ignore[return-value]


@compiled
def _lean_of_component(
    indptr: Array, indices: Array, start: int, first_level: int, level: Array, lean: Array, queue: Array
) -> int:
    """Breadth-first search from an anchor; return the number of arms reached.

    ``lean`` of an arm is the number of its neighbours one level on minus the number one level back: within
    a level of a unit interval graph it ascends from left to right.
    """
    queue[0] = start
    level[start] = first_level
    head, tail = 0, 1
    while head < tail:
        arm = queue[head]
        head += 1
        own = level[arm]
        following = np.int32(own + 1)
        row = indices[indptr[arm] : indptr[arm + 1]]
        total = 0
        for entry in range(len(row)):
            neighbour = row[entry]
            theirs = level[neighbour]
            if theirs < 0:
                theirs = following
                level[neighbour] = theirs
                queue[tail] = neighbour
                tail += 1
            total += theirs
        lean[arm] = total - own * len(row)
    return tail


@compiled
def sweep_order(indptr: Array, indices: Array, first_start: int) -> Array:
    """Return the arms from left to right, component by component; right only for a unit interval graph.

    Per component: a sweep from any arm ends at an anchor, a sweep from the anchor gives levels and leans,
    and counting sorts by lean and then by level give the order. Linear in arms and pairs.
    """
    n_arms = len(indptr) - 1
    seen = np.zeros(n_arms, np.uint8)
    level = np.full(n_arms, -1, np.int32)
    lean = np.empty(n_arms, np.int32)
    queue = np.empty(n_arms, np.uint32)
    n_levels = 0
    for offset in range(n_arms):
        start = (first_start + offset) % n_arms
        if level[start] >= 0:
            continue
        anchor = _farthest_of_least_degree(indptr, indices, start, seen, queue)
        reached = _lean_of_component(indptr, indices, anchor, n_levels, level, lean, queue)
        n_levels = level[queue[reached - 1]] + 1
    widest = 0
    for arm in range(n_arms):
        widest = max(widest, abs(lean[arm]))
    lean += widest
    by_lean = _counting_sort(np.arange(n_arms).astype(np.int32), lean, 2 * widest + 1)
    return _counting_sort(by_lean, level, n_levels)


@compiled
def _counting_sort(arms: Array, key: Array, n_keys: int) -> Array:
    """Sort `arms` by ``key[arm]``, a number below `n_keys`; equal keys keep their order."""
    start = np.zeros(n_keys + 1, np.int64)
    for arm in arms:
        start[key[arm] + 1] += 1
    for value in range(n_keys):
        start[value + 1] += start[value]
    ordered = np.empty_like(arms)
    for arm in arms:
        ordered[start[key[arm]]] = arm
        start[key[arm]] += 1
    return ordered


@compiled
def farthest_neighbours(
    indptr: Array, indices: Array, order: Array, position: Array, first: int, last: int, right_end: Array
) -> None:
    """Set ``right_end`` of the given positions to one past the last neighbour (or past the position)."""
    for place in range(first, last):
        arm = order[place]
        farthest = np.int32(place)
        row = indices[indptr[arm] : indptr[arm + 1]]
        for entry in range(len(row)):
            farthest = max(farthest, position[row[entry]])
        right_end[place] = farthest + 1


@compiled
def windows_hold(right_end: Array, n_pairs: int) -> bool:
    """Return whether the graph is exactly the graph of these windows.

    The ends are chosen so that every pair lies within a window. The graph therefore fills the windows when
    they hold as many pairs as it has. With ascending ends the order is then proper: if u and w are similar
    and v stands between them, v is similar to both.
    """
    total = 0
    for place in range(len(right_end)):
        total += int(right_end[place]) - place - 1
        if place > 0 and right_end[place] < right_end[place - 1]:
            return False
    return total == n_pairs
