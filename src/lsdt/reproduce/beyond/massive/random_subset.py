"""UCB1 on a few random arms: a simple way to handle too many arms without side information."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lsdt.policies import Situation

_ALPHA = 2.0  # as published (Auer and others 2002)


class RandomSubset:
    """UCB1 (alpha 2) on sqrt(horizon) random arms."""

    label = "UCB1 on sqrt(T) random arms"

    def __init__(self, situation: Situation, rng: np.random.Generator) -> None:
        assert situation.horizon is not None
        size = min(math.isqrt(situation.horizon), situation.n_arms)
        self.arms = np.sort(rng.choice(situation.n_arms, size, replace=False))
        self._counts, self._sums = np.zeros(size), np.zeros(size)

    def select(self) -> int:
        """Play every arm once, then the largest index."""
        fresh = int(np.argmin(self._counts))
        if self._counts[fresh] == 0:
            return int(self.arms[fresh])
        width = np.sqrt(_ALPHA * math.log(self._counts.sum()) / self._counts)
        return int(self.arms[np.argmax(self._sums / self._counts + width)])

    def update(self, arm: int, reward: float) -> None:
        """Add a reward to the arm's count and sum."""
        place = int(np.searchsorted(self.arms, arm))
        self._counts[place] += 1
        self._sums[place] += reward
