"""Compiled side of :mod:`lsdt.candidates.complete.interval_model`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def grid_coordinates(left_end: Array) -> Array:
    """Return integer coordinates of a proper order: similar arms <= K - 1 apart, dissimilar arms >= K.

    The last arm to the left of an arm's window is its parent: it must be at least one unit away, the next
    arm less than one. With depth d in that forest and rank r in preorder, ``d * K + r`` achieves this:
    a child ranks after its parent and before the parent's right neighbour of equal depth. A component hangs
    below the last arm of the one before it, hence at least a unit to its right.
    """
    n_arms = len(left_end)
    depth = np.zeros(n_arms, np.int64)
    size = np.ones(n_arms, np.int64)
    for place in range(n_arms):
        if left_end[place] > 0:
            depth[place] = depth[left_end[place] - 1] + 1
    for place in range(n_arms - 1, -1, -1):
        if left_end[place] > 0:
            size[left_end[place] - 1] += size[place]
    steps = np.empty(n_arms, np.int64)
    next_rank = np.zeros(n_arms, np.int64)
    next_root = 0
    for place in range(n_arms):
        if left_end[place] == 0:
            rank = next_root
            next_root += size[place]
        else:
            parent = left_end[place] - 1
            rank = next_rank[parent]
            next_rank[parent] += size[place]
        next_rank[place] = rank + 1
        steps[place] = depth[place] * n_arms + rank
    return steps
