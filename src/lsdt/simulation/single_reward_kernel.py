"""Rewards drawn outside the compiled rounds: for rounds played in Python, and for priors."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, draw_recorded, draw_reward


@compiled
def draw_one(law: int, mean: float, scale: float, shape: float, stream: Array) -> float:
    """Return a reward with the given mean."""
    return draw_reward(law, mean, scale, shape, stream)


@compiled
def draw_several(law: int, means: Array, scale: float, shape: float, stream: Array, arms: Array) -> Array:
    """Return one reward for each entry of `arms`, drawn in that order."""
    rewards = np.empty(len(arms))
    for number in range(len(arms)):
        rewards[number] = draw_reward(law, means[arms[number]], scale, shape, stream)
    return rewards


@compiled
def draw_several_recorded(starts: Array, values: Array, stream: Array, arms: Array) -> Array:
    """Return one recorded reward for each entry of `arms`, drawn in that order."""
    rewards = np.empty(len(arms))
    for number in range(len(arms)):
        rewards[number] = draw_recorded(starts, values, arms[number], stream)
    return rewards
