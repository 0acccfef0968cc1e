"""Which pairs an epsilon, or a range of them, can decide: the others need not leave the engine.

The condition is checked twice. An engine checks a weaker one, by arithmetic that all of them have: Student's
quantile is replaced by the normal one, which is smaller for every number of raters, so that intervals are at
most as wide as they are, and limits are moved by one part in 10^9 for rounding. It never leaves out a pair that
the rule decides. What comes back is then checked by the rule itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.intervals import Intervals

_ROUNDING = 1e-9


@dataclass(frozen=True)
class WorthKeeping:
    """Pairs that are similar or dissimilar at some epsilon from `low` to `high`.

    Parameters
    ----------
    low, high : float
        Above 0; the same where epsilon is given.
    intervals : Intervals, optional
        By which pairs are decided; None for the paper's rule.
    alpha : float
        Of the paper's rule.
    """

    low: float
    high: float
    intervals: Intervals | None = None
    alpha: float = 0.0

    def __call__(
        self, raters: NDArray[Any], difference: NDArray[Any], variance: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Say of arrays of pairs which are worth keeping."""
        apart = np.abs(difference)
        if self.intervals is None:
            return np.asarray((apart < (1.0 - self.alpha) * self.high) | (apart > (1.0 + self.alpha) * self.low))
        width = self.intervals.half_widths(raters, difference, variance)
        return np.asarray((apart + width < self.high) | (apart - width > self.low))

    def in_engine(self, raters: Any, free: Any, apart: Any, variance: Any) -> Any:
        """Return the weaker condition as an expression of the engine.

        `raters` are two or more, `free` is one less, `apart` and `variance` are not negative.
        """
        high, low = self.high * (1.0 + _ROUNDING), self.low * (1.0 - _ROUNDING)
        if self.intervals is None:
            return (apart < (1.0 - self.alpha) * high) | (apart > (1.0 + self.alpha) * low)
        width = _narrowest(self.intervals, raters, free, apart, variance) * (1.0 - _ROUNDING)
        return (apart + width < high) | (apart - width > low)


def _narrowest(intervals: Intervals, raters: Any, free: Any, apart: Any, variance: Any) -> Any:
    """Return the half width of intervals, or a little less."""
    from scipy.special import ndtri

    if intervals.kind == "student":
        quantile = -float(ndtri(intervals.delta / 2))
        squares = free * variance + (apart + 1.0) * (apart + 1.0) * log(2.0 / intervals.delta)
        return (squares / (free * raters)).sqrt() * quantile
    rest = log(4.0 / intervals.delta)
    return (variance * (2.0 * rest) / raters).sqrt() + 14.0 * rest / (free * 3.0)
