"""The two steps of LSDT-CSI for an index of any width: choose a class, then an arm in it.

The index is ``mean + max(x w, y w^2)`` with w a width that shrinks with the plays; ``y = 0`` leaves the usual
``mean + x w``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import Array, inlined
from lsdt.policies.parts.tallies import any_allowed, is_allowed

if TYPE_CHECKING:
    from lsdt.kernel.state import Allowed
    from lsdt.policies.situation import Situation


class Layout(NamedTuple):
    """The arms of class c are ``members[starts[c]:starts[c + 1]]``."""

    class_of: Array
    starts: Array
    members: Array


def layout_of(situation: Situation) -> Layout:
    """Lay the classes of the candidate set out."""
    classes = situation.classes
    class_of = np.empty(situation.n_arms, np.int64)
    for number, members in enumerate(classes):
        class_of[members] = number
    return Layout(class_of, np.cumsum([0, *map(len, classes)]), np.concatenate(classes))


@inlined
def best_class(
    means: Array, widths: Array, x: float, y: float, starts: Array, members: Array, allowed: Allowed
) -> int:
    """Return the class with the largest index among those with an arm that is allowed."""
    best, highest = 0, -math.inf
    for number in range(len(means)):
        if not any_allowed(allowed, members, starts[number], starts[number + 1]):
            continue
        width = widths[number]
        index = means[number] + max(x * width, y * width * width)
        if index > highest:
            best, highest = number, index
    return best


@inlined
def best_member(
    means: Array, widths: Array, x: float, y: float, members: Array, first: int, last: int, allowed: Allowed
) -> int:
    """Return the arm of ``members[first:last]`` with the largest index, of those that are allowed."""
    best, highest = members[first], -math.inf
    for place in range(first, last):
        arm = members[place]
        if not is_allowed(allowed, arm):
            continue
        width = widths[arm]
        index = means[arm] + max(x * width, y * width * width)
        if index > highest:
            best, highest = arm, index
    return best
