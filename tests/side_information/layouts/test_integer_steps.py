"""Thresholds in whole steps decide what exact arithmetic decides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.side_information.layouts.integer_steps import MOST_QUANTA, common_quantum, in_quanta, steps_of
from lsdt.side_information.layouts.thresholds import Thresholds, by_pair
from naive.thresholds import by_all_orders
from strategies import any_thresholds


def in_steps(side, steps):
    """Return the steps of every pair, as dictionaries."""
    store = side.store
    return tuple(
        dict(zip(map(tuple, graph.pairs().tolist()), by_pair(graph, values).tolist(), strict=True))
        for graph, values in ((store.similar, steps.similar), (store.listed_dissimilar(), steps.dissimilar))
    )


def test_one_epsilon_is_one_quantum():
    side = lsdt.from_means([0.1, 0.2, 0.4], 0.15)
    steps = steps_of(side.limits, side.n_arms)
    assert (steps.similar.tolist(), steps.dissimilar.tolist(), steps.unit, steps.size) == ([3], [4], 4, 0.15)
    unsized = lsdt.SideInformation(3, [(0, 1)])
    assert steps_of(unsized.limits, 9) == (np.array([9]), np.array([10]), 10, 1.0, True)


@given(any_thresholds(max_arms=5), st.sampled_from([0.1, 1 / 3, 0.07, 1e-9]))
def test_multiples_of_a_quantum_are_decided_exactly(problem, scale):
    n_arms, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    side = lsdt.SideInformation(n_arms, list(similar), list(dissimilar), epsilon=values)
    steps = steps_of(side.limits, side.n_arms)
    assert steps.exact
    assert steps.similar.dtype == steps.dissimilar.dtype == np.int64
    assert by_all_orders(n_arms, *in_steps(side, steps), strict=False) == by_all_orders(*problem)


@given(any_thresholds(max_arms=5), st.data())
def test_other_thresholds_are_rounded_to_the_safe_side(problem, data):
    n_arms, similar, dissimilar = problem
    noise = st.floats(0.9, 1.0, exclude_max=True, width=64)
    near = {pair: value + data.draw(noise) for pair, value in similar.items()}
    far = {pair: value * data.draw(noise) for pair, value in dissimilar.items()}
    side = lsdt.SideInformation(
        n_arms, list(near), list(far), epsilon=(list(near.values()), list(far.values()))
    )
    steps = steps_of(side.limits, side.n_arms)
    if not steps.exact:
        for at, (rounded, given_) in enumerate(zip(in_steps(side, steps), (near, far), strict=True)):
            for pair, count in rounded.items():
                quanta = Fraction(count + 1 - at, steps.unit)
                off = (quanta * Fraction(steps.size) - Fraction(given_[pair])) * (1 - 2 * at)
                assert 0 <= off < Fraction(steps.size)
        exact = by_all_orders(
            n_arms, *({pair: Fraction(v) for pair, v in relation.items()} for relation in (near, far))
        )
        assert exact <= by_all_orders(n_arms, *in_steps(side, steps), strict=False)


@pytest.mark.parametrize(
    ("values", "quantum"),
    [
        ([0.1, 0.2, 0.1 + 0.2], 0.1),
        ([0.123, 0.457], 0.001),
        ([2 / 3, 1.0], 1 / 3),
        ([2.0, 3.0, 7.0], 1.0),
        ([0.5], 0.5),
        ([1.0, np.sqrt(2.0)], None),
        ([1e-9, 1.0], None),
        ([1e-300, 1e300], None),
    ],
)
def test_the_largest_common_quantum(values, quantum):
    found = common_quantum(Thresholds(np.array(values), np.array(values[:1])))
    assert found == (None if quantum is None else pytest.approx(quantum))


def test_very_different_thresholds_stay_sound():
    similar, dissimilar, size, exact = in_quanta(Thresholds(np.array([1e-300, 1e300]), np.array([1e-300])))
    assert (similar[0], dissimilar[0], exact) == (1, 0, False)
    assert MOST_QUANTA // 2 <= similar[1] <= MOST_QUANTA
    assert similar[1] * size >= 1e300
