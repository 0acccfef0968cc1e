"""MOSS: a width that vanishes once an arm has had its fair share of the horizon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import mark_changed, new_trees, safe_log, safe_sqrt, tournament, winner
from lsdt.policies.parts.tallies import Tallies, add_reward, argmax, new_tallies, next_unplayed
from lsdt.policies.specification import SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class MossState(NamedTuple):
    """``share`` is the horizon per arm. An arm's index changes only when it is played, and is kept.

    A tournament of many arms is one of lines without a slope, ``flat``; few arms have none.
    """

    share: Real
    sigma: Real
    cursor: Wholes
    tallies: Tallies
    indices: Reals
    flat: Reals
    tree: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> MossState:
    """Start with nothing played."""
    n_arms = situation.n_arms
    assert situation.horizon is not None
    share = situation.horizon / n_arms
    n_lines = n_arms if n_arms >= tournament.MANY_ARMS else 0
    flat, tree = np.zeros(n_lines), new_trees(n_lines)
    tallies = new_tallies(n_arms)
    return MossState(share, parameters.sigma, np.zeros(1), tallies, np.zeros(n_arms), flat, tree)


def select(state: MossState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index."""
    arm = next_unplayed(state.tallies.counts, state.cursor, allowed)
    if arm < len(state.tallies.counts):
        return arm
    if allowed.everything and len(state.flat) > 0:
        return winner(state.tree, 0, len(state.flat), state.indices, state.flat, 0.0, None)
    return argmax(state.indices, allowed)


def update(state: MossState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and renew the arm's index."""
    add_reward(state.tallies, arm, reward)
    count = state.tallies.counts[arm]
    surplus = max(safe_log(state.share / count), 0.0)
    state.indices[arm] = state.tallies.means[arm] + 2.0 * state.sigma * safe_sqrt(surplus / count)
    if len(state.flat) > 0:
        mark_changed(state.tree, 0, len(state.flat), arm)


def score(state: MossState, arm: int) -> float:
    """Return the index of an arm."""
    return math.inf if state.tallies.counts[arm] == 0 else state.indices[arm]


SPECIFICATION = Specification(
    name="moss",
    title="MOSS",
    rule="argmax of mean_i + 2 sigma sqrt(max(log(T / (K n_i)), 0) / n_i)",
    reference="Audibert and Bubeck (2009), where sigma = 1/2",
    cost="O(K), O(log K) from 500 arms on",
    state=MossState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(SIGMA,),
    needs=frozenset({"horizon"}),
    score=score,
    score_name="index",
    places={"tree": "tallies.counts"},
    why_no_prior="its index is made for a horizon of which every reward is a round",
)
