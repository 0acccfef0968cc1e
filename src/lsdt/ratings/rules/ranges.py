"""From the statistics of common raters to ranges: intervals for the difference of two items.

A similar or dissimilar pair only records on which side of epsilon its interval lies. A range keeps both ends,
and needs no epsilon.

**Family.** The intervals are those of `relations`: all M = n (n - 1) / 2 of them hold together with
probability `confidence`, so every range is right, and whatever follows from them.

**FDR.** A pair gets a range if its interval excludes 0: such pairs are selected by the procedure of Benjamini
and Hochberg on the hypothesis of no difference. The R selected pairs get intervals that fail with probability
R (1 - confidence) / M each, which exclude 0 as well. The expected share of wrong ones is then at most
1 - confidence (Benjamini and Yekutieli 2005); proven for independent or positively dependent pairs.
``fdr_any`` divides by 1 + 1/2 + ... + 1/M and holds under any dependence. No epsilon is searched for, so no
users are needed to choose one.

**What is left out.** Two means on the scale from 0 to 1 are at most 1 apart. An end beyond that says nothing
and is left open; a pair both of whose ends lie beyond has no range. Up to 2,000 items nothing else is
dropped: an interval that contains 0 orders no pair by itself, but can pass an order on (a is .3 above b, and
c is at most .1 above b, so a is above c), and every range bounds gaps. `hubs` says what is dropped beyond
that.

**Rounding.** Ends are rounded outward to whole multiples of 2^-30 of the scale. That is sound, and lets
`lsdt.candidate_set` add them up without any further rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.ratings.statistics.intervals import DifferenceIntervals
from lsdt.side_information import ArmsAndPairs, PairStore, SideInformation, frozen_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.rules.relations import FdrRule
    from lsdt.ratings.statistics.pairs import PairStatistics
    from lsdt.side_information import PairRanges

    Numbers = NDArray[np.float64]

BETTER, WORSE, RANGE = 2, -2, 3
_GRAIN = 2.0**-30  # fine beside any interval, and coarse enough for sums of 2^22 ends to be exact in 53 bits
_WIDEST = 1.0  # no two items are further apart on the scale from 0 to 1


def outward_ends(difference: Numbers, half_widths: Numbers) -> tuple[Numbers, Numbers]:
    """Return the ends of intervals, rounded outward; open where they lie beyond the scale.

    Examples
    --------
    >>> import numpy as np
    >>> outward_ends(np.array([.5, -.25]), np.array([.25, .9]))
    (array([0.25, -inf]), array([0.75, 0.65]))
    """
    # Adding 0 makes -0.0 an ordinary 0, so that equal ranges have equal bits.
    low = np.floor((difference - half_widths) / _GRAIN) * _GRAIN + 0.0
    high = np.ceil((difference + half_widths) / _GRAIN) * _GRAIN + 0.0
    return np.where(low <= -_WIDEST, -np.inf, low), np.where(high >= _WIDEST, np.inf, high)


@dataclass(frozen=True, eq=False)
class FoundRanges:
    """Pairs that have a range, and the half-widths of their intervals.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.ratings.statistics.intervals import DifferenceIntervals
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .6], [.4, .6], [.3, .7]] * 30, scale=(0, 1))
    >>> listed = lsdt.ratings.pair_statistics(log)
    >>> found = family_ranges(listed, DifferenceIntervals("student", .05))
    >>> found.low.round(3).tolist(), found.high.round(3).tolist(), found.words.tolist() == [WORSE]
    ([-0.394], [-0.273], True)
    """

    statistics: PairStatistics
    half_widths: Numbers

    @property
    def low(self) -> Numbers:
        """The lower ends, rounded down; open where they lie beyond the scale."""
        return self._ends[0]

    @property
    def high(self) -> Numbers:
        """The upper ends, rounded up; open where they lie beyond the scale."""
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[Numbers, Numbers]:
        return outward_ends(self.statistics.difference, self.half_widths)

    @cached_property
    def words(self) -> NDArray[np.int8]:
        """For each pair: whether its first item is better, worse, or neither."""
        return np.select([self.low > 0.0, self.high < 0.0], [BETTER, WORSE], RANGE).astype(np.int8)

    @property
    def n_ordered(self) -> int:
        """The number of pairs that say which item is better."""
        return int((self.words != RANGE).sum())

    @cached_property
    def _ranges(self) -> PairRanges | None:
        """The ranges as they are stored: the listed pairs ascend, so there is nothing to sort or join."""
        listed = self.statistics
        if len(listed) == 0:
            return None
        pairs = np.column_stack((listed.first, listed.second))
        closed = np.zeros(len(listed), bool)
        return frozen_ranges(pairs, self.low, self.high, closed, closed)

    def side_information(self, evidence: Any = None) -> SideInformation:
        """Turn the ranges into side information about the items."""
        none = np.empty((0, 2), np.int64)
        items = ArmsAndPairs(self.statistics.n_items, list(self.statistics.item_ids), none, none)
        bare = SideInformation._from_indices(items, complete=False, epsilon=None, evidence=evidence)
        assert isinstance(bare.store, PairStore)
        return SideInformation._of(bare.store.with_ranges(self._ranges), bare._names, None, evidence)


def family_ranges(statistics: PairStatistics, intervals: DifferenceIntervals) -> FoundRanges:
    """Return the interval of every listed pair, except those wider than the scale."""
    widths = intervals.half_widths(statistics.raters, statistics.difference, statistics.variance)
    found = FoundRanges(statistics, widths)
    said = np.isfinite(found.low) | np.isfinite(found.high)
    return found if said.all() else FoundRanges(statistics.select(said), widths[said])


def fdr_ranges(rule: FdrRule) -> FoundRanges:
    """Return the intervals of the pairs that a procedure for the false discovery rate selects."""
    selected, level = rule.differing()
    listed = rule.statistics.select(selected)
    intervals = DifferenceIntervals(rule.intervals.kind, level) if level > 0.0 else rule.intervals
    return family_ranges(listed, intervals)
