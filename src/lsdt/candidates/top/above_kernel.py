"""Compiled side of `above`: which arms lie strictly above an arm, along bounds on differences."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled

FAR = 2**62  # the level of arms that no bound reaches


@compiled
def search_up(
    starts: Array,
    others: Array,
    bounds: Array,
    strict: Array,
    arm: int,
    most: int,
    level: Array,
    n_strict: Array,
    via: Array,
    above: Array,
    seen: Array,
    queue: Array,
    waiting: Array,
) -> tuple[int, int]:
    """Bound ``x_arm - x_j`` for every arm j that bounds lead to; stop when `most` arms lie strictly above.

    The row of arm i lists bounds ``x_i - x_other <= bound``. A level is the least sum found, with the number
    of strict bounds on its path; of two equal sums the one with more of these is lower. ``via[j]`` is the
    last bound of the path, as a place in the rows. Return how many arms are in `above` and in `seen`, the
    arms whose level was set. `level` must hold `FAR` and `waiting` False beforehand.
    """
    n_arms = len(level)
    level[arm], n_strict[arm], via[arm] = 0, 0, -1
    seen[0], queue[0] = arm, arm
    n_seen, n_above, head, size = 1, 0, 0, 1
    waiting[arm] = True
    while size > 0:
        here = queue[head]
        head = head + 1 if head + 1 < n_arms else 0
        size -= 1
        waiting[here] = False
        for at in range(starts[here], starts[here + 1]):
            other = others[at]
            through, marks = level[here] + bounds[at], n_strict[here] + strict[at]
            if marks > n_arms:  # only around a contradictory cycle, which callers rule out
                continue
            if through > level[other] or (through == level[other] and marks <= n_strict[other]):
                continue
            if level[other] == FAR:
                seen[n_seen] = other
                n_seen += 1
            was_above = level[other] < 0 or (level[other] == 0 and n_strict[other] > 0)
            level[other], n_strict[other], via[other] = through, marks, at
            if not was_above and (through < 0 or (through == 0 and marks > 0)):
                above[n_above] = other
                n_above += 1
                if n_above == most:
                    return n_above, n_seen
            if not waiting[other]:
                tail = head + size
                queue[tail if tail < n_arms else tail - n_arms] = other
                size += 1
                waiting[other] = True
    return n_above, n_seen


@compiled
def count_above(
    starts: Array,
    others: Array,
    bounds: Array,
    strict: Array,
    arms: Array,
    first: int,
    last: int,
    most: int,
    counts: Array,
) -> None:
    """Count the arms strictly above each of ``arms[first:last]``, up to `most`."""
    n_arms = len(starts) - 1
    level, n_strict = np.full(n_arms, FAR, np.int64), np.zeros(n_arms, np.int64)
    via, above = np.empty(n_arms, np.int64), np.empty(most, np.int64)
    seen, queue = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
    waiting = np.zeros(n_arms, np.bool_)
    for at in range(first, last):
        found, n_seen = search_up(
            starts,
            others,
            bounds,
            strict,
            arms[at],
            most,
            level,
            n_strict,
            via,
            above,
            seen,
            queue,
            waiting,
        )
        counts[at] = found
        for place in range(n_seen):
            level[seen[place]] = FAR
            n_strict[seen[place]] = 0
            waiting[seen[place]] = False
