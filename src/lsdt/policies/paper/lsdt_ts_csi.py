"""LSDT-TS for complete information: draw a class from the pooled posteriors, then an arm in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import inlined
from lsdt.policies.paper.lsdt_csi import Layout, layout_of
from lsdt.policies.parts.beta_posteriors import (
    BetaPosteriors,
    beta_draw,
    learn_coin,
    posterior_mean,
    posterior_places,
    toss,
    uniform_prior,
    uniform_priors,
)
from lsdt.policies.parts.equal_posteriors import largest_beta_group
from lsdt.policies.parts.tallies import any_allowed, is_allowed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes
    from lsdt.policies.situation import Situation


class LsdtTsCsiState(NamedTuple):
    """Posteriors of arms and classes. The groups of class c have the entries from ``tables[c]`` on."""

    arms: BetaPosteriors
    layout: Layout
    tables: FixedWholes
    classes: BetaPosteriors


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtTsCsiState:
    """Start every arm and every class at the uniform prior Beta(1, 1)."""
    layout = layout_of(situation)
    arms, tables = uniform_priors(np.diff(layout.starts), layout.members)
    return LsdtTsCsiState(arms, layout, tables, uniform_prior(len(layout.starts) - 1))


@inlined
def largest_class(state: LsdtTsCsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every class with arms that may be played, and return the class with the largest."""
    classes, groups, layout = state.classes, state.classes.groups, state.layout
    if allowed.everything and groups.n_groups[0] > 0:
        widths, room = (classes.win_width, classes.loss_width), len(groups.starts)
        return largest_beta_group(groups, 0, room, 0, widths[0], widths[1], allowed, stream)
    best, highest = 0, -1.0
    for number in range(len(classes.win_depth)):
        if not any_allowed(allowed, layout.members, layout.starts[number], layout.starts[number + 1]):
            continue
        value = beta_draw(classes, number, stream)
        if value > highest:
            best, highest = number, value
    return best


def select(state: LsdtTsCsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every class; in the class with the largest, draw one for every arm."""
    best_class = largest_class(state, allowed, stream)
    arms, groups, layout = state.arms, state.arms.groups, state.layout
    if groups.n_groups[best_class] > 0:
        first, end = state.tables[best_class], state.tables[best_class + 1]
        widths = arms.win_width, arms.loss_width
        return largest_beta_group(groups, first, end, best_class, widths[0], widths[1], allowed, stream)
    best, highest = 0, -1.0
    for place in range(layout.starts[best_class], layout.starts[best_class + 1]):
        arm = layout.members[place]
        if not is_allowed(allowed, arm):
            continue
        value = beta_draw(arms, arm, stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: LsdtTsCsiState, arm: int, reward: float, stream: Array) -> None:
    """Count a win or a loss for the arm and for its class."""
    won, number = toss(reward, stream), state.layout.class_of[arm]
    learn_coin(state.arms, arm, won, number, state.tables[number], state.tables[number + 1])
    learn_coin(state.classes, number, won, 0, 0, len(state.classes.groups.starts))


def score(state: LsdtTsCsiState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return posterior_mean(state.arms, arm)


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
    places=posterior_places("arms") | posterior_places("classes"),
)
