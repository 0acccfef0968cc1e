"""LSDT-posterior: its choices against a naive twin, what it falls back on, and what it can start from."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from side_by_side import play_both, random_problem

GAUSSIAN, COINS = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_the_choice_follows_from_the_particles(family, thorough):
    """Means that tie to the last bits may be told apart by rounding: nearly as good is as good."""
    n_rounds, n_same = 0, 0

    def agree(twin, expected, chosen):
        nonlocal n_rounds, n_same
        n_rounds, n_same = n_rounds + 1, n_same + (chosen == expected)
        return True

    for complete in (True, False):
        for number in (1, 3, 4, 8) if thorough else (3, 8):
            problem = random_problem(number, family, complete)
            play_both("lsdt_posterior", problem, 60 if thorough else 25, seed=number, agree=agree)
    assert n_same >= 0.97 * n_rounds


@pytest.mark.parametrize("model", [GAUSSIAN, COINS], ids=["gaussian", "bernoulli"])
def test_it_finds_the_best_arm(model):
    """Half of the relations of 12 arms: the last 50 of 250 rounds go to nearly best arms."""
    means = np.linspace(0.1, 0.9, 12)[np.random.default_rng(0).permutation(12)]
    side = lsdt.from_means(means, 0.2).reveal(0.5, 0.5, seed=1)
    ready = lsdt.Policy("lsdt_posterior").begin(side, model, None, new_stream(2))
    rng, lost = np.random.default_rng(3), []
    for _ in range(250):
        chosen = ready.player.select()
        mean = means[ready.arms[chosen]]
        noise = float(rng.random() < mean) if model is COINS else mean + 0.3 * rng.normal()
        ready.player.update(chosen, noise)
        lost.append(0.9 - mean)
    assert np.mean(lost[-50:]) < 0.1


def test_what_was_learned_before_is_learned_at_once():
    """Filled from tallies it believes in the same best arm as after rewards one by one."""
    means = np.linspace(0.1, 0.9, 9)
    side = lsdt.from_means(means, 0.25).reveal(0.7, 0.7, seed=1)
    policy = lsdt.Policy("lsdt_posterior")
    one, all_ = (policy.begin(side, COINS, None, new_stream(2)) for _ in range(2))
    rng, n_arms = np.random.default_rng(3), len(one.arms)
    counts, sums = np.zeros(n_arms), np.zeros(n_arms)
    for _ in range(60):
        for arm in range(n_arms):
            reward = float(rng.random() < means[one.arms[arm]])
            one.player.update(arm, reward)
            counts[arm] += 1
            sums[arm] += reward
    lsdt.policies.specification_of("lsdt_posterior").fill(all_.player.state, counts, sums)
    best = int(np.argmax(means[one.arms]))
    for ready in (one, all_):
        chances = ready.player.entries.scores(*ready.player.packed, n_arms)
        assert chances.sum() == pytest.approx(1.0)
        assert int(np.argmax(chances)) == best
        assert ready.player.select() == best


def test_arms_out_of_play_leave_a_choice_among_the_others():
    means = np.array([0.9, 0.7, 0.5, 0.3])
    side = lsdt.SideInformation(4, [], [(0, 1), (1, 2)], epsilon=0.1)
    agent = lsdt.Agent(side, policy="lsdt_posterior", rewards="bernoulli", seed=1)
    rng = np.random.default_rng(1)
    chosen = []
    for _ in range(150):
        decision = agent.ask(allowed=[1, 2, 3], propensity=True)
        assert decision.propensity == 1.0
        chosen.append(decision.arm)
        agent.tell(decision, float(rng.random() < means[decision.arm]))
    assert set(chosen) <= {1, 2, 3}
    assert chosen[-50:].count(1) > 35


def test_choices_far_ahead_of_rewards():
    """A hundred decisions without a reward: the state that runs ahead goes on choosing."""
    side = lsdt.from_means(np.linspace(0.1, 0.9, 9), 0.25).reveal(0.7, 0.7, seed=1)
    agent = lsdt.Agent(side, policy="lsdt_posterior", rewards="bernoulli", seed=1)
    decisions = [agent.ask() for _ in range(100)]
    for decision in decisions[::-1]:
        agent.tell(decision, float(decision.arm == 8))
    played = []
    for _ in range(20):
        decision = agent.ask()
        played.append(decision.arm)
        agent.tell(decision, float(decision.arm == 8))
    assert played.count(8) >= 15
