"""IMED: play the arm with the least evidence against being the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES, divergence, inlined, safe_log
from lsdt.policies.parts.equal_tallies import HEAP_PLACES, Heaps, change_group, new_heaps
from lsdt.policies.parts.tallies import Tallies, add_reward, argmax, is_allowed, new_tallies, next_unplayed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class ImedState(NamedTuple):
    """``log_counts`` saves logarithms.

    Many arms are grouped by count and sum (`policies.parts.equal_tallies`); those of few are empty.
    """

    family: Whole
    variance: Real
    cursor: Wholes
    tallies: Tallies
    log_counts: Reals
    heaps: Heaps


def prepare(situation: Situation, parameters: SimpleNamespace) -> ImedState:
    """Start with nothing played."""
    n_arms, family, variance = situation.n_arms, FAMILIES[parameters.divergence], parameters.sigma**2
    return ImedState(family, variance, np.zeros(1), new_tallies(n_arms), np.zeros(n_arms), new_heaps(n_arms))


@inlined
def imed_index(family: int, mean: float, best: float, variance: float, count: int, log_count: float) -> float:
    """Return ``n KL(mean, best) + log n``."""
    return count * divergence(family, mean, best, variance) + log_count


@inlined
def lowest_group(state: ImedState) -> int:
    """Return the arm with the smallest index, looking at one arm of every group."""
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    top = -math.inf
    for group in range(state.heaps.n_groups[0] - 1):
        top = max(top, means[state.heaps.roots[group] - 1])
    best, lowest = 0, math.inf
    for group in range(state.heaps.n_groups[0] - 1):
        arm = state.heaps.roots[group] - 1
        if state.log_counts[arm] <= lowest:
            value = imed_index(family, means[arm], top, variance, counts[arm], state.log_counts[arm])
            if value < lowest or (value == lowest and arm < best):
                best, lowest = arm, value
    return best


def select(state: ImedState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the smallest index."""
    arm = next_unplayed(state.tallies.counts, state.cursor, allowed)
    if arm < len(state.tallies.counts):
        return arm
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    if allowed.everything and state.heaps.n_groups[0] > 0:
        return lowest_group(state)
    top = means[argmax(means, allowed)]
    best, lowest = 0, math.inf
    for arm in range(len(counts)):
        if state.log_counts[arm] < lowest and is_allowed(allowed, arm):  # the divergence can only add to it
            value = imed_index(family, means[arm], top, variance, counts[arm], state.log_counts[arm])
            if value < lowest:
                best, lowest = arm, value
    return best


def update(state: ImedState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    count, total = float(state.tallies.counts[arm]), state.tallies.sums[arm]
    add_reward(state.tallies, arm, reward)
    state.log_counts[arm] = safe_log(state.tallies.counts[arm])
    if state.heaps.n_groups[0] > 0:
        change_group(state.heaps, arm, count, total, count + 1.0, state.tallies.sums[arm])


def score(state: ImedState, arm: int) -> float:
    """Return the index of an arm; the smallest is played."""
    if state.tallies.counts[arm] == 0:
        return -math.inf
    top = state.tallies.means.max()
    mean, count = state.tallies.means[arm], state.tallies.counts[arm]
    return imed_index(state.family, mean, top, state.variance, count, state.log_counts[arm])


SPECIFICATION = Specification(
    name="imed",
    title="IMED",
    rule="argmin of n_i KL(mean_i, best mean) + log n_i",
    reference="Honda and Takemura (2015)",
    cost="O(K) divergences; from 500 arms on one for every distinct (n_i, sum of rewards)",
    state=ImedState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    score=score,
    score_name="index (smallest is played)",
    places=HEAP_PLACES,
)
