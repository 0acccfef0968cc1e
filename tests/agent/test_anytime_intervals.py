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


def test_pending_decisions_widen_it_to_all_completions():
    """Every completion's interval, by hand over theta, lies inside, also if some decisions are cancelled.

    The ends are those of two completions.
    """
    thetas, model = np.linspace(0.0025, 0.9975, 200), MODELS["bernoulli"]
    for told, wins, pending in ((0, 0.0, 3), (4, 4.0, 1), (7, 0.0, 5), (9, 8.5, 4), (40, 13.25, 20)):
        counts, sums = np.array([told]), np.array([wins])
        (low,), (high,) = anytime_intervals(counts, sums, model, pending=np.array([pending]))
        n = told + pending
        for left in {0, 1, pending // 2, pending}:  # those that are not cancelled
            completions = np.append(np.arange(wins, wins + left, 0.5), wins + left)
            for total, size in ((each, told + left) for each in completions.tolist() if told + left):
                evidence = [log_mixture("bernoulli", 0.5, size, total / size, each) for each in thetas]
                inside = thetas[np.array(evidence) < math.log(20.0)]
                assert low <= inside.min()
                assert inside.max() <= high
        assert low == anytime_intervals(np.array([n]), sums, model)[0][0]
        assert high == anytime_intervals(np.array([n]), sums + pending, model)[1][0]
        plain, same = (anytime_intervals(counts, sums, model, pending=each) for each in (None, np.array([0])))
        assert plain == same


def test_an_agent_counts_what_is_pending():
    """From 0 to 1 at both ends; unbounded rewards up to the first open decision of the arm."""
    coins = lsdt.Agent(lsdt.SideInformation(1), "ts")
    for number, decision in enumerate(coins.ask(30)):
        if number % 3:
            coins.tell(decision, 1.0)
    best = coins.best()
    (low,), (high,) = anytime_intervals(np.array([30]), np.array([20.0]), MODELS["bernoulli"])
    assert (best.anytime_low, best.anytime_high) == (low, 1.0)
    assert high < 1.0
    bells = lsdt.Agent(lsdt.SideInformation(1), "ts_gaussian", rewards=lsdt.rewards.gaussian(0.7))
    decisions = bells.ask(30)
    for number in (0, 1, 2, 4, 5, 29):
        bells.tell(decisions[number], float(number))
    best = bells.best()
    assert (best.plays, bells.n_pending) == (6, 24)
    (low,), (high,) = anytime_intervals(np.array([3]), np.array([3.0]), MODELS["gaussian"])
    assert (best.anytime_low, best.anytime_high) == (low, high)
    other = lsdt.Agent(lsdt.SideInformation(1), "ts_gaussian", rewards=lsdt.rewards.gaussian(0.7))
    other.observe(0, 5.0)
    bells.merge(other)
    (low,), _ = anytime_intervals(np.array([4]), np.array([8.0]), MODELS["gaussian"])
    assert bells.best().anytime_low == low
    merged = lsdt.Agent(lsdt.SideInformation(1), "ts")
    merged.merge(coins)
    assert [merged.best()[at] for at in (5, 6)] == [coins.best()[at] for at in (5, 6)]


def test_recommendations_have_both():
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1")
    for _ in range(50):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm))
    best = agent.best()
    assert best.anytime_low < best.low < best.mean < best.high <= best.anytime_high
    assert best.runners_up[0].anytime_low == 0.0
