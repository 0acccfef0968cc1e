"""Policies on the similarity graph: CKL-UCB, OSUB, OSSB, IMED-UB, UTS, and those that estimate together."""

from __future__ import annotations

import math

import numpy as np

from naive.policies_baselines import gaussian_draw, imed_index
from naive.worlds import Twin, first_largest, first_smallest, kl, kl_upper, largest_with, tossed


class CklUcb(Twin):
    def select(self):
        if self.unplayed():
            return self.unplayed()[0]
        means = {arm: self.mean(arm) for arm in self.arms}
        counts = {arm: self.count(arm) for arm in self.arms}
        return self.play_largest({arm: self.index(arm, means, counts) for arm in self.arms})

    def index(self, arm, means, counts):
        epsilon, level = self.world.epsilon, math.log(self.time)
        near = self.world.near(arm)

        def cost(q):
            total = 0.0
            for other, bound in ((arm, q), *((other, q - epsilon) for other in near)):
                if bound > means[other]:
                    total += counts[other] * kl(self.family, means[other], bound, self.sigma)
            return total

        free = min([means[arm], *(means[other] + epsilon for other in near)])  # costs nothing
        most = kl_upper(self.family, means[arm], level / counts[arm], self.sigma)
        index = largest_with(cost, level, free - 1e-9, most)
        return max(index, means[arm]) if self.parameter("floor", "none") == "mean" else index


class Osub(Twin):
    def begin(self):
        self.led = dict.fromkeys(self.arms, 0)
        self.gamma = max(len(self.world.near(arm)) for arm in self.arms)

    def select(self):
        leader = self.leader() if self.history else self.stream.below(len(self.arms))
        self.led[leader] += 1
        times = self.led[leader]
        self.indices = {leader: math.inf}
        if (times - 1) % (self.gamma + 1) == 0:
            return leader
        return self.play_largest({a: self.index(a, math.log(times)) for a in self.world.closed(leader)})

    def index(self, arm, level):
        n = self.count(arm)
        return math.inf if n == 0 else kl_upper(self.family, self.mean(arm), level / n, self.sigma)


class ImedUb(Twin):
    def select(self):
        if not self.history:
            return 0
        leader = self.leader()
        self.indices = {
            arm: imed_index(self, arm, self.mean(leader)) if self.count(arm) else -math.inf
            for arm in self.world.closed(leader)
        }
        return first_smallest(self.indices)


class Uts(Twin):
    def begin(self):
        self.led = dict.fromkeys(self.arms, 0)

    def select(self):
        leader = self.leader() if self.history else 0
        self.led[leader] += 1
        near = self.world.near(leader)
        if (self.led[leader] - 1) % (len(near) + 1) == 0:
            return leader
        return self.play_largest({arm: self.draw(arm) for arm in (leader, *near)})

    def draw(self, arm):
        if self.family == "gaussian":
            return gaussian_draw(self, arm)
        wins = self.total(arm)
        return self.stream.beta(1.0 + wins, 1.0 + self.count(arm) - wins)

    def update(self, arm, reward):
        super().update(arm, tossed(reward, self.stream) if self.family == "bernoulli" else reward)


def alternatives(world, means):
    """The best candidate, its class, and for every other class the means under which that class is best.

    Complete information. In the best arm's component, means are mirrored (Appendix D). Another component is
    moved as a whole to epsilon above the best mean, as it is or, for its lower class, upside down.
    """
    classes = world.classes()
    best = first_largest({arm: means[arm] for members in classes for arm in members})
    own = next(members for members in classes if best in members)
    found = []
    for part in world.components():
        ends = [members for members in classes if members[0] in part]
        for members in ends:
            if members == own:
                continue
            moved = _mirrored(part, own, members, means, best) if best in part else None
            if moved is None:
                rivals = [other for other in ends if other != members]
                moved = _lifted(part, members, rivals, means, means[best] + (world.epsilon or 0.0))
            found.append(moved)
    return best, own, found


def _mirrored(part, own, members, means, best):
    span = means[best] + min(means[arm] for arm in own)
    lowest = min(means[arm] for arm in members)
    outside = [arm for arm in part if arm not in own]
    return {arm: span - (lowest if arm in members else means[arm]) for arm in outside}


def _lifted(part, members, rivals, means, floor):
    def average(arms):
        return sum(means[arm] for arm in arms) / len(arms)

    low, high = min(means[arm] for arm in part), max(means[arm] for arm in part)
    if all(average(members) >= average(other) for other in rivals):
        return {arm: floor + (means[arm] - low) for arm in part}
    return {arm: floor + (high - means[arm]) for arm in part}


