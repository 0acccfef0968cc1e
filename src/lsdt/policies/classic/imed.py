"""IMED: play the arm with the least evidence against being the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import inlined
from lsdt.kernel.special import FAMILIES, divergence
from lsdt.policies.parts.tallies import add_reward, argmax, is_allowed, next_unplayed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class ImedState(NamedTuple):
    """``log_counts`` saves logarithms."""

    family: Whole
    variance: Real
    cursor: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    log_counts: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> ImedState:
    """Start with nothing played."""
    none, variance = np.zeros(situation.n_arms), parameters.sigma**2
    return ImedState(FAMILIES[parameters.divergence], variance, np.zeros(1), none, none, none, none)


@inlined
def imed_index(family: int, mean: float, best: float, variance: float, count: int, log_count: float) -> float:
    """Return ``n KL(mean, best) + log n``."""
    return count * divergence(family, mean, best, variance) + log_count


def select(state: ImedState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the smallest index."""
    arm = next_unplayed(state.counts, state.cursor, allowed)
    if arm < len(state.counts):
        return arm
    family, variance, counts, means = state.family, state.variance, state.counts, state.means
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
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.log_counts[arm] = math.log(state.counts[arm])


def score(state: ImedState, arm: int) -> float:
    """Return the index of an arm; the smallest is played."""
    if state.counts[arm] == 0:
        return -math.inf
    top = state.means[argmax(state.means, None)]
    mean, count = state.means[arm], state.counts[arm]
    return imed_index(state.family, mean, top, state.variance, count, state.log_counts[arm])


SPECIFICATION = Specification(
    name="imed",
    title="IMED",
    rule="argmin of n_i KL(mean_i, best mean) + log n_i",
    reference="Honda and Takemura (2015)",
    cost="O(K) divergences",
    state=ImedState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    score=score,
    score_name="index (smallest is played)",
)
