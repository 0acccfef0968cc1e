"""P1 word for word beside the naive closed form and beside the constraints of Appendix D."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import Unsupported
from lsdt.kernel.rewards import RewardModel
from lsdt.theory.lower_bounds.p1_programme import solve_p1
from naive.policies_graph import alternatives, p1_rates
from naive.worlds import kl, world_of


@pytest.mark.parametrize("number", range(40))
def test_optimum_and_constraints(number):
    rng = np.random.default_rng([number, 21])
    means = rng.random(int(rng.integers(2, 13)))
    epsilon = float(np.diff(np.sort(means)).max() * rng.uniform(1.01, 3.0))
    sigma = float(rng.choice([0.5, 1.0, 2.0]))
    side = lsdt.from_means(means, epsilon)
    found = solve_p1(side, means, sigma)
    world = world_of(side, RewardModel("gaussian", sigma), None)
    best, naive = p1_rates(world, means, sigma)
    gaps = means[best] - means
    assert found.value == pytest.approx(gaps @ [naive[arm] for arm in world.arms], rel=1e-6)
    assert found.value == pytest.approx(gaps @ found.rates, rel=1e-9)
    for moved in alternatives(world, means)[2]:
        told = sum(found.rates[arm] * kl("gaussian", means[arm], moved[arm], sigma) for arm in moved)
        assert told >= 1 - 1e-6


def test_equally_good_arms_and_complete_graphs():
    side = lsdt.from_means([1.0, 1.0, 0.5], 2.0)
    assert solve_p1(side, [1.0, 1.0, 0.5]).rates.tolist() == [0.0, 0.0, 8.0]


def test_disconnected_graphs_are_refused():
    means = [0.0, 0.5, 2.0]
    with pytest.raises(Unsupported, match="2 components; lower_bound_rates takes any"):
        solve_p1(lsdt.from_means(means, 1.0), means)
