"""Policies on what propagation says of gaps below a supposed best arm, solved for all arms in every round."""

from __future__ import annotations

import math

import lsdt
from naive.evidence import at_mean, least
from naive.worlds import Twin, first_largest, kl


class Closure(Twin):
    """Bounds come from the library: ``rows[i][j]`` is the least and the largest that mu_i - mu_j may be.

    ``allowed`` are the arms that may be played, None for all.
    """

    allowed = None

    def begin(self):
        world, similar = self.world, [sorted(pair) for pair in self.world.similar]
        if world.dissimilar is None:
            side = lsdt.complete(world.n_arms, similar, epsilon=world.epsilon)
        else:
            dissimilar = [sorted(pair) for pair in world.dissimilar]
            side = lsdt.SideInformation(world.n_arms, similar, dissimilar, epsilon=world.epsilon)
        found = lsdt.candidate_set(side, method="anchors" if side.is_complete else "propagation")
        self.problem, self.arms = self.world, found.arms.tolist()
        self.world = self.problem.among(self.arms)
        indptr, indices, lower, upper = (column.tolist() for column in found.mutual_bounds)
        self.rows = [dict.fromkeys(self.world.arms, (0.0, math.inf)) for _ in self.world.arms]
        for arm, row in enumerate(self.rows):
            row.update({indices[at]: (lower[at], upper[at]) for at in range(*indptr[arm : arm + 2])})

    def seen(self):
        """Counts and means of the arms that were played."""
        counts, sums = {}, {}
        for arm, reward in self.history:
            counts[arm] = counts.get(arm, 0) + 1
            sums[arm] = sums.get(arm, 0.0) + reward
        return {arm: (count, sums[arm] / count) for arm, count in counts.items()}

    def cost(self, arm, q, seen):
        """What the rewards of all arms in the row say against `arm` being the best with mean q."""
        total = 0.0
        for other, (lower, upper) in self.rows[arm].items():
            count, mean = seen.get(other, (0, 0.0))
            if self.family == "bernoulli":
                mean = min(max(mean, 0.0), 1.0)
            if count and not q - upper <= mean <= q - lower:
                near = q - upper if q - upper > mean else q - lower
                total += count * kl(self.family, mean, near, self.sigma)
        return total

    def domain(self, arm):
        """The means that the best arm may have: those under which no other mean is negative."""
        if self.family != "bernoulli":
            return -8.0, 8.0
        return max(lower for lower, _ in self.rows[arm].values()), 1.0

    def cheapest(self, arm, seen):
        """The least cost and where it is, by golden section: the cost is convex."""
        low, high = self.domain(arm)
        if low > high:
            return math.inf, low
        ends = [(self.cost(arm, q, seen), q) for q in (high, low)]
        ratio = (math.sqrt(5.0) - 1.0) / 2.0
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = self.cost(arm, left, seen), self.cost(arm, right, seen)
        for _ in range(50):
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - ratio * (high - low)
                at_left = self.cost(arm, left, seen)
            else:
                low, left, at_left = left, right, at_right
                right = low + ratio * (high - low)
                at_right = self.cost(arm, right, seen)
        return min(*ends, (at_left, left), (at_right, right))


class LsdtClosure(Closure):
    def select(self):
        seen, arms = self.seen(), self.allowed or list(self.world.arms)
        least = {arm: self.cheapest(arm, seen) for arm in self.world.arms}
        level = math.log(max(self.time, 1))
        level += self.parameter("c", 1.0) * math.log(max(level, 1.0)) + min(
            cost for cost, _ in least.values()
        )
        self.indices = {arm: self.index(arm, seen, level, *least[arm]) for arm in arms}
        if max(self.indices.values()) == -math.inf:
            self.indices = {arm: -least[arm][0] for arm in arms}
        return first_largest(self.indices)

    def worth(self, arm):
        return self.indices[arm]

    def index(self, arm, seen, level, least, q):
        if least > level + 1e-10:  # golden section does not hit a single point
            return -math.inf
        row = self.rows[arm]
        if not any(other in seen and row[other][1] < math.inf for other in row):
            return math.inf
        high = self.domain(arm)[1]
        if self.cost(arm, high, seen) <= level:
            return high
        while q < (q + high) / 2.0 < high:
            middle = (q + high) / 2.0
            q, high = (middle, high) if self.cost(arm, middle, seen) <= level else (q, middle)
        return q


