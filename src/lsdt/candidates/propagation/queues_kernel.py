"""A few queues of arms that wait for a visit: arms of the first come before those of the second, and so on.

An arm whose bounds narrow may join an earlier queue; it stays in the later one too, but is visited once. The
bits of ``waiting[arm]`` are the queues it is listed in, and whether its bounds changed since its last visit;
``ends`` holds where each queue begins and its length.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, inlined

QUEUES = 3  # narrow, wider and other bounds, as the callers sort them
_CHANGED = 1 << QUEUES


@inlined
def new_queues(n_arms: int) -> tuple[Array, Array, Array]:
    """Return the state of every arm, the queues and their ends, all empty."""
    return (
        np.zeros(n_arms, np.int8),
        np.empty((QUEUES, n_arms), np.int32),
        np.zeros((QUEUES, 2), np.int64),
    )


@inlined
def enqueue(waiting: Array, queues: Array, ends: Array, arm: int, queue: int) -> None:
    """Add an arm whose bounds changed to a queue."""
    waits = waiting[arm]
    if not waits & (1 << queue):
        tail = ends[queue, 0] + ends[queue, 1]
        queues[queue, tail if tail < len(waiting) else tail - len(waiting)] = arm
        ends[queue, 1] += 1
    waiting[arm] = waits | (1 << queue) | _CHANGED


@inlined
def dequeue(waiting: Array, queues: Array, ends: Array) -> int:
    """Return the arm to visit next, or -1; an arm in several queues is visited once."""
    queue = 0
    while queue < QUEUES:
        if ends[queue, 1] == 0:
            queue += 1
            continue
        head = ends[queue, 0]
        arm = queues[queue, head]
        ends[queue, 0] = head + 1 if head + 1 < len(waiting) else 0
        ends[queue, 1] -= 1
        waits = waiting[arm]
        waiting[arm] = waits & ~((1 << queue) | _CHANGED)
        if waits & _CHANGED:
            return int(arm)
    return -1
