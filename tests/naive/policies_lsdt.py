"""The paper's policies: LSDT-CSI, LSDT-PSI and their Thompson sampling versions."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog
from scipy.stats import beta

from naive.policies_baselines import Ts
from naive.worlds import Twin, first_largest, kl_upper


class LsdtCsi(Twin):
    """Equations (7) and (8), and the three other indices in their place."""

    def begin(self):
        self.move_to_candidates()
        local = {arm: number for number, arm in enumerate(self.arms)}
        self.classes = [[local[arm] for arm in members] for members in self.problem.classes()]

    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        by_class = {at: self.index(members, len(self.classes)) for at, members in enumerate(self.classes)}
        members = self.classes[first_largest(by_class)]
        return self.play_largest({arm: self.index([arm], len(members)) for arm in members})

    def index(self, pool, rivals):
        n, mean, t = self.count(*pool), self.mean(*pool), self.time
        rule = self.parameter("index", "ucb")
        if rule == "ucb":
            alpha, level = self.parameter("alpha", 8.0 * self.sigma**2), math.log(t) / n
            return mean + max(math.sqrt(alpha * level), 8.0 * self.b * level)
        if rule == "moss":
            return mean + 2.0 * self.sigma * math.sqrt(max(math.log(t / (rivals * n)), 0.0) / n)
        if rule == "kl_ucb":
            return kl_upper(self.family, mean, math.log(t) / n, self.sigma)
        return mean + self.sigma / math.sqrt(n) * self.stream.normal()


class LsdtTsCsi(Ts):
    def begin(self):
        self.move_to_candidates()
        local = {arm: number for number, arm in enumerate(self.arms)}
        self.classes = [[local[arm] for arm in members] for members in self.problem.classes()]

    def select(self):
        by_class = {number: self.draw(*members) for number, members in enumerate(self.classes)}
        members = self.classes[first_largest(by_class)]
        return self.play_largest({arm: self.draw(arm) for arm in members})


def p2_size(world):
    """The optimal value of P2, by scipy."""
    rows = np.array([[float(other in world.closed(arm)) for other in world.arms] for arm in world.arms])
    return linprog(np.ones(world.n_arms), A_ub=-rows, b_ub=-np.ones(world.n_arms), method="highs").fun


class LsdtPsi(Twin):
    """Section 4.2. P2 may have several solutions, so `z` is given: a test checks that it is one."""

    def begin(self):
        self.move_to_candidates()
        self.z = self.parameters["z"]
        self.alive = list(self.world.arms)
        self.m = 0

    @property
    def beta(self):
        return self.parameter("beta", 2.0 * self.sigma**2)

    @property
    def lambda_(self):
        return self.parameter("lambda_", 0.125)

    @property
    def last_epoch(self):
        """The first with radii of at most epsilon / 8, by trial; log(T 4^-m) is at least 1 in all."""
        m, most = -1, math.floor(math.log2(self.world.horizon / math.e) / 2.0)
        while m < most and self.radius(1.0, self.lambda_ * 4.0**m) > self.world.epsilon / 8.0:
            m += 1
        return min(m, most)

    def radius(self, level, plays):
        """What the mean of so many rewards is off by, with probability exp(-level) at most."""
        return max(math.sqrt(self.beta * level / plays), 2.0 * self.b * level / plays)

    def pooled(self, pool):
        return self.mean(*pool)

    def index(self, arm):
        if not self.count(arm):
            return math.inf
        level = math.log(max(self.time, 1)) / self.count(arm)
        return self.mean(arm) + max(math.sqrt(8.0 * self.sigma**2 * level), 8.0 * self.b * level)

    @property
    def level(self):
        return math.log(self.world.horizon * (2.0**-self.m) ** 2)

    def target(self, arm):
        if not set(self.world.closed(arm)) & set(self.alive):
            return 0
        return math.ceil(self.lambda_ * self.z[arm] * self.level / (2.0**-self.m) ** 2)

    def select(self):
        while self.m <= self.last_epoch and len(self.alive) > 1:
            short = [arm for arm in self.world.arms if self.count(arm) < self.target(arm)]
            if short:
                return self.next_in_turn(short)
            self.eliminate()
            self.m += 1
        return self.play_largest({arm: self.index(arm) for arm in self.alive})

    def next_in_turn(self, short):
        """The first arm after the one played last, going around."""
        last = self.history[-1][0] if self.history else -1
        return min(short, key=lambda arm: (arm <= last, arm))

    def eliminate(self):
        pools = {arm: self.world.closed(arm) for arm in self.alive}
        pooled = {arm: self.pooled(pool) for arm, pool in pools.items()}
        radius = {arm: self.radius(self.level, self.count(*pool)) for arm, pool in pools.items()}
        best = max(pooled[arm] - radius[arm] for arm in self.alive)
        self.alive = [a for a in self.alive if not pooled[a] + radius[a] + self.world.epsilon <= best]


class LsdtTsPsi(Ts):
    def begin(self):
        self.move_to_candidates()
        self.alive = list(self.world.arms)

    def select(self):
        return self.play_largest({arm: self.draw(arm) for arm in self.alive})

    def update(self, arm, reward):
        super().update(arm, reward)
        if len(self.alive) > 1:
            self.eliminate()

    def eliminate(self):
        delta, enough = 1.0 / math.sqrt(self.world.horizon), 2.0 * math.log(self.world.horizon)
        pools = [self.world.closed(arm) for arm in self.alive]
        counts = np.array([self.count(*pool) for pool in pools])
        wins = np.array([self.total(*pool) for pool in pools])
        lower, upper = (beta.ppf(share, 1 + wins, 1 + counts - wins) for share in (delta, 1 - delta))
        if self.parameter("elimination", "quantile") == "quantile":
            out = (upper + self.world.epsilon <= lower.max()) & (counts >= enough)
        else:
            least = int(np.argmin(upper))
            out = (np.arange(len(pools)) == least) & (counts[least] >= enough)
        self.alive = [arm for arm, gone in zip(self.alive, out, strict=True) if not gone]
