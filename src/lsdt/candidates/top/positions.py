"""The best m of complete information, by the positions of arms in their order.

A connected unit interval graph has one order, up to reversal and the exchange of arms with the same similar
arms (Roberts 1969). Arms of an earlier class lie strictly above: an arm that is similar to one of the two and
not to the other lies on the side where it tells them apart. So in either direction the arms before the class
of an arm are above it, and no others need be: its own class may trade places, and other components, which
cannot lie among the arms of this one, may lie below. An arm can be among the best m exactly when fewer than m
arms of its component stand before its class, or fewer than m after it. For m = 1 this is Theorem 1.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.complete.anchors import find_anchors
from lsdt.candidates.complete.interval_model import model_of_order
from lsdt.candidates.outcome import Classes, Outcome
from lsdt.candidates.proofs import Explanation, best_means, names_of
from lsdt.candidates.reasons import CANDIDATE, COMPLETE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.complete.proper_order import ProperOrder
    from lsdt.candidates.options import Options
    from lsdt.side_information import SideInformation


class Places(NamedTuple):
    """For every position: the first and one past the last of its class, and of its component."""

    class_first: NDArray[np.int64]
    class_last: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class TopPositions:
    """The arms with fewer than `top` others before their class, or after it."""

    def __init__(self, proper: ProperOrder, top: int) -> None:
        self.proper, self.top = proper, top

    @cached_property
    def _places(self) -> Places:
        left, right = np.asarray(self.proper.left_end), np.asarray(self.proper.right_end)
        n_arms = len(right)
        begins = np.ones(n_arms, bool)
        begins[1:] = (right[1:] != right[:-1]) | (left[1:] != left[:-1])
        starts = np.flatnonzero(begins)
        number = np.cumsum(begins) - 1
        parts = self.proper.component_starts
        part = np.searchsorted(parts, np.arange(n_arms), side="right") - 1
        ends, part_ends = np.append(starts[1:], n_arms), np.append(parts[1:], n_arms)
        return Places(starts[number], ends[number], parts[part], part_ends[part])

    @cached_property
    def is_left(self) -> NDArray[np.bool_]:
        """Which positions can be among the best."""
        where = self._places
        before, after = where.class_first - where.first, where.last - where.class_last
        return np.asarray(np.minimum(before, after) < self.top)

    @property
    def arms(self) -> NDArray[np.int64]:
        """The candidates, ascending."""
        return np.sort(np.asarray(self.proper.order)[self.is_left]).astype(np.int64)

    @property
    def classes(self) -> Classes:
        """The classes of the candidates, ordered by their smallest arm."""
        arms, number = np.asarray(self.proper.order)[self.is_left], self._places.class_first[self.is_left]
        _, at = np.unique(number, return_inverse=True)
        smallest = np.full(int(at.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, at, arms)
        ordered = np.lexsort((arms, smallest[at]))
        firsts = smallest[at][ordered]
        return Classes(arms[ordered].astype(np.int32), np.flatnonzero(np.diff(firsts, prepend=-1)))

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        kinds = np.full(len(self.proper.order), COMPLETE)
        kinds[np.asarray(self.proper.order)[self.is_left]] = CANDIDATE
        return kinds

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Give means with fewer than `top` arms above the arm, or `top` arms on either side of it."""
        place = int(self.proper.position[arm])
        if self.is_left[place]:
            return best_means(side, arm, self._coordinates(arm, place), top=self.top)
        return self._exclusion(side, arm, place)

    def _coordinates(self, arm: int, place: int) -> NDArray[np.float64]:
        """Return a model with the arm's component to the right of all others, and the arm near its end."""
        where, order = self._places, np.asarray(self.proper.order)
        coordinates = model_of_order(self.proper).coordinates.copy()
        first, last = int(where.first[place]), int(where.last[place])
        members, others = order[first:last], np.delete(order, np.s_[first:last])
        at_left = where.class_first[place] - first < self.top
        end = order[where.class_first[place]] if at_left else order[where.class_last[place] - 1]
        coordinates[arm], coordinates[end] = coordinates[end], coordinates[arm]
        if at_left:
            coordinates[members] *= -1.0
        if len(others):
            coordinates[members] += coordinates[others].max() + 2.0 - coordinates[members].min()
        return coordinates

    def _exclusion(self, side: SideInformation, arm: int, place: int) -> Explanation:
        """Name the nearest arms on either side, and the arms that tell them from this one.

        An arm before the class either reaches further left, to the arm just left of this one's similar arms,
        or less far right, not to the last of them; likewise on the other side. With these, all named arms
        are joined by similar pairs, so their order is the one of all arms, cut down.
        """
        where, order, top = self._places, np.asarray(self.proper.order), self.top
        first, last = int(where.class_first[place]), int(where.class_last[place])
        before, after = range(first - top, first), range(last, last + top)
        low, high = int(self.proper.left_end[place]), int(self.proper.right_end[place])
        inside = range(int(where.first[place]), int(where.last[place]))
        telling = {one for one in (low - 1, low, high - 1, high) if one in inside}
        named = sorted({place, *before, *after, *telling})
        one, other = ([int(order[at]) for at in some] for some in (before, after))
        names = [names_of(side, sorted(some)) for some in (one, other)]
        if min(one) > min(other):  # the order may run either way; the text does not depend on it
            names.reverse()
        text = (
            f"arm {side.label(arm)!r} cannot be among the best {top}: {names[0]} lie on one side of it and "
            f"{names[1]} on the other. Similar pairs join them, so their order is known up to reversal "
            f"and the exchange of arms with the same similar arms; either way {top} arms are above it."
        )
        rests_on = tuple(combinations(sorted(int(order[at]) for at in named), 2))
        far = tuple((min(pair), max(pair)) for pair in zip(one, other, strict=True))
        return Explanation(side, arm, False, text, far, rests_on=rests_on)


def find_by_positions(side: SideInformation, options: Options) -> Outcome:
    """Find the arms that can be among the best of complete information.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.candidate_set(lsdt.from_means([.1, .2, .3, .4, .5], epsilon=.15), top=2)
    >>> found.arms.tolist()
    [0, 1, 3, 4]
    """
    found = TopPositions(find_anchors(side, options).proper, options.top)
    return Outcome(side, found.arms, found, is_exact=True, classes=found.classes, top=options.top)
