"""A single reward, for rounds that are played in Python."""

from __future__ import annotations

from lsdt.kernel.compiling import Array, compiled
from lsdt.kernel.rewards import draw_reward


@compiled
def draw_one(law: int, mean: float, scale: float, shape: float, stream: Array) -> float:
    """Return a reward with the given mean."""
    return draw_reward(law, mean, scale, shape, stream)
