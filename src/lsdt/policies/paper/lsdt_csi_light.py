"""LSDT-CSI for light tails: the two steps with an index for sub-exponential rewards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.policies.parts.class_then_arm import best_class, best_member, layout_of
from lsdt.policies.parts.light_tails import CONFIDENCE, NU, B
from lsdt.policies.parts.tallies import add_reward, next_unplayed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class LsdtCsiLightState(NamedTuple):
    """Tallies of arms and of classes; ``isq`` is one over the root of a count."""

    nu: Real
    b: Real
    confidence: Real
    total: Wholes
    cursor: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    isq: Reals
    class_of: FixedWholes
    starts: FixedWholes
    members: FixedWholes
    class_counts: Wholes
    class_sums: Reals
    class_means: Reals
    class_isq: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtCsiLightState:
    """Lay the classes of the candidate set out."""
    layout = layout_of(situation)
    none, no_class, zero = np.zeros(situation.n_arms), np.zeros(len(layout.starts) - 1), np.zeros(1, np.int64)
    given = parameters.nu, parameters.b, parameters.confidence
    arms, classes = ((each, each, each, each) for each in (none, no_class))
    return LsdtCsiLightState(*given, zero, zero, *arms, *layout, *classes)


def select(state: LsdtCsiLightState, allowed: Allowed, stream: Array) -> int:
    """Play every candidate once, then the best arm of the best class."""
    arm = next_unplayed(state.counts, state.cursor, allowed)
    if arm < len(state.counts):
        return arm
    level = 2.0 * state.confidence * math.log(state.total[0])
    x, y = state.nu * math.sqrt(level), state.b * level
    starts, members = state.starts, state.members
    number = best_class(state.class_means, state.class_isq, x, y, starts, members, allowed)
    return best_member(state.means, state.isq, x, y, members, starts[number], starts[number + 1], allowed)


def update(state: LsdtCsiLightState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward for the arm and for its class."""
    state.total[0] += 1
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.isq[arm] = 1.0 / math.sqrt(state.counts[arm])
    number = state.class_of[arm]
    add_reward(state.class_counts, state.class_sums, state.class_means, number, reward)
    state.class_isq[number] = 1.0 / math.sqrt(state.class_counts[number])


SPECIFICATION = Specification(
    name="lsdt_csi_light",
    title="LSDT-CSI (light tails)",
    rule="lsdt_csi with the width max(nu sqrt(2 c log t / n), 2 b c log t / n), c = confidence",
    reference="the paper, Section 5.2; tail bound: Wainwright (2019), Proposition 2.9",
    cost="O(classes + arms of the chosen class)",
    state=LsdtCsiLightState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(NU, B, CONFIDENCE),
    needs=frozenset({"complete"}),
    offline="paper",
)
