"""LSDT-TS for complete information: draw a class from the pooled posteriors, then an arm in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import inlined
from lsdt.kernel.random import UNIT_DEPTH, UNIT_WIDTH
from lsdt.policies.classic.ts import GROUP_PLACES, beta_draw, count_coin, groups_of, toss
from lsdt.policies.parts.equal_posteriors import Groups, largest_beta_group, move_arm, new_groups
from lsdt.policies.parts.tallies import any_allowed, is_allowed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Reals, Wholes
    from lsdt.policies.situation import Situation


class LsdtTsCsiState(NamedTuple):
    """Beta posteriors of arms and classes; the arms of class c are ``members[starts[c]:starts[c + 1]]``.

    Where there are many arms in a class, they are grouped by their posteriors, and so are many classes
    (`policies.parts.equal_posteriors`). The groups of class c have the entries from ``tables[c]`` on.
    """

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
    order: Wholes
    place: Wholes
    group_wins: Reals
    group_losses: Reals
    group_starts: Wholes
    n_groups: Wholes
    tables: FixedWholes
    class_order: Wholes
    class_place: Wholes
    class_group_wins: Reals
    class_group_losses: Reals
    class_group_starts: Wholes
    n_class_groups: Wholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtTsCsiState:
    """Start every arm and every class at the uniform prior Beta(1, 1)."""
    classes = situation.classes
    class_of = np.empty(situation.n_arms, np.int64)
    for number, members in enumerate(classes):
        class_of[members] = number
    start = UNIT_DEPTH, UNIT_WIDTH
    depth, width = (np.full(situation.n_arms, value) for value in start)
    class_depth, class_width = (np.full(len(classes), value) for value in start)
    starts, members = np.cumsum([0, *map(len, classes)]), np.concatenate(classes)
    groups, tables = new_groups(UNIT_DEPTH, UNIT_DEPTH, np.diff(starts), members)
    n_classes = np.array([len(classes)])
    class_groups, _ = new_groups(UNIT_DEPTH, UNIT_DEPTH, n_classes, np.arange(len(classes)))
    return LsdtTsCsiState(
        depth,
        width,
        depth,
        width,
        class_of,
        starts,
        members,
        class_depth,
        class_width,
        class_depth,
        class_width,
        *groups,
        tables,
        *class_groups,
    )


@inlined
def class_groups_of(state: LsdtTsCsiState) -> Groups:
    """Return the groups of classes with equal posteriors."""
    return Groups(
        state.class_order,
        state.class_place,
        state.class_group_wins,
        state.class_group_losses,
        state.class_group_starts,
        state.n_class_groups,
    )


@inlined
def largest_class(state: LsdtTsCsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every class with arms that may be played, and return the class with the largest."""
    if allowed.everything and state.n_class_groups[0] > 0:
        groups, room = class_groups_of(state), len(state.class_group_starts)
        widths = state.class_win_width, state.class_loss_width
        return largest_beta_group(groups, 0, room, 0, widths[0], widths[1], allowed, stream)
    best, highest = 0, -1.0
    wins, losses = state.class_win_depth, state.class_loss_depth
    for number in range(len(wins)):
        if not any_allowed(allowed, state.members, state.starts[number], state.starts[number + 1]):
            continue
        value = beta_draw(wins, state.class_win_width, losses, state.class_loss_width, number, stream)
        if value > highest:
            best, highest = number, value
    return best


def select(state: LsdtTsCsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every class; in the class with the largest, draw one for every arm."""
    best_class = largest_class(state, allowed, stream)
    if state.n_groups[best_class] > 0:
        first, end = state.tables[best_class], state.tables[best_class + 1]
        widths = state.win_width, state.loss_width
        groups = groups_of(state)
        return largest_beta_group(groups, first, end, best_class, widths[0], widths[1], allowed, stream)
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
    won, number = toss(reward, stream), state.class_of[arm]
    wins, losses = state.win_depth[arm], state.loss_depth[arm]
    count_coin(state.win_depth, state.win_width, state.loss_depth, state.loss_width, arm, won)
    if state.n_groups[number] > 0:
        first, end = state.tables[number], state.tables[number + 1]
        now = state.win_depth[arm], state.loss_depth[arm]
        move_arm(groups_of(state), first, end, number, arm, wins, losses, now[0], now[1])
    class_wins, class_losses = state.class_win_depth, state.class_loss_depth
    wins, losses = class_wins[number], class_losses[number]
    count_coin(class_wins, state.class_win_width, class_losses, state.class_loss_width, number, won)
    if state.n_class_groups[0] > 0:
        groups, room = class_groups_of(state), len(state.class_group_starts)
        move_arm(groups, 0, room, 0, number, wins, losses, class_wins[number], class_losses[number])


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
    cost="O(classes + arms of the chosen class); from 500 of either on O(distinct posteriors)",
    state=LsdtTsCsiState,
    prepare=prepare,
    select=select,
    update=update,
    needs=frozenset({"complete"}),
    offline="paper",
    score=score,
    score_name="posterior mean",
    randomised=True,
    places={
        **GROUP_PLACES,
        "class_order": "class_win_depth",
        "class_place": "class_win_depth",
        "class_group_starts": "class_order",
        "n_class_groups": "class_group_starts",
    },
)
