"""Information-directed sampling: the choice with the least squared regret per bit, or what stands for a bit.

Let b be the best arm, with the probability P_b, and u_ba the mean of arm a if b is the best. Playing a loses
delta_a = sum_b P_b (u_bb - u_ba), and teaches which arm is the best as far as its mean depends on that:
g_a = sum_b P_b (u_ba - sum_c P_c u_ca)^2, the variance of the conditional means. The choice minimises
delta^2 / g over arms, and over mixtures of each arm with the one that loses least (Russo and Van Roy,
"Learning to Optimize via Information-Directed Sampling", 2018, where this is variance-based IDS).
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import Allowed, Array, compiled, inlined
from lsdt.policies.parts.tallies import is_allowed


@inlined
def best_share(loss: float, gain: float, first_loss: float, first_gain: float) -> float:
    """Return the share of an arm in its best mixture with the first, which loses no more.

    With the share q, loss and gain are linear in q; the squared loss over the gain is convex where the gain
    is positive, and its slope is 0 at one point at most.
    """
    more_loss, more_gain = loss - first_loss, gain - first_gain
    if more_loss <= 0.0:
        return 1.0
    if more_gain <= 0.0:
        return 0.0
    share = (more_gain * first_loss - 2.0 * more_loss * first_gain) / (more_loss * more_gain)
    return min(max(share, 0.0), 1.0)


@inlined
def loss_per_gain(loss: float, gain: float) -> float:
    """Return loss^2 / gain; nothing lost is best of all, whatever is learned."""
    if loss <= 0.0:
        return 0.0
    return loss * loss / gain if gain > 0.0 else math.inf


@compiled
def least_ratio(chance: Array, table: Array, best: Array, allowed: Allowed) -> tuple[int, int, float]:
    """Return the arm that loses least, the arm to mix with it, and the share of that.

    ``table[g]`` are the means of all arms if arm ``best[g]`` is the best, which has the probability
    ``chance[g]``.
    """
    n_groups, n_arms = table.shape
    mean, gain, top = np.zeros(n_arms), np.zeros(n_arms), 0.0
    for group in range(n_groups):
        top += chance[group] * table[group, best[group]]
        for arm in range(n_arms):
            mean[arm] += chance[group] * table[group, arm]
    for group in range(n_groups):
        for arm in range(n_arms):
            away = table[group, arm] - mean[arm]
            gain[arm] += chance[group] * away * away
    first = -1
    for arm in range(n_arms):
        if is_allowed(allowed, arm) and (first < 0 or mean[arm] > mean[first]):
            first = arm
    first_loss, second, second_share = max(top - mean[first], 0.0), first, 1.0
    least = loss_per_gain(first_loss, gain[first])
    for arm in range(n_arms):
        if not is_allowed(allowed, arm) or arm == first:
            continue
        share = best_share(top - mean[arm], gain[arm], first_loss, gain[first])
        loss = first_loss + share * (top - mean[arm] - first_loss)
        ratio = loss_per_gain(loss, gain[first] + share * (gain[arm] - gain[first]))
        if ratio < least:
            second, second_share, least = arm, share, ratio
    return first, second, second_share
