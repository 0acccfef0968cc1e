from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput


def test_means_and_relations_are_redrawn_from_the_seed():
    problem = lsdt.problems.uniform(40, 0.2, 0.4, 0.05, p_similar=0.5, p_dissimilar=0.5)
    first, again, other = problem.draw(1, 0), problem.draw(1, 0), problem.draw(1, 1)
    assert np.array_equal(first.means, again.means)
    assert first.side == again.side
    assert not np.array_equal(first.means, other.means)
    assert 0.2 <= first.means.min() < first.means.max() <= 0.4
    coins = [draw.side.store.layers[0].seed for draw in (first, other)]
    assert coins[0] != coins[1]


def test_a_connected_problem_draws_until_it_is_connected():
    loose = lsdt.problems.uniform(20, 0.0, 1.0, epsilon=0.12)
    tight = lsdt.problems.uniform(20, 0.0, 1.0, epsilon=0.12, connected=True)
    widest = [[np.diff(np.sort(p.draw(0, run).means)).max() for run in range(50)] for p in (loose, tight)]
    assert max(widest[1]) < 0.12 < max(widest[0])
    same = np.array(widest[0]) < 0.12  # a draw that is connected is kept
    np.testing.assert_array_equal(np.array(widest[0])[same], np.array(widest[1])[same])
    with pytest.raises(lsdt.errors.InvalidInput, match="no connected graph"):
        lsdt.problems.uniform(5, 0.0, 1.0, epsilon=0.01, connected=True).draw(0, 0)


def test_a_fixed_problem_is_the_same_in_every_replication_and_another_for_another_seed():
    problem = lsdt.problems.uniform(10, epsilon=0.1, fixed=True)
    assert np.array_equal(problem.draw(1, 0).means, problem.draw(1, 5).means)
    assert not np.array_equal(problem.draw(1, 0).means, problem.draw(2, 0).means)


def test_side_information_is_true():
    instance = lsdt.problems.uniform(30, epsilon=0.1, p_similar=0.7, p_dissimilar=0.3).draw(0, 0)
    means = instance.means
    for a, b in instance.side.similar_pairs():
        assert abs(means[a] - means[b]) < 0.1
    for a, b in instance.side.dissimilar_pairs():
        assert abs(means[a] - means[b]) >= 0.1


def test_a_given_problem_is_a_copy():
    means = np.array([0.1, 0.5])
    problem = lsdt.problems.given(means)
    means[0] = 9.0
    assert problem.draw(0, 0).means.tolist() == [0.1, 0.5]
    assert problem.draw(0, 0).side.n_similar == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsdt.problems.uniform(0), "at least one arm"),
        (lambda: lsdt.problems.uniform(low=1.0, high=0.5), "low must not be above high"),
        (lambda: lsdt.problems.uniform(low="a"), "low must be a finite number"),
        (lambda: lsdt.problems.uniform(high=float("inf")), "high must be a finite number"),
        (lambda: lsdt.problems.uniform(epsilon=0), "epsilon must be positive"),
        (lambda: lsdt.problems.uniform(p_similar=1.5), "p_similar must lie"),
        (lambda: lsdt.problems.uniform(high=1.5, rewards="bernoulli"), "means from 0 to 1; got 1.5"),
        (lambda: lsdt.problems.given([]), "non-empty"),
        (lambda: lsdt.problems.given([float("nan")]), "finite"),
        (lambda: lsdt.problems.given("abc"), "list of numbers"),
        (lambda: lsdt.problems.given([0.1, -0.2], rewards="bernoulli"), "got -0.2"),
        (lambda: lsdt.problems.given([0.1], lsdt.SideInformation(2)), "1 means, and .* about 2 arms"),
        (lambda: lsdt.problems.given([0.1], 3), "side must be a SideInformation"),
        (
            lambda: lsdt.problems.given([0.5, 1.0], lsdt.from_means([0.5, 0.6], 0.2)),
            "arms 0 and 1 are said to be similar, epsilon is 0.2, and their means are 0.5 and 1;",
        ),
    ],
)
def test_bad_problems(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
