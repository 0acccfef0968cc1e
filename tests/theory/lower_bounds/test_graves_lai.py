"""The exact lower bound beside a grid of all alternatives and a general solver."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.theory import graves_lai_constant, lower_bound_constant
from lsdt.theory.lower_bounds.lower_bound_kernel import rates_at
from lsdt.theory.true_means import checked_truth, layout
from naive.graves_lai import least_evidence, on_a_grid


def side_of(means, epsilon):
    return lsdt.from_means(means, epsilon)


@pytest.mark.parametrize("number", range(12))
def test_never_below_and_close_to_a_grid_of_alternatives(number):
    rng = np.random.default_rng([number, 1])
    n_arms, steps, reach = ((2, 60, 200), (3, 30, 95), (4, 8, 22))[number % 3]
    means = rng.integers(0, int(steps * rng.choice([1.2, 2.0, 3.0])), n_arms)
    found = graves_lai_constant(side_of(means, steps), means)
    grid = on_a_grid(means, steps, reach)
    # Twins are exact on the grid. Elsewhere whole numbers and strictness move an arm by at most a step for
    # each pair on the way to the best arm; the shifts that count are at least epsilon, that is `steps`.
    assert grid <= (found.value + found.gap) * (1 + 1e-6)
    assert grid >= found.value * (1 - n_arms / steps) ** 2


@pytest.mark.parametrize("number", range(20))
def test_between_the_papers_constant_and_the_classical_one(number):
    rng = np.random.default_rng([number, 2])
    means = rng.random(int(rng.integers(2, 15)))
    side = side_of(means, float(rng.choice([0.05, 0.1, 0.2, 0.4])))
    found = graves_lai_constant(side, means, sigma=0.5)
    gaps = means.max() - means
    classical = float((2 * 0.25 / gaps[gaps > 0]).sum())
    assert lower_bound_constant(side, means, sigma=0.5) <= (found.value + found.gap) * (1 + 1e-9)
    assert found.value <= classical * (1 + 1e-9)
    assert 0 <= found.gap <= 1e-5 * found.value
    assert gaps @ found.rates == pytest.approx(found.value + found.gap, rel=1e-9)


@pytest.mark.parametrize("number", range(8))
def test_rates_tell_the_reversed_order_apart(number):
    """A checker that shares no code: all pairs as constraints, a general solver for the weighted squares."""
    rng = np.random.default_rng([number, 3])
    means = np.sort(rng.random(6))
    epsilon = float(np.diff(means).max() * rng.uniform(1.05, 2.0))
    if means[-1] - means[0] < epsilon:
        means[0] = means[1] - 0.9 * epsilon
        means[-1] = means[-2] + 0.9 * epsilon
    found = graves_lai_constant(side_of(means, epsilon), means)
    order = list(range(6))[::-1]
    assert least_evidence(means, epsilon, found.rates, order) >= 1 - 1e-5
    for arm in range(5):
        if (np.abs(means - means[arm]) < epsilon).tolist() == (np.abs(means - means[5]) < epsilon).tolist():
            assert found.rates[arm] >= 2 / (means[5] - means[arm]) ** 2 * (1 - 1e-9)


def test_hand_worked_two_arms_far_apart():
    """Dissimilar, epsilon 1, gap 3: arm 0 must not be at 4, a shift of 4: 2 * 3 / 16."""
    found = graves_lai_constant(side_of([0.0, 3.0], 1.0), [0.0, 3.0])
    assert found.value == pytest.approx(6 / 16)
    assert found.rates == pytest.approx([2 / 16, 0])


def test_lai_robbins_without_edges():
    means = np.random.default_rng(0).random(12)
    gaps = means.max() - means
    found = graves_lai_constant(side_of(means, 1e-9), means, sigma=2.0)
    assert found.value == pytest.approx((8 / gaps[gaps > 0]).sum(), rel=1e-5)


def test_paying_for_both_classes_of_a_component_would_exceed_the_exact_constant():
    """Why P1 lets them share their plays; see docs/theory/bounds.md."""
    means = np.array([0.0, 0.25, 0.5, 1.0])
    side = side_of(means, 0.3)
    truth = checked_truth(side, means)
    apart = float(truth.gaps @ rates_at(layout(truth), truth.means, 1.0, 0.3))
    found = graves_lai_constant(side, means)
    assert lower_bound_constant(side, means) <= found.value + found.gap < apart


@pytest.mark.parametrize("means", [[1.0], [1.0, 1.0], [1.0, 1.0, 0.5]])
def test_ties_and_one_arm(means):
    found = graves_lai_constant(side_of(means, 2.0), means)
    assert found.value == pytest.approx(4.0 if len(means) == 3 else 0.0)


def test_scale_and_direction_do_not_matter():
    rng = np.random.default_rng(5)
    means = rng.random(30)
    value = graves_lai_constant(side_of(means, 0.12), means).value
    scaled = graves_lai_constant(side_of(means * 1e4, 0.12e4), means * 1e4, sigma=1e4).value
    assert scaled == pytest.approx(value * 1e4, rel=1e-5)
    pairs = side_of(means, 0.12).similar_pairs()
    stored = lsdt.complete(30, pairs, epsilon=0.12)
    assert graves_lai_constant(stored, means).value == pytest.approx(value, rel=1e-5)


def test_bad_input():
    means = [0.0, 0.5, 1.0]
    unknown = lsdt.complete(3, [(0, 1), (1, 2)])
    with pytest.raises(InvalidInput, match="depends on epsilon"):
        graves_lai_constant(unknown, means)
    with pytest.raises(Unsupported, match="needs complete side information"):
        graves_lai_constant(lsdt.SideInformation(3, [(0, 1)]), means)
    with pytest.raises(InvalidInput, match="sigma must be a number above 0 .*; got 0"):
        graves_lai_constant(side_of(means, 0.7), means, sigma=0)
    with pytest.raises(InvalidInput, match="tolerance must be a number above 0"):
        graves_lai_constant(side_of(means, 0.7), means, tolerance=-1)
