"""UCB1: the mean plus a width that shrinks with the plays, for all tails of rewards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import mark_changed, new_trees, safe_log, safe_sqrt, tournament, winner
from lsdt.policies.parts.light_tails import NOT_HEAVY, TAILS, B, argmax_light, light_width
from lsdt.policies.parts.tallies import Tallies, add_reward, argmax_linear, new_tallies, next_unplayed
from lsdt.policies.parts.truncation import (
    HEAVY_TAILS,
    RUNGS,
    TRUNCATION_PLACES,
    Truncation,
    learn_truncated,
    new_truncation,
    steepness,
    truncated_mean,
)
from lsdt.policies.specification import Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


# A number in the state says how the largest index is found: looking at lengths in every round costs more.
SCAN, TREE, LIGHT, HEAVY = range(4)


class Ucb1State(NamedTuple):
    """``isq`` is one over the root of the count, for heavy tails the width of `truncation`.

    ``tree`` is empty for few arms, and for light and heavy tails.
    """

    rule: Whole
    alpha: Real
    b: Real
    total: Wholes
    cursor: Wholes
    tallies: Tallies
    isq: Reals
    tree: Reals
    truncation: Truncation


def prepare(situation: Situation, parameters: SimpleNamespace) -> Ucb1State:
    """Start with nothing played."""
    n_arms = situation.n_arms
    none, zero = np.zeros(n_arms), np.zeros(1, np.int64)
    rule = TREE if n_arms >= tournament.MANY_ARMS else SCAN
    alpha, b = parameters.alpha or 0.0, parameters.b or 0.0
    if parameters.tails == "heavy":
        rule = HEAVY
    elif b > 0.0:
        rule = LIGHT  # its index is no line in x, as tournaments need it
    tree = new_trees(n_arms if rule == TREE else 0)
    truncation = new_truncation(parameters, np.zeros(n_arms * RUNGS if rule == HEAVY else 0))
    return Ucb1State(rule, alpha, b, zero, zero, new_tallies(n_arms), none, tree, truncation)


def select(state: Ucb1State, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index."""
    arm = next_unplayed(state.tallies.counts, state.cursor, allowed)
    if arm < len(state.tallies.counts):
        return arm
    if state.rule == HEAVY:
        return argmax_linear(state.tallies.means, state.isq, steepness(state.truncation), allowed)
    x = safe_sqrt(state.alpha * safe_log(state.total[0]))
    if allowed.everything and state.rule == TREE:
        return winner(state.tree, 0, len(state.tallies.means), state.tallies.means, state.isq, x, None)
    if state.rule == LIGHT:
        return argmax_light(
            state.tallies.means, state.isq, x, 8.0 * state.b * safe_log(state.total[0]), allowed
        )
    return argmax_linear(state.tallies.means, state.isq, x, allowed)


def update(state: Ucb1State, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    if state.rule == HEAVY:
        learn_truncated(state.truncation, state.tallies, state.isq, state.total[0], arm, reward)
        return
    add_reward(state.tallies, arm, reward)
    state.isq[arm] = 1.0 / safe_sqrt(state.tallies.counts[arm])
    if state.rule == TREE:
        mark_changed(state.tree, 0, len(state.tallies.means), arm)


def score(state: Ucb1State, arm: int) -> float:
    """Return the index of an arm, for heavy tails its truncated mean."""
    if state.rule == HEAVY:
        return truncated_mean(state.tallies, arm)
    if state.tallies.counts[arm] == 0:
        return math.inf
    return state.tallies.means[arm] + light_width(
        state.alpha, state.b, safe_log(state.total[0]), state.isq[arm]
    )


SPECIFICATION = Specification(
    name="ucb1",
    title="UCB1",
    rule="argmax of mean_i + sqrt(alpha log t / n_i), t the rounds played so far; with b > 0 the width is "
    "max(sqrt(alpha log t / n_i), 8 b log t / n_i); for heavy tails the s-th reward is left out of the mean "
    "beyond (bound s / L)^(1/order), and the width is width bound^(1/order) (L / n_i)^(1 - 1/order), L the "
    "first power of sqrt 2 that is at least log t^2",
    reference="Auer, Cesa-Bianchi and Fischer (2002); light tails: Wainwright (2019), Proposition 2.9; heavy "
    "tails: Bubeck, Cesa-Bianchi and Lugosi (2013), Robust UCB with the truncated mean",
    cost="O(K), O(log K) from 500 arms on unless tails are light or heavy",
    state=Ucb1State,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        TAILS,
        Number(
            "alpha",
            None,
            "width of the index; 2 as published for rewards in [0, 1], 8 sigma^2 for light tails",
            lambda rewards, values: 8.0 * rewards.tails.nu**2 if values["tails"] == "light" else 2.0,
            above=0.0,
            goes_with=NOT_HEAVY,
        ),
        B,
        *HEAVY_TAILS,
    ),
    score=score,
    score_name="index",
    places={"tree": "tallies.counts", **TRUNCATION_PLACES},
)
