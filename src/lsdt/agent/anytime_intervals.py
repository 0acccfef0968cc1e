"""Intervals of means that hold at all times together: all theta whose mixture martingale is small.

M(theta) is that of docs/theory/stopping.md. At the true mean it ever reaches 1 / risk with a probability of
at most `risk` (Ville), so the mean lies in {theta: M(theta) < 1 / risk} at all times, but for that
probability.

**Pending decisions.** Rewards may come late because of what they are. In the order asked, each reward has the
arm's mean given all before it, whenever it is told (see `asked_order`), so M of all n asked decisions, told
or not, is the supermartingale. For rewards from 0 to 1 with a told sum of a and p pending ones, the sum of
all n lies between a and a + p. The interval runs from the lower end of a sum of a to the upper end of a sum
of a + p, and contains the interval of every completion:

Write M(s) for M at theta and a sum of s, and let theta lie below a / n, outside of the interval of a:
log M(a) >= log(1 / risk) > 0. Then M(s) >= M(a) for all s in [a, n], so theta < s / n lies outside of the
interval of s too. For log M is convex in s, being the logarithm of a mixture of exponentials, so its slope at
a must not be negative. That slope is x - y with x = E log(p / theta) and y = E log((1 - p) / (1 - theta)),
where p is drawn from the posterior Beta(a + 1/2, n - a + 1/2). By Jensen theta e^x + (1 - theta) e^y <= 1,
hence theta x + (1 - theta) y <= 0; and log M(a) <= a x + (n - a) y, as the divergence of the posterior from
the prior is not negative. Were x < y, then a / n > theta would make log M(a) <= n (theta x + (1 - theta) y)
<= 0, a contradiction. Upper ends are the same with 1 - theta and n - s.

Some of the pending decisions may be cancelled, and leave the sequence. The interval contains those of all
completions without them, too. For a reward of 1 more multiplies M by q / theta and one of 0 by (1 - q) /
(1 - theta), where q is the posterior mean, and one of the two is at most 1: from every sequence that lacks
some decisions, rewards for them lead to a completion with an M that is no larger.

Where rewards are unbounded, no value stands for a pending one. The rewards before the arm's first open
decision, in the order asked, are used instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.kernel import RewardModel

_HALVINGS = 60  # an interval of length 1 is halved to a float's precision (53 bits), with some to spare
_RISK = 0.05  # the customary 95%


def intervals_of(
    learner: Learner, arms: NDArray[np.int64], risk: float = _RISK
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the intervals of some arms of a learner, 95% each unless `risk` says otherwise.

    They hold whatever the delays of rewards. Where rewards fade, means may change and nothing holds at all
    times: the intervals are as wide as can be.
    """
    if learner.fading is not None:
        nothing = np.zeros(len(arms))
        return anytime_intervals(nothing.astype(np.int64), nothing, learner.rewards, risk)
    pending = None
    if learner.rewards.family == "bernoulli":
        counts, sums = learner.settled_tallies()
        pending = learner.unsettled_counts()[arms]
    else:
        counts, sums = before_open_decisions(learner)
    return anytime_intervals(counts[arms], sums[arms], learner.rewards, risk, pending)


def before_open_decisions(learner: Learner) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return counts and sums of the rewards before every arm's first open decision, and merged ones.

    Plays that `AskedOrder` left out stay out when nothing is open any more: with them it would be another
    supermartingale, and Ville's inequality bounds one at a time.
    """
    order = learner.order_now()
    counts, sums = np.array(order.counts), np.array(order.sums)
    if learner.others is not None:
        counts, sums = counts + learner.others[0], sums + learner.others[1]
    all_counts, all_sums = learner.settled_tallies()
    return counts, np.where(counts == all_counts, all_sums, sums)


def anytime_intervals(
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    rewards: RewardModel,
    risk: float = _RISK,
    pending: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the interval of every arm; the whole range for arms without rewards.

    They are for sub-Gaussian rewards; for heavier tails they are NaN. `pending`, for rewards from 0 to 1, is
    how many decisions of each arm have no reward yet, which `counts` does not include.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.agent.anytime_intervals import anytime_intervals
    >>> from lsdt.kernel.rewards import RewardModel
    >>> coins, counts, sums = RewardModel("bernoulli", .5), np.array([100, 0]), np.array([50., 0.])
    >>> low, high = anytime_intervals(counts, sums, coins)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.34, 0.0], [0.66, 1.0])
    >>> low, high = anytime_intervals(counts, sums, coins, pending=np.array([20, 0]))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.27, 0.0], [0.73, 1.0])
    """
    n = counts.astype(np.float64)
    if rewards.tail is not None:
        unknown = np.full(len(n), np.nan)
        return unknown, unknown.copy()
    if rewards.family == "bernoulli":
        most = sums if pending is None else sums + pending
        n = n if pending is None else n + pending
        return _end_of_unit_rewards(n, sums, risk, 0.0), _end_of_unit_rewards(n, most, risk, 1.0)
    means = sums / np.maximum(n, 1.0)
    level = -math.log(risk) + 0.5 * np.log1p(n)
    width = np.full(len(n), np.inf)
    np.divide(rewards.sigma * np.sqrt(2.0 * (n + 1.0) * level), n, out=width, where=n > 0.0)
    return means - width, means + width


def _end_of_unit_rewards(n: Any, sums: Any, risk: float, outer: float) -> NDArray[np.float64]:
    """Return the point between mean and `outer` where log M reaches log(1 / risk), by halving."""
    from scipy.special import betaln, xlog1py, xlogy

    means = np.clip(sums / np.maximum(n, 1.0), 0.0, 1.0)
    wins, losses = n * means, n * (1.0 - means)
    base = betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)

    def is_inside(theta: Any) -> Any:
        return base - xlogy(wins, theta) - xlog1py(losses, -theta) < -math.log(risk)

    inside, outside = means, np.full(len(n), outer)
    reached = is_inside(outside)
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        kept = is_inside(middle)
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return np.where(reached | (n == 0.0), outer, outside)
