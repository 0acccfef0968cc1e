"""The contest of ways to find the best arm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lsdt.reproduce.beyond.identification.baselines import RULES, Runs, oracle_weights, play, transport_costs

EASY = np.array([[0.1, 0.2, 0.9, np.nan], [0.9, 0.1, 0.3, 0.2]] * 20)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_baselines_name_the_best_arm_and_none_that_is_not_there(rule, family):
    sigma = 0.5
    outcome = play(RULES[rule], EASY, family, sigma, 0.1, 0.05, 100_000, 0)
    assert outcome.stopped.all()
    assert (outcome.named == np.array([2, 0] * 20)).mean() >= 0.95
    assert (outcome.tries >= 3).all()


def runs_of(counts, means, family, tolerance):
    counts = np.array([counts], float)
    return Runs(
        counts,
        counts * means,
        np.ones(counts.shape, bool),
        family,
        1.0,
        tolerance,
        0.05,
        np.random.default_rng(0),
    )


def test_transport_costs_by_hand():
    """Two arms of n plays meet half way: n gap^2 / 4 with sigma 1."""
    costs = transport_costs(runs_of([10, 10], [1.0, 0.4], "gaussian", 0.2), np.array([0]))
    assert costs[0, 1] == pytest.approx(10 * 0.8**2 / 4)
    assert costs[0, 0] == math.inf


def test_transport_costs_of_coins_are_least():
    runs = runs_of([30, 20], [0.7, 0.4], "bernoulli", 0.1)
    cost = transport_costs(runs, np.array([0]))[0, 1]

    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    grid = [30 * kl(0.7, q) + 20 * kl(0.4, q + 0.1) for q in np.linspace(0.3, 0.7, 4001)]
    assert cost == pytest.approx(min(grid), abs=1e-5)


def test_weights_of_two_and_of_equal_rivals():
    two = oracle_weights(runs_of([5, 5], [1.0, 0.5], "gaussian", 0.1), np.array([0]))
    assert two[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    many = oracle_weights(runs_of([5] * 5, [1.0, 0.5, 0.5, 0.5, 0.5], "gaussian", 0.1), np.array([0]))
    assert many[0] == pytest.approx([1 / 3, *[1 / 6] * 4], abs=1e-6)
