"""Replays: a policy on the ratings of 20,000 users of 100 items, against plain Python."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.replays import replay_once
from timing import Row, in_turns

if TYPE_CHECKING:
    from collections.abc import Callable

USERS, ITEMS, RATED = 20_000, 100, 0.7
SIZE = f"{USERS:,} users x {ITEMS} items, one policy"
REPEATS = 3


class Ucb1:
    """UCB1 in plain Python."""

    def __init__(self, n_arms: int) -> None:
        self.counts, self.sums, self.total = [0] * n_arms, [0.0] * n_arms, 0

    def select(self) -> int:
        """Play every arm once, then the largest index."""
        if self.total < len(self.counts):
            return self.total
        x = math.sqrt(2.0 * math.log(self.total))
        best, highest = 0, -math.inf
        for arm, (count, total) in enumerate(zip(self.counts, self.sums, strict=True)):
            index = total / count + x * (1.0 / math.sqrt(count))
            if index > highest:
                best, highest = arm, index
        return best

    def update(self, arm: int, reward: float) -> None:
        """Count the reward."""
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.total += 1


class Ts:
    """Thompson sampling in plain Python."""

    def __init__(self, n_arms: int) -> None:
        self.wins, self.losses = [1] * n_arms, [1] * n_arms
        self.rng = random.Random(0)

    def select(self) -> int:
        """Draw a mean for every arm and play the largest."""
        draws = map(self.rng.betavariate, self.wins, self.losses)
        return max(enumerate(draws), key=lambda pair: pair[1])[0]

    def update(self, arm: int, reward: float) -> None:
        """Toss for the reward."""
        tally = self.wins if self.rng.random() < reward else self.losses
        tally[arm] += 1


class NumpyTs:
    """Thompson sampling with one call of NumPy for all arms."""

    def __init__(self, n_arms: int) -> None:
        self.wins, self.losses = np.ones(n_arms), np.ones(n_arms)
        self.rng = np.random.default_rng(0)

    def select(self) -> int:
        """Draw a mean for every arm and play the largest."""
        return int(self.rng.beta(self.wins, self.losses).argmax())

    def update(self, arm: int, reward: float) -> None:
        """Toss for the reward."""
        tally = self.wins if self.rng.random() < reward else self.losses
        tally[arm] += 1


def _ratings() -> np.ndarray:
    rng = np.random.default_rng(0)
    quality, kindness = rng.uniform(0.3, 0.7, ITEMS), rng.normal(0, 0.1, (USERS, 1))
    ratings = np.clip(quality + kindness + rng.normal(0, 0.2, (USERS, ITEMS)), 0, 1)
    ratings[rng.random(ratings.shape) > RATED] = np.nan
    return ratings


def _plain_loop(player: Any, rows: list[list[float]]) -> list[int]:
    """Replay as one would write it: the next user who rated the choice answers."""
    items, users = [], iter(rows)
    choice = player.select()
    for ratings in users:
        rating = ratings[choice]
        if rating == rating:
            player.update(choice, rating)
            items.append(choice)
            choice = player.select()
    return items


def _row(policy: str, plain: Callable[[int], Any], what: str, goal: float | None) -> Row:
    ratings = _ratings()
    log, rows = lsdt.ratings.RatingLog.from_matrix(ratings, scale=(0, 1)), ratings.tolist()
    side, model = lsdt.SideInformation(ITEMS), RewardModel("bernoulli", 0.5)

    def ours() -> list[int]:
        ready = lsdt.Policy(policy).begin(side, model, USERS, new_stream(0))
        return replay_once(ready, log, USERS).items.tolist()

    def theirs() -> list[int]:
        return _plain_loop(plain(ITEMS), rows)

    mine, others = ours(), theirs()
    same = mine == others if policy == "ucb1" else abs(len(mine) - len(others)) < 0.02 * len(mine)
    if not same:
        raise AssertionError(f"{policy}: the two sides play differently")
    seconds, against = in_turns(ours, theirs, REPEATS)
    reached = against / seconds
    aim = "" if goal is None else f">= {goal:g} x"
    choices = "; the same choices" if policy == "ucb1" else ""
    work = f"replay of {policy}, {SIZE}{choices}"
    return Row(work, seconds, what, against, f"{reached:.0f} x", aim, goal is None or reached >= goal)


def ucb1() -> Row:
    return _row("ucb1", Ucb1, "a loop in plain Python", 50.0)


def ts() -> Row:
    return _row("ts", Ts, "a loop in plain Python", 50.0)


def ts_numpy() -> Row:
    return _row("ts", NumpyTs, "a loop in Python, NumPy drawing for all arms at once", None)


def whole_call() -> Row:
    """The whole call of a user: reading apart, the split, the replay and what is counted of it."""
    ratings = _ratings()
    log, rows = lsdt.ratings.RatingLog.from_matrix(ratings, scale=(0, 1)), ratings.tolist()
    seconds, against = in_turns(
        lambda: lsdt.replay(log, "ucb1", horizon=USERS, train=0.0, splits=1, n_jobs=1),
        lambda: _plain_loop(Ucb1(ITEMS), rows),
        REPEATS,
    )
    reached = against / seconds
    work = f"lsdt.replay of ucb1, {SIZE}: one split, everything counted"
    return Row(work, seconds, "the loop in plain Python alone", against, f"{reached:.0f} x", "", True)


WORKS = [ucb1, ts, ts_numpy, whole_call]
