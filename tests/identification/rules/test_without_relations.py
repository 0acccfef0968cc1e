"""Published rules that find the best arm without relations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import rel_entr

from lsdt.identification.rules.coins_kernel import highest_rivals, lower_bounds
from lsdt.identification.rules.without_relations import (
    RULES,
    Runs,
    oracle_weights,
    play_rule,
    transport_costs,
)

EASY = np.array([[0.1, 0.2, 0.9, np.nan], [0.9, 0.1, 0.3, 0.2]] * 20)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_baselines_name_the_best_arm_and_none_that_is_not_there(rule, family):
    sigma = 0.5
    outcome = play_rule(RULES[rule], EASY, family, sigma, 0.1, 0.05, 100_000, 0)
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


def test_transport_costs_of_coins_at_the_edges():
    """Means of 0 and 1: the leader has to come down, or the rival up, by the tolerance."""
    both = transport_costs(runs_of([4, 6], [1.0, 1.0], "bernoulli", 0.1), np.array([0]))[0, 1]
    assert both == pytest.approx(-4 * math.log(0.9))
    none = transport_costs(runs_of([4, 6], [0.0, 0.0], "bernoulli", 0.1), np.array([0]))[0, 1]
    assert none == pytest.approx(-6 * math.log(0.9))
    far = transport_costs(runs_of([4, 6], [0.2, 0.5], "bernoulli", 0.1), np.array([0]))[0, 1]
    assert far == 0  # the rival is better by more than the tolerance


def test_bounds_of_coins_are_where_the_divergence_is_the_level():
    """Against halving, on random arms; the leader and arms that are not there are left out."""

    def end(mean, level, towards):
        inside, outside = mean, towards
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            near = rel_entr(mean, middle) + rel_entr(1 - mean, 1 - middle) <= level
            inside, outside = (middle, outside) if near else (inside, middle)
        return inside

    rng = np.random.default_rng(2)
    means, levels = rng.integers(0, 5, (20, 6)) / 4, rng.exponential(0.2, (20, 6))
    means[:, 5], leaders = -np.inf, rng.integers(5, size=20)
    rivals, highest = highest_rivals(means, levels, leaders)
    lowest = lower_bounds(means[:, 0], levels[:, 0])
    for run in range(20):
        ends = [
            end(means[run, arm], levels[run, arm], 1.0) if arm != leaders[run] else -1 for arm in range(5)
        ]
        assert highest[run] == pytest.approx(max(ends), abs=1e-9)
        assert ends[rivals[run]] == pytest.approx(max(ends), abs=1e-9)
        assert lowest[run] == pytest.approx(end(means[run, 0], levels[run, 0], 0.0), abs=1e-9)


def test_weights_of_two_and_of_equal_rivals():
    two = oracle_weights(runs_of([5, 5], [1.0, 0.5], "gaussian", 0.1), np.array([0]))
    assert two[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    many = oracle_weights(runs_of([5] * 5, [1.0, 0.5, 0.5, 0.5, 0.5], "gaussian", 0.1), np.array([0]))
    assert many[0] == pytest.approx([1 / 3, *[1 / 6] * 4], abs=1e-6)
