"""Counting rewards, and the loops that several policies share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import Array, divergence, inlined, upper_mean

if TYPE_CHECKING:
    from lsdt.kernel import Allowed, Reals, Wholes


class Tallies(NamedTuple):
    """How often each arm was played, and sum and mean of what it paid."""

    counts: Wholes
    sums: Reals
    means: Reals


def new_tallies(n_arms: int) -> Tallies:
    """Return the tallies of arms that were never played."""
    none = np.zeros(n_arms)
    return Tallies(none, none, none)


@inlined
def add_reward(tallies: Tallies, arm: int, reward: float) -> None:
    """Count a reward. Means are sums over counts, so that equal rewards in any order tie exactly."""
    add_rewards(tallies, arm, reward, 1)


@inlined
def add_rewards(tallies: Tallies, arm: int, reward: float, times: int) -> None:
    """Count a reward so many times."""
    tallies.counts[arm] += times
    tallies.sums[arm] += times * reward
    tallies.means[arm] = tallies.sums[arm] / tallies.counts[arm]


def fill_tallies(tallies: Tallies, counts: Array, sums: Array) -> None:
    """Put in counts and sums that need not be whole; counts are rounded, means stay."""
    whole = np.rint(counts)
    tallies.counts[:] = whole
    tallies.means[:] = np.divide(sums, counts, np.zeros(len(counts)), where=whole > 0.0)
    tallies.sums[:] = whole * tallies.means


@inlined
def is_allowed(allowed: Allowed, arm: int) -> bool:
    """Say whether an arm may be played."""
    return allowed.everything or allowed.flags[arm]


@inlined
def next_unplayed(counts: Array, cursor: Array, allowed: Allowed) -> int:
    """Return the first arm that was never played, or the number of arms; all rounds together cost O(K)."""
    arm = cursor[0]
    while arm < len(counts) and counts[arm] > 0:
        arm += 1
    cursor[0] = arm
    while arm < len(counts) and (counts[arm] > 0 or not is_allowed(allowed, arm)):
        arm += 1
    return arm


@inlined
def argmax(values: Array, allowed: Allowed) -> int:
    """Return the place of the largest value, the lowest one if there are several."""
    best, highest = 0, -math.inf
    for arm in range(len(values)):
        if values[arm] > highest and is_allowed(allowed, arm):
            best, highest = arm, values[arm]
    return best


@inlined
def argmax_linear(means: Array, isq: Array, x: float, allowed: Allowed) -> int:
    """Return the arm with the largest ``mean + x * isq``, the lowest one if there are several."""
    best = 0
    highest = -math.inf
    for arm in range(len(means)):
        index = means[arm] + x * isq[arm]
        if index > highest and is_allowed(allowed, arm):
            highest = index
            best = arm
    return best


@inlined
def empirical_best(tallies: Tallies, allowed: Allowed) -> int:
    """Return the played arm with the largest mean, or -1 when none was played."""
    counts, means, best = tallies.counts, tallies.means, -1
    for arm in range(len(counts)):
        if counts[arm] > 0 and (best < 0 or means[arm] > means[best]) and is_allowed(allowed, arm):
            best = arm
    return best


@inlined
def any_allowed(allowed: Allowed, arms: Array, first: int, last: int) -> bool:
    """Say whether one of ``arms[first:last]`` may be played."""
    if allowed.everything:
        return True
    found = False
    for place in range(first, last):
        found = found or allowed.flags[arms[place]]
    return found


@inlined
def any_alive(alive: Array, allowed: Allowed) -> bool:
    """Say whether an arm that is not eliminated may be played."""
    if allowed.everything:
        return True
    found = False
    for arm in range(len(alive)):
        found = found or (alive[arm] == 1 and allowed.flags[arm])
    return found


@inlined
def first_allowed(allowed: Allowed, start: int, n_arms: int) -> int:
    """Return the first arm from `start` on, around the end, that may be played."""
    if allowed.everything:
        return start
    for step in range(n_arms):
        if allowed.flags[(start + step) % n_arms]:
            return (start + step) % n_arms
    return start


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
