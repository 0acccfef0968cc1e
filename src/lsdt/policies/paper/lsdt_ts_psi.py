"""LSDT-TS for partial information: Thompson sampling, and elimination on pooled posteriors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import beta_quantile, compiled, inlined, mark_changed, new_trees, tournament, winner
from lsdt.policies.parts.beta_posteriors import (
    BetaPosteriors,
    beta_draw,
    learn_coin,
    posterior_mean,
    posterior_places,
    toss,
    uniform_prior,
)
from lsdt.policies.parts.equal_posteriors import drop_arm, largest_beta_group
from lsdt.policies.parts.tallies import any_alive, is_allowed
from lsdt.policies.specification import Choice, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

QUANTILE, LEAST_LIKELY = range(2)
ELIMINATIONS = ("quantile", "least_likely")
_OUT = -2.0  # below all quantiles, and below them with their signs turned round


class LsdtTsPsiState(NamedTuple):
    """Posteriors of the arms, and pooled wins and losses over each arm and its neighbours.

    ``lower`` and ``upper`` are pooled quantiles, or -1 where they are to be computed when they are needed.

    Among many arms, those that are left have two tournaments, whose lines have no slope (``flat``): for the
    largest lower quantile, and for the smallest upper one, its sign turned round. ``at_most`` and
    ``at_least`` have the quantiles, or bounds of them where they are unknown; `_OUT` for arms that do not
    take part.
    """

    elimination: Whole
    epsilon: Real
    delta: Real
    enough: Real
    total: Wholes
    n_alive: Wholes
    alive: Wholes
    gone_at: Wholes
    posteriors: BetaPosteriors
    pooled_wins: Reals
    pooled_losses: Reals
    lower: Reals
    upper: Reals
    indptr: FixedWholes
    indices: FixedWholes
    flat: Reals
    at_most: Reals
    at_least: Reals
    most_tree: Reals
    least_tree: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtTsPsiState:
    """Start every posterior at Beta(1, 1)."""
    n_arms, horizon = situation.n_arms, situation.horizon
    assert situation.epsilon is not None
    assert horizon is not None
    none, unknown = np.zeros(n_arms), np.full(n_arms, -1.0)
    n_lines = n_arms if n_arms >= tournament.MANY_ARMS else 0
    least = _OUT if parameters.elimination == "quantile" else -0.5  # minus the median of Beta(1, 1)
    return LsdtTsPsiState(
        ELIMINATIONS.index(parameters.elimination),
        situation.epsilon,
        1.0 / math.sqrt(horizon),
        2.0 * math.log(horizon),
        np.zeros(1),
        np.array([n_arms]),
        np.ones(n_arms),
        none,
        uniform_prior(n_arms),
        none,
        none,
        unknown,
        unknown,
        *situation.similar,
        np.zeros(n_lines),
        np.full(n_lines, 0.5),
        np.full(n_lines, least),
        new_trees(n_lines),
        new_trees(n_lines),
    )


def select(state: LsdtTsPsiState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every arm that is left and play the largest; if none of them is allowed, for all."""
    posteriors, groups = state.posteriors, state.posteriors.groups
    none_left = not any_alive(state.alive, allowed)
    if groups.n_groups[0] > 0 and not none_left:
        widths, room = (posteriors.win_width, posteriors.loss_width), len(groups.starts)
        return largest_beta_group(groups, 0, room, 0, widths[0], widths[1], allowed, stream)
    best, highest = -1, -1.0
    for arm in range(len(state.alive)):
        if (state.alive[arm] == 1 or none_left) and is_allowed(allowed, arm):
            value = beta_draw(posteriors, arm, stream)
            if value > highest:
                best, highest = arm, value
    return best


@inlined
def pooled_quantile(state: LsdtTsPsiState, kept: Array, arm: int, share: float) -> float:
    """Return a quantile of an arm's pooled posterior, computed once per change of the posterior."""
    if kept[arm] < 0.0:
        kept[arm] = beta_quantile(share, 1.0 + state.pooled_wins[arm], 1.0 + state.pooled_losses[arm])
    return kept[arm]


@inlined
def middle(state: LsdtTsPsiState, arm: int, upper: bool) -> float:
    """Return a bound of the pooled median: it lies between the mean and the mode of a beta distribution."""
    wins, losses = state.pooled_wins[arm], state.pooled_losses[arm]
    mean = (wins + 1.0) / (wins + losses + 2.0)
    mode = wins / (wins + losses) if wins + losses > 0.0 else 0.5
    return max(mean, mode) if upper else min(mean, mode)


@inlined
def drop(state: LsdtTsPsiState, arm: int) -> None:
    """Eliminate an arm."""
    state.alive[arm] = 0
    state.gone_at[arm] = state.total[0]
    state.n_alive[0] -= 1
    posteriors, groups = state.posteriors, state.posteriors.groups
    if groups.n_groups[0] > 0:
        wins, losses = posteriors.win_depth[arm], posteriors.loss_depth[arm]
        drop_arm(groups, 0, len(groups.starts), 0, arm, wins, losses)
    if len(state.flat) > 0:
        put_in_trees(state, arm, _OUT, _OUT)


@compiled
def put_in_trees(state: LsdtTsPsiState, arm: int, most: float, least: float) -> None:
    """Enter an arm's lower quantile, as far as it is known, and the upper one with its sign reversed."""
    if most != state.at_most[arm]:
        state.at_most[arm] = most
        mark_changed(state.most_tree, 0, len(state.flat), arm)
    if least != state.at_least[arm]:
        state.at_least[arm] = least
        mark_changed(state.least_tree, 0, len(state.flat), arm)


