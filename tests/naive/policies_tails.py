"""Policies for heavy tails: UCB1, LSDT-CSI and LSDT-PSI with truncated means.

Light tails are a width of the plain policies, and their twins have it.
"""

from __future__ import annotations

import math

from naive.policies_baselines import Ucb1
from naive.policies_lsdt import LsdtCsi, LsdtPsi
from naive.worlds import Twin


class TruncatedMeans(Twin):
    """All rewards of a pool are gone through anew, in the order in which they came."""

    @property
    def order(self):
        return self.parameter("order", 2.0)

    @property
    def bound(self):
        """For means from -1 to 1 and the variance sigma^2; a smaller order by Lyapunov's inequality."""
        return self.parameter("bound", (1.0 + self.sigma**2) ** (self.order / 2.0))

    @property
    def rung(self):
        """The first of 1, sqrt 2, 2, 2 sqrt 2, ... that is at least log t^2."""
        step = 0
        while 2.0 ** (step / 2.0) < math.log(max(self.time, 1) ** 2):
            step += 1
        return 2.0 ** (step / 2.0)

    def truncated_mean(self, pool, level):
        rewards = [reward for arm, reward in self.history if arm in pool]
        kept = [
            reward
            for s, reward in enumerate(rewards, start=1)
            if abs(reward) <= (self.bound * s / level) ** (1.0 / self.order)
        ]
        return sum(kept) / len(rewards)

    def truncated_width(self, level, plays):
        share = (level / plays) ** (1.0 - 1.0 / self.order)
        return self.parameter("width", 4.0) * self.bound ** (1.0 / self.order) * share


class TruncatedIndex(TruncatedMeans):
    def index(self, pool, rivals=None):
        pool = pool if isinstance(pool, list) else [pool]
        if not self.count(*pool):
            return math.inf
        return self.truncated_mean(pool, self.rung) + self.truncated_width(self.rung, self.count(*pool))


class Ucb1Truncated(TruncatedIndex, Ucb1):
    pass


class LsdtCsiTruncated(TruncatedIndex, LsdtCsi):
    pass


class LsdtPsiTruncated(TruncatedIndex, LsdtPsi):
    """In an epoch the level is log(T 4^-m), not rounded."""

    def radius(self, level, plays):
        return self.truncated_width(level, plays)

    def pooled(self, pool):
        return self.truncated_mean(pool, self.level)
