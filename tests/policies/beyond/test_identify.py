"""The policy "identify", and the rule that says when the best arm is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import comb

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.parts.evidence_tangents import change_leader
from lsdt.policies.parts.mixture_evidence import least_evidence
from lsdt.policies.stopping import StoppingRule
from naive.evidence import at_mean, least, log_mixture
from side_by_side import play_both, random_problem

GAUSSIAN, BERNOULLI = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


def test_two_arms_by_hand():
    """As many plays of both: rival and leader meet half way, with the tolerance between them."""
    rule = StoppingRule(lsdt.SideInformation(2), GAUSSIAN, 0.5)
    n, m = 9, 1.0
    verdict = rule.judge(np.array([n, n]), np.array([-n * m, n * m]))
    moved = m + 0.25
    log_m = n**2 * moved**2 / (2 * (n + 1)) - 0.5 * math.log(1 + n)
    assert verdict.leader == 1
    assert verdict.least == pytest.approx(2 * math.log(0.5 + 0.5 * math.exp(log_m)), abs=1e-7)
    assert verdict.delta == pytest.approx(math.exp(-verdict.least))


def test_the_mixture_of_coins_is_a_martingale():
    """Its mean over all sequences of coins is 1 after any number of them."""
    for theta in (0.05, 0.3, 0.9):
        for n in (1, 2, 7, 30):
            total = sum(
                comb(n, wins)
                * theta**wins
                * (1 - theta) ** (n - wins)
                * math.exp(log_mixture("bernoulli", 0.5, n, wins / n, theta))
                for wins in range(n + 1)
            )
            assert total == pytest.approx(1.0)


def test_the_mixture_of_other_rewards_in_the_unit_interval_is_a_supermartingale():
    rewards, chances = np.array([0.0, 0.3, 1.0]), np.array([0.5, 0.3, 0.2])
    theta = float(rewards @ chances)
    for n in (1, 3, 6):
        sums = np.array(np.meshgrid(*[rewards] * n)).reshape(n, -1).sum(axis=0)
        weights = np.array(np.meshgrid(*[chances] * n)).reshape(n, -1).prod(axis=0)
        factor = [math.exp(log_mixture("bernoulli", 0.5, n, total / n, theta)) for total in sums]
        assert 0.5 < weights @ factor < 1.0


def rows_of(state, n_arms):
    """Return bounds as the twin has them."""
    return [
        {
            int(state.others[at]): (float(state.lower[at]), float(state.upper[at]))
            for at in range(state.indptr[arm], state.indptr[arm + 1])
        }
        for arm in range(n_arms)
    ]


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_the_least_evidence_is_that_of_a_fine_grid(family, thorough):
    for number in range(6, 16) if thorough else (7, 8):
        problem = random_problem(number, family, complete=number % 2 == 0)
        begun = lsdt.Policy("identify").begin(problem.side, problem.rewards, None, new_stream(0))
        player, n_arms = begun.player, len(begun.arms)
        rng = np.random.default_rng(number)
        for _ in range(40):
            arm = int(rng.integers(n_arms))
            mean = problem.means[begun.arms[arm]]
            player.update(arm, float(rng.random() < mean) if family == "bernoulli" else rng.normal(mean))
        state, sigma = player.state, problem.rewards.sigma
        rows = rows_of(state, n_arms)
        seen = {a: (int(state.counts[a]), float(state.means[a])) for a in range(n_arms) if state.counts[a]}
        for leader in range(n_arms) if thorough else (0, n_arms // 2):
            change_leader(state, leader)
            for arm in range(n_arms):
                if arm == leader:
                    continue
                q, value, bound, _ = least_evidence(state, arm, leader, state.tolerance, math.nan)
                expected = least(rows[arm], leader, state.tolerance, seen, family, sigma)[0]
                assert value == pytest.approx(expected, abs=1e-7)
                assert bound == pytest.approx(expected, abs=1e-4)
                if value < math.inf:
                    there = at_mean(rows[arm], leader, state.tolerance, seen, family, sigma, q)
                    assert value == pytest.approx(there, abs=1e-9)
                    assert bound < expected


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("parameters", [{}, {"tolerance": 0.05}])
def test_plays_an_arm_that_tells_most(family, parameters, thorough):
    def about(twin, expected, chosen):
        return chosen == expected or twin.indices[chosen] >= twin.indices[expected] - 1e-5

    for complete in (True, False):
        for number in (2, 3, 4, 7, 8) if thorough else (3,):
            problem = random_problem(number, family, complete)
            play_both("identify", problem, 25 if thorough else 15, seed=number, agree=about, **parameters)


def identified(problem, seed, delta, most, **parameters):
    """Return whether the rule named an arm that is not good enough, or None if it did not stop."""
    instance = problem.draw(seed, 0)
    rewards = instance.rewards.model
    begun = lsdt.Policy("identify", **parameters).begin(instance.side, rewards, None, new_stream(seed))
    rng = np.random.default_rng(seed)
    player, state = begun.player, begun.player.state
    for tries in range(most):
        chosen = player.select()
        if state.evidence[0] >= math.log(1 / delta):
            named = instance.means[begun.arms[state.leader[0]]]
            return tries, named < instance.means.max() - state.tolerance - 1e-12
        mean = instance.means[begun.arms[chosen]]
        player.update(
            chosen, float(rng.random() < mean) if rewards.family == "bernoulli" else rng.normal(mean)
        )
    return most, None


def test_errors_are_rarer_than_delta(thorough):
    """No relations, two arms, delta = 0.2."""
    problem = lsdt.problems.given([0.4, 0.65], rewards="bernoulli")
    runs = [
        identified(problem, seed, 0.2, 5_000, tolerance=0.1) for seed in range(1_000 if thorough else 150)
    ]
    assert all(wrong is not None for _, wrong in runs)
    assert np.mean([wrong for _, wrong in runs]) <= 0.2


def test_few_tries_with_complete_information():
    """The paper's setting: some two dozen tries, where a pairwise test takes thousands."""
    problem = lsdt.problems.uniform(n_arms=100, epsilon=0.1)
    runs = [identified(problem, seed, 0.05, 1_000) for seed in range(30)]
    assert not any(wrong for _, wrong in runs)
    assert np.mean([tries for tries, _ in runs]) < 40


