"""Assumptions 3 to 5 and Theorem 5, beside the definitions word for word and beside simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.theory import check_assumptions, elimination_probability


def blocks(n_blocks, size, step=0.4):
    return np.repeat(np.arange(n_blocks) * step, size) + np.tile(np.arange(size) * 1e-4, n_blocks)


def by_definition(means, epsilon):
    """The smallest class, and the most disjoint pairs of witnesses of every arm that cannot be best."""
    near = np.abs(means[:, None] - means) < epsilon
    classes = {}
    for arm in range(len(means)):
        classes.setdefault(near[arm].tobytes(), []).append(arm)
    parts = list(classes.values())
    inside = set(range(len(means))) - set(lsdt.candidate_set(lsdt.from_means(means, epsilon)).arms)
    witnesses = {}
    for arm in inside:
        pairs = [
            min(len(u), len(v))
            for u in parts
            for v in parts
            if near[arm, u[0]] and near[arm, v[0]] and not near[u[0], v[0]]
        ]
        witnesses[arm] = max(pairs, default=0)
    return min(map(len, parts)), witnesses


@pytest.mark.parametrize("number", range(40))
def test_as_defined(number):
    rng = np.random.default_rng([number, 8])
    means = rng.integers(0, 40, int(rng.integers(1, 40)))
    epsilon = int(rng.choice([2, 5, 9, 15]))
    side = lsdt.from_means(means, epsilon)
    smallest, witnesses = by_definition(means, epsilon)
    p_similar, p_dissimilar = rng.uniform(0.5, 1.0, 2)
    check = check_assumptions(side, p_similar, p_dissimilar)
    product = p_similar**2 * p_dissimilar
    assert check.diverse == all(witnesses.values())
    assert check.product == pytest.approx(product)
    assert 1 - math.exp(-2 / check.kappa_of_revealing) == pytest.approx(product)
    if len(means) > 1:
        assert check.kappa_of_classes == pytest.approx(smallest / math.log(len(means)))
    assert check.hold == (check.diverse and check.kappa_of_revealing <= check.kappa_of_classes)
    chance = elimination_probability(side, p_similar, p_dissimilar)
    expected = 1 - sum((1 - product) ** n for n in witnesses.values())
    assert chance.probability == pytest.approx(max(expected, 0.0))
    assert chance.probability >= chance.theorem - 1e-12
    if check.hold and witnesses:
        assert chance.theorem == pytest.approx(1 - len(witnesses) / len(means) ** 2)
        assert chance.theorem >= 1 - 1 / len(means)


def test_a_path_breaks_the_stated_probability(thorough):
    """K arms in a row, classes of one arm, kappa = 1 / log K: each inner arm stays with chance 1 / K^2."""
    n_arms = 12
    side = lsdt.from_means(np.arange(n_arms) * 0.75, epsilon=1.0)
    share = (1 - 1 / n_arms**2) ** (1 / 3) + 1e-12
    check = check_assumptions(side, share, share)
    assert check.hold
    assert check.kappa_of_classes == pytest.approx(1 / math.log(n_arms))
    runs = 2_000 if thorough else 600
    failed = sum(len(lsdt.candidate_set(side.reveal(share, share, seed=at))) > 2 for at in range(runs)) / runs
    chance = elimination_probability(side, share, share)
    margin = 4 * math.sqrt(failed * (1 - failed) / runs)
    assert failed - margin > 1 - chance.stated
    assert failed - margin <= 1 - chance.theorem


def test_eliminated_as_often_as_promised(thorough):
    side = lsdt.from_means(blocks(5, 12), epsilon=0.5)
    chance = elimination_probability(side, 0.75, 0.75)
    runs = 300 if thorough else 120
    done = sum(len(lsdt.candidate_set(side.reveal(0.75, 0.75, seed=at))) == 24 for at in range(runs)) / runs
    assert 0.5 < chance.probability <= done + 4 * math.sqrt(0.25 / runs)


def test_the_theorem_is_not_quoted_where_its_assumptions_fail():
    side = lsdt.from_means(blocks(5, 12), epsilon=0.5)
    assert not check_assumptions(side, 0.3, 0.3).hold
    chance = elimination_probability(side, 0.3, 0.3)
    assert (chance.theorem, chance.stated) == (0.0, 0.0)
    assert chance.text.endswith("Theorem 5 says nothing here, because its assumptions fail")


def test_corners():
    one = lsdt.from_means([1.0], 1.0)
    assert check_assumptions(one, 0.5, 0.5).kappa_of_classes == math.inf
    assert elimination_probability(one, 0.5, 0.5).probability == 1.0
    side = lsdt.from_means(blocks(5, 12), epsilon=0.5)
    assert check_assumptions(side, 1, 1).kappa_of_revealing == 0.0
    assert elimination_probability(side, 1, 1).probability == 1.0
    assert check_assumptions(side, 0, 1).kappa_of_revealing == math.inf
    assert elimination_probability(side, 0, 1).probability == 0.0
    assert "does not hold" in check_assumptions(lsdt.from_means([0.0, 0.9, 1.0, 1.1, 2.0], 1.0), 1, 1).text


def test_bad_input():
    side = lsdt.from_means(blocks(3, 2), epsilon=0.5)
    with pytest.raises(InvalidInput, match="p_similar must lie between 0 and 1; got 2"):
        check_assumptions(side, 2, 0.5)
    with pytest.raises(Unsupported, match="give the complete one"):
        elimination_probability(side.reveal(0.5, 0.5), 0.5, 0.5)
