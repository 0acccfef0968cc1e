"""UCB1 for light tails: a second width, for means of few rewards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.policies.parts.light_tails import CONFIDENCE, NU, B
from lsdt.policies.parts.tallies import add_reward, is_allowed, next_unplayed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class Ucb1LightState(NamedTuple):
    """``isq`` is one over the root of the count."""

    nu: Real
    b: Real
    confidence: Real
    total: Wholes
    cursor: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    isq: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> Ucb1LightState:
    """Start with nothing played."""
    none, zero = np.zeros(situation.n_arms), np.zeros(1, np.int64)
    given = parameters.nu, parameters.b, parameters.confidence
    return Ucb1LightState(*given, zero, zero, none, none, none, none)


def select(state: Ucb1LightState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index."""
    arm = next_unplayed(state.counts, state.cursor, allowed)
    if arm < len(state.counts):
        return arm
    level = 2.0 * state.confidence * math.log(state.total[0])
    x, y = state.nu * math.sqrt(level), state.b * level
    best, highest = 0, -math.inf
    for other in range(len(state.means)):
        width = state.isq[other]
        index = state.means[other] + max(x * width, y * width * width)
        if index > highest and is_allowed(allowed, other):
            best, highest = other, index
    return best


def update(state: Ucb1LightState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.isq[arm] = 1.0 / math.sqrt(state.counts[arm])


SPECIFICATION = Specification(
    name="ucb1_light",
    title="UCB1 (light tails)",
    rule="argmax of mean_i + max(nu sqrt(2 c log t / n_i), 2 b c log t / n_i), c = confidence",
    reference="tail bound: Wainwright (2019), Proposition 2.9; named in the paper, Section 5.2",
    cost="O(K)",
    state=Ucb1LightState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(NU, B, CONFIDENCE),
)
