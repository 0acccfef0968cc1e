"""Arms above, counted in both reflections of the order of dissimilar pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.orientation.growth import (
    Grower,
    GrowthEffort,
    codes_of,
    shuffled,
)
from lsdt.candidates.propagation.orientation.reflections import Reflection, find_all
from lsdt.candidates.top.above import UpwardBounds, bounds_of_reflection, lowest_means

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem

EFFORT, SEED = GrowthEffort(), 0  # what classes are grown with; the same values give the same classes


class ReflectedBounds(NamedTuple):
    """One reflection of a class, and all bounds that hold in it."""

    reflection: Reflection
    bounds: UpwardBounds


@dataclass(frozen=True, eq=False)
class CountedOrders:
    """How the orders of dissimilar pairs exclude arms, by their index in the constraint system.

    Attributes
    ----------
    is_out : ndarray of bool
        Which of the arms asked about have `top` arms above them in every reflection.
    first : tuple of ReflectedBounds
        The reflections of the largest classes of all parts.
    part : ndarray of int
        The part of every arm, where similar pairs join the arms of a part.
    is_exact : bool
        Whether these orders, with the other relations, are all that is known.
    contradiction : bool
        Whether the relations contradict one another.
    remark : str
        What was left out for lack of time.
    """

    is_out: NDArray[np.bool_]
    first: tuple[ReflectedBounds, ...] = ()
    part: NDArray[np.int64] | None = None
    is_exact: bool = False
    contradiction: bool = False
    remark: str = ""

    def means(self, system: ConstraintSystem, place: int, top: int) -> NDArray[np.float64] | None:
        """Return means in quanta with fewer than `top` arms above one, if the orders are exact."""
        assert self.part is not None
        largest = None if system.ranges is not None else system.largest
        parts = self.part if system.ranges is None else np.zeros_like(self.part)
        for reflection, bounds in self.first:
            if int(bounds.count_above(np.array([place]), top)[0]) < top:
                base = reflection.means(largest)
                means = lowest_means(bounds, place, base, parts, system.largest, system.ranges is None)
                return means if system.fits(np.arange(len(means)), -means) else None
        return None


def count_in_reflections(
    system: ConstraintSystem, places: NDArray[np.int64], top: int, is_over: Callable[[], bool]
) -> CountedOrders:
    """Exclude arms with at least `top` arms above them in both reflections of a class of orders."""
    codes = codes_of(system)
    grower = Grower(codes, EFFORT, is_over)
    grower.grow_all(shuffled(grower.n_arms, SEED))
    is_out = np.zeros(grower.n_arms, bool)
    if grower.contradiction >= 0:
        return CountedOrders(is_out, contradiction=True)
    if is_over():
        return CountedOrders(
            is_out, remark="time ran out before the dissimilar pairs had an order; no arm was excluded by it"
        )
    first: tuple[ReflectedBounds, ...] = ()
    rounds = grower.rounds() or [[]]
    for turn, chosen in enumerate(rounds):
        reflections = [
            Reflection(codes, grower.classes, chosen, sign) for sign in ((1, -1) if chosen else (1,))
        ]
        find_all(reflections)
        n_wrong = sum(one.wrong >= 0 for one in reflections)
        if n_wrong == len(reflections) or (n_wrong and system.ranges is None):
            return CountedOrders(is_out, contradiction=True)
        both = [ReflectedBounds(one, bounds_of_reflection(one)) for one in reflections if one.wrong < 0]
        # At level 0 no arm need lie above.
        asked = places[np.all([one.reflection.levels[places] < 0 for one in both], axis=0)]
        for one in both:
            asked = asked[:0] if is_over() else asked[one.bounds.count_above(asked, top) >= top]
        is_out[asked] = True
        if turn == 0:
            first, is_exact = tuple(both), _is_exact(system, grower, chosen)
    return CountedOrders(is_out, first, grower.part, is_exact)


def _is_exact(system: ConstraintSystem, grower: Grower, chosen: list[int]) -> bool:
    """Return whether the orders of some classes, each with its mirror image, are all there is to know."""
    if system.ranges is not None:
        known = sum(grower.size(one) for one in (1, *chosen))
        steps = system.ranges.steps.exact and system.ranges.is_compared
        return steps and known == len(grower.codes.dissimilar) // 2
    return sum(map(grower.size, chosen)) == int(grower.pairs.sum())
