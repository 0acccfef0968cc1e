"""The bound on the tries of identify: by a scan, and whatever an adversary pays."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.rewards import RewardModel
from lsdt.policies import StoppingRule
from lsdt.policies.parts.gap_rows import fill_plays
from lsdt.policies.parts.mixture_evidence import least_evidence
from lsdt.theory import most_tries

MODELS = [RewardModel("gaussian", 0.5), RewardModel("bernoulli", 0.5)]


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_beside_a_scan(rewards):
    """n is the least number from which on there is enough evidence, for it and for all larger ones."""
    for n_arms, tolerance, delta, sigma in ((2, 0.5, 0.05, 1.0), (9, 0.3, 1e-4, 0.5), (100, 0.7, 0.2, 2.0)):
        share = min(0.5, 4 / n_arms)
        needed = math.log(1 / delta) + math.log(1 / share) + n_arms * math.log(1 / (1 - share))
        needed = 1.001 * needed + 0.001
        n = np.arange(20_000)
        if rewards == "bernoulli":
            evidence = n * tolerance**2 / 2 - np.log(np.pi * (n + 0.5)) / 2
        else:
            evidence = n**2 * tolerance**2 / (8 * sigma**2 * (n + 1)) - np.log(1 + n) / 2
        least = int(np.flatnonzero(evidence < needed).max()) + 1
        assert least < 19_999
        found = most_tries(n_arms, tolerance, delta, rewards, sigma)
        stopped = n_arms * (least + 14) ** 2
        assert found == stopped - 1 + (stopped - 1) // 100


@pytest.mark.parametrize("law", ["ones", "alternating", "against the leader"])
def test_an_adversary_cannot_keep_it_playing(law):
    side, paid = lsdt.SideInformation(3), np.zeros(3)
    plays = np.zeros(3)

    def reward(arm):
        means = paid / np.maximum(plays, 1)
        value = {"ones": 1.0, "alternating": plays[arm] % 2, "against the leader": means[arm] < means.max()}
        plays[arm] += 1
        paid[arm] += float(value[law])
        return float(value[law])

    most = most_tries(3, 0.9, 0.05, "bernoulli")
    found = lsdt.identify(reward, side, tolerance=0.9, rewards="bernoulli", budget=2 * most)
    assert found.stop
    assert found.tries <= most


def test_identify_looks_often_enough(monkeypatch):
    """If the rule says stop only after the tries of the theorem, identify stops after what is added to it."""
    most = most_tries(2, 1.0, 0.5, "bernoulli")
    stopped = next(tries for tries in range(most) if tries - 1 + max((tries - 1) // 100, 1) == most)
    latest = 0
    for first in range(stopped - 10, stopped + 1):

        def known(agent, delta, tolerance, top=1, first=first):
            return SimpleNamespace(
                stop=agent.n_told >= first,
                note="",
                arm=0,
                arm_id=0,
                delta=0.5,
                risk=0.0,
                error=0.5,
                tolerance=1.0,
                text="",
            )

        monkeypatch.setattr(lsdt.Agent, "stopping", known)
        found = lsdt.identify(
            lambda arm: 0.0, lsdt.SideInformation(2), 0.5, 1.0, policy="ts", budget=2 * most
        )
        latest = max(latest, found.tries)
    assert first <= latest <= most


def test_what_the_code_takes_off():
    """Certified evidence is below the evidence by far less than the bound allows for."""
    n_compared = 0
    for number in range(40):
        rng = np.random.default_rng(number)
        side = lsdt.from_means(rng.uniform(0, 1, 6), 0.15).reveal(0.5, 0.5, seed=number)
        rule = StoppingRule(side, MODELS[number % 2], 0.1)
        counts = rng.integers(1, 10 ** int(rng.integers(1, 7)), 6)
        state = rule._with(counts, rng.binomial(counts, rng.uniform(0, 1, 6)).astype(float))
        fill_plays(state.rows, state.tallies.counts)
        leader = int(np.argmax(state.tallies.means))
        for arm in set(range(len(rule.arms))) - {leader}:
            _, value, certified, _ = least_evidence(state, arm, leader, 0.1, math.nan)
            if value < math.inf:
                n_compared += 1
                assert value - certified <= 1e-5 * (1 + abs(value))
    assert n_compared > 50


def test_bad_input():
    with pytest.raises(InvalidInput, match="tolerance"):
        most_tries(5, 0.0)
    with pytest.raises(InvalidInput, match="delta"):
        most_tries(5, 0.1, delta=1.0)
    with pytest.raises(InvalidInput, match="tolerance must be at least 1e-100"):
        most_tries(5, 1e-200)
    with pytest.raises(InvalidInput, match="times sigma"):
        most_tries(5, 1e-60, sigma=1e60)


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_extreme_arguments_have_an_answer(rewards):
    """They ended in an overflow."""
    assert 0 < most_tries(5, 0.1, rewards=rewards) < most_tries(5, 0.1, 1e-320, rewards) < 10**13
    assert most_tries(5, 1e-100, rewards=rewards) > 10**400
    assert most_tries(1, 1e300, rewards=rewards, sigma=1e-100) < 1_000
