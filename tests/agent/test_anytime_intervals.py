"""Intervals that hold at all times together."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.agent.anytime_intervals import anytime_intervals
from lsdt.kernel.rewards import RewardModel, Tail
from naive.evidence import log_mixture

MODELS = {"gaussian": RewardModel("gaussian", 0.7), "bernoulli": RewardModel("bernoulli", 0.5)}


@pytest.mark.parametrize("family", MODELS)
def test_the_martingale_is_twenty_at_the_ends(family):
    counts, sums = np.array([1, 10, 400]), np.array([0.5, 3.0, 50.0])
    for ends in anytime_intervals(counts, sums, MODELS[family]):
        for count, total, end in zip(counts, sums, ends, strict=True):
            if family == "gaussian" or 0.0 < end < 1.0:
                reached = log_mixture(family, MODELS[family].sigma, count, total / count, end)
                assert reached == pytest.approx(math.log(20.0), abs=1e-6)


def test_nothing_told_and_rewards_at_the_ends():
    low, high = anytime_intervals(np.array([0, 60, 60]), np.array([0.0, 0.0, 60.0]), MODELS["bernoulli"])
    assert (low[0], high[0]) == (0.0, 1.0)
    assert low[1] == 0.0
    assert 0.0 < high[1] < 0.2
    assert high[2] == 1.0
    assert low[2] == pytest.approx(1.0 - high[1])
    low, high = anytime_intervals(np.array([0]), np.array([0.0]), MODELS["gaussian"])
    assert (low[0], high[0]) == (-math.inf, math.inf)


def test_heavier_tails_have_none():
    model = RewardModel("gaussian", 1.0, Tail(1.0, 0.5, 2.0, 1.0))
    assert np.isnan(anytime_intervals(np.array([5]), np.array([1.0]), model)).all()


def test_the_mean_is_inside_at_all_times_together():
    """400 runs of 300 looks: outside at any look in 5% at most; three standard errors are 0.033."""
    rng, model = np.random.default_rng(0), MODELS["bernoulli"]
    sums = np.cumsum(rng.random((400, 300)) < 0.3, axis=1).astype(float)
    outside = np.zeros(400, bool)
    for n in range(1, 301):
        low, high = anytime_intervals(np.full(400, n), sums[:, n - 1], model)
        outside |= (low > 0.3) | (high < 0.3)
    assert outside.mean() <= 0.05


def test_recommendations_have_both():
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1")
    for _ in range(50):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm))
    best = agent.best()
    assert best.anytime_low < best.low < best.mean < best.high <= best.anytime_high
    assert best.runners_up[0].anytime_low == 0.0
