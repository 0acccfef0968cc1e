"""Relations that the rewards contradict: evidence by brute force, and what comes back."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.agent.suspects import evidence, range_evidence
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.rewards import RewardModel
from naive.worlds import kl


def by_grid(means, counts, similar, epsilon, family, sigma):
    """The least cost of a pair of means, on a grid, that satisfies the relation."""
    grid = np.linspace(0.0005, 0.9995, 1000) if family == "bernoulli" else np.linspace(-1, 2, 1501)
    costs = [
        np.array([n * kl(family, mean, q, sigma) for q in grid])
        for mean, n in zip(means, counts, strict=True)
    ]
    gap = np.abs(grid[:, None] - grid[None])
    fits = gap <= epsilon + 1e-9 if similar else gap >= epsilon - 1e-9
    return (costs[0][:, None] + costs[1][None])[fits].min()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_evidence_is_the_least_cost_of_means_that_fit(family):
    rng = np.random.default_rng(3)
    model = RewardModel(family, 0.5)
    for _ in range(12):
        means, counts = rng.integers(0, 21, 2) / 20, rng.integers(1, 40, 2)
        similar = bool(rng.integers(2))
        found = evidence(means[None], counts[None], np.array([similar]), 0.2, model)[0]
        assert found == pytest.approx(by_grid(means, counts, similar, 0.2, family, 0.5), rel=0.05, abs=0.1)


def taught(agent, means, each):
    for arm, mean in enumerate(means):
        for number in range(each):
            agent.observe(arm, float(number < mean * each))
    return agent


def test_a_wrong_relation_is_named_and_what_it_threw_out():
    """Arm 3 is the best; it is called similar to arm 0, far below, and so looks as if in the middle."""
    side = lsdt.SideInformation(
        4, similar=[(0, 1), (2, 3), (0, 3)], dissimilar=[(0, 2), (1, 3)], epsilon=0.15
    )
    assert 3 not in lsdt.candidate_set(side)
    agent = taught(lsdt.Agent(side, "ucb1"), [0.2, 0.3, 0.8, 0.9], 60)
    found = agent.suspects()
    assert found[["arm_a", "arm_b", "relation"]].to_numpy().tolist() == [[0, 3, "similar"]]
    assert found.returns.tolist() == [[0, 3]]
    assert found.evidence[0] > 10
    assert found.plays_a[0] == 60


def test_a_wrong_dissimilar_pair():
    side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)], epsilon=0.4)
    agent = taught(lsdt.Agent(side, "ucb1"), [0.6, 0.5, 0.5], 200)
    found = agent.suspects()
    assert found.relation.tolist() == ["dissimilar"]
    assert found.returns.tolist() == [[0]]


def test_nothing_is_suspected_without_rewards_or_reason():
    side = lsdt.from_means([0.1, 0.2, 0.9], 0.3)
    agent = lsdt.Agent(side, "lsdt_watchful")
    assert len(agent.suspects()) == 0
    assert len(taught(agent, [0.1, 0.2, 0.9], 100).suspects()) == 0


def test_right_relations_are_rarely_listed():
    """60 looks at right relations with a risk of 20% each: 25 or more have a probability below 1e-4."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0.1, 0.9, 6)
        agent = lsdt.Agent(lsdt.from_means(means, 0.2), "ts")
        for arm in range(6):
            for _ in range(30):
                agent.observe(arm, float(rng.random() < means[arm]))
        wrong += len(agent.suspects(risk=0.2)) > 0
    assert wrong < 25


def test_refusals():
    side = lsdt.SideInformation(3, similar=[(0, 1)])
    with pytest.raises(Unsupported, match="depends on epsilon"):
        lsdt.Agent(side, "ts").suspects()
    with pytest.raises(InvalidInput, match="risk must be above 0"):
        lsdt.Agent(lsdt.SideInformation(3, similar=[(0, 1)], epsilon=0.1), "ts").suspects(risk=0)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_evidence_against_a_range_is_the_least_cost_of_means_that_fit(family):
    rng = np.random.default_rng(4)
    model = RewardModel(family, 0.5)
    grid = np.linspace(0.0005, 0.9995, 1000) if family == "bernoulli" else np.linspace(-1, 2, 1501)
    for _ in range(12):
        means, counts = rng.integers(0, 21, 2) / 20, rng.integers(1, 40, 2)
        low, high = np.sort(rng.integers(-8, 9, 2) / 10)
        costs = [
            np.array([n * kl(family, mean, q, 0.5) for q in grid])
            for mean, n in zip(means, counts, strict=True)
        ]
        gap = grid[:, None] - grid[None]
        fits = (gap >= low - 0.0011) & (gap <= high + 0.0011)
        least = (costs[0][:, None] + costs[1][None])[fits].min()
        found = range_evidence(means[None], counts[None], np.array([low]), np.array([high]), model)[0]
        assert found == pytest.approx(least, rel=0.05, abs=0.1)


def test_a_wrong_range_is_named_and_what_it_threw_out():
    side = lsdt.SideInformation(3, ranges=[(0, 1, 0.1, 0.3), (2, 0, -0.5, 0.5)])
    assert 1 not in lsdt.candidate_set(side)
    agent = taught(lsdt.Agent(side, "ts"), [0.2, 0.9, 0.5], 200)
    found = agent.suspects()
    assert found[["arm_a", "arm_b", "relation", "low", "high"]].values.tolist() == [[0, 1, "range", 0.1, 0.3]]
    assert found.returns[0] == [1]
    assert len(taught(lsdt.Agent(side, "ts"), [0.5, 0.3, 0.5], 100).suspects()) == 0


def test_a_wrong_better_pair_is_named():
    side = lsdt.SideInformation(3, better=[(0, 1), (0, 2)])
    found = taught(lsdt.Agent(side, "ts"), [0.2, 0.9, 0.1], 200).suspects()
    assert found[["arm_a", "arm_b"]].values.tolist() == [[0, 1]]
    assert found.returns[0] == [1]
