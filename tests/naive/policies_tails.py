"""Policies for light and heavy tails: UCB1 and LSDT-CSI with another index."""

from __future__ import annotations

import math

from naive.policies_baselines import Ucb1
from naive.policies_lsdt import LsdtCsi
from naive.worlds import Twin


class LightIndex(Twin):
    """The tail exp(-n min(x^2 / (2 nu^2), x / (2 b))) is t^-confidence where both terms allow it."""

    def index(self, pool, rivals):
        level = self.parameter("confidence", 4.0) * math.log(self.time) / self.count(*pool)
        by_square = self.parameter("nu", self.sigma) * math.sqrt(2.0 * level)
        return self.mean(*pool) + max(by_square, 2.0 * self.parameter("b", 0.0) * level)


class TruncatedIndex(Twin):
    """All rewards of a pool are gone through anew, in the order in which they came."""

    @property
    def order(self):
        return self.parameter("order", 2.0)

    @property
    def bound(self):
        """For means from -1 to 1 and the variance sigma^2; a smaller order by Lyapunov's inequality."""
        return self.parameter("bound", (1.0 + self.sigma**2) ** (self.order / 2.0))

    @property
    def level(self):
        """The first of 1, sqrt 2, 2, 2 sqrt 2, ... that is at least log t^2."""
        step = 0
        while 2.0 ** (step / 2.0) < math.log(self.time**2):
            step += 1
        return 2.0 ** (step / 2.0)

    def index(self, pool, rivals):
        rewards = [reward for arm, reward in self.history if arm in pool]
        kept = [
            reward
            for s, reward in enumerate(rewards, start=1)
            if abs(reward) <= (self.bound * s / self.level) ** (1.0 / self.order)
        ]
        share = (self.level / len(rewards)) ** (1.0 - 1.0 / self.order)
        width = self.parameter("width", 4.0) * self.bound ** (1.0 / self.order) * share
        return sum(kept) / len(rewards) + width


class AnyIndex(Ucb1):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        return self.play_largest({arm: self.index([arm], len(self.arms)) for arm in self.arms})


class Ucb1Light(LightIndex, AnyIndex):
    pass


class Ucb1Truncated(TruncatedIndex, AnyIndex):
    pass


class LsdtCsiLight(LightIndex, LsdtCsi):
    pass


class LsdtCsiTruncated(TruncatedIndex, LsdtCsi):
    pass
