from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.simulation.single_reward_kernel import draw_one

PROBLEM = lsdt.problems.uniform(n_arms=20, low=0.1, high=0.9, epsilon=0.15, rewards="bernoulli")


def test_rewards_of_every_arm_in_turn_from_a_stream_of_their_own():
    """By hand: two of every arm, learned by UCB1 before its first round, counted nowhere."""
    result = lsdt.simulate(PROBLEM, "ucb1", 1, 2, seed=3, prior=2)
    for number in range(2):
        instance = PROBLEM.draw(3, number)
        ready = lsdt.Policy("ucb1").begin(instance.side, instance.rewards.model, 1, new_stream(3, number, 2))
        stream = new_stream(3, number, 5)
        for _ in range(2):
            for arm in range(20):
                ready.player.update(arm, draw_one(1, instance.means[arm], 1.0, 0.0, stream))
        assert result.plays("ucb1")[number].argmax() == ready.player.select()
        assert result.plays("ucb1")[number].sum() == 1
    assert result.problem["prior"] == {"rewards_per_arm": 2, "weight": 1.0}
    assert "prior" not in lsdt.simulate(PROBLEM, "ucb1", 1, 2).problem


def test_the_more_is_known_the_less_is_regretted():
    """Five rewards of each of 20 arms save UCB1 some, fifty save more: by four standard errors."""
    none, some, much = (
        lsdt.simulate(PROBLEM, "ucb1", 300, 100, prior=prior).regret("ucb1")[:, -1] for prior in (None, 5, 50)
    )
    for worse, better in ((none, some), (some, much)):
        gain = worse - better
        assert gain.mean() > 4 * gain.std(ddof=1) / 10


def test_each_policy_has_a_weight_of_its_own_and_those_without_meet_the_same_world():
    policies = ["ts", lsdt.Policy("ts", prior_weight=0), "ts:prior_weight=0.5"]
    known = lsdt.simulate(PROBLEM, policies, 100, 5, prior=10)
    none = lsdt.simulate(PROBLEM, "ts", 100, 5)
    half = lsdt.simulate(PROBLEM, "ts", 100, 5, prior=10, prior_weight=0.5)
    assert np.array_equal(known.regret("ts (prior_weight=0)"), none.regret("ts"))
    assert np.array_equal(known.regret("ts (prior_weight=0.5)"), half.regret("ts"))
    assert not np.array_equal(known.regret("ts"), none.regret("ts"))
    again = lsdt.simulate(PROBLEM, policies, 100, 5, prior=10, n_jobs=2)
    assert all(np.array_equal(known.regret(label), again.regret(label)) for label in known.policies)


def test_given_rewards_callables_and_policies_in_python():
    met = []

    class Student:
        def __init__(self, situation, rng):
            self.known = []
            met.append(self)

        def select(self):
            return 0

        def update(self, arm, reward):
            self.known.append((arm, reward))

    problem = lsdt.problems.given([0.2, 0.6], rewards="bernoulli")
    lsdt.simulate(problem, Student, 1, 1, n_jobs=1, prior=([1, 0, 1], [1.0, 0.0, 0.5]))
    assert met[0].known[:3] == [(1, 1.0), (0, 0.0), (1, 0.5)]
    law = lsdt.rewards.callable(lambda arm, rng: 0.25 * arm)
    lsdt.simulate(lsdt.problems.given([0.0, 0.25], rewards=law), Student, 1, 1, n_jobs=1, prior=2)
    assert met[1].known[:4] == [(0, 0.0), (1, 0.25), (0, 0.0), (1, 0.25)]
    broken = lsdt.rewards.callable(lambda arm, rng: np.nan)
    with pytest.raises(InvalidInput, match="for the prior must be finite numbers"):
        lsdt.simulate(lsdt.problems.given([0.0], rewards=broken), "ts", 1, 1, n_jobs=1, prior=2)


def test_bad_priors_are_named():
    for prior, message in (
        (0, "rewards of every arm are known, must be a whole number of at least 1; got 0"),
        (True, "got True"),
        (([0], [1.0]), "other means in every replication"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lsdt.simulate(PROBLEM, "ts", 10, 1, prior=prior)
    fixed = lsdt.problems.uniform(5, 0.1, 0.9, fixed=True, rewards="bernoulli")
    assert lsdt.simulate(fixed, "ts", 10, 2, prior=([0], [1.0])).problem["prior"]["rewards_given"] == 1
    with pytest.raises(InvalidInput, match="there is no arm 5"):
        lsdt.simulate(fixed, "ts", 10, 1, prior=([5], [1.0]))
    with pytest.raises(InvalidInput, match="prior_weight must be above 0"):
        lsdt.simulate(PROBLEM, "ts", 10, 1, prior=3, prior_weight=0)
