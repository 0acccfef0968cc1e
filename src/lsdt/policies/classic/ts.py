"""Thompson sampling with a Beta posterior per arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel.jit import inlined
from lsdt.kernel.random import UNIT_DEPTH, UNIT_WIDTH, gamma_from, gamma_width, uniform
from lsdt.policies.parts.equal_posteriors import (
    Groups,
    fill_groups,
    largest_beta_group,
    move_arm,
    new_groups,
)
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, Reals, Wholes
    from lsdt.policies.situation import Situation


class TsState(NamedTuple):
    """Per arm what the gamma numbers of its Beta posterior are drawn with: wins and losses plus one.

    Many arms are grouped by these (`policies.parts.equal_posteriors`); for few the last six fields are empty.
    """

    win_depth: Reals
    win_width: Reals
    loss_depth: Reals
    loss_width: Reals
    order: Wholes
    place: Wholes
    group_wins: Reals
    group_losses: Reals
    group_starts: Wholes
    n_groups: Wholes


# Where the fields of groups point, for a policy that has them in its state.
GROUP_PLACES = {
    "order": "win_depth",
    "place": "win_depth",
    "group_starts": "order",
    "n_groups": "group_starts",
}


def prepare(situation: Situation, parameters: SimpleNamespace) -> TsState:
    """Start every arm at the uniform prior Beta(1, 1)."""
    depth = np.full(situation.n_arms, UNIT_DEPTH)
    width = np.full(situation.n_arms, UNIT_WIDTH)
    arms = np.arange(situation.n_arms)
    groups, _ = new_groups(UNIT_DEPTH, UNIT_DEPTH, np.array([len(arms)]), arms)
    return TsState(depth, width, depth, width, *groups)


@inlined
def groups_of(state: Any) -> Groups:
    """Return the groups of arms with equal posteriors."""
    return Groups(
        state.order,
        state.place,
        state.group_wins,
        state.group_losses,
        state.group_starts,
        state.n_groups,
    )


@inlined
def toss(reward: float, stream: Array) -> bool:
    """Return a coin that falls on True with probability `reward`, clipped to [0, 1]."""
    if reward >= 1.0:
        return True
    return reward > 0.0 and uniform(stream) < reward


@inlined
def count_coin(wins: Array, win_widths: Array, losses: Array, loss_widths: Array, at: int, won: bool) -> None:
    """Add a win or a loss to the posterior at one place."""
    if won:
        wins[at] += 1.0
        win_widths[at] = gamma_width(wins[at] + 1.0 / 3.0)
    else:
        losses[at] += 1.0
        loss_widths[at] = gamma_width(losses[at] + 1.0 / 3.0)


@inlined
def beta_draw(
    wins: Array, win_widths: Array, losses: Array, loss_widths: Array, at: int, stream: Array
) -> float:
    """Draw from the posterior at one place."""
    x = gamma_from(stream, wins[at], win_widths[at])
    y = gamma_from(stream, losses[at], loss_widths[at])
    return x / (x + y)


def select(state: TsState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every arm, or for all arms of a posterior at once, and play the largest."""
    if state.n_groups[0] > 0:
        groups, room = groups_of(state), len(state.group_starts)
        return largest_beta_group(groups, 0, room, 0, state.win_width, state.loss_width, allowed, stream)
    best, highest = 0, -1.0
    for arm in range(len(state.win_depth)):
        if not is_allowed(allowed, arm):
            continue
        value = beta_draw(state.win_depth, state.win_width, state.loss_depth, state.loss_width, arm, stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: TsState, arm: int, reward: float, stream: Array) -> None:
    """Count a win or a loss; a reward that is neither 0 nor 1 is clipped to [0, 1] and tossed for."""
    won = toss(reward, stream)
    wins, losses = state.win_depth[arm], state.loss_depth[arm]
    count_coin(state.win_depth, state.win_width, state.loss_depth, state.loss_width, arm, won)
    if state.n_groups[0] > 0:
        now = state.win_depth[arm], state.loss_depth[arm]
        move_arm(groups_of(state), 0, len(state.group_starts), 0, arm, wins, losses, now[0], now[1])


def fill(state: TsState, counts: Array, sums: Array) -> None:
    """Start with wins and losses, whole or not."""
    wins = np.clip(sums, 0.0, counts)
    for depth, width, more in (
        (state.win_depth, state.win_width, wins),
        (state.loss_depth, state.loss_width, counts - wins),
    ):
        depth[:] = UNIT_DEPTH + more
        width[:] = 1.0 / np.sqrt(9.0 * depth)
    fill_groups(Groups(*state[-6:]), state.win_depth, state.loss_depth)


def score(state: TsState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    wins, losses = state.win_depth[arm] + 1.0 / 3.0, state.loss_depth[arm] + 1.0 / 3.0
    return wins / (wins + losses)


SPECIFICATION = Specification(
    name="ts",
    title="TS",
    rule="argmax of draws from Beta(1 + wins_i, 1 + losses_i); other rewards are clipped and tossed for",
    reference="Thompson (1933); Agrawal and Goyal (2012) for rewards in [0, 1]",
    cost="O(K), two gamma numbers an arm; from 500 arms on O(distinct posteriors)",
    state=TsState,
    prepare=prepare,
    select=select,
    update=update,
    score=score,
    score_name="posterior mean",
    randomised=True,
    fill=fill,
    places=GROUP_PLACES,
)
