"""Problems that pay as a log was rated."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.ratings import RatingLog, make_log, read_log


@pytest.fixture(scope="module")
def log():
    return read_log(make_log(n_users=600, n_items=6, ratings_per_user=4, seed=1).log)


def test_an_arm_pays_the_ratings_of_its_item(log):
    problem = lsdt.problems.from_ratings(log)
    means, side, rewards = problem.draw(0, 0)
    np.testing.assert_allclose(means, (log.means() - 1) / 4)
    assert side.arm_ids == log.item_ids
    starts, values = rewards.records
    for item in range(6):
        mine = np.sort(values[starts[item] : starts[item + 1]])
        np.testing.assert_array_equal(mine, np.sort(log.unit_ratings()[log.items == item]))
    rounds = 20_000
    for policy in ("always:2", _always(2)):
        result = lsdt.simulate(problem, policy, rounds, 1, n_jobs=1)
        spread = values[starts[2] : starts[3]].std() / np.sqrt(rounds)
        assert abs(float(result.reward(result.policies[0])[0, -1]) / rounds - means[2]) < 5 * spread
    told = problem.describe()["rewards"]
    assert (told["law"], told["recorded"]) == ("recorded", log.n_ratings)


def _always(arm):
    class Stubborn:
        def __init__(self, n_arms, rng):
            pass

        def select(self):
            return arm

        def update(self, arm, reward):
            assert reward in (0, 0.25, 0.5, 0.75, 1)

    return Stubborn


def test_arms_are_those_of_the_side_information(log):
    side = lsdt.SideInformation(3, arm_ids=[4, 0, 5])
    problem = lsdt.problems.from_ratings(log, side)
    np.testing.assert_allclose(problem.draw(0, 0).means, ((log.means() - 1) / 4)[[4, 0, 5]])
    prior = lsdt.simulate(problem, "ts", 50, 2, n_jobs=1, prior=3)
    assert prior.problem["prior"]["rewards_per_arm"] == 3


def test_recorded_rewards_go_with_their_means():
    law = lsdt.rewards.recorded([[0, 1], [0.5]])
    assert lsdt.problems.given([0.5, 0.5], rewards=law).n_arms == 2
    with pytest.raises(InvalidInput, match="arm 1 have the mean 0.5, and its mean is said to be 0.6"):
        lsdt.problems.given([0.5, 0.6], rewards=law)
    with pytest.raises(InvalidInput, match="3 means, and recorded rewards of 2 arms"):
        lsdt.problems.given([0.5, 0.5, 0.5], rewards=law)


def test_bad_input_is_named(log):
    for rewards, told in (
        ([], "every arm needs a list"),
        ([[0.5], []], "every arm needs a list"),
        ([[0.5], [2.0]], "between 0 and 1; got 2"),
        ([["high"]], "a list of numbers for every arm"),
        ([[float("nan")]], "between 0 and 1; got nan"),
    ):
        with pytest.raises(InvalidInput, match=told):
            lsdt.rewards.recorded(rewards)
    with pytest.raises(InvalidInput, match="arm 'tea' is not an item of the log"):
        lsdt.problems.from_ratings(log, lsdt.SideInformation(1, arm_ids=["tea"]))
    unrated = RatingLog([0, 1], [0], [1.0], ["a", "b"], 0, 1)
    with pytest.raises(InvalidInput, match="nobody rated item 'b'"):
        lsdt.problems.from_ratings(unrated)
    with pytest.raises(InvalidInput, match="side must be a SideInformation"):
        lsdt.problems.from_ratings(log, side=3)
