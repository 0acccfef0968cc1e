"""Thompson sampling among many arms: the largest of the equal draws of a group in one draw."""

from __future__ import annotations

import math

from scipy.stats import beta, norm

from naive.policies_baselines import Ts, TsGaussian
from naive.policies_lsdt import LsdtTsCsi, LsdtTsPsi


class Family:
    """Arms with the same prior, in lists by what was learned of them; None once there are too many lists."""

    def __init__(self, key, arms):
        self.most = len(arms) // 4 + 7  # lists, and one that takes in the end
        self.groups = [(key, list(arms))]

    def move(self, arm, new):
        """An arm goes to the front of its new list; every list it passes puts its last arm in front."""
        at = next(i for i, (_, arms) in enumerate(self.groups) if arm in arms)
        arms, keys = self.groups[at][1], [key for key, _ in self.groups]
        if new not in keys and len(arms) > 1 and len(keys) >= self.most:
            self.groups = None
            return
        arms[arms.index(arm)] = arms[-1]
        arms.pop()
        for key, passed in self.groups[at + 1 :]:
            if key < new:
                passed.insert(0, passed.pop())
        for key, others in self.groups:
            if key == new:
                others.insert(0, arm)
        if new not in keys:
            self.groups.append((new, [arm]))
        self.groups = sorted(group for group in self.groups if group[1])

    def drop(self, arm):
        if self.groups is not None:
            self.move(arm, (math.inf, math.inf))
            self.groups.pop()

    def choose(self, stream, draw, quantile, allowed=None):
        """`draw(arm)` for a list of one arm, `quantile(arm, share)` of the upper tail for longer ones."""
        best, members = -math.inf, []
        for _, arms in self.groups:
            may = [arm for arm in arms if allowed is None or allowed[arm]]
            if not may:
                continue
            if len(may) == 1:
                value = draw(may[0])
            else:
                value = quantile(may[0], -math.expm1(math.log1p(-stream.uniform()) / len(may)))
            if value > best:
                best, members = value, may
        return members[0] if len(members) == 1 else members[stream.below(len(members))]


def tallies(twin, *arms):
    wins = twin.total(*arms)
    return wins, twin.count(*arms) - wins


def beta_tail(twin, arms, share):
    wins, losses = tallies(twin, *arms)
    return float(beta.isf(share, 1 + wins, 1 + losses))


class ManyTs(Ts):
    def begin(self):
        self.equal = Family((0, 0), self.arms)

    def select(self, allowed=None):
        if self.equal.groups is None:
            may = [arm for arm in self.arms if allowed is None or allowed[arm]]
            return self.play_largest({arm: self.draw(arm) for arm in may})
        return self.equal.choose(
            self.stream, self.draw, lambda arm, share: beta_tail(self, [arm], share), allowed
        )

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.equal.groups is not None:
            self.equal.move(arm, tallies(self, arm))


class ManyTsGaussian(TsGaussian):
    def begin(self):
        self.equal = Family((0, 0.0), self.arms)

    def select(self):
        if self.equal.groups is None:
            return super().select()
        return self.equal.choose(self.stream, lambda arm: self.tail(arm, None), self.tail)

    def tail(self, arm, share):
        n = self.count(arm)
        z = self.stream.normal() if share is None else float(norm.isf(share))
        return self.total(arm) / (n + 1) + self.sigma / math.sqrt(n + 1) * z

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.equal.groups is not None:
            self.equal.move(arm, (self.count(arm), self.total(arm)))


class ManyTsCsi(LsdtTsCsi):
    def begin(self):
        super().begin()
        self.families = [Family((0, 0), members) for members in self.classes]
        self.family_of_classes = Family((0, 0), range(len(self.classes)))

    def select(self):
        number = self.chosen_class()
        members, family = self.classes[number], self.families[number]
        if family.groups is None:
            return self.play_largest({arm: self.draw(arm) for arm in members})
        return family.choose(self.stream, self.draw, lambda arm, share: beta_tail(self, [arm], share))

    def chosen_class(self):
        if self.family_of_classes.groups is None:
            draws = [self.draw(*members) for members in self.classes]
            return draws.index(max(draws))
        return self.family_of_classes.choose(
            self.stream,
            lambda number: self.draw(*self.classes[number]),
            lambda number, share: beta_tail(self, self.classes[number], share),
        )

    def update(self, arm, reward):
        super().update(arm, reward)
        number = next(i for i, members in enumerate(self.classes) if arm in members)
        if self.families[number].groups is not None:
            self.families[number].move(arm, tallies(self, arm))
        if self.family_of_classes.groups is not None:
            self.family_of_classes.move(number, tallies(self, *self.classes[number]))


class ManyTsPsi(LsdtTsPsi):
    def begin(self):
        super().begin()
        self.equal = Family((0, 0), self.alive)

    def select(self):
        if self.equal.groups is None:
            return super().select()
        return self.equal.choose(self.stream, self.draw, lambda arm, share: beta_tail(self, [arm], share))

    def update(self, arm, reward):
        before = list(self.alive)
        Ts.update(self, arm, reward)
        if self.equal.groups is not None and arm in before:
            self.equal.move(arm, tallies(self, arm))
        if len(self.alive) > 1:
            self.eliminate()
        for gone in before:
            if gone not in self.alive:
                self.equal.drop(gone)


MANY_TWINS = {
    "ts": ManyTs,
    "ts_gaussian": ManyTsGaussian,
    "lsdt_ts_csi": ManyTsCsi,
    "lsdt_ts_psi": ManyTsPsi,
}