def test_without_an_epsilon_the_tolerance_must_be_given():
    plain = lsdt.SideInformation(3, similar=[(0, 1)])
    with pytest.raises(Unsupported, match="no epsilon, so that the tolerance must be given.*tolerance=0.05"):
        lsdt.Agent(plain, policy="identify")
    with pytest.raises(Unsupported, match="tolerance=0.05 is a start"):
        lsdt.Agent(plain, policy="ucb1").stopping()
    two = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)], epsilon=(0.3, 0.1))
    with pytest.raises(Unsupported, match="thresholds of their own.*tolerance=0.3"):
        lsdt.Agent(two, policy="ucb1").stopping()
    ranged = lsdt.SideInformation(3, ranges=[(0, 1, -0.1, 0.3), (0, 2, 0.0, 0.2)])
    with pytest.raises(Unsupported, match="tolerance=0.3, the median width"):
        lsdt.Agent(ranged, policy="ucb1").stopping()
    assert lsdt.Agent(plain, policy="ucb1").stopping(tolerance=0.2).tolerance == 0.2


def test_bounds_without_a_size_are_not_used():
    """Three similar arms of unknown epsilon: the rule is that of arms without relations."""
    related = lsdt.SideInformation(3, similar=[(0, 1), (1, 2)])
    counts, sums = np.array([40, 40, 40]), np.array([5.0, 15.0, 30.0])
    verdicts = [
        StoppingRule(side, BERNOULLI, 0.1).judge(counts, sums) for side in (related, lsdt.SideInformation(3))
    ]
    assert np.array_equal(verdicts[0].evidence, verdicts[1].evidence)


def test_relations_settle_rivals_without_a_reward():
    side = lsdt.from_means([0.5, 0.55, 0.6], epsilon=0.2)
    verdict = StoppingRule(side, BERNOULLI, None).judge(np.zeros(3, np.int64), np.zeros(3))
    assert verdict.least == math.inf
    assert verdict.delta == 0.0
    assert verdict.error == 0.0


@pytest.mark.parametrize("law", ["laplace", "exponential", "student_t", "pareto"])
def test_rewards_with_heavier_tails_are_refused(law):
    """A variance is not enough: Student's t with 3 degrees and Pareto with exponent 2.5 have one."""
    rewards = getattr(lsdt.rewards, law)(*{"student_t": (3.0,), "pareto": (2.5,)}.get(law, ()))
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1", rewards=rewards)
    with pytest.raises(Unsupported, match="heavier tails"):
        agent.stopping(tolerance=0.1)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "small", None, True])
def test_what_is_no_delta(delta):
    with pytest.raises(InvalidInput, match="delta must"):
        lsdt.Agent(lsdt.SideInformation(2, epsilon=0.1), "ucb1").stopping(delta)
