"""Replays beside a plain Python loop over the same players; what is taught before them."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.policy import ReadyPolicy
from lsdt.policies.prior import learn_rewards
from lsdt.replays import replay_once
from naive.replay import replayed
from side_by_side import learn_one_by_one

BOUNDED = RewardModel("bernoulli", 0.5)
MEANS = np.linspace(0.2, 0.8, 12)
SIDE = lsdt.from_means(MEANS, 0.15).reveal(0.7, 0.7, seed=3)
POLICIES = {
    "lsdt_psi": [{"lambda_": 1 / 32}],
    "ucb1": [{}, {"on": "paper"}],
    "ts": [{}, {"on": "paper"}],
    "ckl_ucb": [{"divergence": "gaussian", "sigma": 0.5**0.5}],
}


def replay_log(seed=0, n_users=600, missing=0.5):
    rng = np.random.default_rng(seed)
    ratings = np.clip(MEANS + 0.2 * rng.normal(size=(n_users, len(MEANS))), 0, 1)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return ratings, rng.permutation(n_users)


def begin(policy, rounds=300, seed=1):
    return policy.begin(SIDE, BOUNDED, rounds, new_stream(seed))


def as_history(played):
    return list(zip(played.items.tolist(), played.users.tolist(), played.rewards.tolist(), strict=True))


@pytest.mark.parametrize("name", POLICIES)
def test_is_a_loop_over_select_and_update(name):
    """With 10,000 rounds users run out; the state, random stream included, is the same to the last bit."""
    ratings, order = replay_log()
    for options in POLICIES[name]:
        for rounds in (250, 10_000):
            compiled, plain = (begin(lsdt.Policy(name, **options)) for _ in range(2))
            played = replay_once(compiled, ratings, rounds, order)
            history, spent = replayed(plain.player, plain.arms, ratings, order, rounds)
            assert as_history(played) == history
            assert (played.matched, played.spent, played.horizon) == (len(history), spent, rounds)
            assert (played.matched < rounds) == (rounds == 10_000)
            words = [ready.player.packed.buffer.view(np.uint64) for ready in (compiled, plain)]
            assert np.array_equal(*words)


class InTurn:
    """A policy in plain Python, which may be wrong."""

    def __init__(self, arms):
        self.arms, self.seen = arms, []

    def select(self):
        return self.arms[len(self.seen) % len(self.arms)]

    def update(self, arm, reward):
        self.seen.append((arm, reward))


def test_a_policy_in_plain_python_is_replayed_too():
    ratings, order = replay_log(1)
    played = replay_once(ReadyPolicy(InTurn([0, 3, 1]), np.arange(12), 0.0), ratings, 40, order)
    history, spent = replayed(InTurn([0, 3, 1]), np.arange(12), ratings, order, 40)
    assert as_history(played) == history
    assert played.spent == spent


def test_by_hand_users_passed_over_are_spent():
    nan = np.nan
    ratings = [[0.1, nan], [nan, 0.2], [0.3, nan], [0.4, 0.5]]
    played = replay_once(ReadyPolicy(InTurn([1, 0]), np.arange(2), 0.0), ratings, 9, [2, 1, 0, 3])
    assert as_history(played) == [(1, 1, 0.2), (0, 0, 0.1), (1, 3, 0.5)]
    assert (played.matched, played.spent) == (3, 4)
    assert played.mean == pytest.approx(0.8 / 3)
    nobody = replay_once(ReadyPolicy(InTurn([0]), np.arange(1), 0.0), [[nan]], 5)
    assert (nobody.matched, nobody.spent) == (0, 1)
    assert np.isnan(nobody.mean)


def test_replays_are_unbiased_when_gaps_are_random():
    """What an item earns in a replay is its mean: over 300 orders, within four standard errors."""
    ratings, _ = replay_log(2, 400, 0.6)
    always = ReadyPolicy(InTurn([5]), np.arange(12), 0.0)
    means = [
        replay_once(always, ratings, 40, np.random.default_rng(seed).permutation(400)).mean
        for seed in range(300)
    ]
    error = np.std(means, ddof=1) / np.sqrt(len(means))
    assert abs(np.mean(means) - np.nanmean(ratings[:, 5])) < 4 * error


@pytest.mark.parametrize(("name", "on"), [("ucb1", "all"), ("ts", "paper")])
def test_teaching_is_one_update_after_the_other(name, on):
    rng = np.random.default_rng(3)
    items, rewards = rng.integers(0, 12, 200), rng.random(200)
    taught, plain = (begin(lsdt.Policy(name, on=on)) for _ in range(2))
    count = learn_rewards(taught, items, rewards)
    place = {int(item): arm for arm, item in enumerate(plain.arms)}
    known = [
        (place[item], reward) for item, reward in zip(items.tolist(), rewards, strict=True) if item in place
    ]
    learn_one_by_one(plain.player, known)
    assert count == len(known)
    assert np.array_equal(*(ready.player.packed.words().view(np.uint64) for ready in (taught, plain)))


def test_teaching_a_policy_in_plain_python():
    student = InTurn([0])
    assert (
        learn_rewards(ReadyPolicy(student, np.array([4, 2]), 0.0), [2, 3, 4, 99], [0.1, 0.2, 0.3, 0.4]) == 2
    )
    assert student.seen == [(1, 0.1), (0, 0.3)]


def test_bad_input_is_named():
    ratings, order = replay_log()
    start = begin(lsdt.Policy("ucb1"))
    for given, message in (
        ((ratings[0], 5), r"users by items.*got the shape \(12,\)"),
        ((np.where(np.isnan(ratings), np.inf, ratings), 5), "got an infinite number"),
        ((ratings[:, :4], 5), "plays item 11, but the ratings are of 4 items"),
        ((ratings, 0), "horizon must be a whole number from 1 to .*; got 0"),
        ((ratings, None), "at least 1; got None"),
        ((ratings, 5, [0, 600]), "order names user 600; there are users 0 to 599"),
        ((ratings, 5, [-1]), "order names user -1"),
        ((ratings, 5, [0.5]), "got an array of float64"),
    ):
        with pytest.raises(lsdt.errors.InvalidInput, match=message):
            replay_once(start, *given)
    for arm in (12, -1, 0.5, True):
        with pytest.raises(lsdt.errors.InvalidInput, match=f"selected {arm}; arms are 0 to 11"):
            replay_once(ReadyPolicy(InTurn([arm]), np.arange(12), 0.0), ratings, 5, order)
    for items, rewards in (([0, 1], [0.5]), ([0], [np.nan])):
        with pytest.raises(lsdt.errors.InvalidInput, match="two lists of the same length, rewards finite"):
            learn_rewards(start, items, rewards)
