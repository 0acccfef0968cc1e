"""From the statistics of common raters to relations: the paper's rule, and two with error guarantees.

A rule decides for every listed pair whether it is similar (1), dissimilar (-1) or unknown (0) at an epsilon;
pairs that are not listed are unknown. Similar means that the true means are less than epsilon apart,
dissimilar that they are not.

**Family.** Each of all M = n (n - 1) / 2 pairs of items has an interval that fails with probability
(1 - confidence) / M, so the probability that any fails is at most 1 - confidence (Bonferroni). A pair is
similar if its interval lies inside (-epsilon, epsilon), dissimilar if it lies outside. While all intervals
hold, all relations are right at every epsilon at once, so searching for epsilon costs nothing.

**FDR.** Two null hypotheses are tested for every pair: "not similar", by two one-sided tests, and "not
dissimilar", by the tail beyond epsilon on both sides. Exactly one of the two is true for any pair, so M of
the 2 M nulls are true. The procedure of Benjamini and Hochberg at level 2 (1 - confidence) over 2 M nulls
therefore keeps the expected share of wrong relations at 1 - confidence (their theorem: level times share of
true nulls). The p-values of a pair add up to one or more, so at most one of the two is rejected, and the
procedure is: sort the smaller p-value of every pair, and take the largest k with p_k <= k (1 - confidence) /
M. It is proven for independent or positively dependent tests. Pairs share raters, so ``fdr_any`` (Benjamini
and Yekutieli) divides by 1 + 1/2 + ... + 1/M and holds under any dependence. Both hold for one epsilon, fixed
in advance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lsdt.ratings.statistics.intervals import DifferenceIntervals
from lsdt.side_information import ArmsAndPairs, SideInformation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.statistics.pairs import PairStatistics

SIMILAR, DISSIMILAR = 1, -1  # 0 is unknown
# As a share of epsilon: above the rounding of floats, and below any real difference. Ratings have few
# decimals, so distances often fall exactly on a limit.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Screen:
    """Selects the pairs that some epsilon between two limits may decide; others need not be kept.

    An engine that cannot call it row by row may keep more: every pair for which, with ``w = quantile *
    sqrt(variance / raters)``, either ``abs(difference) + w < high`` or ``abs(difference) - w > low``.
    """

    intervals: DifferenceIntervals
    low: float
    high: float

    def __call__(
        self, raters: NDArray[np.int32], difference: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return, for arrays of pairs, which of them may be decided."""
        apart, widths = np.abs(difference), self.intervals.half_widths(raters, difference, variance)
        may: NDArray[np.bool_] = (apart + widths < self.high) | (apart - widths > self.low)
        return may

    @property
    def quantile(self) -> float:
        """The smallest possible half-width of an interval, in standard errors."""
        return self.intervals.least_quantile


class PairRelations(NamedTuple):
    """The relation of every listed pair, and the half-width of the interval of its difference."""

    relations: NDArray[np.int8]
    half_widths: NDArray[np.float64]


class RelationRule(Protocol):
    """A rule that turns statistics of pairs into relations."""

    @property
    def statistics(self) -> PairStatistics:
        """The statistics of the listed pairs."""

    def relate(self, epsilon: float) -> PairRelations:
        """Return the relations at an epsilon."""

    def is_exhausted(self, epsilon: float) -> bool:
        """Return whether no larger epsilon can exclude an item."""

    @property
    def span(self) -> tuple[float, float]:
        """The range of epsilon with both similar and dissimilar pairs."""


def side_information_of(
    statistics: PairStatistics, related: PairRelations, epsilon: float, evidence: Any = None
) -> SideInformation:
    """Turn relations into side information about the items."""
    pairs = np.column_stack((statistics.first, statistics.second))
    similar, dissimilar = (pairs[related.relations == word] for word in (SIMILAR, DISSIMILAR))
    found = ArmsAndPairs(statistics.n_items, list(statistics.item_ids), similar, dissimilar)
    return SideInformation._from_indices(found, complete=False, epsilon=epsilon, evidence=evidence)


