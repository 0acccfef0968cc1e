"""The triangle rule with distinct thresholds: sound, all that three arms can say, the paper's with one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.triangles.thresholds import scan_thresholds
from lsdt.candidates.triangles.thresholds_kernel import _reaches
from lsdt.side_information.layouts.stores import PairStore
from lsdt.side_information.layouts.thresholds import Thresholds
from naive.candidates import by_triangles
from naive.thresholds import by_all_orders, by_threshold_triangles, excluding_pairs
from strategies import any_relations, any_thresholds


def made(problem, scale=1.0):
    n_arms, similar, dissimilar = problem
    values = tuple([scale * value for value in relation.values()] for relation in (similar, dissimilar))
    return lsdt.SideInformation(n_arms, list(similar), list(dissimilar), epsilon=values)


def left_by(side, min_witnesses=1):
    try:
        return set(lsdt.candidate_set(side, "triangles", max_wrong=min_witnesses - 1).arms.tolist())
    except lsdt.errors.InconsistentSideInformation:
        return set()


def test_hand_worked():
    side = lsdt.SideInformation(
        5,
        similar=[(1, 0), (1, 2), (3, 2), (3, 4)],
        dissimilar=[(0, 2), (2, 4)],
        epsilon=([3, 5, 2, 4], [5, 3]),
    )
    found = lsdt.candidate_set(side, "triangles")
    assert found.arms.tolist() == [0, 2, 3, 4]  # 2 and 4 may be 3 apart below 3: 0 and 3.5 below it
    assert str(found.explain(1)) == (
        "arm 1 cannot be the best: it is less than 3 away from 0 and less than 5 from 2, which are at least "
        "5 apart. Were 1 the best, both would lie below it, hence less than 5 apart."
    )
    assert found.explain(1).relations == (
        (1, 0, "similar", 3.0),
        (1, 2, "similar", 5.0),
        (0, 2, "dissimilar", 5.0),
    )
    assert "may be the best as far as the triangle rule can tell: no two" in str(found.explain(3))


def test_ranges_exclude_more():
    """Two arms at least 2 below arm 0, and less than 3 and 4, are less than 2 apart."""
    similar, far = [(0, 1), (0, 2)], [(1, 2)]
    assert left_by(lsdt.SideInformation(3, similar, far, epsilon=([3, 4], 2))) == {0, 1, 2}
    side = lsdt.SideInformation(3, similar, [*far, (0, 1), (0, 2)], epsilon=([3, 4], [2, 2, 2]))
    found = lsdt.candidate_set(side, "triangles")
    assert found.arms.tolist() == [1, 2]
    assert "at least 2 and less than 3 away from 1" in str(found.explain(0))
    assert (0, 1, "dissimilar", 2.0) in found.explain(0).relations


@pytest.mark.parametrize(("high", "low", "apart"), [(0.3, 0.1, 0.2), (0.4, 0.1, 0.3), (0.7, 0.6, 0.1)])
def test_decimals_are_what_they_say(high, low, apart):
    """.4 - .1 > .3 in floats, and not in decimals."""
    side = lsdt.SideInformation(
        3, [(0, 1), (0, 2)], [(0, 1), (0, 2), (1, 2)], epsilon=(high, [low, low, apart])
    )
    assert left_by(side) == {1, 2}


@given(any_thresholds(max_arms=8, most=4), st.integers(1, 3), st.sampled_from([1.0, 0.1, 1 / 7]))
def test_it_is_the_rule_by_definition(problem, wanted, scale):
    assert left_by(made(problem, scale), wanted) == by_threshold_triangles(*problem, wanted)


@given(any_thresholds(max_arms=6, most=4))
def test_it_never_excludes_an_arm_that_can_be_the_best(problem):
    assert by_all_orders(*problem) <= left_by(made(problem))


@given(any_thresholds(max_arms=3, most=5))
def test_three_arms_say_no_more_unless_they_contradict_one_another(problem):
    _, similar, dissimilar = problem
    near = {frozenset(pair): value for pair, value in similar.items()}
    far = {frozenset(pair): value for pair, value in dissimilar.items()}
    impossible = any(
        far.get(frozenset((a, b)), 0) >= near.get(frozenset((a, c)), 99) + near.get(frozenset((c, b)), 99)
        for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 2, 0))
    )
    exact = by_all_orders(*problem)
    assert exact == (set() if impossible else left_by(made(problem)))


@given(any_relations(), st.integers(1, 2))
def test_with_one_threshold_it_is_the_rule_of_the_paper(problem, wanted):
    n_arms, similar, dissimilar = problem
    plain = lsdt.SideInformation(n_arms, similar, dissimilar).store
    one = Thresholds(np.array([0.1]), np.array([0.1]))
    witnesses = np.full((n_arms, wanted, 2), -1, np.int32)
    scan_thresholds(PairStore(n_arms, plain.similar, plain.listed_dissimilar(), one), witnesses)
    pairs = [{frozenset(pair) for pair in relation} for relation in (similar, dissimilar)]
    assert set(np.flatnonzero(witnesses[:, 0, 0] < 0).tolist()) == by_triangles(n_arms, *pairs, wanted)


@given(any_thresholds(max_arms=7, most=3))
def test_two_witnesses_survive_a_wrong_relation(problem):
    n_arms, similar, dissimilar = problem
    out = set(range(n_arms)) - left_by(made(problem), 2)
    for at, relation in enumerate((similar, dissimilar)):
        for pair in relation if out else ():
            less = {other: value for other, value in relation.items() if other != pair}
            without = (n_arms, less, dissimilar) if at == 0 else (n_arms, similar, less)
            assert all(excluding_pairs(*without, arm) for arm in out)


@given(any_thresholds(max_arms=8, most=3))
def test_reasons_and_conflicts_hold_by_themselves(problem):
    side = made(problem)
    if side.thresholds is None:
        return
    try:
        found = lsdt.candidate_set(side, "triangles")
    except lsdt.errors.InconsistentSideInformation as error:
        conflict = error.conflict
        relations = [
            {(a, b): limit for a, b, kind, limit in conflict.relations if kind == word}
            for word in ("similar", "dissimilar")
        ]
        for at, (near, known) in enumerate(zip(relations, problem[1:], strict=True)):
            assert all(known[pair] == value for pair, value in near.items()), at
        assert not by_threshold_triangles(problem[0], *relations) & set(conflict.arms)
        assert "apart" in str(conflict)
        least = lsdt.candidate_set(side, "triangles", max_wrong="auto")
        assert least.max_wrong > 0
        return
    for arm in set(range(problem[0])) - set(found.arms.tolist()):
        ordered = [(min(a, b), max(a, b), *rest) for a, b, *rest in found.explain(arm).relations]
        relations = [
            {(a, b): limit for a, b, kind, limit in ordered if kind == word}
            for word in ("similar", "dissimilar")
        ]
        assert all(problem[1:][at][pair] == relations[at][pair] for at in (0, 1) for pair in relations[at])
        assert arm not in by_threshold_triangles(problem[0], *relations)


def test_long_rows_are_searched_with_the_same_answer():
    rng = np.random.default_rng(5)
    means = np.round(rng.random(160), 3)
    pairs = np.array(list(combinations(range(160), 2)))
    distance = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    near = (distance < 0.1) & (rng.random(len(pairs)) < 0.1)
    far = (distance > 0.01) & (rng.random(len(pairs)) < 0.9)
    limits = np.round(distance[near] + 0.02, 3), np.round(0.9 * distance[far], 4)
    side = lsdt.SideInformation(160, pairs[near], pairs[far], epsilon=limits)
    similar, dissimilar = (
        dict(zip(map(tuple, some.tolist()), map(Fraction, map(str, values.tolist())), strict=True))
        for some, values in zip((pairs[near], pairs[far]), limits, strict=True)
    )
    left = left_by(side)
    assert int(np.argmax(means)) in left
    assert 0 < len(left) < 160
    assert left == {arm for arm in range(160) if not excluding_pairs(160, similar, dissimilar, arm)}


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(-2, 2))
def test_differences_of_floats_are_compared_as_real_numbers(high, low, ulps):
    least = abs(high - low)
    for _ in range(abs(ulps)):
        least = float(np.nextafter(least, np.inf if ulps > 0 else 0.0))
    function = getattr(_reaches, "py_func", _reaches)
    assert function(least, high, low) == (Fraction(least) >= Fraction(high) - Fraction(low))