class MixtureClosure(Closure):
    def at_mean(self, arm, q, seen):
        """The evidence against `arm` being the best with mean q: one formula for every arm of its row."""
        return at_mean(self.rows[arm], None, 0.0, seen, self.family, self.sigma, q, speakers=1.0)

    def select(self):
        seen, arms = self.seen(), self.allowed or list(self.world.arms)
        if self.family == "bernoulli":
            seen = {arm: (count, min(max(mean, 0.0), 1.0)) for arm, (count, mean) in seen.items()}
        level = math.log(max(self.time, 1))
        level += self.parameter("c", 1.0) * math.log(max(level, 1.0))
        lowest = {arm: least(self.rows[arm], None, 0.0, seen, self.family, self.sigma, 1.0) for arm in arms}
        self.indices = {arm: self.index(arm, seen, level, *lowest[arm]) for arm in arms}
        if max(self.indices.values()) == -math.inf:
            self.indices = {arm: -lowest[arm][0] for arm in arms}
        return first_largest(self.indices)

    def worth(self, arm):
        return self.indices[arm]

    def index(self, arm, seen, level, lowest, q):
        if lowest > level + 1e-10:
            return -math.inf
        row, high = self.rows[arm], 1.0 if self.family == "bernoulli" else 8.0
        if self.at_mean(arm, high, seen) <= level + 1e-12:  # after one success it is 0, and so is the level
            return high if any(other in seen and row[other][1] < math.inf for other in row) else math.inf
        while q < (q + high) / 2.0 < high:
            middle = (q + high) / 2.0
            q, high = (middle, high) if self.at_mean(arm, middle, seen) <= level else (q, middle)
        return q


class SoftClosure(Closure):
    """Draws come from the library, a list of means each; their weights are worked out from all rewards."""

    def misfit(self, draw, seen):
        """What the rewards say against the means of a draw; moved to where they fit best if not coins."""
        if self.family == "bernoulli":
            return sum(
                count * kl(self.family, mean, draw[arm], self.sigma) for arm, (count, mean) in seen.items()
            )
        total = sum(count for count, _ in seen.values())
        shift = sum(count * (mean - draw[arm]) for arm, (count, mean) in seen.items()) / max(total, 1)
        return sum(
            count * kl(self.family, mean, draw[arm] + shift, self.sigma)
            for arm, (count, mean) in seen.items()
        )

    def select(self):
        seen, arms = self.seen(), self.allowed or list(self.world.arms)
        plays = {arm: seen.get(arm, (0,))[0] for arm in self.world.arms}
        weights, most = dict.fromkeys(self.world.arms, 0.0), self.parameter("most", 3.0)
        for draw in self.parameter("draws", []):
            best = max(self.world.arms, key=lambda arm: (draw[arm], -arm))
            misfit = self.misfit(draw, seen)
            weights[best] += (
                math.exp(-misfit) if misfit <= 60.0 else 0.0
            )  # draws that fit so badly say nothing
        least = {arm: self.cheapest(arm, seen)[0] for arm in self.world.arms}
        whole, lowest = sum(weights.values()), min(least.values())
        self.indices = {}
        for arm in arms:
            surprise = math.log(whole / weights[arm]) if weights[arm] > 0.0 else math.inf
            excess = least[arm] - lowest
            self.indices[arm] = min(max(surprise, excess), excess + most) + math.log(max(plays[arm], 1))
        chosen = min(arms, key=lambda arm: (self.indices[arm], plays[arm], arm))
        if self.allowed and least[chosen] - lowest > math.log(1 + self.time) + most:
            self.indices = {arm: self.plain(arm, arms, seen) for arm in arms}
            chosen = min(arms, key=lambda arm: (self.indices[arm], arm))
        return chosen

    def plain(self, arm, arms, seen):
        if arm not in seen:
            return -math.inf
        highest = max(seen[other][1] for other in arms if other in seen)
        count, mean = seen[arm]
        return count * kl(self.family, mean, highest, self.sigma) + math.log(count)

    def worth(self, arm):
        return -self.indices[arm]
