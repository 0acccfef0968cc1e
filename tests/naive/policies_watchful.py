"""LSDT-Watchful by its definition: prices and relations are given, every index is solved piece by piece."""

from __future__ import annotations

import math
from itertools import pairwise

from naive.worlds import Twin, first_largest, kl


class LsdtWatchful(Twin):
    def begin(self):
        self.price = self.parameters["price"]
        self.similar = self.parameters["similar"]  # lists of arms, by arm
        self.dissimilar = self.parameters["dissimilar"]
        self.most = self.parameters["most"]
        self.audited = 0

    def look(self):
        """Counts, means and prices left, as of now."""
        self.counts = {arm: self.count(arm) for arm in self.arms}
        self.means = {arm: self.mean(arm) for arm in self.arms if self.counts[arm]}
        self.left = dict(enumerate(self.price))
        if len(self.means) > 1:
            leader = first_largest(self.means)
            second = max(mean for arm, mean in self.means.items() if arm != leader)
            gain = self.counts[leader] * kl(self.family, self.means[leader], second, self.sigma)
            self.left[leader] = max(self.left[leader] - gain, 0.0)
        self.level = math.log(1 + self.time)

    def data_cost(self, arm, q):
        cost, bound = 0.0, q - self.world.epsilon
        if arm in self.means and q > self.means[arm]:
            cost += self.counts[arm] * kl(self.family, self.means[arm], q, self.sigma)
        for others, believed in ((self.similar, True), (self.dissimilar, False)):
            for other in others[arm]:
                if other in self.means and (self.means[other] < bound) == believed:
                    told = self.counts[other] * kl(self.family, self.means[other], bound, self.sigma)
                    cost += min(told, self.most)
        return cost

    def turns(self, arm):
        """Where the formula of the cost changes: between two such points it is convex."""
        points = [self.means[arm]] if arm in self.means else []
        for other in (*self.similar[arm], *self.dissimilar[arm]):
            if other in self.means:
                points.append(self.means[other] + self.world.epsilon)
                points.append(self.gives_up(other, other in self.similar[arm]) + self.world.epsilon)
        return points

    def gives_up(self, other, upward):
        """The bound at which it costs as much to believe a relation as to call it wrong."""
        near = self.means[other]
        far = near + (100.0 if upward else -100.0)
        for _ in range(60):
            middle = (near + far) / 2
            dear = self.counts[other] * kl(self.family, self.means[other], middle, self.sigma) >= self.most
            near, far = (near, middle) if dear else (middle, far)
        return near

    def index(self, arm):
        room = self.level - self.left[arm]
        if room < 0:
            return -math.inf
        coins = self.family == "bernoulli"
        top = 1.0 if coins else 1e4
        if self.data_cost(arm, top) <= room:
            return top if coins else math.inf
        ends = sorted({point for point in self.turns(arm) if point < top} | {top, -1.0 if coins else -1e4})
        for low, high in reversed(list(pairwise(ends))):
            found = self.largest_in(arm, low, high, room)
            if found is not None:
                return found
        return -math.inf

    def largest_in(self, arm, low, high, room):
        inside = 1e-13 * (1 + abs(high))  # at the ends themselves a term may jump
        first, last = low + inside, high - inside
        if first >= last:
            return None
        if self.data_cost(arm, last) <= room:
            return last
        left, right = first, last
        for _ in range(60):
            third = (right - left) / 3
            if self.data_cost(arm, left + third) <= self.data_cost(arm, right - third):
                right -= third
            else:
                left += third
        if self.data_cost(arm, left) > room:
            return None
        right = last
        for _ in range(60):
            middle = (left + right) / 2
            left, right = (middle, right) if self.data_cost(arm, middle) <= room else (left, middle)
        return left

    def select(self):
        self.look()
        if self.audited < self.parameter("audit", 1.0) * self.level - 1:
            out = [arm for arm in self.arms if self.left[arm] > self.level]
            if out:
                return self.least_refuted(out)
        self.indices = {arm: self.index(arm) for arm in self.arms}
        if max(self.indices.values()) > -math.inf:
            return first_largest(self.indices)
        return self.least_refuted(self.arms)

    def least_refuted(self, arms):
        best = max(self.means.values()) if self.means else None
        self.indices = {
            arm: -self.left[arm]
            - math.log(1 + self.counts[arm])
            - (0.0 if best is None else self.data_cost(arm, best))
            for arm in arms
        }
        return first_largest(self.indices)

    def update(self, arm, reward):
        self.look()
        self.audited += self.left[arm] > self.level
        super().update(arm, reward)
