"""P2, the fractional dominating set, beside scipy's linear programming."""

from __future__ import annotations

from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel import parallel
from lsdt.kernel.rewards import RewardModel
from lsdt.theory.domination.fractional import solve_domination
from lsdt.theory.domination.twins import without_twins
from naive.checkers import proves_its_gap
from naive.policies_lsdt import p2_size
from naive.worlds import world_of
from strategies import any_graph, integer_means

solve = lsdt.theory.fractional_domination


def of_graph(n_arms, similar):
    side = lsdt.SideInformation(n_arms, similar)
    return solve(side), world_of(side, RewardModel("gaussian", 1.0), None)


@given(any_graph())
def test_a_solution_of_the_programme(graph):
    solution, world = of_graph(*graph)
    assert solution.size == pytest.approx(p2_size(world), abs=1e-9)
    assert solution.size == pytest.approx(solution.z.sum())
    assert ((solution.z >= 0) & (solution.z <= 1)).all()
    for arm in world.arms:
        assert solution.z[world.closed(arm)].sum() >= 1 - 1e-9


@given(any_graph())
def test_no_noise_and_the_same_vertex_every_time(graph):
    first, second = of_graph(*graph)[0], of_graph(*graph)[0]
    assert first.z.tolist() == second.z.tolist()
    assert ((first.z == 0) | (first.z >= 1e-9)).all()


def test_noise_of_the_solver_is_zeroed(monkeypatch):
    noisy = SimpleNamespace(col_value=[1.0 + 1e-12, 1e-12, -1e-15], row_dual=[-1e-12, 1.0, 0.0])
    monkeypatch.setattr(highspy.Highs, "getSolution", lambda _: noisy)
    assert of_graph(3, [(0, 1), (0, 2)])[0].z.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("n_arms", "similar", "size"),
    [
        (1, [], 1.0),
        (4, [], 4.0),  # isolated arms play for themselves
        (5, [(0, 1), (0, 2), (0, 3)], 2.0),  # a star and an isolated arm
        (6, [(a, b) for a in range(6) for b in range(a)], 1.0),
        (5, [(a, (a + 1) % 5) for a in range(5)], 5 / 3),  # every arm covers three of five
        (7, [(a, (a + 1) % 7) for a in range(7)], 7 / 3),
        (6, [(a, a + 1) for a in range(5)], 2.0),  # a path: arms 1 and 4
    ],
)
def test_known_values(n_arms, similar, size):
    assert of_graph(n_arms, similar)[0].size == pytest.approx(size, abs=1e-12)


def test_star_and_isolated_arms():
    assert of_graph(5, [(0, 1), (0, 2), (0, 3)])[0].z.tolist() == [1.0, 0.0, 0.0, 0.0, 1.0]


def test_five_cycle_is_shared_evenly():
    z = of_graph(5, [(a, (a + 1) % 5) for a in range(5)])[0].z
    np.testing.assert_allclose(z, 1 / 3, rtol=1e-12)


def test_implicit_and_explicit_information_agree():
    means = np.random.default_rng(0).random(40)
    side = lsdt.from_means(means, 0.1).reveal(0.5, 0.5, seed=2)
    assert solve(side).z.tolist() == solve(side.explicit()).z.tolist()


def revealed(n_arms, degree, seed=0, p_similar=0.5):
    """A unit interval graph of which half of the pairs are known, with so many similar pairs an arm."""
    means = np.random.default_rng(seed).random(n_arms)
    return lsdt.from_means(means, degree / n_arms / p_similar / 2).reveal(p_similar, 0.5, seed=seed)


