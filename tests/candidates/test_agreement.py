"""Four answers to one question: the triangle rule, propagation, probing and exact, and the slow twins.

``benchmarks/agreement.py`` asks the same of thousands of instances.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest

import lsdt
from lsdt.candidates.options import Options
from lsdt.candidates.propagation.closure_kernel import order_pairs, place_below
from lsdt.candidates.propagation.method import Clock, derive
from lsdt.candidates.search.probing import MOST_TRIES, derive_with_probing, find_probing
from lsdt.candidates.search.probing_kernel import probe
from lsdt.errors import InconsistentSideInformation
from lsdt.reproduce.theorems.hardness.formulas import (
    Formula,
    anchor_instance,
    random_formula,
    with_fresh_variable,
)
from naive.candidates import by_orders, by_triangles
from naive.checkers import means_fit
from naive.graphs import pair_set
from naive.orders import by_probing, by_propagation, survives_probing

EPSILONS, SHARES = (0.1, 0.2, 0.4, 0.7), (0.2, 0.35, 0.5, 0.8)


def from_means(seed, n_arms):
    rng = np.random.default_rng(seed)
    epsilon, p = EPSILONS[seed % 4], SHARES[seed // 4 % 4]
    return lsdt.from_means(rng.random(n_arms), epsilon).reveal(p, p, seed).explicit()


def from_coins(seed, n_arms):
    """Any relations at all; most hold a contradiction, many arms are joined in ways no means allow."""
    rng = np.random.default_rng((7, seed))
    words = rng.choice(3, n_arms * (n_arms - 1) // 2, p=[0.3, 0.25, 0.45])
    pairs = list(combinations(range(n_arms), 2))
    near, apart = ([pairs[at] for at in np.flatnonzero(words == word)] for word in (0, 1))
    return lsdt.SideInformation(n_arms, near, apart)


def sets_of(side):
    return side.n_arms, pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())


def answers(side):
    """What each method leaves; nothing where it finds the relations contradictory."""
    clock = Clock(None)
    found = [set(np.flatnonzero(derive(side, clock).witnesses[:, 0] < 0).tolist())]
    found += [set(method(side, clock).left.tolist()) for method in (derive, derive_with_probing)]
    try:
        decided = lsdt.candidate_set(side, "exact")
        assert decided.notes == ()
        found.append(set(decided.arms.tolist()))
    except InconsistentSideInformation:
        found.append(set())
    return found


@pytest.mark.parametrize("make", [from_means, from_coins])
def test_every_method_agrees_with_its_twin(make, thorough):
    for seed in range(600 if thorough else 32):
        side = make(seed, 3 + seed % 4)
        triangles, propagation, probing, decided = answers(side)
        sets = sets_of(side)
        assert triangles == by_triangles(*sets)
        assert propagation == by_propagation(*sets)
        assert probing == by_probing(*sets)
        assert decided == by_orders(*sets)


@pytest.mark.parametrize("make", [from_means, from_coins])
def test_each_method_leaves_no_more_than_the_one_before(make, thorough):
    for seed in range(1_000 if thorough else 24):
        triangles, propagation, probing, decided = answers(make(seed, 7 + seed % 6))
        assert decided <= probing <= propagation <= triangles


def test_propagation_is_exact_on_relations_of_means(thorough):
    larger = 0
    for seed in range(1_000 if thorough else 32):
        triangles, propagation, probing, decided = answers(from_means(1000 + seed, 6 + seed % 7))
        assert propagation == probing == decided
        larger += triangles > decided
    assert larger > 1  # these instances are not all easy


@pytest.mark.parametrize("seed", range(6))
def test_where_propagation_is_not_exact_probing_is_the_twins(seed):
    formula = random_formula(np.random.default_rng(seed), 3, 2, complements=seed % 2 == 0)
    side = anchor_instance(with_fresh_variable(formula))
    _, propagation, probing, decided = answers(side)
    assert decided <= probing <= propagation
    for arm in (side.index("x4"), side.index("x1")):
        assert (arm in probing) == survives_probing(*sets_of(side), arm)


def test_probing_excludes_what_propagation_leaves_and_says_why():
    """x1 + x2 + x3 = 1 and x1 + x2 + (1 - x3) = 1 cannot both hold."""
    side = anchor_instance(Formula(4, ((1, 2, 3), (1, 2, -3))))
    found = lsdt.candidate_set(side, "probing")
    assert "x4" in lsdt.candidate_set(side, "propagation")
    assert "x4" not in found
    assert [stage.name for stage in found.stages][-1] == "probing"
    explanation = found.explain("x4")
    assert not explanation.is_candidate
    assert len(explanation.relations) > 0
    few = lsdt.SideInformation(
        side.n_arms,
        [word[:2] for word in explanation.relations if word.relation == "similar"],
        [word[:2] for word in explanation.relations if word.relation == "dissimilar"],
        arm_ids=list(side.arm_ids),
    )
    assert "x4" not in lsdt.candidate_set(few, "exact")
    assert found.explain("x1").is_candidate == ("x1" in found)


def test_probing_out_of_time_is_propagation():
    side = anchor_instance(Formula(4, ((1, 2, 3), (1, 2, -3))))
    left = find_probing(side, Options(timeout=1e-9)).arms
    assert set(lsdt.candidate_set(side, "probing").arms.tolist()) <= set(left.tolist())


def test_probing_that_empties_the_set_falls_back():
    """Propagation leaves an arm of contradictory relations, probing none."""
    side = next(
        side
        for side in (from_coins(seed, 9) for seed in range(300))
        if len(derive(side, Clock(None)).left) and not len(derive_with_probing(side, Clock(None)).left)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lsdt.candidate_set(side, "probing")
    assert len(found) > 0
    assert found.max_wrong >= 1
    with pytest.raises(InconsistentSideInformation):
        lsdt.candidate_set(side, "exact")


def test_tries_are_counted_and_bounded():
    unit = 9
    bounds = np.full((4, 4), 3 * unit)
    np.fill_diagonal(bounds, 0)
    pairs, apart = np.array([[0, 1], [2, 3]]), np.array([unit, unit])
    for most, tried in ((0, 0), (1, 0), (2, 2), (3, 2), (MOST_TRIES, 4)):
        assert probe(bounds.copy(), pairs, apart, most) == (True, tried)


def test_what_follows_from_both_orders_holds():
    """3 lies a unit below 1 and below 2, which are dissimilar: whatever their order, two units down."""
    unit = 10
    bounds = np.full((4, 4), 2 * unit + 5)
    np.fill_diagonal(bounds, 0)
    bounds[:, 0] = np.minimum(bounds[:, 0], 0)
    for upper in (1, 2):
        assert place_below(bounds, upper, 3, unit)
    pairs, apart = np.array([[1, 2]]), np.array([unit])
    assert order_pairs(bounds, pairs, apart)
    assert -bounds[3, 0] == unit
    assert probe(bounds, pairs, apart, MOST_TRIES)[0]
    assert -bounds[3, 0] == 2 * unit  # one of 1 and 2 lies a unit below the top, and 3 below it


def test_means_are_certificates():
    for seed in range(16):
        side = from_means(seed, 12)
        found = lsdt.candidate_set(side, "exact")
        for arm in found.arms.tolist():
            means = found.explain(arm).means
            assert means_fit(side, means, side.epsilon)
            assert means[arm] == means.max()
