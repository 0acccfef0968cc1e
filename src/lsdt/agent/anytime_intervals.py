"""Intervals of means that hold at all times together: all theta whose mixture martingale is small.

M(theta) is that of docs/theory/stopping.md. At the true mean it ever reaches 1 / risk with a probability of
at most `risk` (Ville), so the mean lies in {theta: M(theta) < 1 / risk} at all times, but for that
probability.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel.rewards import RewardModel

_HALVINGS = 60
_RISK = 0.05


def anytime_intervals(
    counts: NDArray[np.int64], sums: NDArray[np.float64], rewards: RewardModel, risk: float = _RISK
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the interval of every arm; all there is where nothing was told.

    They are for sub-Gaussian rewards; for heavier tails they are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.agent.anytime_intervals import anytime_intervals
    >>> from lsdt.kernel.rewards import RewardModel
    >>> low, high = anytime_intervals(np.array([100, 0]), np.array([50., 0.]), RewardModel("bernoulli", .5))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.34, 0.0], [0.66, 1.0])
    """
    n = counts.astype(np.float64)
    means = sums / np.maximum(n, 1.0)
    if rewards.tail is not None:
        unknown = np.full(len(n), np.nan)
        return unknown, unknown.copy()
    if rewards.family == "bernoulli":
        return _of_unit_rewards(n, np.clip(means, 0.0, 1.0), risk)
    level = math.log(1.0 / risk) + 0.5 * np.log1p(n)
    width = np.full(len(n), np.inf)
    np.divide(rewards.sigma * np.sqrt(2.0 * (n + 1.0) * level), n, out=width, where=n > 0.0)
    return means - width, means + width


def _of_unit_rewards(n: Any, means: Any, risk: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two points where log M reaches log(1 / risk), by halving on both sides of the mean."""
    from scipy.special import betaln, xlog1py, xlogy

    wins, losses = n * means, n * (1.0 - means)
    base = betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)

    def is_inside(theta: Any) -> Any:
        return base - xlogy(wins, theta) - xlog1py(losses, -theta) < math.log(1.0 / risk)

    ends = []
    for outer in (0.0, 1.0):
        inside, outside = means.copy(), np.full(len(n), outer)
        reached = is_inside(outside)
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            kept = is_inside(middle)
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        ends.append(np.where(reached | (n == 0.0), outer, outside))
    return ends[0], ends[1]
