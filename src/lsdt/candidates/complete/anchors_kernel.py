"""Compiled side of :mod:`lsdt.candidates.complete.anchors`."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def end_class_members(left_end: Array, right_end: Array) -> tuple[Array, Array]:
    """Return the positions in the end classes of every component, and the class number of each.

    The left class of a component is the run of first positions that share the right end of the first one.
    The right class is the run of last positions that share the left end of the last one. In a complete
    component the two are one class.
    """
    n_arms = len(right_end)
    positions = np.empty(n_arms, np.int32)
    number_of = np.empty(n_arms, np.int32)
    found = 0
    n_classes = 0
    start = 0
    for place in range(n_arms):
        if right_end[place] != place + 1:
            continue
        member = start
        while member <= place and right_end[member] == right_end[start]:
            positions[found] = member
            number_of[found] = n_classes
            found += 1
            member += 1
        n_classes += 1
        reach = left_end[place]
        if reach > start:
            for member in range(right_end[reach - 1], place + 1):
                positions[found] = member
                number_of[found] = n_classes
                found += 1
            n_classes += 1
        start = place + 1
    return positions[:found].copy(), number_of[:found].copy()
