"""Means drawn by many chains: their law against points tried one by one, and the compiled kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.kernel import new_stream
from lsdt.policies.parts import mean_draws_rows
from lsdt.policies.parts.mean_draws import first_means, relations_of
from lsdt.policies.parts.mean_draws_kernel import DrawnRelations, draw_means
from lsdt.policies.parts.mean_draws_rows import draw_side_by_side
from naive.mean_posterior import points_that_hold
from tiers import compiled

N_CHAINS = mean_draws_rows._CHAINS


def near(a, b, epsilon):
    return ("similar", a, b, epsilon)


def far(a, b, epsilon):
    return ("dissimilar", a, b, epsilon)


def gap(a, b, low, high=math.inf):
    return ("range", a, b, low, high)


CASES = {
    "a chain": (3, [near(0, 1, 0.3), near(1, 2, 0.3), far(0, 2, 0.3)]),
    "a partial chain": (4, [near(0, 1, 0.2), near(1, 2, 0.2), far(0, 2, 0.2), near(2, 3, 0.2)]),
    "similar pairs only": (4, [near(0, 1, 0.2), near(1, 2, 0.3), near(0, 3, 0.1)]),
    "dissimilar pairs only": (4, [far(a, b, 0.2) for b in range(4) for a in range(b)]),
    "different distances": (4, [far(0, 1, 0.1), far(1, 2, 0.4), far(0, 2, 0.25), far(2, 3, 0.05)]),
    "similar and dissimilar": (3, [near(0, 1, 0.4), far(0, 1, 0.2), near(1, 2, 0.3), far(1, 2, 0.1)]),
    "wide and narrow": (
        4,
        [near(0, 1, 0.5), far(0, 1, 0.1), near(1, 2, 0.3), far(0, 2, 0.3), far(1, 3, 0.2)],
    ),
    "components apart": (
        5,
        [near(0, 1, 0.3), near(2, 3, 0.3), far(0, 2, 0.2), far(1, 3, 0.2), far(4, 0, 0.15)],
    ),
    "components that overlap": (
        6,
        [gap(0, 1, 0.3, 0.6), near(2, 3, 0.05), near(4, 5, 0.6), far(4, 5, 0.4)],
    ),
    "arms inside a component": (4, [near(0, 1, 0.6), far(0, 1, 0.4), far(2, 0, 0.1), far(3, 0, 0.1)]),
    "a range": (4, [gap(0, 1, 0.1, 0.4), near(1, 2, 0.2), far(2, 3, 0.3)]),
    "ranges of different widths": (
        4,
        [gap(0, 1, 0.05, 0.5), far(0, 2, 0.2), near(1, 2, 0.6), far(1, 2, 0.1), gap(3, 2, -0.1, 0.7)],
    ),
    "an order": (4, [gap(0, 1, 0.0), gap(1, 2, 0.0), far(0, 2, 0.3), far(1, 3, 0.2)]),
    "an order, and arms with one and two far ones": (
        5,
        [far(0, 1, 0.39), far(1, 2, 0.29), gap(3, 0, 0.0), far(0, 4, 0.37)],
    ),
}


def side_of(n_arms, relations):
    pairs = {kind: [row[1:3] for row in relations if row[0] == kind] for kind in ("similar", "dissimilar")}
    epsilon = tuple([row[3] for row in relations if row[0] == kind] for kind in ("similar", "dissimilar"))
    ranges = [
        (a, b, low, None if math.isinf(high) else high)
        for kind, a, b, low, *rest in relations
        if kind == "range"
        for high in rest
    ]
    return lsdt.SideInformation(n_arms, **pairs, ranges=ranges, epsilon=epsilon)


def features(means):
    """Means, their squares, which arm is best, the order and distance of each pair, and the span."""
    n_arms = means.shape[1]
    first, second = np.triu_indices(n_arms, 1)
    apart = means[:, first] - means[:, second]
    is_best = means.argmax(axis=1)[:, None] == np.arange(n_arms)
    return np.column_stack([means, means**2, is_best, apart > 0.0, np.abs(apart), np.ptp(means, axis=1)])


def mean_and_error(rows):
    """Return means of independent rows and their standard errors."""
    return rows.mean(axis=0), rows.std(axis=0) / math.sqrt(len(rows) - 1)


def of_chains(draws):
    """Return means of features and standard errors; chains are independent, draws of one are not."""
    return mean_and_error(features(draws).reshape(-1, N_CHAINS, features(draws[:1]).shape[1]).mean(axis=0))


def of_batches(draws):
    """Return means of features and standard errors, from long stretches of a single chain."""
    return mean_and_error(np.array([part.mean(axis=0) for part in np.array_split(features(draws), 25)]))


def assert_same_law(one, other, finest=0.0):
    """No mean differs by more than five standard errors, or rounding.

    A standard error is at least `finest`, the share of one draw: that of what was never seen would be 0.
    """
    margin = 5.0 * np.maximum(np.hypot(one[1], other[1]), finest) + 1e-9
    assert (np.abs(one[0] - other[0]) <= margin).all(), np.abs((one[0] - other[0]) / margin).max()


def drawn_by_rows(x, width, relations, n_draws, sweeps=5):
    draws = np.empty((n_draws, len(x)))
    rng = np.random.default_rng(4)
    draw_side_by_side(x.copy(), width, relations, sweeps, np.arange(len(x)), draws, rng)
    return draws


def drawn_by_kernel(x, width, relations, n_draws):
    draws = np.empty((n_draws, len(x)))
    compiled(draw_means)(x.copy(), 0.0, width, relations, 5, np.arange(len(x)), draws, new_stream(4))
    return draws


@pytest.mark.parametrize("name", CASES)
def test_the_law_is_that_of_points_tried_one_by_one(name):
    n_arms, relations = CASES[name]
    rng = np.random.default_rng(len(name))
    points = points_that_hold(relations, rng.random((500_000, n_arms)))
    draws = drawn_by_rows(points[0], 1.0, relations_of(side_of(n_arms, relations)), 100 * N_CHAINS)
    assert len(points_that_hold(relations, draws)) == len(draws)
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    assert_same_law(of_chains(draws), mean_and_error(features(points)))


PROBLEMS = [
    (20, 0.1, 1.0),
    (25, 0.1, 0.3),
    *(
        pytest.param(*problem, marks=pytest.mark.long)
        for problem in ((20, 0.1, 0.5), (25, 0.05, 0.2), (60, 0.15, 0.5), (60, 0.06, 1.0), (100, 0.1, 1.0))
    ),
]


@pytest.mark.parametrize(("n_arms", "epsilon", "p"), PROBLEMS)
def test_the_law_is_that_of_the_compiled_kernel(n_arms, epsilon, p):
    means = np.random.default_rng(1).random(n_arms)
    side = lsdt.from_means(means, epsilon).reveal(p, p, seed=1)
    relations = relations_of(side)
    draws = drawn_by_rows(
        means, 1.0, relations, 10 * N_CHAINS, sweeps=40
    )  # which mix slowly where there are many components
    one, other = side.similar_pairs().T
    assert (np.abs(draws[:, one] - draws[:, other]) < epsilon).all()
    one, other = side.dissimilar_pairs().T
    assert (np.abs(draws[:, one] - draws[:, other]) >= epsilon * (1.0 - 1e-12)).all()
    by_kernel = of_batches(drawn_by_kernel(means, 1.0, relations, 10_000))
    assert_same_law(of_chains(draws), by_kernel, finest=1.0 / len(draws))


def test_first_draws_have_the_law_of_later_ones():
    """Also where the first means are as near together as they can be."""
    side = lsdt.from_means(np.random.default_rng(3).random(100), 0.06)
    relations = relations_of(side)
    x, width = first_means(side, relations, 0.06, True, new_stream(0))
    draws = drawn_by_rows(x, width, relations, 4 * N_CHAINS)
    later = drawn_by_rows(x, width, relations, 4 * N_CHAINS, sweeps=40)
    spans = [
        mean_and_error(np.ptp(each, axis=1).reshape(4, N_CHAINS).mean(axis=0)) for each in (draws, later)
    ]
    assert np.ptp(x) < spans[1][0] - 20.0 * spans[1][1]
    assert_same_law(*spans)


def test_gaps_that_are_known_exactly_are_kept():
    """Their sums around a circle are 0, or a hair less by rounding."""
    x = np.random.default_rng(5).random(30)
    owners, others = np.nonzero(np.add.outer(np.arange(30), np.arange(30)) % 3 == 0)
    owners, others = owners[owners != others], others[owners != others]
    starts = np.searchsorted(owners, np.arange(31))
    exact = x[owners] - x[others]
    n_components, component = 2, (np.arange(30) % 3 > 0).astype(np.int64)
    nothing = np.zeros(0, np.int64)
    far_starts, turns = np.zeros(31, np.int64), np.zeros(n_components, np.int64)
    relations = DrawnRelations(
        starts, others, exact, exact, far_starts, nothing, np.zeros(0), component, turns
    )
    draws = drawn_by_rows(x, 1.0, relations, N_CHAINS)
    assert np.abs(draws[:, owners] - draws[:, others] - exact).max() < 1e-12
