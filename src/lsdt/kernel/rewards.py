"""Reward laws as compiled code draws them: a number for the law, its scale, and one shape parameter."""

from __future__ import annotations

import math
from typing import NamedTuple

from lsdt.kernel.compiling import Array, inlined
from lsdt.kernel.streams import gamma, normal, uniform

GAUSSIAN_LAW = 0
BERNOULLI_LAW = 1
STUDENT_T_LAW = 2
PARETO_LAW = 3


class RewardModel(NamedTuple):
    """What a policy is told of the rewards: their family, and the sub-Gaussian parameter sigma."""

    family: str
    sigma: float


@inlined
def draw_reward(law: int, mean: float, scale: float, shape: float, stream: Array) -> float:
    """Return a reward with the given mean."""
    if law == GAUSSIAN_LAW:
        return mean + scale * normal(stream)
    if law == BERNOULLI_LAW:
        return 1.0 if uniform(stream) < mean else 0.0
    if law == STUDENT_T_LAW:
        return mean + scale * normal(stream) / math.sqrt(gamma(stream, 0.5 * shape) / (0.5 * shape))
    # Pareto with tail exponent `shape` above 1, moved so that its mean is `mean`.
    return mean + scale * (math.pow(1.0 - uniform(stream), -1.0 / shape) - shape / (shape - 1.0))
