"""UCB1 for heavy tails: means that leave out rewards too far off, and a width to match."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.policies.parts.tallies import argmax_linear, next_unplayed
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


class Ucb1TruncatedState(NamedTuple):
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


def prepare(situation: Situation, parameters: SimpleNamespace) -> Ucb1TruncatedState:
    """Start with nothing played."""
    none, zero = np.zeros(situation.n_arms), np.zeros(1, np.int64)
    given = parameters.order, parameters.bound, parameters.width
    kept = np.zeros(situation.n_arms * RUNGS)
    return Ucb1TruncatedState(*given, zero, zero, zero, none, none, none, none, kept)


def select(state: Ucb1TruncatedState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index."""
    arm = next_unplayed(state.counts, state.cursor, allowed)
    if arm < len(state.counts):
        return arm
    x = steepness(state.width, state.rung[0], state.order, state.bound)
    return argmax_linear(state.means, state.widths, x, allowed)


def update(state: Ucb1TruncatedState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward; a new rung, which comes a dozen times at most, changes all means."""
    state.total[0] += 1
    rung = rung_at(state.rung[0], state.total[0])
    add_truncated(state.counts, state.kept, state.sums, arm, reward, rung, state.order, state.bound)
    state.means[arm] = state.sums[arm] / state.counts[arm]
    state.widths[arm] = math.pow(state.counts[arm], 1.0 / state.order - 1.0)
    if rung > state.rung[0]:
        state.rung[0] = rung
        add_up(state.kept, state.counts, state.sums, state.means, rung)


def score(state: Ucb1TruncatedState, arm: int) -> float:
    """Return the truncated mean of an arm."""
    return state.means[arm] if state.counts[arm] > 0 else math.nan


SPECIFICATION = Specification(
    name="ucb1_truncated",
    title="UCB1 (truncated means)",
    rule="argmax of truncated mean_i + width bound^(1/order) (L / n_i)^(1 - 1/order), L the first power of "
    "sqrt 2 that is at least log t^2; the s-th reward is left out beyond (bound s / L)^(1/order)",
    reference="Bubeck, Cesa-Bianchi and Lugosi (2013), Robust UCB with the truncated mean",
    cost="O(K)",
    state=Ucb1TruncatedState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(ORDER, BOUND, WIDTH),
    score=score,
    score_name="truncated mean",
    learns_from_sums=False,
    places={"rung": RUNGS},
)
