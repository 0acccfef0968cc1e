"""Policies that know nothing of pairs of arms."""

from __future__ import annotations

import math

from naive.worlds import Twin, first_smallest, kl, kl_upper, tossed


class Ucb1(Twin):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        return self.play_largest({arm: self.index(arm) for arm in self.arms})

    def index(self, arm):
        alpha = self.parameter("alpha", 8.0 * self.sigma**2 if self.is_light else 2.0)
        level = math.log(self.time) / self.count(arm)
        return self.mean(arm) + max(math.sqrt(alpha * level), 8.0 * self.b * level)


class Moss(Twin):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        return self.play_largest({arm: self.index(arm) for arm in self.arms})

    def index(self, arm):
        n = self.count(arm)
        surplus = max(math.log(self.world.horizon / (len(self.arms) * n)), 0.0)
        return self.mean(arm) + 2.0 * self.sigma * math.sqrt(surplus / n)


class KlUcb(Twin):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        level = math.log(self.time)
        if level > 1.0:  # log log t counts as 0 while it is negative
            level += self.parameter("c", 0.0) * math.log(level)
        return self.play_largest(
            {a: kl_upper(self.family, self.mean(a), level / self.count(a), self.sigma) for a in self.arms}
        )


def imed_index(twin, arm, best):
    n = twin.count(arm)
    return n * kl(twin.family, twin.mean(arm), best, twin.sigma) + math.log(n)


class Imed(Twin):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        best = max(self.mean(arm) for arm in self.arms)
        self.indices = {arm: imed_index(self, arm, best) for arm in self.arms}
        return first_smallest(self.indices)


class Ts(Twin):
    """The history holds wins and losses: what a reward is tossed to is drawn once."""

    def select(self):
        return self.play_largest({arm: self.draw(arm) for arm in self.arms})

    def draw(self, *arms):
        wins = self.total(*arms)
        return self.stream.beta(1.0 + wins, 1.0 + self.count(*arms) - wins)

    def update(self, arm, reward):
        super().update(arm, tossed(reward, self.stream))


class TsGaussian(Twin):
    def select(self):
        return self.play_largest({arm: gaussian_draw(self, arm) for arm in self.arms})


def gaussian_draw(twin, arm):
    n = twin.count(arm)
    return twin.total(arm) / (n + 1) + twin.sigma / math.sqrt(n + 1) * twin.stream.normal()
