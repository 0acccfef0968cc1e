"""Identify, with the evidence against all rivals worked out anew in every round."""

from __future__ import annotations

import math

from naive.evidence import least
from naive.policies_closure import Closure
from naive.worlds import kl

GIVE = 1e-9
NEAR = 1e-7


class Identify(Closure):
    """The twin of "identify": it keeps the leader, all else is worked out from the history."""

    def begin(self):
        super().begin()
        self.rows = [
            {j: (low * (1.0 - GIVE), high * (1.0 + GIVE)) for j, (low, high) in row.items()}
            for row in self.rows
        ]
        self.tolerance = self.parameter("tolerance", None)
        if self.tolerance is None:
            self.tolerance = self.world.epsilon
        self.lead = None

    def least(self, arm, leader, tolerance):
        seen = self.seen()
        if self.family == "bernoulli":
            seen = {arm: (count, min(max(mean, 0.0), 1.0)) for arm, (count, mean) in seen.items()}
        return least(self.rows[arm], leader, tolerance, seen, self.family, self.sigma)

    def open_rivals(self):
        return [
            arm
            for arm in self.world.arms
            if arm != self.lead and self.rows[arm][self.lead][1] > self.tolerance * (1.0 + 1e-8)
        ]

    def challenger(self):
        costs = {arm: self.least(arm, self.lead, self.tolerance) for arm in self.open_rivals()}
        if not costs:
            return None
        lowest = min(cost for cost, _ in costs.values())
        arm = min(arm for arm in costs if costs[arm][0] <= lowest + NEAR)
        return arm, *costs[arm]

    def select(self):
        seen = self.seen()
        if self.lead is None:
            self.lead = max(seen, key=lambda arm: (seen[arm][1], -arm)) if seen else 0
        found = self.challenger()
        for _ in range(8):
            if found is None:
                break
            own = self.least(self.lead, found[0], self.tolerance)[0]
            if not found[1] < own - NEAR:
                break
            self.lead = found[0]
            found = self.challenger()
        plays = {arm: seen.get(arm, (0,))[0] for arm in self.world.arms}
        fewest = min(plays, key=lambda arm: (plays[arm], arm))
        if plays[fewest] < math.sqrt(sum(plays.values()) / len(plays)) - 12.0:
            self.indices = {arm: float(arm == fewest) for arm in plays}
            return fewest
        if found is None or found[1] == math.inf:
            self.indices = {arm: float(arm == self.lead) for arm in self.world.arms}
            return self.lead
        self.indices = self.weigh(found[0], found[2], seen)
        best = max(self.indices.values())
        return min(arm for arm in self.indices if self.indices[arm] == best)

    def weigh(self, rival, q, seen):
        mine = self.least(self.lead, None, 0.0)[1]
        worth = {}
        for arm in self.world.arms:
            low, high = self.span(self.lead, arm, mine, 0.0)
            near_low, near_high = self.span(rival, arm, q, self.tolerance if arm == self.lead else 0.0)
            if arm in seen:
                mean = min(max(seen[arm][1], low), high)
            else:
                mean = low if low > near_high else min(high, near_high)
            other = min(max(mean, near_low), near_high)
            if self.family == "bernoulli":
                other = min(max(other, 1e-9), 1.0 - 1e-9)
            worth[arm] = kl(self.family, mean, other, self.sigma)
        return worth

    def span(self, best, arm, q, least):
        lower, upper = self.rows[best][arm]
        low, high = q - upper, q - max(lower, least)
        if self.family == "bernoulli":
            low = min(max(low, 0.0), 1.0)
            high = min(max(high, low), 1.0)
        return (low, high) if high > -math.inf else (low, low)