def p1_rates(world, means, sigma):
    """P1 in closed form: per class outside the best one, all of the rate to the arm of least regret."""
    best, own, found = alternatives(world, means)
    rates = dict.fromkeys(world.arms, 0.0)
    for arm in own:
        if means[arm] < means[best]:
            rates[arm] = 1.0 / kl("gaussian", means[arm], means[best], sigma)
    for moved in found:
        divergence = {arm: kl("gaussian", means[arm], moved[arm], sigma) for arm in moved}
        telling = [arm for arm in moved if divergence[arm] > 0.0]
        if telling:
            price = {a: (max(means[best] - means[a], 0.0) / divergence[a], -divergence[a]) for a in telling}
            chosen = min(telling, key=lambda arm: (price[arm], arm))
            rates[chosen] = max(rates[chosen], 1.0 / divergence[chosen])
    return best, rates


class Ossb(Twin):
    def begin(self):
        self.explored = 0

    def select(self):
        means = {arm: self.mean(arm) if self.count(arm) else 0.0 for arm in self.arms}
        counts = {arm: self.count(arm) for arm in self.arms}
        best, self.rates = p1_rates(self.world, means, self.sigma)
        level = (1.0 + self.parameter("gamma", 0.0)) * math.log(max(self.time, 1))
        if all(counts[arm] >= self.rates[arm] * level for arm in self.arms):
            return best
        self.explored += 1
        least = first_smallest(counts)
        if counts[least] <= self.parameter("forced_exploration", 0.001) * self.explored:
            return least
        return first_smallest({a: counts[a] / self.rates[a] for a in self.arms if self.rates[a] > 0.0})


class ClusteredTs(Uts):
    """Draws for every cluster, then for the arms of one."""

    def select(self):
        clusters = sorted(map(sorted, self.world.components()))
        drawn = {at: self.draw_of(*arms) for at, arms in enumerate(clusters)}
        return self.play_largest({arm: self.draw_of(arm) for arm in clusters[first_largest(drawn)]})

    def draw_of(self, *arms):
        count, total = self.count(*arms), self.total(*arms)
        if self.family == "gaussian":
            return total / (count + 1) + self.sigma * self.stream.normal() / math.sqrt(count + 1)
        return self.stream.beta(1.0 + total, 1.0 + count - total)


class OnTheGraph(Twin):
    """A ridge regression on the graph, solved from the first reward in every round."""

    def begin(self):
        n_arms = len(self.arms)
        laplacian = np.zeros((n_arms, n_arms))
        for a, b in map(sorted, self.world.similar):
            laplacian[[a, b], [a, b]] += 1.0
            laplacian[[a, b], [b, a]] -= 1.0
        weight = self.parameter("weight", (self.sigma / self.world.epsilon) ** 2)
        self.prior = weight * laplacian + self.parameter("ridge", 0.01) * np.eye(n_arms)

    def precision(self):
        return self.prior + np.diag([float(self.count(arm)) for arm in self.world.arms])

    def estimates(self):
        return np.linalg.solve(self.precision(), [self.total(arm) for arm in self.world.arms])


class LaplacianUcb(OnTheGraph):
    def select(self):
        precision, means = self.precision(), self.estimates()
        variances = np.diag(np.linalg.inv(precision))
        if self.parameter("radius", "log") == "log":
            radius = self.sigma * math.sqrt(self.parameter("alpha", 2.0) * math.log(1 + self.time))
        else:
            growth = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(self.prior)[1]
            doubt = 2.0 * math.log(1.0 / self.parameter("delta", 0.001))
            radius = self.sigma * math.sqrt(growth + doubt) + self.parameter("norm", 1.0)
        indices = means + radius * np.sqrt(variances)
        return self.play_largest(dict(enumerate(indices.tolist())))


class SpectralTs(OnTheGraph):
    """A draw is m + F z with F F^T = P; which F is a convention: the upper root, changed by Potter's rule."""

    def root(self):
        root = np.zeros_like(self.prior)
        for part in self.world.components():
            part = sorted(part)
            lower = np.linalg.cholesky(self.prior[np.ix_(part, part)])
            root[np.ix_(part, part)] = np.linalg.inv(lower).T
        for arm, _ in self.history:
            row = root[arm].copy()
            total = 1.0 + row @ row
            root -= np.outer(root @ row, row) / (total + math.sqrt(total))
        return root

    def select(self):
        order = [arm for part in sorted(map(sorted, self.world.components())) for arm in part]
        noise = np.zeros(len(order))
        for arm in order:
            noise[arm] = self.stream.normal()
        drawn = self.estimates() + self.parameter("width", 1.0) * self.sigma * (self.root() @ noise)
        return self.play_largest(dict(enumerate(drawn.tolist())))
