"""Blocks of equal arms: the limit of the assumptions, and draws."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.candidates import candidate_set
from lsdt.reproduce.theorems.block_graphs import BlockProblem, block_means, least_product
from lsdt.theory import check_assumptions


@pytest.mark.parametrize(("n_arms", "size"), [(12, 1), (48, 2), (140, 20), (384, 12)])
def test_least_product_is_the_limit_of_the_assumptions(n_arms, size):
    side = lsdt.from_means(block_means(n_arms // size, size, 0.75), 1.0)
    least = least_product(n_arms, size)
    assert check_assumptions(side, 1.0, least).hold
    assert not check_assumptions(side, 1.0, least - 1e-6).hold


def test_draws_differ_between_replications_and_only_there():
    problem = BlockProblem(n_classes=7, size=3, step=0.16, low=0.02, epsilon=0.2, share=0.8)
    first, again, other = problem.draw(0, 0), problem.draw(0, 0), problem.draw(0, 1)
    assert first.side == again.side
    assert first.side != other.side
    assert np.flatnonzero(first.means == first.means.max()).tolist() == [18, 19, 20]
    assert np.ptp(first.means) == pytest.approx(4.8 * problem.epsilon)
    assert candidate_set(problem.complete).arms.tolist() == [0, 1, 2, 18, 19, 20]
    assert problem.describe()["share"] == 0.8
