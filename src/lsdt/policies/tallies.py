"""Counting rewards, and the loops that several policies share."""

from __future__ import annotations

import math

from lsdt.kernel.compiling import Array, inlined
from lsdt.kernel.divergences import divergence, upper_mean


@inlined
def add_reward(counts: Array, sums: Array, means: Array, arm: int, reward: float) -> None:
    """Count a reward. Means are sums over counts, so that equal rewards in any order tie exactly."""
    counts[arm] += 1
    sums[arm] += reward
    means[arm] = sums[arm] / counts[arm]


@inlined
def next_unplayed(counts: Array, cursor: Array) -> int:
    """Return the first arm that was never played, or the number of arms; all rounds together cost O(K)."""
    arm = cursor[0]
    while arm < len(counts) and counts[arm] > 0:
        arm += 1
    cursor[0] = arm
    return arm


@inlined
def argmax(values: Array) -> int:
    """Return the place of the largest value, the lowest one if there are several."""
    best = 0
    for arm in range(1, len(values)):
        if values[arm] > values[best]:
            best = arm
    return best


@inlined
def argmax_linear(means: Array, isq: Array, x: float) -> int:
    """Return the arm with the largest ``mean + x * isq``, the lowest one if there are several."""
    best = 0
    highest = -math.inf
    for arm in range(len(means)):
        index = means[arm] + x * isq[arm]
        if index > highest:
            highest = index
            best = arm
    return best


@inlined
def empirical_best(counts: Array, means: Array) -> int:
    """Return the played arm with the largest mean, or -1 when none was played."""
    best = -1
    for arm in range(len(counts)):
        if counts[arm] > 0 and (best < 0 or means[arm] > means[best]):
            best = arm
    return best


@inlined
def surely_below(family: int, mean: float, count: int, level: float, variance: float, other: float) -> bool:
    """Say whether an arm's KL-UCB index is below another's for certain, at the price of one divergence.

    The index is below q when ``count * KL(mean, q) > level``; a little slack leaves close calls to the exact
    comparison of the two indices.
    """
    if mean >= other:
        return False
    return count * divergence(family, mean, other, variance) > level * (1.0 + 1e-9) + 1e-9


@inlined
def kl_index(family: int, mean: float, count: int, level: float, variance: float) -> float:
    """Return the largest q with ``count * KL(mean, q) <= level``; infinite for an arm never played."""
    return math.inf if count == 0 else upper_mean(family, mean, level / count, variance)
