"""Particles: mean vectors that satisfy all relations, weighed by how well they explain the rewards.

A particle is a mean vector of all drawn arms. Arms that no relation ties together, however indirectly, lie in
different *blocks*, and how far one block lies above another is a free number, its *level*: some hundred
particles cannot cover ten of these. So particles hold shapes, and levels are integrated out. Given the shape,
n rewards of a block with variance v, and a normal prior of the level with mean m and precision h, the level
is normal with precision n / v + h. With one block alone nothing is known of its level beforehand (h = 0);
with several, m and h are learned from the rewards of all blocks (`learn_spread`).

Means of rewards in [0, 1] have a level that the interval bounds. A single block then holds its level in its
particles; of several blocks, levels are treated as above, with the variance 1/4 for rewards.

Weights change by the probability of each reward given those before it. When few particles have most of the
weight, they are resampled: within strata, one for each arm that is the best in some, in proportion to the
*root* of the weights, at least a few for every arm that may be the best. A copy keeps the weight that makes
the expected total of every particle its own, so that the posterior stays what it was, yet arms that are
unlikely to be the best keep particles that say what follows if they are.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, inlined, safe_exp, safe_log, safe_sqrt, uniform
from lsdt.policies.parts.mean_draws_kernel import DrawnRelations  # noqa: TC001 - the state looks its fields up

if TYPE_CHECKING:
    from lsdt.kernel import FixedWholes, Real, Reals, Whole, Wholes

CARRIED, FLAT, LEARNED = 0, 1, 2  # kinds of levels: held in the particles, nothing known, learned
EDGE = 1e-4  # no mean of a coin is taken to be nearer to 0 or 1: one reward would refute it for ever
_KEEP = 4  # copies of every arm that may be the best
# Variances of levels that are tried: from 64 times that of a reward downwards, each a quarter of the one
# before. The prior of its logarithm is normal, with its middle at a quarter of a reward's variance (effects
# are mostly smaller than the noise of one reward) and with a deviation of a factor of 16.
_SPREADS, _LARGEST_SPREAD, _MIDDLE, _DEVIATION = 12, 64.0, 4.0, 2.0
_OFTEN = 4  # blocks for each round between two in which the spread is learned


class Particles(NamedTuple):
    """Particles p = 0, 1, ... of M arms in B blocks; the candidates are the first `n_candidates` of the arms.

    ``x[p M + i]`` is the mean of arm i but for its level, ``weight[p]`` the likelihood but for a factor, and
    ``best[p]`` the best candidate. Of block b of particle p, at place ``b N + p`` of N particles, ``top`` is
    the best candidate (any where it has none), ``told`` the sum of its rewards less the means of x, ``noise``
    a normal number, and ``level`` the level that follows from both. ``rewards`` counts the rewards of each
    block, ``found`` is its level as estimated by all particles, and ``spread`` holds mean and variance of
    levels among blocks. `cursor` says which particle and which arm moves next (`particle_moves`).
    """

    size: Whole
    n_candidates: Whole
    family: Whole
    variance: Real
    kind: Whole
    width: Real
    x: Reals
    weight: Reals
    best: Wholes
    top: Wholes
    told: Reals
    noise: Reals
    level: Reals
    rewards: Wholes
    found: Reals
    spread: Reals
    cursor: Wholes
    block: FixedWholes
    relations: DrawnRelations


@inlined
def level_prior(particles: Particles) -> tuple[float, float]:
    """Return mean and precision of a level before any reward."""
    if particles.kind == LEARNED:
        return particles.spread[0], 1.0 / particles.spread[1]
    return 0.0, 0.0


@inlined
def level_given(told: float, n: float, variance: float, mean: float, precision: float) -> tuple[float, float]:
    """Return mean and precision of a level given the sum of n rewards less their means in x."""
    known = float(n) / float(variance) + precision
    if known == 0.0:
        return mean, 0.0
    return (float(told) / float(variance) + float(mean) * float(precision)) / known, known


@compiled
def put_levels(particles: Particles, block: int) -> None:
    """Update the level of a block in all particles."""
    size, told, noise, level = particles.size, particles.told, particles.noise, particles.level
    if particles.kind == CARRIED:
        return
    mean, precision = level_prior(particles)
    base, known = level_given(0.0, particles.rewards[block], particles.variance, mean, precision)
    slope = 1.0 / (known * particles.variance) if known > 0.0 else 0.0
    # The level of a single block is the same for all its arms, and its uncertainty does not matter.
    spread = safe_sqrt(1.0 / known) if particles.kind == LEARNED else 0.0
    for at in range(np.uint64(block * size), np.uint64((block + 1) * size)):
        level[at] = base + slope * told[at] + spread * noise[at]


@compiled
def put_top(particles: Particles, number: int) -> None:
    """Find the best candidate of every block of a particle."""
    n_blocks, block, x, top = len(particles.rewards), particles.block, particles.x, particles.top
    begin, size = number * len(block), particles.size
    for which in range(n_blocks):
        top[which * size + number] = 0
    for arm in range(particles.n_candidates):
        at = block[arm] * size + number
        if block[top[at]] != block[arm] or x[begin + arm] > x[begin + top[at]]:
            top[at] = arm


@compiled
def put_best(particles: Particles, number: int) -> None:
    """Find the best candidate of a particle from those of its blocks."""
    n_blocks, x, top, level = len(particles.rewards), particles.x, particles.top, particles.level
    begin, best, most = number * len(particles.block), 0, -math.inf
    for which in range(n_blocks):
        at = which * particles.size + number
        arm = top[at]
        mean = x[begin + arm] + level[at]
        if particles.block[arm] == which and mean > most:  # else the block has no candidates
            best, most = arm, mean
    particles.best[number] = best


def _size(particles: Particles) -> int:
    """Return a tenth of the numbers that are looked at, as each is looked at only once."""
    return (len(particles.x) + 2 * len(particles.level)) // 10


@partial(compiled, work=_size)
def put_all(particles: Particles) -> None:
    """Update the levels and the best arms of all particles."""
    for block in range(len(particles.rewards)):
        put_levels(particles, block)
    for number in range(particles.size):
        put_top(particles, number)
        put_best(particles, number)


@compiled
def weigh(particles: Particles, arm: int, reward: float) -> None:
    """Multiply weights by how likely each particle thinks this reward; levels learn from it."""
    n_arms, n_blocks, block = len(particles.block), len(particles.rewards), particles.block[arm]
    x, weight, told, n = particles.x, particles.weight, particles.told, particles.rewards[block]
    variance, is_coin, is_carried = (
        particles.variance,
        particles.family == BERNOULLI,
        particles.kind == CARRIED,
    )
    mean, precision = level_prior(particles)
    cost, least = np.zeros(particles.size), math.inf
    for number in range(particles.size):
        at, expected = block * particles.size + number, x[number * n_arms + arm]
        drawn, known = expected, 1.0
        if not is_carried:
            level, known = level_given(told[at], n, variance, mean, precision)
            expected += level
            told[at] += reward - drawn
        if is_coin:
            likely = min(max(expected, EDGE), 1.0 - EDGE)
            weight[number] *= reward * likely + (1.0 - reward) * (1.0 - likely)
        elif known > 0.0:
            away = reward - expected
            cost[number] = 0.5 * away * away / (variance + 1.0 / known)
            if weight[number] > 0.0:
                least = min(least, cost[number])
    most = 0.0
    for number in range(particles.size):
        if not is_coin and least < math.inf:  # less the least, so that an outlier leaves weights
            weight[number] *= safe_exp(least - cost[number])
        most = max(most, weight[number])
    for number in range(particles.size):
        weight[number] = weight[number] / most if most > 0.0 else 1.0
    particles.rewards[block] = n + 1
    if is_carried:
        return
    put_levels(particles, block)
    if n_blocks == 1:
        return
    find_level(particles, block)
    total = 0
    for which in range(n_blocks):
        total += particles.rewards[which]
    if total % (1 + n_blocks // _OFTEN) == 0:
        learn_spread(particles)
        for which in range(n_blocks):
            put_levels(particles, which)
    for number in range(particles.size):
        put_best(particles, number)


@compiled
def find_level(particles: Particles, block: int) -> None:
    """Estimate the level of a block by all particles, from its rewards alone."""
    weight, told, first = particles.weight, particles.told, block * particles.size
    whole, value = 0.0, 0.0
    for number in range(particles.size):
        whole += weight[number]
        value += weight[number] * told[first + number]
    particles.found[block] = value / (whole * max(particles.rewards[block], 1))


@compiled
def learn_spread(particles: Particles) -> None:
    """Estimate mean and variance of levels among blocks: an average over variances, each by its likelihood.

    Given a variance u of levels, the level found from n rewards is normal with the variance u + v / n.
    """
    rewards, found, variance = particles.rewards, particles.found, particles.variance
    fits, means = np.empty(_SPREADS), np.empty(_SPREADS)
    spread, most = _LARGEST_SPREAD * variance, -math.inf
    for which in range(_SPREADS):
        precision, mean = 0.0, 0.0
        for block in range(len(rewards)):
            if rewards[block] > 0:
                share = 1.0 / (spread + variance / rewards[block])
                precision += share
                mean += share * found[block]
        if precision == 0.0:
            return
        mean /= precision
        away = (which - _MIDDLE) / _DEVIATION
        fit = -0.5 * (safe_log(precision) + away * away)
        for block in range(len(rewards)):
            if rewards[block] > 0:
                share = 1.0 / (spread + variance / rewards[block])
                beyond = found[block] - mean
                fit += 0.5 * (safe_log(share) - share * beyond * beyond)
        fits[which], means[which], most = fit, mean, max(most, fit)
        spread *= 0.25
    whole, mean, logarithm, spread = 0.0, 0.0, 0.0, _LARGEST_SPREAD * variance
    for which in range(_SPREADS):
        share = safe_exp(fits[which] - most)
        whole += share
        mean += share * means[which]
        logarithm += share * safe_log(spread)
        spread *= 0.25
    particles.spread[0], particles.spread[1] = mean / whole, safe_exp(logarithm / whole)


@compiled
def learn_all(particles: Particles) -> None:
    """Estimate the levels of all blocks, and their spread."""
    for block in range(len(particles.rewards)):
        find_level(particles, block)
    if particles.kind == LEARNED:
        learn_spread(particles)


@compiled
def effective_size(particles: Particles) -> float:
    """Return how many particles of equal weight would say as much."""
    weight, one, two = particles.weight, 0.0, 0.0
    for number in range(particles.size):
        one += weight[number]
        two += weight[number] * weight[number]
    return one * one / two


@compiled
def share_copies(roots: Array, refuted: Array, size: int, copies: Array) -> None:
    """Share out `size` copies among strata: a few for each arm that may be the best, then by roots."""
    n_strata, whole, top = 0, 0.0, 0
    for arm in range(len(roots)):
        if roots[arm] > 0.0:
            n_strata += 1
            whole += roots[arm]
        if roots[arm] > roots[top]:
            top = arm
    keep = min(_KEEP, size // max(n_strata, 1))
    left = size
    for arm in range(len(roots)):
        copies[arm] = keep if roots[arm] > 0.0 and (refuted[arm] == 0 or arm == top) else 0
        left -= copies[arm]
    given = 0
    for arm in range(len(roots)):
        more = int(float(left) * float(roots[arm]) / float(whole))
        copies[arm] += more
        given += more
    copies[top] += left - given


@compiled
def resample(particles: Particles, refuted: Array, stream: Array) -> None:
    """Replace particles by copies, drawn within strata in proportion to the roots of their weights.

    Arms that are marked in `refuted` need not keep any.
    """
    size, n_arms, n_blocks = particles.size, len(particles.block), len(particles.rewards)
    weight, best = particles.weight, particles.best
    roots, copies = np.zeros(particles.n_candidates), np.zeros(particles.n_candidates, np.int64)
    for number in range(size):
        roots[best[number]] += safe_sqrt(weight[number])
    share_copies(roots, refuted, size, copies)
    chosen, weights, n_chosen = np.zeros(size, np.int64), np.zeros(size), 0
    for arm in range(particles.n_candidates):
        if copies[arm] == 0:
            continue
        step, upto, done, last = roots[arm] / copies[arm], 0.0, 0, -1
        point = uniform(stream) * step
        for number in range(size):
            if best[number] == arm and weight[number] > 0.0:
                last, root = number, safe_sqrt(weight[number])
                upto += root
                while done < copies[arm] and point < upto:
                    chosen[n_chosen], weights[n_chosen] = number, root * step
                    n_chosen, done, point = n_chosen + 1, done + 1, point + step
        while done < copies[arm]:  # rounding may have left the last one out
            chosen[n_chosen], weights[n_chosen] = last, safe_sqrt(weight[last]) * step
            n_chosen, done = n_chosen + 1, done + 1
    x, told, noise, level = (
        particles.x.copy(),
        particles.told.copy(),
        particles.noise.copy(),
        particles.level.copy(),
    )
    top, arms, most = particles.top.copy(), best.copy(), 0.0
    for number in range(size):
        source = chosen[number]
        for arm in range(n_arms):
            particles.x[number * n_arms + arm] = x[source * n_arms + arm]
        for block in range(n_blocks):
            here, there = block * size + number, block * size + source
            particles.told[here], particles.noise[here] = told[there], noise[there]
            particles.level[here], particles.top[here] = level[there], top[there]
        best[number] = arms[source]
        most = max(most, weights[number])
    for number in range(size):
        weight[number] = weights[number] / most
