"""Propagation with distinct thresholds: between the arms that can be the best and the triangle rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InconsistentSideInformation
from naive.thresholds import by_all_orders, by_threshold_triangles
from strategies import any_thresholds, true_thresholds


@given(true_thresholds(), st.sampled_from([1.0, 0.1, 1 / 3]))
def test_it_lies_between_the_exact_answer_and_the_triangle_rule(problem, scale):
    means, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    side = lsdt.SideInformation(len(means), list(similar), list(dissimilar), epsilon=values)
    found = lsdt.candidate_set(side, "propagation")
    left = set(found.arms.tolist())
    assert by_all_orders(len(means), similar, dissimilar) <= left
    assert left <= by_threshold_triangles(len(means), similar, dissimilar)
    best = int(np.argmax(means))
    lower, upper = found.bounds(best)
    gaps = (means[best] - np.array(means)) * (scale if side.thresholds or side.epsilon else 1.0)
    assert (lower <= gaps * (1 + 1e-9)).all()
    assert (gaps <= upper * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_without_a_common_quantum_keep_the_best_arm(seed):
    rng = np.random.default_rng(seed)
    means = rng.random(60)
    pairs = np.array(list(combinations(range(60), 2)))
    pairs = pairs[rng.random(len(pairs)) < 0.6]
    distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    limit = 0.05 + 0.2 * rng.random(len(pairs))
    near = distance < limit
    side = lsdt.SideInformation(60, pairs[near], pairs[~near], epsilon=(limit[near], limit[~near]))
    found = lsdt.candidate_set(side)
    assert found.method == "propagation"
    assert set(found.arms.tolist()) < set(lsdt.candidate_set(side, "triangles").arms.tolist())
    best = int(np.argmax(means))
    lower, upper = found.bounds(best)
    gaps = means[best] - means
    assert (lower <= gaps).all()
    assert (gaps <= upper).all()
    assert np.isfinite(upper).sum() > 30


def test_chains_of_thresholds_add_up():
    """Arm 2 lies less than .1 + .2 below arm 0, through arm 1."""
    side = lsdt.SideInformation(4, [(0, 1), (1, 2)], [(0, 3), (2, 3)], epsilon=([0.1, 0.2], [0.5, 0.1]))
    lower, upper = lsdt.candidate_set(side, "propagation").bounds(0)
    assert lower.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.5])
    assert upper.tolist() == pytest.approx([0.0, 0.1, 0.3, np.inf])


@given(any_thresholds(max_arms=5), st.sampled_from([1.0, 0.1]))
def test_exact_agrees_with_trying_every_order(problem, scale):
    n_arms, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    side = lsdt.SideInformation(n_arms, list(similar), list(dissimilar), epsilon=values)
    try:
        found = lsdt.candidate_set(side, "exact")
    except InconsistentSideInformation:
        assert by_all_orders(*problem) == set()
        return
    assert found.notes == ()
    assert set(found.arms.tolist()) == by_all_orders(*problem)
    size = scale if side.thresholds or side.epsilon else 1.0
    for arm in range(n_arms):
        means = found.explain(arm).means
        if arm in found:
            assert means[arm] == means.max()
            assert all(abs(means[a] - means[b]) < value * size for (a, b), value in similar.items())
            assert all(abs(means[a] - means[b]) >= value * size for (a, b), value in dissimilar.items())


def test_exact_without_a_common_quantum_shows_means_or_says_undecided():
    rng = np.random.default_rng(5)
    means = rng.random(20)
    pairs = np.array(list(combinations(range(20), 2)))
    pairs = pairs[rng.random(len(pairs)) < 0.5]
    distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    limit = 0.05 + 0.3 * rng.random(len(pairs))
    near = distance < limit
    side = lsdt.SideInformation(20, pairs[near], pairs[~near], epsilon=(limit[near], limit[~near]))
    found = lsdt.candidate_set(side, "exact")
    assert int(np.argmax(means)) in found
    assert set(found.arms.tolist()) <= set(lsdt.candidate_set(side, "probing").arms.tolist())
    shown = 0
    for arm in found:
        depths = found.explain(arm).means
        if depths is not None:
            gaps = np.abs(depths[pairs[:, 0]] - depths[pairs[:, 1]])
            assert (gaps[near] < limit[near]).all()
            assert (gaps[~near] >= limit[~near]).all()
            shown += 1
    assert shown > 0


@given(true_thresholds(6), st.sampled_from([1.0, 0.1, 1 / 3]))
def test_exact_is_the_answer_by_all_orders_with_means_that_show_it(problem, scale):
    means, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    side = lsdt.SideInformation(len(means), list(similar), list(dissimilar), epsilon=values)
    found = lsdt.candidate_set(side, "exact")
    assert set(found.arms.tolist()) == by_all_orders(len(means), similar, dissimilar)
    for arm in found.arms.tolist():
        shown = found.explain(arm).means
        assert shown.argmax() == arm or shown[arm] == shown.max()
        unit = scale if side.thresholds or side.epsilon else 1.0
        for (a, b), value in similar.items():
            assert abs(shown[a] - shown[b]) < value * unit
        for (a, b), value in dissimilar.items():
            assert abs(shown[a] - shown[b]) >= value * unit
