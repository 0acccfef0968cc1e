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
    the best candidate and ``peak`` its mean in x (minus infinity where the block has none), ``told`` the sum
    of its rewards less the means of x, ``noise`` a normal number, and ``level`` the level that follows from
    both. ``rewards`` counts the rewards of each block, ``found`` is its level as estimated by all particles,
    and ``spread`` holds mean and variance of levels among blocks. `cursor` says which particle and which arm
    moves next (`particle_moves`).
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
    peak: Reals
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
    begin, size, peak = number * len(block), particles.size, particles.peak
    for which in range(n_blocks):
        top[which * size + number], peak[which * size + number] = 0, -math.inf
    for arm in range(particles.n_candidates):
        at = block[arm] * size + number
        if x[begin + arm] > peak[at]:
            top[at], peak[at] = arm, x[begin + arm]


@compiled
def put_best(particles: Particles, number: int) -> None:
    """Find the best candidate of a particle from those of its blocks."""
    top, peak, level, best, most = particles.top, particles.peak, particles.level, 0, -math.inf
    for which in range(len(particles.rewards)):
        at = which * particles.size + number
        if peak[at] + level[at] > most:
            best, most = top[at], peak[at] + level[at]
    particles.best[number] = best


def _put_all_best_plain(particles: Particles) -> None:
    shape = len(particles.rewards), particles.size
    highest = (particles.peak + particles.level).reshape(shape).argmax(axis=0)
    particles.best[:] = particles.top.reshape(shape)[highest, np.arange(particles.size)]


@partial(compiled, plain=_put_all_best_plain)
def put_all_best(particles: Particles) -> None:
    """Find the best candidate of every particle."""
    size, top, peak, level = particles.size, particles.top, particles.peak, particles.level
    best, most = particles.best, np.full(size, -math.inf)
    for which in range(len(particles.rewards)):
        first = np.uint64(which * size)
        for number in range(np.uint64(size)):
            mean = peak[first + number] + level[first + number]
            is_higher = mean > most[number]
            best[number] = top[first + number] if is_higher else best[number]
            most[number] = mean if is_higher else most[number]


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
    put_all_best(particles)


@inlined
def coin_density(sum_: float, count: float, mean: float) -> float:
    """Return the log-likelihood of rewards in [0, 1] with a mean."""
    inside = min(max(mean, EDGE), 1.0 - EDGE)
    return sum_ * safe_log(inside) + (count - sum_) * safe_log(1.0 - inside)


@compiled
def weigh(particles: Particles, arm: int, reward: float, times: int) -> None:
    """Multiply weights by how likely each particle thinks so many rewards; levels learn from them."""
    n_arms, n_blocks, block = len(particles.block), len(particles.rewards), particles.block[arm]
    x, weight, told, n = particles.x, particles.weight, particles.told, particles.rewards[block]
    variance, is_coin, is_carried = (
        particles.variance,
        particles.family == BERNOULLI,
        particles.kind == CARRIED,
    )
    is_one = times == 1 and (reward == 0.0 or reward == 1.0)
    mean, precision = level_prior(particles)
    cost, least = np.zeros(particles.size), math.inf
    for number in range(particles.size):
        at, expected = block * particles.size + number, x[number * n_arms + arm]
        drawn, known = expected, 1.0
        if not is_carried:
            level, known = level_given(told[at], n, variance, mean, precision)
            expected += level
            told[at] += times * (reward - drawn)
        if is_coin and is_one:
            likely = min(max(expected, EDGE), 1.0 - EDGE)
            weight[number] *= likely if reward == 1.0 else 1.0 - likely
        elif is_coin:
            cost[number] = -coin_density(times * reward, times, expected)
        elif known > 0.0:
            away = reward - expected
            cost[number] = 0.5 * away * away / (variance / times + 1.0 / known)
        if weight[number] > 0.0:
            least = min(least, cost[number])
    most = 0.0
    for number in range(particles.size):
        if not (is_coin and is_one) and least < math.inf:  # less the least, so that an outlier leaves weights
            weight[number] *= safe_exp(least - cost[number])
        most = max(most, weight[number])
    for number in range(particles.size):
        weight[number] = weight[number] / most if most > 0.0 else 1.0
    particles.rewards[block] = n + times
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
    put_all_best(particles)


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
def copy_particle(particles: Particles, source: int, target: int) -> None:
    """Put a copy of a particle in the place of another."""
    n_arms, x, size = len(particles.block), particles.x, particles.size
    for arm in range(n_arms):
        x[target * n_arms + arm] = x[source * n_arms + arm]
    for block in range(len(particles.rewards)):
        here, there = block * size + target, block * size + source
        particles.told[here], particles.noise[here] = particles.told[there], particles.noise[there]
        particles.level[here], particles.top[here] = particles.level[there], particles.top[there]
        particles.peak[here] = particles.peak[there]
    particles.best[target], particles.weight[target] = particles.best[source], particles.weight[source]


@compiled
def resample(particles: Particles, refuted: Array, stream: Array) -> None:
    """Replace particles by copies, drawn within strata in proportion to the roots of their weights.

    Arms that are marked in `refuted` need not keep any.
    """
    size, weight, best, n_arms = particles.size, particles.weight, particles.best, particles.n_candidates
    roots, copies = np.zeros(n_arms), np.zeros(n_arms, np.int64)
    for number in range(size):
        roots[best[number]] += safe_sqrt(weight[number])
    share_copies(roots, refuted, size, copies)
    step, point, upto = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    last = np.full(n_arms, -1)
    for arm in range(n_arms):
        if copies[arm] > 0:
            step[arm] = roots[arm] / copies[arm]
            point[arm] = uniform(stream) * step[arm]
    times, most = np.zeros(size, np.int64), 0.0
    for number in range(size):
        arm = best[number]
        if copies[arm] > 0 and weight[number] > 0.0:
            root = safe_sqrt(weight[number])
            upto[arm] += root
            last[arm] = number
            weight[number] = root * step[arm]
            while copies[arm] > 0 and point[arm] < upto[arm]:
                times[number] += 1
                copies[arm] -= 1
                point[arm] += step[arm]
    for arm in range(n_arms):  # rounding may have left the last one out
        if copies[arm] > 0:
            times[last[arm]] += copies[arm]
    free = 0
    for number in range(size):  # one copy stays where it is, the others go where none stays
        for _ in range(times[number] - 1):
            while times[free] > 0:
                free += 1
            copy_particle(particles, number, free)
            times[free] = 1
        most = max(most, weight[number] if times[number] > 0 else 0.0)
    for number in range(size):
        weight[number] /= most
