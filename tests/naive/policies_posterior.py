"""LSDT-posterior, from particles as the library has them: chances, means, and the choice, written out."""

from __future__ import annotations

import math

import numpy as np

from naive.policies_closure import Closure


class LsdtPosterior(Closure):
    """``particles`` returns (mean vector, weight) of every particle, means in the order of the arms."""

    floor, most_lift = 0.01, 0.3

    def select(self):
        seen, arms = self.seen(), list(self.world.arms)
        allowed = self.allowed or arms
        drawn = [(list(x), w) for x, w in self.parameter("particles", list)() if w > 0.0]
        excess = dict(zip(arms, self.parameter("excess", list)(), strict=True))
        self.check(excess, seen)
        log_t = math.log(max(self.time, 1))
        level = log_t + math.log(max(log_t, 1.0))
        groups = {}
        for x, weight in drawn:
            best = max(allowed, key=lambda arm: (x[arm], -arm))
            if excess[best] <= level or self.allowed:
                groups.setdefault(best, []).append((np.array(x), weight))
        guard = self.parameter("guard", 6.0)
        guards = {arm: guard if arm in groups else 0.5 * guard for arm in arms}
        if not groups:
            guards = dict.fromkeys(arms, 0.0)
        plays = {arm: seen.get(arm, (0,))[0] for arm in arms}
        late = {arm: excess[arm] + guards[arm] + math.log(max(plays[arm], 1)) for arm in allowed}
        guarded = min(allowed, key=lambda arm: (round(late[arm], 9), plays[arm], arm))
        self.indices = late
        if not groups:
            return guarded
        whole = sum(w for group in groups.values() for _, w in group)
        chance = {b: sum(w for _, w in group) / whole for b, group in groups.items()}
        means = {b: sum(w * x for x, w in group) / sum(w for _, w in group) for b, group in groups.items()}
        not_refuted = sum(math.exp(-excess[arm]) for arm in arms if excess[arm] <= level)
        chance = {b: max(p, min(self.floor, math.exp(-excess[b]) / not_refuted)) for b, p in chance.items()}
        chance = {b: p / sum(chance.values()) for b, p in chance.items()}
        mean = sum(p * means[b] for b, p in chance.items())
        leader = max(allowed, key=lambda arm: (mean[arm], -arm))
        if late[guarded] < log_t and plays[guarded] < plays[leader]:
            return guarded
        variance = 0.25 if self.family == "bernoulli" else self.sigma**2
        lift = self.parameter("lift", 8.0)
        extra = {b: lift * p * (means[b][b] - means[b][leader]) ** 2 / variance for b, p in chance.items()}
        share = min(1.0, self.most_lift / max(sum(extra.values()), 1e-300))
        chance = {b: p + share * extra[b] for b, p in chance.items()}
        chance = {b: p / sum(chance.values()) for b, p in chance.items()}
        mean = sum(p * means[b] for b, p in chance.items())
        loss = sum(p * means[b][b] for b, p in chance.items()) - mean
        gain = sum(p * (means[b] - mean) ** 2 for b, p in chance.items())
        first = min(allowed, key=lambda arm: (loss[arm], arm))
        second, q = best_mixture(loss, gain, first, allowed)
        turn = (self.time + 1) * 0.6180339887498949 % 1.0
        return second if turn < q else first

    def check(self, excess, seen):
        """What the library knows of costs is at most what they are."""
        least = {arm: self.cheapest(arm, seen)[0] for arm in self.world.arms}
        for arm, cost in least.items():
            assert excess[arm] <= cost - min(least.values()) + 1e-6 * (1.0 + cost), arm

    def worth(self, arm):
        return -self.indices[arm]


def best_mixture(loss, gain, first, arms, n=2_000):
    """The arm to mix with the first and its share, of a grid: least squared loss per gain."""

    def ratio(arm, q):
        lost = max((1.0 - q) * loss[first] + q * loss[arm], 0.0)
        told = (1.0 - q) * gain[first] + q * gain[arm]
        return 0.0 if lost == 0.0 else lost**2 / told if told > 0.0 else math.inf

    shares = [number / n for number in range(n + 1)]
    found = [(ratio(arm, q), arm, q) for arm in arms if arm != first for q in shares]
    least = min(found, default=(math.inf, first, 1.0))
    return (least[1], least[2]) if least[0] < ratio(first, 1.0) else (first, 1.0)
