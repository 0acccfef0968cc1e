"""Which ranges of very many items need not be kept, decided with the help of a few items, the hubs.

10,000 items have fifty million pairs, and their ranges would take gigabytes. Every item is first compared
with some tens of *hubs*: the items with the most ratings, and those that are rated best. All ranges of hubs
are kept. Of the other pairs two kinds are left out.

**Implied.** Let the range of hub h and item a be ``L_ha <= m_h - m_a <= U_ha``. Then two ranges of a hub
bound every difference: ``L_hb - U_ha <= m_a - m_b <= U_hb - L_ha``. If the pair's own
interval is no tighter than the best of these bounds on either side, it says nothing new: the same means
satisfy the ranges that are kept and all ranges. Most pairs of rare items are of this kind, because few users
rated both, but many rated one of them and a hub.

**Below a hub, both.** If some hub lies above a, and some hub above b, neither is the best, and the ranges
that show this are kept. How far apart a and b are does not affect which item is best. (It could, in a chain
of ranges through two such items in a row; then an item is kept that all ranges together would exclude. Fewer
ranges never exclude more, so leaving some out can cost an exclusion, but never the best item.)

Ends are whole multiples of a grain, so their sums and differences are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings.rules.ranges import outward_ends
from lsdt.ratings.rules.relations import Screen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.statistics.intervals import DifferenceIntervals
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.ratings.statistics.pairs import PairStatistics

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Above this, ranges that need not be kept are left out. The 2 million pairs of this many items fit in memory.
MANY_ITEMS = 2_000
# Fewer hubs keep fewer ranges, and show fewer items to be below another. Of 119,462 ranges of 3,000 items
# (30,000 users with 40 ratings each), 8 hubs kept 18,051, these 32 kept 59,936, and 64 kept 84,868.
_MOST_RATED, _BEST = 24, 8
_ERRORS = 2.0  # standard errors below the effects, by which the best are chosen: a usual lower end


def hubs_of(items: ItemStatistics) -> NDArray[np.int32]:
    """Return the items with the most ratings and those with the best lower ends, by index, ascending."""
    most = np.argsort(-items.ratings, kind="stable")[:_MOST_RATED]
    best = np.argsort(_ERRORS * items.errors - items.effects, kind="stable")[:_BEST]
    return np.unique(np.concatenate((most, best))).astype(np.int32)


@dataclass(frozen=True)
class HubScreen(Screen):
    """Selects the pairs whose range is worth keeping, once the hubs have been compared with all items.

    ``hubs`` ascend. Call `learn` first, with the pairs of hubs; then `worth` says which other pairs to keep,
    and may be called from many threads at once. ``left_out`` counts the ranges that are not kept.
    """

    hubs: NDArray[np.int32]
    n_items: int
    lows: Numbers = field(init=False)
    highs: Numbers = field(init=False)
    below: Flags = field(init=False)
    counts: NDArray[np.int64] = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        shape = len(self.hubs), self.n_items
        lows, highs = np.full(shape, -np.inf), np.full(shape, np.inf)
        for ends in (lows, highs):
            ends[np.arange(len(self.hubs)), self.hubs] = 0.0
        values = {"lows": lows, "highs": highs, "below": np.zeros(self.n_items, bool)}
        for name, value in {**values, "counts": np.zeros(2, np.int64)}.items():
            object.__setattr__(self, name, value)

    def learn(self, pairs: PairStatistics) -> None:
        """Take the ranges of hubs into account."""
        widths = self.intervals.half_widths(pairs.raters, pairs.difference, pairs.variance)
        low, high = outward_ends(pairs.difference, widths)
        row = np.full(self.n_items, -1)
        row[self.hubs] = np.arange(len(self.hubs))
        for hub, item, least, most in (
            (pairs.first, pairs.second, low, high),
            (pairs.second, pairs.first, -high, -low),
        ):
            is_hub = row[hub] >= 0
            at = row[hub[is_hub]], item[is_hub]
            self.lows[at], self.highs[at] = least[is_hub], most[is_hub]
        self.below[:] = (self.lows > 0.0).any(axis=0)

    def worth(
        self,
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        raters: NDArray[np.int32],
        difference: Numbers,
        variance: Numbers,
    ) -> Flags:
        """Return, for arrays of pairs without hubs, which ranges are worth keeping."""
        kept = np.flatnonzero(self(raters, difference, variance))
        both = self.below[first[kept]] & self.below[second[kept]]
        left = kept[~both]
        widths = self.intervals.half_widths(raters[left], difference[left], variance[left])
        low, high = outward_ends(difference[left], widths)
        implied = self._are_implied(first[left], second[left], low, high)
        with self._lock:
            self.counts[:] += int(both.sum()), int(implied.sum())
        flags = np.zeros(len(raters), bool)
        flags[left[~implied]] = True
        return flags

    def reduced(self, listed: PairStatistics) -> PairStatistics:
        """Return the pairs worth keeping out of all pairs, as an engine returns them."""
        is_hub = np.zeros(self.n_items, bool)
        is_hub[self.hubs] = True
        of_hubs = is_hub[listed.first] | is_hub[listed.second]
        self.learn(listed.select(of_hubs))
        kept = of_hubs.copy()
        rest = listed.select(~of_hubs)
        kept[~of_hubs] = self.worth(rest.first, rest.second, rest.raters, rest.difference, rest.variance)
        return listed.select(kept)

    def _are_implied(
        self, first: NDArray[np.int32], second: NDArray[np.int32], low: Numbers, high: Numbers
    ) -> Flags:
        """Return which ranges are implied by two ranges of a hub."""
        least, most = np.full(len(first), -np.inf), np.full(len(first), np.inf)
        for below, above in zip(self.lows, self.highs, strict=True):
            np.maximum(least, below[second] - above[first], out=least)
            np.minimum(most, above[second] - below[first], out=most)
        return np.asarray((least >= low) & (most <= high))

    @property
    def left_out(self) -> tuple[int, int]:
        """How many pairs are left out: both items below a hub; implied."""
        both, implied = self.counts.tolist()
        return both, implied


def hub_screen(intervals: DifferenceIntervals, items: ItemStatistics) -> HubScreen:
    """Return a screen for the ranges of very many items."""
    return HubScreen(intervals, -1.0, 1.0, hubs_of(items), len(items.ratings))
