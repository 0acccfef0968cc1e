"""Replications that are drawn and made ready together are those that are drawn one by one."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import lsdt
from lsdt.candidates import candidate_classes
from lsdt.kernel import tournament
from lsdt.kernel.random import new_streams
from lsdt.kernel.rewards import RewardModel

simulating = import_module("lsdt.simulation.simulate")  # the package has a function of that name

PROBLEM = lsdt.problems.uniform(n_arms=30, low=0.1, high=0.9, epsilon=0.15)
ON_CANDIDATES = [lsdt.Policy(name, on="paper") for name in ("ts", "moss", "ucb1")]
POLICIES = ["lsdt_csi", "ucb1", "moss", *ON_CANDIDATES, lsdt.Policy("lsdt_csi", index="gaussian_ts")]


class OneByOne:
    """A problem that the simulator knows nothing of: every replication is drawn with its side information."""

    def __init__(self, problem):
        self._problem = problem
        self.n_arms, self.rewards = problem.n_arms, problem.rewards

    def draw(self, seed, replication):
        return self._problem.draw(seed, replication)

    def describe(self):
        return self._problem.describe()


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first.arrays[:3], second.arrays[:3], strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"horizon": 60},
        {"horizon": 60, "plays_after": 7},
        {"horizons": [20, 50]},
    ],
)
def test_a_study_is_the_same_drawn_one_by_one(options):
    together, alone = (
        lsdt.simulate(problem, POLICIES, replications=9, seed=3, n_jobs=1, **options)
        for problem in (PROBLEM, OneByOne(PROBLEM))
    )
    assert same(together, alone)
    assert together.regret("lsdt_csi")[:, -1].std() > 0.0


def test_known_rewards_are_learned_in_every_replication():
    policies = ["lsdt_csi", "ts", lsdt.Policy("ucb1", on="paper")]
    together, alone = (
        lsdt.simulate(problem, policies, 40, 5, seed=3, n_jobs=1, prior=2)
        for problem in (PROBLEM, OneByOne(PROBLEM))
    )
    assert same(together, alone)


def test_beside_a_policy_that_looks_at_pairs():
    beside = lsdt.simulate(PROBLEM, [*POLICIES, "ckl_ucb"], 40, 5, seed=3, n_jobs=1)
    alone = lsdt.simulate(PROBLEM, POLICIES, 40, 5, seed=3, n_jobs=1)
    for policy in POLICIES:
        assert np.array_equal(beside.regret(policy), alone.regret(policy))


def test_few_at_once_and_many_at_once_are_the_same(monkeypatch):
    whole = lsdt.simulate(PROBLEM, POLICIES, 20, 70, n_jobs=1)
    monkeypatch.setattr(simulating, "_BLOCK_STEPS", 1)
    assert same(whole, lsdt.simulate(PROBLEM, POLICIES, 20, 70, n_jobs=1))


@pytest.mark.parametrize(("replications", "workers", "size"), [(1_000, 1, 33), (1_000, 2, 33), (100, 2, 6)])
def test_short_replications_are_handed_out_in_larger_parts(replications, workers, size):
    study = simulating.Study(lsdt.problems.uniform(), [None] * 3, np.array([1_000]), False, 0, None, None)
    assert simulating._block_size(study, replications, workers) == size
    long = study._replace(checkpoints=np.array([10**9]))
    assert simulating._block_size(long, replications, workers) == max(replications // 64, 1)


def test_an_arm_that_is_always_played_stands_beside_others_in_every_replication():
    """Of the second replication of a part it was given no side information, where it looks the arm up."""
    result = lsdt.simulate(PROBLEM, [lsdt.policies.constant(1), "ucb1"], 5, 130, n_jobs=1)
    assert (result.plays("always 1")[:, 1] == 5).all()


@pytest.mark.parametrize("many", [500, 5, 2])
@pytest.mark.parametrize(
    ("n_arms", "epsilon"), [(1, 0.1), (2, 0.5), (30, 0.15), (30, 0.01), (30, 2.0), (100, 0.003)]
)
def test_states_made_together_are_those_made_one_by_one(n_arms, epsilon, many, monkeypatch):
    monkeypatch.setattr(tournament, "MANY_ARMS", many)
    rng = np.random.default_rng(n_arms)
    means = rng.uniform(0.1, 1.0, (4, n_arms))
    means[2] = np.round(means[2], 1)  # equal means
    found, keys = candidate_classes(means, epsilon), new_streams(0, range(4), 2)
    ends, model = np.cumsum(found.n_arms), RewardModel("gaussian", 1.0)
    for policy in (lsdt.Policy("lsdt_csi"), lsdt.Policy("lsdt_csi", index="moss")):
        for row, player in enumerate(policy.players_on(found, model, keys)):
            ready = policy.begin(lsdt.from_means(means[row], epsilon), model, 10, keys[row])
            assert ready.arms.tolist() == found.arms[ends[row] - found.n_arms[row] : ends[row]].tolist()
            for mine, others in zip(player.packed, ready.player.packed, strict=True):
                assert np.array_equal(mine.view(np.int64), others.view(np.int64))
