"""How sure the difference of two items is: confidence intervals and p-values of paired differences.

Differences of two ratings by one user lie between -1 and 1 on the scale from 0 to 1. Let n users have rated
both, m be the mean of their differences and v its unbiased variance, and let an interval be allowed to fail
with probability delta.

``student``: m plus or minus t sqrt(s / (n - 1) / n), t the quantile of Student's distribution with n - 1
degrees of freedom, and s the sum of squares (n - 1) v plus ``(1 + |m|)^2 log(2 / delta)``. The addition
guards against too small a variance from few and coarse ratings. Where all n users agree, up to a share
log(1 / delta) / n of all users may differ from them unseen, by 1 + |m| at most, and move the mean by the
product of the two. With the addition, the interval is at least that wide for every n and delta; where users
differ it hardly matters. It never moves the mean.

``bernstein``: the empirical Bernstein inequality (Maurer and Pontil 2009, Theorem 4, for both ends and a
range of 2), m plus or minus sqrt(2 v log(4 / delta) / n) + 14 log(4 / delta) / (3 (n - 1)). It holds whatever
the distribution and for every n, and is wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

KINDS = ("student", "bernstein")
_MOST_RATERS = 2**16  # beyond, the quantile of so many is used, which is a little too large


@lru_cache(maxsize=16)
def _quantiles(delta: float, size: int) -> Numbers:
    """Return quantiles of Student's distribution by the number of raters, below `size`."""
    from scipy.special import stdtrit

    quantiles = np.full(size, np.inf)
    quantiles[2:] = -stdtrit(np.arange(1.0, size - 1), delta / 2)
    return quantiles


@dataclass(frozen=True)
class Intervals:
    """Intervals of one kind.

    Parameters
    ----------
    kind : {'student', 'bernstein'}
        See above.
    delta : float
        Probability with which an interval may fail to hold the true difference.

    Examples
    --------
    >>> from lsdt.ratings.statistics.intervals import Intervals
    >>> raters, difference, variance = [100, 100, 1000], [.1, 0., 0.], [.05, 0., 0.]
    >>> Intervals("student", .05).half_widths(raters, difference, variance).round(4).tolist()
    [0.0612, 0.0383, 0.0038]
    >>> Intervals("bernstein", .05).half_widths(raters, difference, variance).round(4).tolist()
    [0.2728, 0.2066, 0.0205]
    """

    kind: str
    delta: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(
                f"interval must be one of {', '.join(map(repr, KINDS))}; got {self.kind!r}"
                + suggest(str(self.kind), KINDS)
            )

    @property
    def least_quantile(self) -> float:
        """A number of standard errors that no half-width is below, however many raters there are."""
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
        """Return how likely a mean is to lie above the true difference by as much as `gaps`, at most.

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
