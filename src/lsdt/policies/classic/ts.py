"""Thompson sampling with a Beta posterior per arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import UNIT_DEPTH
from lsdt.policies.parts.beta_posteriors import (
    BetaPosteriors,
    beta_draw,
    learn_coin,
    posterior_mean,
    posterior_places,
    toss,
    uniform_prior,
)
from lsdt.policies.parts.equal_posteriors import fill_groups, largest_beta_group
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array
    from lsdt.policies.situation import Situation


class TsState(NamedTuple):
    """The posteriors of the arms."""

    posteriors: BetaPosteriors


def prepare(situation: Situation, parameters: SimpleNamespace) -> TsState:
    """Start every arm at the uniform prior Beta(1, 1)."""
    return TsState(uniform_prior(situation.n_arms))


def select(state: TsState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every arm, or for all arms of a posterior at once, and play the largest."""
    posteriors, groups = state.posteriors, state.posteriors.groups
    if groups.n_groups[0] > 0:
        widths, room = (posteriors.win_width, posteriors.loss_width), len(groups.starts)
        return largest_beta_group(groups, 0, room, 0, widths[0], widths[1], allowed, stream)
    best, highest = 0, -1.0
    for arm in range(len(posteriors.win_depth)):
        if not is_allowed(allowed, arm):
            continue
        value = beta_draw(posteriors, arm, stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: TsState, arm: int, reward: float, stream: Array) -> None:
    """Count a win or a loss; a reward that is neither 0 nor 1 is clipped to [0, 1] and tossed for."""
    learn_coin(state.posteriors, arm, toss(reward, stream), 0, 0, len(state.posteriors.groups.starts))


def fill(state: TsState, counts: Array, sums: Array) -> None:
    """Start with wins and losses, whole or not."""
    posteriors, wins = state.posteriors, np.clip(sums, 0.0, counts)
    for depth, width, more in (
        (posteriors.win_depth, posteriors.win_width, wins),
        (posteriors.loss_depth, posteriors.loss_width, counts - wins),
    ):
        depth[:] = UNIT_DEPTH + more
        width[:] = 1.0 / np.sqrt(9.0 * depth)
    fill_groups(posteriors.groups, posteriors.win_depth, posteriors.loss_depth)


def score(state: TsState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return posterior_mean(state.posteriors, arm)


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
    places=posterior_places("posteriors"),
)