@dataclass(frozen=True, eq=False)
class PaperRule:
    """The paper's rule (Section 6.3): similar below (1 - alpha) epsilon, dissimilar above (1 + alpha) of it.

    In between, and at the limits themselves (up to rounding of floats), the relation is unknown.
    """

    statistics: PairStatistics
    alpha: float

    def relate(self, epsilon: float) -> PairRelations:
        """Return the relations at an epsilon; the rule has no intervals."""
        apart = np.abs(self.statistics.difference)
        near = apart < (1.0 - self.alpha - _ROUNDING) * epsilon
        far = apart > (1.0 + self.alpha + _ROUNDING) * epsilon
        return PairRelations(_words(near, far), np.full(len(apart), np.nan))

    def is_exhausted(self, epsilon: float) -> bool:
        """Return whether all pairs are similar."""
        return self.statistics.largest < (1.0 - self.alpha) * epsilon

    @property
    def span(self) -> tuple[float, float]:
        """The range of epsilon with both similar and dissimilar pairs."""
        apart = np.abs(self.statistics.difference)
        smallest = apart.min(initial=np.inf) / (1.0 - self.alpha) if self.alpha < 1.0 else np.inf
        return float(smallest), float(apart.max(initial=0.0) / (1.0 + self.alpha))


@dataclass(frozen=True, eq=False)
class FamilyRule:
    """Similar when the interval lies inside (-epsilon, epsilon), dissimilar when it lies outside."""

    statistics: PairStatistics
    intervals: DifferenceIntervals

    @cached_property
    def _half_widths(self) -> NDArray[np.float64]:
        listed = self.statistics
        return self.intervals.half_widths(listed.raters, listed.difference, listed.variance)

    def relate(self, epsilon: float) -> PairRelations:
        """Return the relations at an epsilon."""
        apart = np.abs(self.statistics.difference)
        near, far = apart + self._half_widths < epsilon, apart - self._half_widths > epsilon
        return PairRelations(_words(near, far), self._half_widths)

    def is_exhausted(self, epsilon: float) -> bool:
        """Return whether no pair is dissimilar."""
        return self.span[1] < epsilon

    @property
    def span(self) -> tuple[float, float]:
        """The range of epsilon with both similar and dissimilar pairs."""
        apart = np.abs(self.statistics.difference)
        return (
            float((apart + self._half_widths).min(initial=np.inf)),
            float((apart - self._half_widths).max(initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class FdrRule:
    """Relations whose expected share of wrong ones is at most 1 - confidence.

    ``intervals.delta`` is the smallest level at which a pair may be decided.
    """

    statistics: PairStatistics
    intervals: DifferenceIntervals
    error: float
    any_dependence: bool

    def relate(self, epsilon: float) -> PairRelations:
        """Return the relations at an epsilon, with the intervals that decide them."""
        listed = self.statistics
        apart = np.abs(listed.difference)
        about = listed.raters, listed.difference, listed.variance
        beyond = self.intervals.tails(*about, np.abs(apart - epsilon))
        both = beyond + self.intervals.tails(*about, apart + epsilon)
        values = np.where(apart < epsilon, beyond, both)
        level = self._level(values)
        decided = values <= level
        widths = (
            DifferenceIntervals(self.intervals.kind, min(2.0 * level, 1.0)) if level > 0.0 else self.intervals
        )
        half_widths = widths.half_widths(*about)
        return PairRelations(_words(decided & (apart < epsilon), decided & (apart > epsilon)), half_widths)

    def differing(self) -> tuple[NDArray[np.bool_], float]:
        """Return the pairs for which "no difference" is rejected, and the largest p-value at which it is."""
        listed = self.statistics
        about = listed.raters, listed.difference, listed.variance
        values = 2.0 * self.intervals.tails(*about, np.abs(listed.difference))
        level = self._level(values)
        return values <= level, level

    def _level(self, values: NDArray[np.float64]) -> float:
        """Return the largest p-value at which a null is rejected; 0 if none is."""
        from scipy.special import digamma

        tests = self.statistics.n_pairs
        harmonic = float(digamma(tests + 1.0)) + np.euler_gamma if self.any_dependence else 1.0
        ascending = np.sort(values)
        limits = np.arange(1, len(values) + 1) * (self.error / (tests * harmonic))
        passed = np.flatnonzero(ascending <= limits)
        return float(limits[passed[-1]]) if len(passed) else 0.0

    def is_exhausted(self, epsilon: float) -> bool:
        """Return whether no pair is dissimilar."""
        return self.span[1] < epsilon

    @property
    def span(self) -> tuple[float, float]:
        """The range of epsilon in which there may be both similar and dissimilar pairs."""
        return FamilyRule(
            self.statistics, DifferenceIntervals(self.intervals.kind, min(2 * self.error, 1.0))
        ).span


def _words(near: NDArray[np.bool_], far: NDArray[np.bool_]) -> NDArray[np.int8]:
    return near.astype(np.int8) * np.int8(SIMILAR) + far.astype(np.int8) * np.int8(DISSIMILAR)
