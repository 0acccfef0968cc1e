"""Relations that put means further apart than rewards from 0 to 1 can be: they count for nothing.

Every arm would be refuted before the first reward: policies lost as much as without learning, and the
stopping rule named an arm with an error of 0 before it had seen anything.
"""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.candidates import candidate_set, read_bounds
from lsdt.errors import TooLarge, Unsupported
from lsdt.kernel.memory import memory_limit
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.tolerance import cannot_hold, least_spread
from lsdt.policies.top_stopping import TopStoppingRule

MEANS = [0.1, 0.3, 0.5, 0.7, 0.9]


def path(epsilon, n_arms=5):
    """Each arm is similar to the next, and to no other: the ends are (n - 1) // 2 epsilons apart or more."""
    return lsdt.complete(n_arms, [(arm, arm + 1) for arm in range(n_arms - 1)], epsilon=epsilon)


@pytest.mark.parametrize("n_arms", [1, 2, 3, 5, 8])
def test_least_spread_by_hand(n_arms):
    side = path(0.3, n_arms)
    expected = 0.3 * ((n_arms - 1) // 2)
    assert least_spread(candidate_set(side).mutual_bounds) == pytest.approx(expected)
    assert read_bounds(side, np.arange(n_arms)).least_spread == pytest.approx(expected)


def test_a_spread_of_one_can_be():
    assert not cannot_hold(least_spread(candidate_set(path(0.5)).mutual_bounds))
    assert not cannot_hold(least_spread(candidate_set(path(0.1, 21)).mutual_bounds))  # ten times .1, rounded
    assert cannot_hold(least_spread(candidate_set(path(0.51)).mutual_bounds))


@pytest.mark.parametrize("top", [1, 2, "all"])
def test_stopping_does_not_use_them(top):
    rng = np.random.default_rng(0)
    agent = lsdt.Agent(path(0.6), seed=0)
    looked = agent.stopping(top=top, tolerance=0.1)
    assert not looked.stop
    assert "the relations put some means 1.2 apart or more, and rewards lie in [0, 1]" in looked.note
    for _ in range(20):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    assert not agent.stopping(top=top, tolerance=0.1).stop  # three arms were not tried


def test_tables_of_all_arms_are_refused_if_they_do_not_fit():
    """Few candidates need little memory; without relations that contradict one another, all arms are left."""
    circle = lsdt.SideInformation(400, better=[(0, 1), (1, 2), (2, 0)], epsilon=0.1)
    with memory_limit(2**23), pytest.raises(TooLarge, match="bounds among 400 arms"):
        TopStoppingRule(circle, RewardModel("bernoulli", 0.5), 0.1, 2)


def test_stopping_uses_what_can_be():
    for agent in (lsdt.Agent(path(0.5)), lsdt.Agent(path(0.6), rewards=lsdt.rewards.gaussian(sigma=1.0))):
        for top in (1, 2, "all"):
            assert "apart or more" not in agent.stopping(top=top, tolerance=0.1).note


def test_identification_refuses_them():
    """`identify_many` played the candidates until the budget was used up, as the rule waits for all arms."""
    problem = lsdt.problems.given(MEANS, path(0.6), "bernoulli", check=False)
    for identify in (lsdt.identify, lsdt.identify_many):
        with pytest.raises(Unsupported, match="some means 1.2 apart or more"):
            identify(problem, tolerance=0.1, budget=100)


@pytest.mark.filterwarnings("ignore:no means")  # what two of them say of it
@pytest.mark.parametrize("policy", ["lsdt_posterior", "lsdt_closure", "soft_closure", "mixture_closure"])
def test_policies_learn_all_the_same(policy):
    """Without bounds they play the candidates as if nothing were known of them, and find the better end."""
    problem = lsdt.problems.given(MEANS, path(0.6), "bernoulli", check=False)
    result = lsdt.simulate(problem, [policy], horizon=300, replications=10, seed=0, n_jobs=1, progress=False)
    assert result.plays(policy)[:, 4].mean() > 200
