"""P1 in closed form beside scipy's linear programming."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.rewards import RewardModel
from lsdt.theory.lower_bounds.lower_bound_kernel import EndClasses, fill_rates
from naive.policies_graph import alternatives, p1_rates
from naive.worlds import kl, world_of


def world_of_means(means, epsilon, sigma=1.0):
    side = lsdt.from_means(means, epsilon)
    return world_of(side, RewardModel("gaussian", sigma), None)


def rates_of(world, means):
    """The compiled closed form, given the classes as the naive world finds them."""
    classes, parts = world.classes(), world.components()
    component_of = np.array([next(at for at, p in enumerate(parts) if arm in p) for arm in world.arms])
    class_of = np.full(world.n_arms, -1)
    for number, members in enumerate(classes):
        class_of[members] = number
    laid_out = EndClasses(
        class_of,
        component_of,
        np.array([component_of[members[0]] for members in classes]),
        np.cumsum([0, *map(len, parts)]),
        np.concatenate(parts),
    )
    rates = np.full(world.n_arms, 99.0)
    best = fill_rates(laid_out, np.asarray(means, float), world.sigma**2, world.epsilon, rates)
    return best, rates


def solved_p1(world, means):
    """Equation (53) word for word, connected graphs: the optimal value and the constraints as rows."""
    best, own, found = alternatives(world, means)
    rows, floors = [], np.zeros(world.n_arms)
    for moved in found:
        row = np.zeros(world.n_arms)
        for arm, other in moved.items():
            row[arm] = kl("gaussian", means[arm], other, world.sigma)
        rows.append(row)
    for arm in own:
        if means[arm] < means[best]:
            floors[arm] = 1.0 / kl("gaussian", means[arm], means[best], world.sigma)
    gaps = np.array([max(means[best] - means[arm], 0.0) for arm in world.arms])
    rows = np.array(rows).reshape(-1, world.n_arms)
    bounds = [(floor, None) for floor in floors]
    if len(rows) == 0:
        return float(gaps @ floors), gaps, rows, floors
    # HiGHS meets its rows to 1e-7 only; scaled to a largest entry of 1 that is small against the rates.
    answer = linprog(gaps, A_ub=-rows / rows.max(), b_ub=[-1 / rows.max()] * len(rows), bounds=bounds)
    assert answer.status == 0
    return answer.fun, gaps, rows, floors


def connected_problem(number):
    rng = np.random.default_rng([number, 3])
    means = rng.random(int(rng.integers(2, 13)))
    epsilon = float(np.diff(np.sort(means)).max() * rng.uniform(1.01, 3.0))
    return means, world_of_means(means, epsilon, sigma=float(rng.choice([0.5, 1.0, 2.0])))


@pytest.mark.parametrize(
    "number", [*range(20), *(pytest.param(number, marks=pytest.mark.long) for number in range(20, 60))]
)
def test_closed_form_is_the_optimum_on_connected_graphs(number):
    means, world = connected_problem(number)
    best, rates = rates_of(world, means)
    value, gaps, rows, floors = solved_p1(world, means)
    assert best == int(np.argmax(means))
    assert gaps @ rates == pytest.approx(value, rel=1e-6)
    assert (rates >= floors * (1 - 1e-12)).all()
    assert (rows @ rates >= 1 - 1e-9).all()


@pytest.mark.parametrize("number", range(30))
def test_at_means_that_the_graph_contradicts(number):
    """Estimates: the leader is the best candidate, not the best arm; arms above it cost nothing."""
    _, world = connected_problem(number)
    guessed = np.random.default_rng(number).normal(size=world.n_arms)
    best, rates = rates_of(world, guessed)
    value, gaps, rows, _ = solved_p1(world, guessed)
    assert best == max((arm for c in world.classes() for arm in c), key=lambda arm: guessed[arm])
    assert gaps @ rates == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (rows @ rates >= 1 - 1e-9).all()


@pytest.mark.parametrize("number", range(40))
def test_rates_are_the_naive_ones_on_any_graph(number):
    rng = np.random.default_rng([number, 4])
    means = rng.random(int(rng.integers(1, 13)))
    world = world_of_means(means, float(rng.choice([0.05, 0.15, 0.4, 2.0])))
    for values in (means, rng.normal(size=len(means)), rng.integers(0, 3, len(means)) / 2.0):
        best, rates = rates_of(world, values)
        expected_best, expected = p1_rates(world, values, world.sigma)
        assert best == expected_best
        np.testing.assert_allclose(rates, [expected[arm] for arm in world.arms], rtol=1e-9)


@pytest.mark.parametrize("number", range(20))
def test_every_other_class_is_told_apart_on_disconnected_graphs(number):
    rng = np.random.default_rng([number, 5])
    means = np.sort(rng.random(10)) + np.repeat([0.0, 1.0, 2.0], [3, 4, 3])
    world = world_of_means(means, 0.3)
    assert len(world.components()) >= 3
    _, rates = rates_of(world, means)
    _, _, found = alternatives(world, means)
    assert len(found) == len(world.classes()) - 1
    for moved in found:
        assert sum(rates[arm] * kl("gaussian", means[arm], moved[arm], 1.0) for arm in moved) >= 1 - 1e-9


def test_complete_graph_is_one_class_with_no_class_to_switch_to():
    """Means 0, .5, 1, all similar: 1 / KL for the two others, 2 / 1 and 2 / .25."""
    world = world_of_means([0.0, 0.5, 1.0], 2.0)
    assert len(world.classes()) == 1
    assert rates_of(world, [0.0, 0.5, 1.0])[1].tolist() == [2.0, 8.0, 0.0]


def test_equally_good_arms_need_no_plays():
    world = world_of_means([1.0, 1.0, 0.5], 2.0)
    assert rates_of(world, [1.0, 1.0, 0.5])[1].tolist() == [0.0, 0.0, 8.0]


@pytest.mark.parametrize("number", range(60))
def test_the_constant_is_the_optimum_on_connected_graphs(number):
    means, world = connected_problem(number)
    side = lsdt.from_means(means, world.epsilon)
    found = lsdt.theory.lower_bound_rates(side, means, sigma=world.sigma)
    assert found.value == pytest.approx(solved_p1(world, means)[0], rel=1e-6)
    np.testing.assert_allclose(found.rates, rates_of(world, means)[1], rtol=1e-12)
    assert lsdt.theory.lower_bound_constant(side, means, sigma=world.sigma) == found.value


@pytest.mark.parametrize("number", range(40))
def test_the_constant_is_the_optimum_on_disconnected_graphs(number):
    rng = np.random.default_rng([number, 6])
    means = np.sort(rng.random(10)) + np.repeat([0.0, 1.0, 2.0], [3, 4, 3])
    side, world = lsdt.from_means(means, 0.3), world_of_means(means, 0.3)
    found = lsdt.theory.lower_bound_rates(side, means)
    value, gaps, rows, floors = solved_p1(world, means)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert (rows @ found.rates >= 1 - 1e-8).all()
    assert (found.rates >= floors * (1 - 1e-12)).all()
    assert found.value <= gaps @ rates_of(world, means)[1] * (1 + 1e-9)  # OSSB's closed form meets all rows


def test_stored_pairs_give_the_constant_of_windows():
    means = np.random.default_rng(1).random(60)
    side = lsdt.from_means(means, 0.05)
    stored = lsdt.complete(60, side.similar_pairs(), epsilon=0.05)
    constant = lsdt.theory.lower_bound_constant
    assert constant(stored, means) == pytest.approx(constant(side, means), rel=1e-9)


PATH = [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("means", "epsilon", "message"),
    [
        ([0.0, 0.5], 0.7, "one number for each of the 3 arms"),
        ([0.0, np.nan, 1.0], 0.7, "the mean of arm 1 is nan"),
        (["a", "b", "c"], 0.7, "means must be a list of numbers"),
        ([0.0, 0.8, 1.0], 0.7, "arms 0 and 1 are similar, .* 0.8 apart, not less than epsilon=0.7"),
        ([0.0, 0.2, 0.4], 0.7, "arms 0 and 2 are dissimilar, .* 0.4 apart, less than epsilon=0.7"),
        ([0.0, 1.0, 0.5], None, "arms 0 and 2 are dissimilar, .* no epsilon fits both"),
    ],
)
def test_means_that_do_not_fit(means, epsilon, message):
    side = lsdt.complete(3, PATH, epsilon=epsilon)
    with pytest.raises(InvalidInput, match=message):
        lsdt.theory.lower_bound_constant(side, means)


def test_what_is_missing_is_said():
    means = [0.0, 0.5, 2.0]
    with pytest.raises(Unsupported, match="needs complete side information"):
        lsdt.theory.lower_bound_constant(lsdt.SideInformation(3, PATH), means)
    with pytest.raises(InvalidInput, match="2 components, and how far apart"):
        lsdt.theory.lower_bound_constant(lsdt.complete(3, [(0, 1)]), means)
    with pytest.raises(InvalidInput, match="sigma must be a number above 0 .*; got -1"):
        lsdt.theory.lower_bound_constant(lsdt.from_means(means, 1.0), means, sigma=-1)


def test_connected_graphs_need_no_epsilon():
    known = lsdt.from_means([0.0, 0.5, 1.0], 0.7)
    unknown = lsdt.complete(3, PATH)
    constant = lsdt.theory.lower_bound_constant
    assert constant(unknown, [0.0, 0.5, 1.0]) == constant(known, [0.0, 0.5, 1.0])
