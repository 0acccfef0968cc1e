"""LSDT-TS for complete information: draw a class from the pooled posteriors, then an arm in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.random import UNIT_DEPTH, UNIT_WIDTH
from lsdt.policies.classic.ts import beta_draw, count_coin, toss
from lsdt.policies.parts.tallies import any_allowed, is_allowed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Reals
    from lsdt.policies.situation import Situation


class LsdtTsCsiState(NamedTuple):
    """Beta posteriors of arms and classes; the arms of class c are ``members[starts[c]:starts[c + 1]]``."""

    win_depth: Reals
    win_width: Reals
    loss_depth: Reals
    loss_width: Reals
    class_of: FixedWholes
    starts: FixedWholes
    members: FixedWholes
    class_win_depth: Reals
    class_win_width: Reals
    class_loss_depth: Reals
    class_loss_width: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtTsCsiState:
    """Start every arm and every class at the uniform prior Beta(1, 1)."""
    classes = situation.classes
    class_of = np.empty(situation.n_arms, np.int64)
    for number, members in enumerate(classes):
        class_of[members] = number
    start = UNIT_DEPTH, UNIT_WIDTH
    depth, width = (np.full(situation.n_arms, value) for value in start)
    class_depth, class_width = (np.full(len(classes), value) for value in start)
    starts = np.cumsum([0, *map(len, classes)])
    return LsdtTsCsiState(
        depth,
        width,
        depth,
        width,
        class_of,
        starts,
        np.concatenate(classes),
        class_depth,
        class_width,
        class_depth,
        class_width,
    )


def select(state: LsdtTsCsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every class; in the class with the largest, draw one for every arm."""
    best_class, highest = 0, -1.0
    wins, losses = state.class_win_depth, state.class_loss_depth
    for number in range(len(wins)):
        if not any_allowed(allowed, state.members, state.starts[number], state.starts[number + 1]):
            continue
        value = beta_draw(wins, state.class_win_width, losses, state.class_loss_width, number, stream)
        if value > highest:
            best_class, highest = number, value
    best, highest = 0, -1.0
    for place in range(state.starts[best_class], state.starts[best_class + 1]):
        arm = state.members[place]
        if not is_allowed(allowed, arm):
            continue
        value = beta_draw(state.win_depth, state.win_width, state.loss_depth, state.loss_width, arm, stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: LsdtTsCsiState, arm: int, reward: float, stream: Array) -> None:
    """Count a win or a loss for the arm and for its class."""
    won = toss(reward, stream)
    count_coin(state.win_depth, state.win_width, state.loss_depth, state.loss_width, arm, won)
    wins, losses = state.class_win_depth, state.class_loss_depth
    count_coin(wins, state.class_win_width, losses, state.class_loss_width, state.class_of[arm], won)


def score(state: LsdtTsCsiState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    wins, losses = state.win_depth[arm] + 1.0 / 3.0, state.loss_depth[arm] + 1.0 / 3.0
    return wins / (wins + losses)


SPECIFICATION = Specification(
    name="lsdt_ts_csi",
    title="LSDT-TS (CSI)",
    rule="class: argmax of draws from the pooled Beta posteriors; arm in it: argmax of draws from "
    "its Beta posterior",
    reference="the paper, Section 5.3",
    cost="O(classes + arms of the chosen class)",
    state=LsdtTsCsiState,
    prepare=prepare,
    select=select,
    update=update,
    needs=frozenset({"complete"}),
    offline="paper",
    score=score,
    score_name="posterior mean",
    randomised=True,
)
