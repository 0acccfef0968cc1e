"""LSDT-posterior: its choices against a naive twin, what it falls back on, and what it can start from."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import state_of
from lsdt.policies.parts.closure_tangents import find_least
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


@pytest.mark.parametrize("model", [GAUSSIAN, COINS], ids=["gaussian", "bernoulli"])
def test_costs_that_rules_are_about_are_known_closely(model):
    """Beside the least costs themselves, solved for: bounds are sound, and close for arms of rule 3."""
    means, n_close = np.linspace(0.1, 0.9, 9), 0
    side = lsdt.from_means(means, 0.25).reveal(0.7, 0.7, seed=1)
    ready = lsdt.Policy("lsdt_posterior").begin(side, model, 100, new_stream(1))
    rng, player = np.random.default_rng(1), ready.player
    for _ in range(120):
        arm = int(rng.integers(3, len(ready.arms)))
        player.update(arm, float(rng.random() < means[ready.arms[arm]]))
        exact = state_of(type(player.state), *player.packed.copy())
        for each in range(len(ready.arms)):
            find_least(exact.costs, each)
        least = exact.costs.least - exact.costs.least.min()
        excess, log_t = player.state.excess, np.log(player.state.total[0])
        assert (excess <= least + 1e-9).all()
        is_late = excess + 3.0 + np.log(np.maximum(player.state.costs.tallies.counts, 1)) < log_t
        n_close += int((is_late & (least > 0.1)).sum())
        assert (least - excess)[is_late].max(initial=0.0) <= 0.1 + 1e-6
    assert n_close > 0


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_what_stands_in_for_rewards_is_learned_at_once_as_one_by_one(family):
    """Weights and tallies are those of the same rewards one by one, and nothing moves."""
    problem = random_problem(8, family, False)
    ready = lsdt.Policy("lsdt_posterior").begin(problem.side, problem.rewards, 100, new_stream(8))
    player, last = ready.player, len(ready.arms) - 1
    player.update(0, 1.0)
    ahead, one_by_one = player.copy(), player.copy()
    arms, rewards = np.array([0, last, 0]), np.array([0.3, 0.5, 0.3])
    ahead.expect(ahead.packed, np.arange(3) + player.round, arms, rewards)
    for number in range(3):
        one_by_one.expect_one(one_by_one.packed, player.round + number, int(arms[number]), rewards[number])
    both = ahead.state, one_by_one.state
    assert last > 0
    assert both[0].particles.weight.min() < 0.9  # they were weighed
    assert both[0].particles.weight == pytest.approx(both[1].particles.weight, rel=1e-9)
    assert both[0].costs.tallies.sums == pytest.approx(both[1].costs.tallies.sums)
    for state in both:
        assert np.array_equal(state.particles.x, player.state.particles.x)
        assert state.total[0] == 4
        assert state.costs.tallies.counts[[0, last]].tolist() == [3, 1]


def test_an_agent_with_many_pending_decisions_is_restored_exactly(tmp_path):
    """The state that runs ahead is what it was, wherever the log is cut."""
    url, side = f"sqlite:///{tmp_path}/agents.db", lsdt.from_means(np.linspace(0.1, 0.9, 6), 0.25)
    options = {"snapshot_every": 0, "durability": "process"}
    agent = lsdt.Agent.open(url, "x", side.reveal(0.6, 0.6, seed=1), policy="lsdt_posterior", **options)
    rng, waiting = np.random.default_rng(1), []
    for round_ in range(110):
        waiting.append(agent.ask())
        if round_ > 40:
            decision = waiting.pop(rng.integers(len(waiting)))
            agent.tell(decision, float(rng.random() < 0.1 + 0.16 * decision.arm))
        if round_ in (30, 80, 93):
            agent.close()
            again = lsdt.Agent.open(url, "x", **options)
            chosen = [again.state().decide(again.state().next_number, 0).arm for _ in range(2)]
            assert chosen == [agent.state().decide(agent.state().next_number, 0).arm] * 2
            assert np.array_equal(
                again.state().state_now().particles.x, agent.state().state_now().particles.x
            )
            agent = again
    agent.close()


def test_choices_far_ahead_of_rewards():
    """A hundred decisions without a reward: the state that runs ahead goes on choosing."""
    side = lsdt.from_means(np.linspace(0.1, 0.9, 9), 0.25).reveal(0.7, 0.7, seed=1)
    agent = lsdt.Agent(side, policy="lsdt_posterior", rewards="bernoulli", seed=1)
    decisions = [agent.ask() for _ in range(100)]
    # All arms pay their mean of one half as far as the state ahead knows, so no arm is worth many tries.
    assert max(Counter(decision.arm for decision in decisions).values()) <= 40
    for decision in decisions[::-1]:
        agent.tell(decision, float(decision.arm == 8))
    played = []
    for _ in range(20):
        decision = agent.ask()
        played.append(decision.arm)
        agent.tell(decision, float(decision.arm == 8))
    assert played.count(8) >= 15


def test_an_epsilon_that_no_means_fit_is_named():
    means = np.arange(0.05, 0.95, 0.05)
    true = lsdt.from_means(means, epsilon=0.06)
    side = lsdt.SideInformation(len(means), true.similar_pairs(), true.dissimilar_pairs(), epsilon=0.2)
    assert "epsilon may be too large, or relations wrong" in lsdt.Agent(side).policy_reason
    for fits in (lsdt.Agent(side, rewards="gaussian"), lsdt.Agent(true)):
        assert "too large" not in fits.policy_reason
