"""How items are ranked by their ratings, and how good each is at least.

Items are ranked by the same numbers that are shown, so a statement about the first item must allow for its
having been selected. With 1,000 items of 40 ratings each, the largest of 1,000 ordinary 95% lower ends is
usually too high.

**Shrunk effects.** The best guess of a quality is its effect, moved towards the mean of all items by as much
as chance explains: ``m + tau^2 / (tau^2 + e^2) (effect - m)``. The spread tau of the true qualities is that
of Paule and Mandel (1982): with it, the squared deviations from m, each over ``tau^2 + e^2``, add up to
their number less one. Here e is the standard error of an item of average variance. An item's own variance
would do harm: ratings that happen to agree give a high effect and a small error at once.

**Lower ends that hold together.** Each of K lower ends may fail with probability (1 - level) / K, so that all
hold together with probability `level`, including that of the item ranked first. They are
Student's, with each item's variance estimated from its own ratings and four more of average variance. A
guard as in `intervals` against few and coarse ratings would be valid for every distribution, but too wide to
be useful. docs/handbook/ratings.md reports how often these lower ends hold on logs with known truth.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings.statistics.items import standard_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.statistics.items import ItemStatistics

_ADDED = 4.0  # ratings of average variance; chosen on synthetic logs, other seeds than those reported
_HALVINGS = 60  # an interval of length 1 is halved to a float's precision (53 bits), with some to spare


def shrunk_effects(items: ItemStatistics) -> NDArray[np.float64]:
    """Return the effects moved towards their mean, on the scale from 0 to 1.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.ratings.statistics.ranking import shrunk_effects
    >>> agree = [[.9, .5, .4, .6]] * 2 + [[float("nan"), .5, .4, .6]] * 38
    >>> items = lsdt.ratings.item_statistics(lsdt.ratings.RatingLog.from_matrix(agree, scale=(0, 1)))
    >>> bool(shrunk_effects(items)[0] <= items.effects[0])
    True
    """
    errors = standard_errors(items.squares, items.freedom, added=math.inf)
    known = items.ratings > 0
    effects, variances = items.effects, errors**2
    mean, spread = _spread(effects[known], variances[known])
    kept = spread / np.maximum(spread + variances, 1e-300)
    shrunk: NDArray[np.float64] = np.clip(mean + kept * (effects - mean), 0.0, 1.0)
    return shrunk


def _spread(effects: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the variance of the true qualities, by Paule and Mandel's equation."""

    def weighted(spread: float) -> tuple[float, float]:
        weights = 1.0 / np.maximum(spread + variances, 1e-300)
        mean = float(weights @ effects / weights.sum())
        return mean, float(weights @ (effects - mean) ** 2)

    low, high, wanted = (
        0.0,
        1.0,
        len(effects) - 1,
    )  # qualities lie between 0 and 1, so their variance does too
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if weighted(middle)[1] > wanted:
            low = middle
        else:
            high = middle
    return weighted(low)[0], low


def lower_ends(items: ItemStatistics, level: float) -> NDArray[np.float64]:
    """Return lower ends of all qualities that hold together with probability `level`.

    Lower ends are cut off at the shrunk effect, which is the likely quality.
    """
    from scipy.special import stdtrit

    errors = np.hypot(standard_errors(items.squares, items.freedom, _ADDED), items.level_error)
    degrees = np.maximum(items.freedom - 1.0, 0.0) + _ADDED
    quantiles = stdtrit(degrees, 1.0 - (1.0 - level) / len(errors))
    ends = np.clip(items.effects, 0.0, 1.0) - quantiles * errors
    return np.asarray(np.clip(np.minimum(ends, shrunk_effects(items)), 0.0, 1.0))
