"""The rounds of single policies written out by hand for Numba: nothing generic, nothing shared."""

from __future__ import annotations

import math

import numba
import numpy as np

from lsdt.kernel.random import (
    UNIT_DEPTH,
    UNIT_WIDTH,
    Purpose,
    begin_round,
    gamma_from,
    gamma_width,
    normal,
    uniform,
)
from lsdt.policies.graph.ckl_ucb import solve_index
from lsdt.policies.parts.tallies import add_reward

_compiled = numba.njit(nogil=True, error_model="numpy")
_POLICY = int(Purpose.POLICY)


@_compiled
def ucb1(means, gaps, alpha, noise, checkpoints, regrets, rewards, plays):  # type: ignore[no-untyped-def]
    """UCB1 with normal rewards."""
    n_arms, regret, earned, passed = len(means), 0.0, 0.0, 0
    counts, sums, averages, isq = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    for t in range(checkpoints[-1]):
        best = t
        if t >= n_arms:
            best, highest, width = 0, -math.inf, math.sqrt(alpha * math.log(t))
            for arm in range(n_arms):
                value = averages[arm] + width * isq[arm]
                if value > highest:
                    best, highest = arm, value
        reward = means[best] + normal(noise)
        counts[best] += 1.0
        sums[best] += reward
        averages[best] = sums[best] / counts[best]
        isq[best] = 1.0 / math.sqrt(counts[best])
        regret += gaps[best]
        earned += reward
        plays[best] += 1
        if t + 1 == checkpoints[passed]:
            regrets[passed], rewards[passed] = regret, earned
            passed += 1


@_compiled
def ts(means, gaps, key, noise, checkpoints, regrets, rewards, plays):  # type: ignore[no-untyped-def]
    """Thompson sampling with rewards 0 and 1."""
    n_arms, regret, earned, passed = len(means), 0.0, 0.0, 0
    wins, win_widths = np.full(n_arms, UNIT_DEPTH), np.full(n_arms, UNIT_WIDTH)
    losses, loss_widths = np.full(n_arms, UNIT_DEPTH), np.full(n_arms, UNIT_WIDTH)
    own = key.copy()
    for t in range(checkpoints[-1]):
        best, highest = 0, -1.0
        begin_round(own, t, _POLICY)
        for arm in range(n_arms):
            x = gamma_from(own, wins[arm], win_widths[arm])
            y = gamma_from(own, losses[arm], loss_widths[arm])
            if x / (x + y) > highest:
                best, highest = arm, x / (x + y)
        if uniform(noise) < means[best]:
            wins[best] += 1.0
            win_widths[best] = gamma_width(wins[best] + 1.0 / 3.0)
            earned += 1.0
        else:
            losses[best] += 1.0
            loss_widths[best] = gamma_width(losses[best] + 1.0 / 3.0)
        regret += gaps[best]
        plays[best] += 1
        if t + 1 == checkpoints[passed]:
            regrets[passed], rewards[passed] = regret, earned
            passed += 1


@_compiled
def lsdt_csi(arms, means, gaps, alpha, starts, members, noise, checkpoints, regrets, rewards, plays):  # type: ignore[no-untyped-def]
    """LSDT-CSI with normal rewards; row 0 to 3 of the tallies: counts, sums, means, one over the root."""
    n_arms, n_classes, regret, earned, passed = len(arms), len(starts) - 1, 0.0, 0.0, 0
    class_of = np.zeros(n_arms, np.int64)
    for number in range(n_classes):
        class_of[members[starts[number] : starts[number + 1]]] = number
    tallies, pooled = np.zeros((4, n_arms)), np.zeros((4, n_classes))
    for t in range(checkpoints[-1]):
        best = t
        if t >= n_arms:
            width = math.sqrt(alpha * math.log(t))
            chosen, highest = 0, -math.inf
            for number in range(n_classes):
                value = pooled[2, number] + width * pooled[3, number]
                if value > highest:
                    chosen, highest = number, value
            best, highest = members[starts[chosen]], -math.inf
            for place in range(starts[chosen], starts[chosen + 1]):
                value = tallies[2, members[place]] + width * tallies[3, members[place]]
                if value > highest:
                    best, highest = members[place], value
        arm = arms[best]
        reward = means[arm] + normal(noise)
        _count(tallies, best, reward)
        _count(pooled, class_of[best], reward)
        regret += gaps[arm]
        earned += reward
        plays[arm] += 1
        if t + 1 == checkpoints[passed]:
            regrets[passed], rewards[passed] = regret, earned
            passed += 1


@numba.njit(nogil=True, error_model="numpy", forceinline=True)
def _count(tallies, at, reward):  # type: ignore[no-untyped-def]
    tallies[0, at] += 1.0
    tallies[1, at] += reward
    tallies[2, at] = tallies[1, at] / tallies[0, at]
    tallies[3, at] = 1.0 / math.sqrt(tallies[0, at])


@_compiled
def ckl_ucb(state, means, gaps, scale, noise, checkpoints, regrets, rewards, plays):  # type: ignore[no-untyped-def]
    """CKL-UCB as published: every index is solved for in every round. A scale of 0 means rewards 0 and 1."""
    n_arms, regret, earned, passed = len(means), 0.0, 0.0, 0
    for t in range(checkpoints[-1]):
        best = t
        if t >= n_arms:
            best, highest, level = 0, -math.inf, math.log(t)
            for arm in range(n_arms):
                value = solve_index(state, arm, level)
                if value > highest:
                    best, highest = arm, value
        if scale > 0.0:
            reward = means[best] + scale * normal(noise)
        else:
            reward = 1.0 if uniform(noise) < means[best] else 0.0
        add_reward(state.tallies, best, reward)
        regret += gaps[best]
        earned += reward
        plays[best] += 1
        if t + 1 == checkpoints[passed]:
            regrets[passed], rewards[passed] = regret, earned
            passed += 1
