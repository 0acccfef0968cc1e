from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel import parallel
from lsdt.problems.sparse_pairs import draw_pairs
from naive.sparse_pairs import draw_pairs as naive_pairs

LISTED = 40_000


@pytest.mark.parametrize(("locality", "reach"), [(0.0, 0.1), (0.4, 0.2), (1.0, 0.3), (1.0, 1e-9)])
def test_pairs_agree_with_the_naive_twin(locality, reach):
    means = np.random.default_rng(3).integers(0, 20, 30) / 20  # some are equal
    got = draw_pairs(means, 150, locality, reach, 7)
    assert [tuple(pair) for pair in got.tolist()] == naive_pairs(means.tolist(), 150, locality, reach, 7)


def test_pairs_do_not_depend_on_the_cores(monkeypatch):
    means = np.random.default_rng(0).random(500)
    one = draw_pairs(means, LISTED, 0.5, 0.1, 1)
    monkeypatch.setattr(parallel, "available_cores", lambda: 7)
    assert np.array_equal(one, draw_pairs(means, LISTED, 0.5, 0.1, 1))
    assert not np.array_equal(one, draw_pairs(means, LISTED, 0.5, 0.1, 2))


def test_every_arm_is_compared_as_often_and_with_as_many_near_ones_as_asked():
    means = np.random.default_rng(1).uniform(0.1, 1.0, 2_000)
    problem = lsdt.problems.sparse(2_000, 20, locality=0.25, epsilon=0.02, reach=2.0)
    pairs = draw_pairs(means, 20_000, 0.25, 0.04, 5)
    assert (np.bincount(pairs[:, 0], minlength=2_000) == 10).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    by_chance = np.mean(np.abs(means[:, None] - means[None]) <= 0.04)
    expected = 0.25 + 0.75 * by_chance
    assert np.mean(distance <= 0.04) == pytest.approx(expected, abs=4 * np.sqrt(expected / len(pairs)))
    similar, dissimilar = problem.pairs(means, 5)
    assert len(similar) + len(dissimilar) == 20_000


def test_relations_are_true_and_drawn_from_the_seed():
    problem = lsdt.problems.sparse(300, 30, locality=0.5)
    first, again, other = problem.draw(1, 0), problem.draw(1, 0), problem.draw(1, 1)
    assert first.side == again.side
    assert not np.array_equal(first.means, other.means)
    assert lsdt.problems.given(*first[:2]).n_arms == 300  # which compares relations and means
    assert first.side.n_similar > 300
    assert first.side.n_dissimilar > 300
    fixed = lsdt.problems.sparse(300, 30, fixed=True)
    assert fixed.draw(1, 0).side == fixed.draw(1, 5).side
    assert problem.describe()["relations_per_arm"] == 30.0
    assert problem.describe()["kind"] == "sparse"


def test_few_arms_and_few_relations():
    assert lsdt.problems.sparse(1, 5).draw(0, 0).side.n_similar == 0
    assert lsdt.problems.sparse(9, 0).draw(0, 0).side.n_dissimilar == 0
    two = lsdt.problems.sparse(2, 4).draw(0, 0).side
    assert two.n_similar + two.n_dissimilar == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_arms": 0}, "at least one arm"),
        ({"relations_per_arm": -1}, "relations_per_arm must not be negative"),
        ({"n_arms": 10**6, "relations_per_arm": 10**5}, r"fewer than 2\*\*31 relations"),
        ({"relations_per_arm": "many"}, "relations_per_arm must be a finite number"),
        ({"locality": 1.5}, "locality must lie between 0 and 1"),
        ({"reach": 0.0}, "reach must be positive"),
        ({"low": 0.9, "high": 0.2}, "low must not be above high"),
        ({"high": 2.0}, "means from 0 to 1; got 2"),
    ],
)
def test_bad_problems(bad, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.problems.sparse(**bad)