def random_graph(n_arms, degree, seed=0):
    pairs = np.random.default_rng(seed).integers(0, n_arms, (n_arms * degree // 2, 2))
    return lsdt.SideInformation(n_arms, pairs[pairs[:, 0] != pairs[:, 1]])


@given(any_graph())
def test_the_first_order_method_proves_its_gap(graph):
    side = lsdt.SideInformation(*graph)
    solution = solve(side, gap=1e-3, method="primal_dual")
    exact = solve(side, method="simplex")
    assert proves_its_gap(side, solution)
    assert proves_its_gap(side, exact)
    assert exact.gap <= 1e-9
    assert solution.gap <= 1e-3
    assert solution.lower - 1e-9 <= exact.size <= solution.size + 1e-9


@pytest.mark.parametrize("make", [revealed, random_graph])
@pytest.mark.parametrize(("n_arms", "degree", "gap"), [(300, 4, 1e-4), (400, 20, 1e-2), (300, 40, 1e-3)])
def test_first_order_and_simplex_agree_within_the_gap(make, n_arms, degree, gap):
    side = make(n_arms, degree)
    solution, exact = solve(side, gap, "primal_dual"), solve(side, method="simplex")
    assert proves_its_gap(side, solution)
    assert proves_its_gap(side, exact)
    assert solution.gap <= gap
    assert solution.lower - 1e-9 <= exact.size <= solution.size + 1e-9
    assert exact.size == pytest.approx(exact.lower, rel=1e-9)


@pytest.mark.parametrize("make", [revealed, random_graph])
def test_large_graphs_are_solved_to_one_percent(make):
    side = make(2500, 20)
    solution = solve(side)
    assert proves_its_gap(side, solution)
    assert 0 < solution.gap <= 0.01
    assert ((solution.z == 0) | (solution.z >= 9e-5)).all()  # nothing that is not worth a play
    assert solution.z.max() <= 1.0


@given(any_graph(max_arms=7))
def test_merged_twins_change_nothing_but_time(graph):
    n_arms, pairs = graph
    side = lsdt.SideInformation(n_arms, pairs)
    # Twice every arm: a twin of its own beside it, linked to all that it is linked to.
    doubled = [(2 * a + i, 2 * b + j) for a, b in pairs for i in (0, 1) for j in (0, 1)]
    doubled += [(2 * arm, 2 * arm + 1) for arm in range(n_arms)]
    twice = lsdt.SideInformation(2 * n_arms, doubled)
    for method in ("simplex", "primal_dual"):
        solution = solve(twice, 1e-6, method)
        assert proves_its_gap(twice, solution)
        assert solution.size == pytest.approx(solve(side, method="simplex").size, rel=2e-6)
        assert not solution.z[1::2].any()  # the lower arm plays for both


@given(any_graph())
def test_classes_of_twins(graph):
    side = lsdt.SideInformation(*graph)
    world = world_of(side, RewardModel("gaussian", 1.0), None)
    closed = [frozenset(world.closed(arm)) for arm in world.arms]
    kept, among = without_twins(side.store.similar)
    assert kept.tolist() == [arm for arm in world.arms if closed[arm] not in closed[:arm]]
    for place, arm in enumerate(kept):
        expected = [row for row, other in enumerate(kept) if other in closed[arm] and other != arm]
        assert among.neighbours(place).tolist() == expected


def test_a_large_class_of_twins_is_one_arm():
    side = lsdt.from_means(np.zeros(2500), 1.0).explicit()
    for method in ("auto", "simplex", "primal_dual"):
        solution = solve(side, method=method)
        assert solution.z.tolist() == [1.0] + [0.0] * 2499
        assert solution.gap == 0.0


@pytest.mark.parametrize("method", ["simplex", "primal_dual"])
@pytest.mark.parametrize(
    ("n_arms", "similar", "size"),
    [
        (3000, [], 3000.0),
        (3000, [(0, arm) for arm in range(1, 3000)], 1.0),  # a star
        (3000, [(arm, arm + 1) for arm in range(2999)], 1000.0),  # a path
        (3000, [(arm, (arm + 1) % 3000) for arm in range(3000)], 1000.0),  # a cycle
        (3001, [(arm, arm + 1) for arm in range(2999)], 1001.0),  # a path and an isolated arm
    ],
)
def test_known_values_of_large_graphs(n_arms, similar, size, method):
    side = lsdt.SideInformation(n_arms, similar)
    solution = solve(side, 1e-4, method)
    assert proves_its_gap(side, solution)
    assert size - 1e-6 <= solution.size <= size * (1 + 1e-4) + 1e-6


@given(integer_means())
def test_windows_are_solved_exactly_without_pairs(case):
    means, epsilon = case
    side = lsdt.from_means(means, epsilon)
    solution = solve(side)
    assert proves_its_gap(side, solution)
    assert solution.gap == 0.0
    assert solution.size == pytest.approx(solve(side.explicit(), method="simplex").size, abs=1e-9)


def test_large_unit_interval_graphs_are_solved_exactly():
    side = lsdt.from_means(np.random.default_rng(3).random(6000), 0.003)
    implicit, explicit = solve(side), solve(side.explicit())
    assert proves_its_gap(side, explicit)
    assert implicit.size == explicit.size == explicit.lower


def test_implicit_information_of_a_million_arms():
    """Complete: no pair is listed. Revealed: similar pairs alone; the dissimilar ones would be 10^11."""
    side = lsdt.from_means(np.arange(1_000_000) * 3 % 1_000_003, 5)
    assert solve(side).gap == 0.0
    few = lsdt.from_means(np.arange(200_000) * 3 % 200_003, 3).reveal(0.5, 0.5)
    solution = solve(few)
    assert solution.gap <= 0.01


def test_two_runs_and_any_number_of_threads_are_the_same(monkeypatch):
    side = revealed(2200, 20)
    first = solve(side)
    assert solve(side).z.tolist() == first.z.tolist()
    assert solve(side.explicit()).z.tolist() == first.z.tolist()
    for cores in (1, 3):
        monkeypatch.setattr(parallel, "available_cores", lambda cores=cores: cores)
        again = solve(side)
        assert again.z.tolist() == first.z.tolist()
        assert again.packing.tolist() == first.packing.tolist()


def test_steps_that_run_out_are_owned_up_to():
    side = random_graph(3000, 20)
    for steps in (0, 20):
        solution = solve_domination(side.store.similar, 1e-6, "primal_dual", steps)
        assert proves_its_gap(side, solution)
        assert solution.gap > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap": 0.0}, "gap must be positive and finite, 0.01 for one percent; got 0.0"),
        ({"gap": "1%"}, "gap must be a positive number, 0.01 for one percent; got '1%'"),
        ({"method": "magic"}, "method must be one of 'auto', 'simplex', 'primal_dual'; got 'magic'"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        solve(lsdt.SideInformation(3, [(0, 1)]), **options)
