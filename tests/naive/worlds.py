"""What a policy is told, as Python sets, and a policy that keeps nothing but its history."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from naive.candidates import by_triangles, by_two_sweeps
from naive.graphs import closed_neighbours, components, pair_set


@dataclass(frozen=True)
class World:
    """Arms numbered from 0; `dissimilar` is None for complete information."""

    n_arms: int
    similar: frozenset
    dissimilar: frozenset | None
    epsilon: float | None
    horizon: int | None
    family: str
    sigma: float
    light: tuple = (0.0, 0.0)

    @property
    def arms(self):
        return range(self.n_arms)

    @cached_property
    def _closed(self):
        return [sorted(closed_neighbours(self.n_arms, self.similar, arm)) for arm in self.arms]

    def closed(self, arm):
        return self._closed[arm]

    def near(self, arm):
        return [other for other in self.closed(arm) if other != arm]

    def components(self):
        return self._components

    @cached_property
    def _components(self):
        return list(components(self.n_arms, self.similar))

    def among(self, kept):
        """The world of some of the arms, numbered anew."""
        new = {arm: number for number, arm in enumerate(kept)}
        similar, dissimilar = (
            None if pairs is None else frozenset(frozenset(new[a] for a in p) for p in pairs if p <= set(new))
            for pairs in (self.similar, self.dissimilar)
        )
        return replace(self, n_arms=len(kept), similar=similar, dissimilar=dissimilar)

    def classes(self):
        return self._classes

    @cached_property
    def _classes(self):
        """End classes of every component (complete information), ordered by their smallest arm."""
        ends = set().union(*(by_two_sweeps(self.n_arms, self.similar, part[0]) for part in self.components()))
        by_neighbourhood = {}
        for arm in sorted(ends):
            by_neighbourhood.setdefault(tuple(self.closed(arm)), []).append(arm)
        return sorted(by_neighbourhood.values())

    def candidates(self):
        """The paper's offline step: anchors when the information is complete, triangles when partial."""
        if self.dissimilar is None:
            return sorted(arm for members in self.classes() for arm in members)
        return sorted(by_triangles(self.n_arms, self.similar, self.dissimilar))


def world_of(side, rewards, horizon):
    return World(
        side.n_arms,
        frozenset(pair_set(side.similar_pairs())),
        None if side.is_complete else frozenset(pair_set(side.dissimilar_pairs())),
        side.epsilon,
        horizon,
        rewards.family,
        rewards.sigma,
        (rewards.tails.nu, rewards.tails.b),
    )


def first_largest(values):
    """The key of the largest value of a dict, the lowest key if there are several."""
    return min(key for key in values if values[key] == max(values.values()))


def first_smallest(values):
    return min(key for key in values if values[key] == min(values.values()))


class Twin:
    """A policy that recomputes all it needs from the list of (arm, reward).

    `select` leaves the index of every arm it compared in ``indices``; ``arms[i]`` is arm i's number in the
    problem, other than i only for policies that begin with the offline step.
    """

    def __init__(self, world, stream, **parameters):
        self.world, self.stream, self.parameters = world, stream, parameters
        self.arms = list(world.arms)
        self.history, self.plays = [], Counter()
        self.indices = {}
        self.begin()

    def begin(self):
        pass

    def move_to_candidates(self):
        self.problem, self.arms = self.world, self.world.candidates()
        self.world = self.problem.among(self.arms)

    def parameter(self, name, default):
        return self.parameters.get(name, default)

    @cached_property
    def is_light(self):
        return self.parameter("tails", "sub_gaussian") == "light"

    @cached_property
    def sigma(self):
        return self.parameter("sigma", self.world.light[0] if self.is_light else self.world.sigma)

    @cached_property
    def b(self):
        return self.parameter("b", self.world.light[1] if self.is_light else 0.0)

    @cached_property
    def family(self):
        word = self.parameter("divergence", "auto")
        return self.world.family if word == "auto" else word

    @property
    def time(self):
        return len(self.history)

    def count(self, *arms):
        return sum(self.plays[arm] for arm in set(arms))

    def total(self, *arms):
        return sum(reward for arm, reward in self.history if arm in arms)

    def mean(self, *arms):
        return self.total(*arms) / self.count(*arms)

    def unplayed(self):
        played = {arm for arm, _ in self.history}
        return [arm for arm in self.world.arms if arm not in played]

    def leader(self):
        """The played arm with the largest mean, or None."""
        return first_largest({arm: self.mean(arm) for arm in {arm for arm, _ in self.history}})

    def play_largest(self, indices):
        self.indices = indices
        return first_largest(indices)

    def update(self, arm, reward):
        self.history.append((arm, reward))
        self.plays[arm] += 1


def coin_kl(p, q):
    """KL of two coins by definition; means outside [0, 1] count as the nearest end."""
    p, q = (min(max(x, 0.0), 1.0) for x in (p, q))
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            total += math.inf if b == 0.0 else a * math.log(a / b)
    return max(total, 0.0)


def kl(family, p, q, sigma):
    return coin_kl(p, q) if family == "bernoulli" else (p - q) ** 2 / (2.0 * sigma**2)


def largest_with(cost, level, low, high):
    """The largest q in [low, high] with cost(q) <= level, cost rising from below level, by bisection."""
    if cost(high) <= level:
        return high
    while low < (low + high) / 2.0 < high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if cost(middle) <= level else (low, middle)
    return low


def kl_upper(family, mean, level, sigma):
    """The largest q with KL(mean, q) <= level."""
    if family == "gaussian":
        return mean + sigma * math.sqrt(2.0 * level)
    p = min(max(mean, 0.0), 1.0)
    return p if level == 0.0 else largest_with(lambda q: coin_kl(p, q), level, p, 1.0)


def tossed(reward, stream):
    """Clip a reward to [0, 1] and toss for it; nothing is tossed at the ends."""
    if reward <= 0.0:
        return 0.0
    if reward >= 1.0:
        return 1.0
    return 1.0 if stream.uniform() < reward else 0.0
