"""Confidence intervals and p-values for the mean difference of two items.

Differences of two ratings by one user lie between -1 and 1 on the scale from 0 to 1. Let n users have rated
both, let m be the mean of their differences and v the unbiased variance, and let an interval fail with
probability delta at most.

``student``: m plus or minus t sqrt(s / (n - 1) / n), t the quantile of Student's distribution with n - 1
degrees of freedom, and s the sum of squares (n - 1) v plus ``(1 + |m|)^2 log(2 / delta)``. The addition
guards against an underestimated variance from few and coarse ratings. Where all n users agree, a share of up
to log(1 / delta) / n of all users may still differ from them, by 1 + |m| at most, and move the mean by the
product of the two. With the addition, the interval is at least that wide for every n and delta; where users
differ, it hardly matters. It never moves the mean.

``bernstein``: the empirical Bernstein inequality (Maurer and Pontil 2009, Theorem 4, for both ends and a
range of 2), m plus or minus sqrt(2 v log(4 / delta) / n) + 14 log(4 / delta) / (3 (n - 1)). It holds whatever
the distribution and for every n, and is wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lsdt._validation import checked_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

KINDS = ("student", "bernstein")
# With more raters, the quantile for this many is used, which is slightly too large (by 0.01% at delta 1e-6).
_MOST_RATERS = 2**16


@lru_cache(maxsize=16)
def _quantiles(delta: float, size: int) -> Numbers:
    """Return quantiles of Student's distribution for every number of raters below `size`."""
    from scipy.special import stdtrit

    quantiles = np.full(size, np.inf)
    quantiles[2:] = -stdtrit(np.arange(1.0, size - 1), delta / 2)
    return quantiles


@dataclass(frozen=True)
class DifferenceIntervals:
    """Confidence intervals of one kind for mean differences.

    Parameters
    ----------
    kind : {'student', 'bernstein'}
        See above.
    delta : float
        Probability with which an interval may fail to hold the true difference.

    Examples
    --------
    >>> from lsdt.ratings.statistics.intervals import DifferenceIntervals
    >>> raters, difference, variance = [100, 100, 1000], [.1, 0., 0.], [.05, 0., 0.]
    >>> DifferenceIntervals("student", .05).half_widths(raters, difference, variance).round(4).tolist()
    [0.0612, 0.0383, 0.0038]
    >>> DifferenceIntervals("bernstein", .05).half_widths(raters, difference, variance).round(4).tolist()
    [0.2728, 0.2066, 0.0205]
    """

    kind: str
    delta: float

    def __post_init__(self) -> None:
        checked_word(self.kind, "interval", KINDS)

    @property
    def least_quantile(self) -> float:
        """The smallest possible half-width in standard errors, for any number of raters."""
        from scipy.special import ndtri

        if self.kind == "student":
            return float(-ndtri(self.delta / 2))
        return float(np.sqrt(2.0 * np.log(4.0 / self.delta)))

    def half_widths(self, raters: NDArray[np.int32], difference: Numbers, variance: Numbers) -> Numbers:
        """Return how far the true difference may lie from the mean; infinite with fewer than two raters."""
        count, mean, spread = np.asarray(raters), np.asarray(difference), np.asarray(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "student":
                most = min(int(count.max(initial=2)), _MOST_RATERS)
                quantiles = _quantiles(self.delta, 1 << most.bit_length())
                width = quantiles[np.minimum(count, most)] * self._student_error(count, mean, spread)
            else:
                log = np.log(4.0 / self.delta)
                width = np.sqrt(2.0 * spread * log / count) + 14.0 * log / (3.0 * (count - 1.0))
        return np.where(count > 1, width, np.inf)

    def tails(
        self, raters: NDArray[np.int32], difference: Numbers, variance: Numbers, gaps: Numbers
    ) -> Numbers:
        """Return upper bounds on the probability that a mean exceeds the true difference by `gaps` or more.

        Negative gaps give probabilities of a half and more (of one, for Bernstein's inequality).
        """
        from scipy.special import stdtr

        count, mean, spread = np.asarray(raters), np.asarray(difference), np.asarray(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "student":
                tails = stdtr(count - 1.0, -gaps / self._student_error(count, mean, spread))
            else:
                root, rest = np.sqrt(2.0 * spread / count), 14.0 / (3.0 * (count - 1.0))
                log = ((np.sqrt(root**2 + 4.0 * rest * np.maximum(gaps, 0.0)) - root) / (2.0 * rest)) ** 2
                tails = np.minimum(1.0, 2.0 * np.exp(-log))
        return np.where(count > 1, tails, 1.0)

    def _student_error(self, count: NDArray[np.int32], mean: Numbers, variance: Numbers) -> Numbers:
        free = count - 1.0
        squares = free * variance + (1.0 + np.abs(mean)) ** 2 * np.log(2.0 / self.delta)
        error: Numbers = np.sqrt(squares / (free * count))
        return error


@dataclass(frozen=True)
class LevelledIntervals(DifferenceIntervals):
    """Intervals of two levels: `few_delta` for pairs with few raters, or whose raters all agree."""

    few_delta: float
    few_raters: int

    def half_widths(self, raters: NDArray[np.int32], difference: Numbers, variance: Numbers) -> Numbers:
        """Return how far the true difference may lie from the mean; infinite with fewer than two raters."""
        strict = DifferenceIntervals(self.kind, self.few_delta).half_widths(raters, difference, variance)
        is_strict = (np.asarray(raters) < self.few_raters) | ~(np.asarray(variance) > 0.0)
        return np.where(is_strict, strict, super().half_widths(raters, difference, variance))
