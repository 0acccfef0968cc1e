"""P2, the fractional dominating set, beside scipy's linear programming."""

from __future__ import annotations

from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from hypothesis import given, settings

import lsdt
from lsdt.kernel.rewards import RewardModel
from naive.policies_lsdt import p2_size
from naive.worlds import world_of
from strategies import any_graph

solve = lsdt.theory.fractional_domination


def of_graph(n_arms, similar):
    side = lsdt.SideInformation(n_arms, similar)
    return solve(side), world_of(side, RewardModel("gaussian", 1.0), None)


@settings(max_examples=150)
@given(any_graph())
def test_a_solution_of_the_programme(graph):
    solution, world = of_graph(*graph)
    assert solution.size == pytest.approx(p2_size(world), abs=1e-9)
    assert solution.size == pytest.approx(solution.z.sum())
    assert ((solution.z >= 0) & (solution.z <= 1)).all()
    for arm in world.arms:
        assert solution.z[world.closed(arm)].sum() >= 1 - 1e-9


@settings(max_examples=50)
@given(any_graph())
def test_no_noise_and_the_same_vertex_every_time(graph):
    first, second = of_graph(*graph)[0], of_graph(*graph)[0]
    assert first.z.tolist() == second.z.tolist()
    assert ((first.z == 0) | (first.z >= 1e-9)).all()


def test_noise_of_the_solver_is_zeroed(monkeypatch):
    noisy = SimpleNamespace(col_value=[1.0 + 1e-12, 1e-12, -1e-15])
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
    side = lsdt.SideInformation.from_means(means, 0.1).reveal(0.5, 0.5, seed=2)
    assert solve(side).z.tolist() == solve(side.explicit()).z.tolist()
