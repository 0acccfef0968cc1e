"""LSDT-CSI for heavy tails: the two steps with truncated means, pooled for classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.policies.paper.lsdt_csi import Layout, layout_of
from lsdt.policies.parts.tallies import any_allowed, is_allowed, next_unplayed
from lsdt.policies.parts.truncation import (
    BOUND,
    ORDER,
    RUNGS,
    WIDTH,
    add_truncated,
    add_up,
    rung_at,
    steepness,
)
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class LsdtCsiTruncatedState(NamedTuple):
    """``kept`` and ``rung`` are those of `truncation`; ``widths`` is one over ``n^(1 - 1/order)``."""

    order: Real
    bound: Real
    width: Real
    total: Wholes
    cursor: Wholes
    rung: Wholes
    counts: Wholes
    sums: Reals
    means: Reals
    widths: Reals
    kept: Reals
    layout: Layout
    class_counts: Wholes
    class_sums: Reals
    class_means: Reals
    class_widths: Reals
    class_kept: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtCsiTruncatedState:
    """Start with nothing played."""
    layout = layout_of(situation)
    none, no_class, zero = np.zeros(situation.n_arms), np.zeros(len(layout.starts) - 1), np.zeros(1, np.int64)
    given = parameters.order, parameters.bound, parameters.width
    arms, classes = ((each, each, each, each, np.zeros(len(each) * RUNGS)) for each in (none, no_class))
    return LsdtCsiTruncatedState(*given, zero, zero, zero, *arms, layout, *classes)


def select(state: LsdtCsiTruncatedState, allowed: Allowed, stream: Array) -> int:
    """Play every candidate once, then the best arm of the best class."""
    arm = next_unplayed(state.counts, state.cursor, allowed)
    if arm < len(state.counts):
        return arm
    x = steepness(state.width, state.rung[0], state.order, state.bound)
    starts, members = state.layout.starts, state.layout.members
    best_class, highest = 0, -math.inf
    for number in range(len(state.class_means)):
        value = state.class_means[number] + x * state.class_widths[number]
        if value > highest and any_allowed(allowed, members, starts[number], starts[number + 1]):
            best_class, highest = number, value
    best, highest = members[starts[best_class]], -math.inf
    for place in range(starts[best_class], starts[best_class + 1]):
        arm = members[place]
        value = state.means[arm] + x * state.widths[arm]
        if value > highest and is_allowed(allowed, arm):
            best, highest = arm, value
    return best


def update(state: LsdtCsiTruncatedState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward for the arm and for its class; a new rung changes all means."""
    state.total[0] += 1
    rung = rung_at(state.rung[0], state.total[0])
    order, bound, number = state.order, state.bound, state.layout.class_of[arm]
    add_truncated(state.counts, state.kept, state.sums, arm, reward, rung, order, bound)
    state.means[arm] = state.sums[arm] / state.counts[arm]
    state.widths[arm] = math.pow(state.counts[arm], 1.0 / order - 1.0)
    add_truncated(state.class_counts, state.class_kept, state.class_sums, number, reward, rung, order, bound)
    state.class_means[number] = state.class_sums[number] / state.class_counts[number]
    state.class_widths[number] = math.pow(state.class_counts[number], 1.0 / order - 1.0)
    if rung > state.rung[0]:
        state.rung[0] = rung
        add_up(state.kept, state.counts, state.sums, state.means, rung)
        add_up(state.class_kept, state.class_counts, state.class_sums, state.class_means, rung)


def score(state: LsdtCsiTruncatedState, arm: int) -> float:
    """Return the truncated mean of an arm."""
    return state.means[arm] if state.counts[arm] > 0 else math.nan


SPECIFICATION = Specification(
    name="lsdt_csi_truncated",
    title="LSDT-CSI (truncated means)",
    rule="lsdt_csi with the truncated means and widths of ucb1_truncated, of classes and arms",
    reference="the paper, Section 5.2; Bubeck, Cesa-Bianchi and Lugosi (2013)",
    cost="O(classes + arms of the chosen class)",
    state=LsdtCsiTruncatedState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(ORDER, BOUND, WIDTH),
    needs=frozenset({"complete"}),
    offline="paper",
    score=score,
    score_name="truncated mean",
    learns_from_sums=False,
    places={"rung": RUNGS},
)
