"""Moves of particles: a Markov chain on what relations leave, whose law is the posterior given all rewards.

Copies of one particle are alike until they move. In every round a few arms of a few particles are moved, as
many as a fixed number of visits to relations allows, where the last round stopped. One arm moves within what
relations leave for it, by slice sampling: no step size has to be tuned. After the arms of a particle, each of
its components is turned over, put elsewhere, shifted a little or traded for another one, by Metropolis' rule.
Where levels are learned, one component is turned over. Levels are integrated out, as in the weights, which
moves leave alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, normal, safe_exp, safe_log, safe_sqrt, uniform
from lsdt.policies.parts.mean_draws_kernel import find_room, point_in
from lsdt.policies.parts.particles import (
    CARRIED,
    LEARNED,
    Particles,
    coin_density,
    level_given,
    level_prior,
    put_best,
    put_top,
)

if TYPE_CHECKING:
    from lsdt.policies.parts.tallies import Tallies

_MOVE = 25  # visits that a move counts as by itself
_MOST_TRIES = 30  # points of a slice: each halves what is left of it, or nearly
_NEAR = 0.1  # how far a small shift takes a component, as a share of the box
_TRADES = 0.5  # the share of moves of components in which two trade places; not tuned
_OTHERS = 4  # arms that are no candidates move this many at a time, or a quarter of the candidates


@compiled
def move_arm(
    particles: Particles, tallies: Tallies, number: int, arm: int, room: Array, stream: Array
) -> int:
    """Draw the mean of an arm of a particle, given its other arms and all rewards; return the work done."""
    relations, n_arms = particles.relations, len(particles.block)
    x = particles.x[number * n_arms : (number + 1) * n_arms]
    visits = _MOVE + relations.starts[arm + 1] - relations.starts[arm]
    visits += relations.far_starts[arm + 1] - relations.far_starts[arm]
    low, high, n = find_room(x, arm, 0.0, particles.width, relations, room)
    if not low < high:
        return visits
    count, sum_, here = 0, 0.0, x[arm]
    if arm < particles.n_candidates:
        count, sum_ = tallies.counts[arm], tallies.sums[arm]
    is_coin, centre, tau = particles.family == BERNOULLI, 0.0, 0.0
    at = particles.block[arm] * particles.size + number
    if count > 0 and not is_coin:  # x + level is normal: the arm's own rewards, less the level by all others
        mean, precision = level_prior(particles)
        rest = particles.told[at] - (sum_ - count * here)
        n_rest = particles.rewards[particles.block[arm]] - count
        level, known = level_given(rest, n_rest, particles.variance, mean, precision)
        if known > 0.0:
            centre, tau = sum_ / count - level, 1.0 / (particles.variance / count + 1.0 / known)
    height, level_now = 0.0, particles.level[at]
    if count > 0 and is_coin:
        height = coin_density(sum_, count, here + level_now) + safe_log(1.0 - uniform(stream))
    elif tau > 0.0:
        height = -0.5 * tau * (here - centre) * (here - centre) + safe_log(1.0 - uniform(stream))
        reach = safe_sqrt(-2.0 * height / tau)
        low, high = max(low, centre - reach), min(high, centre + reach)
    for _ in range(_MOST_TRIES):
        y = point_in(low, high, n, room, stream)
        if math.isnan(y):
            return visits
        # A normal slice was cut out above.
        if not (count > 0 and is_coin) or coin_density(sum_, count, y + level_now) >= height:
            x[arm] = y
            particles.told[at] += count * (here - y)
            return visits
        if y < here:
            low = y
        else:
            high = y
    return visits


@compiled
def fit_of(particles: Particles, tallies: Tallies, x: Array, block: int, coin_level: float) -> float:
    """Return the log-likelihood of the rewards of a block with means x.

    Levels are integrated out, but for coins, which have this one.
    """
    fit, told, counts, sums = 0.0, 0.0, tallies.counts, tallies.sums
    is_coin = particles.family == BERNOULLI
    for arm in range(particles.n_candidates):
        if particles.block[arm] != block or counts[arm] == 0:
            continue
        if is_coin:
            fit += coin_density(sums[arm], counts[arm], x[arm] + coin_level)
        else:
            away = sums[arm] / counts[arm] - x[arm]
            told += counts[arm] * away
            fit -= 0.5 * counts[arm] * away * away / particles.variance
    if not is_coin:
        mean, precision = level_prior(particles)
        level, known = level_given(told, particles.rewards[block], particles.variance, mean, precision)
        fit += 0.5 * known * level * level
    return fit


@compiled
def put_fits(particles: Particles, tallies: Tallies, fits: Array) -> None:
    """Put the log-likelihood of all rewards by each particle into `fits`, up to a constant."""
    n_arms = len(particles.block)
    for number in range(particles.size):
        fits[number] = 0.0
        for block in range(len(particles.rewards)):
            x = particles.x[number * n_arms : (number + 1) * n_arms]
            level = particles.level[block * particles.size + number]
            fits[number] += fit_of(particles, tallies, x, block, level)


@compiled
def propose(
    particles: Particles, which: int, low: Array, high: Array, begin: Array, goes: Array, stream: Array
) -> None:
    """Propose where a component goes: over, elsewhere, a little off, or to the place of another one.

    Components have the ends `low` and `high`. Those with ``goes[c] != 0`` move to `begin`, turned over where
    it is -1. When two trade places, those between them move as well, so that the distances of neighbours
    stay: no component could get past another one where little room is left. Each of these moves is as likely
    as the one that undoes it.
    """
    width, can_turn, n_components = particles.width, particles.relations.turns, len(low)
    trades = particles.kind != LEARNED and n_components > 1 and uniform(stream) < _TRADES
    kind, turns, shift = uniform(stream), True, 0.0
    if trades:
        other = (which + 1 + int(uniform(stream) * (n_components - 1))) % n_components
        first, last = min(low[which], low[other]), max(high[which], high[other])
        for each in range(n_components):
            if first <= 0.5 * (low[each] + high[each]) <= last:
                begin[each] = first + (last - high[each])
                goes[each] = -1 if kind < 0.5 and can_turn[each] == 1 else 1
        return
    if kind >= 1.0 / 3.0 and particles.kind != LEARNED:
        turns = kind < 2.0 / 3.0 and uniform(stream) < 0.5
        shift = (uniform(stream) - 0.5) * _NEAR * width
        if kind < 2.0 / 3.0:
            shift = uniform(stream) * (width - (high[which] - low[which])) - low[which]
    begin[which] = low[which] + shift
    goes[which] = -1 if turns and can_turn[which] == 1 else 1


@compiled
def move_component(
    particles: Particles, tallies: Tallies, number: int, which: int, y: Array, stream: Array
) -> int:
    """Move a component of a particle as proposed, if relations and rewards allow; return the visits."""
    relations, n_arms = particles.relations, len(particles.block)
    component, n_components = relations.component, len(relations.turns)
    x = particles.x[number * n_arms : (number + 1) * n_arms]
    low, high, block = np.full(n_components, math.inf), np.full(n_components, -math.inf), 0
    for arm in range(n_arms):
        here = component[arm]
        low[here], high[here] = min(low[here], x[arm]), max(high[here], x[arm])
        if here == which:
            block = particles.block[arm]
    begin, goes = np.zeros(n_components), np.zeros(n_components, np.int64)
    propose(particles, which, low, high, begin, goes, stream)
    visits = 2 * n_arms
    for arm in range(n_arms):
        here = component[arm]
        y[arm] = x[arm]
        if goes[here] != 0:
            y[arm] = begin[here] + (x[arm] - low[here] if goes[here] == 1 else high[here] - x[arm])
            if not 0.0 <= y[arm] <= particles.width:
                return visits
    for arm in range(n_arms):
        if goes[component[arm]] == 0:
            continue
        for at in range(relations.far_starts[arm], relations.far_starts[arm + 1]):
            other = relations.far[at]
            if component[other] != component[arm] and abs(y[arm] - y[other]) < relations.apart[at]:
                return visits
            visits += 1
    level = particles.level[block * particles.size + number]
    gain = fit_of(particles, tallies, y, block, level) - fit_of(particles, tallies, x, block, level)
    if uniform(stream) < safe_exp(min(gain, 0.0)):
        for arm in range(n_arms):
            if arm < particles.n_candidates:
                at = particles.block[arm] * particles.size + number
                particles.told[at] += tallies.counts[arm] * (x[arm] - y[arm])
            x[arm] = y[arm]
    return visits


@compiled
def refresh(particles: Particles, tallies: Tallies, number: int) -> None:
    """Update the levels and the best arm of a particle that moved."""
    n_blocks, told, level = len(particles.rewards), particles.told, particles.level
    if particles.kind != CARRIED:
        mean, precision = level_prior(particles)
        for block in range(n_blocks):
            at, n = block * particles.size + number, particles.rewards[block]
            value, known = level_given(told[at], n, particles.variance, mean, precision)
            if particles.kind == LEARNED:
                value += particles.noise[at] * safe_sqrt(1.0 / known)
            level[at] = value
    put_top(particles, number)
    put_best(particles, number)


@compiled
def rejuvenate(particles: Particles, tallies: Tallies, credit: int, stream: Array) -> None:
    """Move particles in turn, for this many visits to relations in all.

    ``cursor`` holds the particle that moves, how many of its arms have, which of the other arms moves next,
    which component does, and the visits made beyond earlier credits.
    """
    n_arms, n_candidates, cursor = len(particles.block), particles.n_candidates, particles.cursor
    n_others = min(max(_OTHERS, n_candidates // 4), n_arms - n_candidates)
    n_components = len(particles.relations.turns)
    n_moves = 1 if particles.kind == LEARNED else n_components  # learned levels lie anywhere as it is
    room, y, visits = np.empty(2 * n_arms), np.empty(n_arms), max(cursor[4], 0)
    while visits < credit:
        number, step = cursor[0] % particles.size, cursor[1]
        if step == 0 and particles.kind == LEARNED:
            for block in range(len(particles.rewards)):
                particles.noise[block * particles.size + number] = normal(stream)
            refresh(particles, tallies, number)
        if step < n_candidates:
            visits += move_arm(particles, tallies, number, step, room, stream)
        elif step < n_candidates + n_others:
            cursor[2] = (cursor[2] + 1) % (n_arms - n_candidates)
            visits += move_arm(particles, tallies, number, n_candidates + cursor[2], room, stream)
        else:
            for _ in range(n_moves):
                cursor[3] = (cursor[3] + 1) % n_components
                visits += move_component(particles, tallies, number, cursor[3], y, stream)
        cursor[1] = step + 1
        if step >= n_candidates + n_others:
            refresh(particles, tallies, number)
            cursor[0], cursor[1] = (number + 1) % particles.size, 0
    if cursor[1] > 0:
        refresh(particles, tallies, cursor[0] % particles.size)
    cursor[4] = visits - credit
