"""Compiled side of :mod:`lsdt.theory.domination.fractional`: P2 of a unit interval graph, in one pass."""

from __future__ import annotations

from lsdt.kernel import Array, compiled


@compiled
def cover_windows(order: Array, right_end: Array, z: Array, y: Array) -> None:
    """Write 0/1 optimal solutions of P2 and of its dual into `z` and `y`, which are zero on entry.

    The first uncovered arm gets y = 1, the last arm similar to it z = 1: no other arm that covers the first
    one covers more of those to its right. No arm is similar to two of the arms with y = 1, so both totals
    agree, and both are optimal.
    """
    position = 0
    while position < len(order):
        last = right_end[position] - 1
        y[order[position]] = 1.0
        z[order[last]] = 1.0
        position = right_end[last]
