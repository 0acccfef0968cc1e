"""LSDT-closure beside its naive twin, beside KL-UCB, and for very long."""

from __future__ import annotations

import pytest

from side_by_side import play_both, random_problem


def as_good(twin, expected, chosen):
    return chosen == expected or twin.indices[chosen] >= twin.indices[expected] - 1e-8


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_plays_a_largest_index(family, complete):
    """Arms bounded by the same others tie up to rounding, so within 1e-8 of the best is as good."""
    for number in range(18):
        problem = random_problem(number, family, complete, sigma=0.4 if family == "gaussian" else None)
        play_both("lsdt_closure", problem, 60, seed=number, agree=as_good)


def as_small(twin, expected, chosen):
    return chosen == expected or twin.indices[chosen] <= twin.indices[expected] + 1e-8


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_imed_closure_plays_a_smallest_index(family, complete):
    for number in range(18):
        problem = random_problem(number, family, complete, sigma=0.4 if family == "gaussian" else None)
        play_both("imed_closure", problem, 60, seed=number, agree=as_small)