@compiled
def largest_lower(state: LsdtTsPsiState) -> float:
    """Return the largest pooled lower quantile of the arms that are left, by their tournament."""
    while True:
        arm = winner(state.most_tree, 0, len(state.flat), state.at_most, state.flat, 0.0, None)
        if state.lower[arm] >= 0.0:
            return state.lower[arm]
        lower = pooled_quantile(state, state.lower, arm, state.delta)
        put_in_trees(state, arm, lower, state.at_least[arm])


@compiled
def smallest_upper(state: LsdtTsPsiState, epsilon: float, best: float) -> int:
    """Return the arm with the smallest pooled upper quantile; -1 if that, plus epsilon, is above `best`."""
    while True:
        arm = winner(state.least_tree, 0, len(state.flat), state.at_least, state.flat, 0.0, None)
        if state.at_least[arm] == _OUT or -state.at_least[arm] + epsilon > best:
            return -1
        if state.upper[arm] >= 0.0:
            return arm
        upper = pooled_quantile(state, state.upper, arm, 1.0 - state.delta)
        put_in_trees(state, arm, state.at_most[arm], -upper)


@inlined
def eliminate_by_quantiles(state: LsdtTsPsiState) -> None:
    """Drop the arms whose pooled upper quantile, plus epsilon, is at most the best lower one.

    For delta < 1/2 the lower quantile is below the median and the upper one above it. Comparing medians rules
    out most arms without computing a quantile.
    """
    if len(state.flat) > 0:
        most = largest_lower(state)
        while state.n_alive[0] > 1:
            arm = smallest_upper(state, state.epsilon, most)
            if arm < 0:
                return
            drop(state, arm)
        return
    best = -1.0
    for arm in range(len(state.alive)):
        if state.alive[arm] == 1 and middle(state, arm, True) > best:
            best = max(best, pooled_quantile(state, state.lower, arm, state.delta))
    for arm in range(len(state.alive)):
        enough = state.pooled_wins[arm] + state.pooled_losses[arm] >= state.enough
        if state.alive[arm] == 1 and enough and middle(state, arm, False) + state.epsilon <= best:
            upper = pooled_quantile(state, state.upper, arm, 1.0 - state.delta)
            if upper + state.epsilon <= best and state.n_alive[0] > 1:
                drop(state, arm)


@inlined
def eliminate_least_likely(state: LsdtTsPsiState) -> None:
    """Drop the arm with the smallest pooled upper quantile, if it was explored often enough."""
    worst, lowest = -1, math.inf
    if len(state.flat) > 0:
        worst = smallest_upper(state, 0.0, math.inf)
    for arm in range(len(state.alive) - len(state.flat)):  # none of many arms
        if state.alive[arm] == 1 and middle(state, arm, False) < lowest:
            value = pooled_quantile(state, state.upper, arm, 1.0 - state.delta)
            if value < lowest:
                worst, lowest = arm, value
    if state.pooled_wins[worst] + state.pooled_losses[worst] >= state.enough:
        drop(state, worst)


@inlined
def count_pooled(state: LsdtTsPsiState, arm: int, won: bool) -> None:
    """Add a win or a loss to a pooled posterior, whose quantiles are then unknown."""
    if won:
        state.pooled_wins[arm] += 1.0
    else:
        state.pooled_losses[arm] += 1.0
    state.lower[arm] = -1.0
    state.upper[arm] = -1.0
    if len(state.flat) > 0 and state.alive[arm] == 1:
        takes_part = state.pooled_wins[arm] + state.pooled_losses[arm] >= state.enough
        takes_part = takes_part or state.elimination == LEAST_LIKELY
        least = -middle(state, arm, False) if takes_part else _OUT
        put_in_trees(state, arm, middle(state, arm, True), least)


def update(state: LsdtTsPsiState, arm: int, reward: float, stream: Array) -> None:
    """Count a win or a loss for the arm and in the pools it belongs to; then eliminate."""
    state.total[0] += 1
    won = toss(reward, stream)
    family = 0 if state.alive[arm] == 1 else -1
    learn_coin(state.posteriors, arm, won, family, 0, len(state.posteriors.groups.starts))
    count_pooled(state, arm, won)
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count_pooled(state, state.indices[place], won)
    if state.n_alive[0] > 1:
        if state.elimination == QUANTILE:
            eliminate_by_quantiles(state)
        else:
            eliminate_least_likely(state)


def score(state: LsdtTsPsiState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return posterior_mean(state.posteriors, arm)


SPECIFICATION = Specification(
    name="lsdt_ts_psi",
    title="LSDT-TS (PSI)",
    rule="argmax of draws from Beta(1 + wins_i, 1 + losses_i) over the arms left; an arm goes when its "
    "pooled (1 - delta)-quantile + epsilon is at most the best pooled delta-quantile and its pooled count is "
    "at least 2 log T, delta = 1/sqrt(T)",
    reference="the paper, Section 5.3, which leaves the elimination open",
    cost="O(|B0|) gamma numbers, quantiles for the pools that changed; from 500 arms on O(distinct "
    "posteriors), and O(log |B0|) a pool",
    state=LsdtTsPsiState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Choice(
            "elimination",
            "quantile",
            "'quantile' as above; 'least_likely': in every round the arm with the smallest pooled "
            "(1 - delta)-quantile goes, once its pooled count is at least 2 log T",
            ELIMINATIONS,
        ),
    ),
    needs=frozenset({"epsilon", "horizon"}),
    offline="paper",
    score=score,
    score_name="posterior mean",
    randomised=True,
    eliminates=True,
    places={"most_tree": "alive", "least_tree": "alive", **posterior_places("posteriors")},
    why_no_prior="it drops arms for good while it learns",
)
