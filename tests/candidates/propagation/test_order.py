"""Order: hand-worked cases, agreement with exact arithmetic, and every proof checked by itself."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import lsdt
from lsdt.candidates.propagation.difference_links import least_levels, links_of, quanta_of
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from naive.checkers import follows, is_circle, lies_below, satisfy
from naive.ranges import can_be_best, exact, is_possible, upper_bounds

KINDS = ("similar", "dissimilar", "better", "ranges")


def order(side):
    return lsdt.candidate_set(side, "order")


def instance(seed, kinds=KINDS, number=lambda rng: int(rng.integers(-4, 5)) / 10):
    """Two to six arms and relations of these kinds, as a user lists them; may be contradictory."""
    rng = np.random.default_rng((seed, 3))
    n_arms = int(rng.integers(2, 7))
    means = [number(rng) for _ in range(n_arms)]
    lists = {kind: [] for kind in KINDS}
    sparse, lies = rng.choice([0.4, 0.7, 1.0]), rng.choice([0.0, 0.4, 1.0])
    epsilon, wide = 0.2, rng.choice([0.25, 1.0])
    for pair in combinations(range(n_arms), 2):
        for _ in range(1 + (rng.random() < 0.1)):
            a, b = pair if rng.random() < 0.5 else pair[::-1]
            if rng.random() > sparse:
                continue
            word = rng.choice(kinds)
            gap = means[a] - means[b] if rng.random() >= lies else number(rng)
            if word == "ranges":
                low, high = (
                    round(gap - end, 10) for end in (wide * abs(number(rng)), -wide * abs(number(rng)))
                )
                is_open = rng.random(2) < 0.3
                lists[word].append((a, b, None if is_open[0] else low, None if is_open[1] else high))
            elif word == "better":
                lists[word] += [(a, b)] if gap > 1e-9 else []
            elif (word == "similar") == (abs(gap) < epsilon - 1e-9):
                lists[word].append((min(a, b), max(a, b)))
    return n_arms, lists, epsilon


def built(n_arms, lists, epsilon):
    """The side information, or None where one pair contradicts itself."""
    try:
        return lsdt.SideInformation(n_arms, **lists, epsilon=epsilon)
    except InvalidInput:
        return None


def bounds_of(lists, epsilon, number=exact):
    return upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon, number)


# ------------------------------------------------------------------ by hand


def test_an_arm_below_another_is_out():
    side = lsdt.SideInformation(
        3, arm_ids=["A", "B", "C"], ranges=[("A", "B", 0.03, None), ("C", "A", -0.1, 0.1)]
    )
    found = order(side)
    assert found.arm_ids == ["A", "C"]
    assert found.verb == "can be"
    assert str(found.explain("B")) == "arm 'B' cannot be the best: 'A' is better than it by at least 0.03."
    assert found.explain("B").relations == (("A", "B", "range", 0.03, None),)
    assert found.explain("C").means.tolist() == pytest.approx([0.03, 0, 0.03])


def test_a_closed_range_from_0_excludes_nobody():
    side = lsdt.SideInformation(2, ranges=[(0, 1, 0, 1)])
    assert order(side).arms.tolist() == [0, 1]
    assert order(lsdt.SideInformation(2, better=[(0, 1)])).arms.tolist() == [0]
    chain = lsdt.SideInformation(3, ranges=[(0, 1, 0, None)], better=[(1, 2)])
    assert order(chain).arms.tolist() == [0, 1]


def test_a_chain_through_similar_arms():
    side = lsdt.SideInformation(
        4, similar=[(1, 2)], epsilon=0.1, ranges=[(0, 1, 0.3, None), (2, 3, -0.3, 0.5)], arm_ids=[*"abcd"]
    )
    found = order(side)
    assert found.arm_ids == ["a", "d"]
    assert str(found.explain("c")) == (
        "arm 'c' cannot be the best: 'a' is better than it by more than 0.2, since 'a' minus 'b' is at least "
        "0.3 and 'b' and 'c' are similar."
    )
    better = lsdt.SideInformation(3, [(1, 2)], epsilon=0.3, ranges=[(0, 1, 0.3, None)])
    assert order(better).arms.tolist() == [0]  # less than .3 above what is .3 below


def test_sums_of_decimals_are_what_they_say():
    rows = [(0, 1, 0.1, None), (1, 2, 0.2, None), (3, 2, 0.3, 0.3), (3, 0, None, 0)]
    found = order(lsdt.SideInformation(4, ranges=rows))
    assert found.arms.tolist() == [0, 3]  # .1 + .2 is .3, although floats say that it is more
    assert found.verb == "can be"


def test_numbers_without_a_common_quantum_are_rounded_outward():
    rows = [(0, 1, 1 / 3, None), (1, 2, -np.pi / 10, 2**0.5)]
    found = order(lsdt.SideInformation(3, ranges=rows))
    assert found.arms.tolist() == [0]
    assert "no common unit" in found.notes[0]
    assert found.verb == "may be"
    tiny = order(lsdt.SideInformation(2, ranges=[(0, 1, 1e-30, 1.0)]))
    assert tiny.arms.tolist() == [0, 1]  # rounded to 0, which excludes nobody
    for bounds in (rows, [(0, 1, 1e-30, 1.0), (0, 2, -1e-30, 1e300)]):
        links = links_of(lsdt.SideInformation(3, ranges=bounds))[0]
        quanta = quanta_of(links.bound, 3)
        assert not quanta.exact
        for bound, whole in zip(links.bound, quanta.bounds, strict=True):
            assert (
                Fraction(bound)
                <= int(whole) * Fraction(quanta.size)
                < Fraction(bound) + Fraction(quanta.size)
            )


def test_strict_links_are_counted_not_added():
    n_arms = 200
    side = lsdt.SideInformation(
        n_arms, better=[(arm, arm + 1) for arm in range(n_arms - 1)], ranges=[(0, n_arms - 1, 0.001, 0.001)]
    )
    found = order(side)
    assert found.arms.tolist() == [0]
    means = found.explain(0).means
    assert (np.diff(means) < 0).all()
    assert means[0] - means[-1] == pytest.approx(0.001)


def test_similar_pairs_without_epsilon():
    side = lsdt.SideInformation(3, similar=[(1, 2)], better=[(0, 1)])
    assert order(side).arms.tolist() == [0, 2]
    assert order(side).verb == "can be"
    side = lsdt.SideInformation(3, similar=[(1, 2)], ranges=[(0, 1, 5, None)])
    assert order(side).arms.tolist() == [0, 2]
    assert "epsilon is not known" in order(side).notes[0]


def test_distinct_thresholds():
    side = lsdt.SideInformation(4, [(1, 2), (1, 3)], epsilon=([0.1, 0.4], 0.1), ranges=[(0, 1, 0.3, None)])
    found = order(side)
    assert found.arms.tolist() == [0, 3]
    assert found.explain(2).relations[1] == (1, 2, "similar", 0.1)


def test_nothing_to_order():
    found = order(lsdt.SideInformation(3, similar=[(0, 1)]))
    assert found.arms.tolist() == [0, 1, 2]
    assert "nothing orders the arms" in found.notes[0]
    assert "as far as" in str(found.explain(1))
    with pytest.raises(InvalidInput, match="'order' assumes that all relations are right"):
        lsdt.candidate_set(lsdt.SideInformation(3), "order", max_wrong=1)


def test_a_circle_is_shown():
    side = lsdt.SideInformation(5, better=[(0, 1), (1, 2), (2, 0), (3, 4)])
    with pytest.raises(InconsistentSideInformation, match="0 is better than 1") as error:
        order(side)
    assert set(error.value.conflict.arms) == {0, 1, 2}
    assert len(error.value.conflict.relations) == 3
    closed = lsdt.SideInformation(3, ranges=[(0, 1, 0, None), (1, 2, 0, None), (2, 0, 0, None)])
    assert order(closed).arms.tolist() == [0, 1, 2]  # all equal


def test_more_ranges_than_fit_in_memory():
    rows = np.column_stack([np.zeros(1_000), np.arange(1, 1_001), np.zeros(1_000), np.ones(1_000)])
    side = lsdt.SideInformation(1_001, ranges=rows)
    with memory_limit(100_000), pytest.raises(TooLarge, match="order of 2,000 links"):
        order(side)
    with memory_limit(100_000), pytest.raises(TooLarge, match="joining 1,000 ranges"):
        lsdt.SideInformation(1_001, ranges=rows)


def test_a_long_circle_is_found_soon():
    n_arms = 3_000
    system = [(arm, (arm + 1) % n_arms) for arm in range(n_arms)]
    with pytest.raises(InconsistentSideInformation) as error:
        order(lsdt.SideInformation(n_arms, better=system))
    assert len(error.value.conflict.relations) == n_arms


# ------------------------------------------------------------------ as a stage


def test_propagation_begins_with_order():
    side = lsdt.SideInformation(
        5, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)], epsilon=0.1, better=[(1, 3)], ranges=[(2, 4, 0, 1)]
    )
    found = lsdt.candidate_set(side)
    assert [(stage.name, stage.examined, stage.excluded) for stage in found.stages][:2] == [
        ("order", 5, 1),
        ("triangles", 4, 1),
    ]
    assert found.arms.tolist() == [1, 2, 4]
    assert found.notes == ()
    assert found.verb == "may be"
    assert "1 is better than it" in str(found.explain(3))
    assert "similar to 1 and 2" in str(found.explain(0))
    assert "dissimilar pairs were not used" in order(side).notes[0]
    assert order(side).verb == "may be"
    assert lsdt.candidate_set(side, "probing").arms.tolist() == [1, 2, 4]


def test_without_dissimilar_pairs_order_is_all_there_is():
    side = lsdt.SideInformation(3, similar=[(0, 1)], epsilon=0.1, better=[(0, 2)])
    for method in ("auto", "propagation", "probing"):
        found = lsdt.candidate_set(side, method)
        assert [stage.name for stage in found.stages] == ["order"]
        assert found.arms.tolist() == [0, 1]
        assert found.verb == "can be"
        assert found.explain(1).means is not None


def test_an_arm_that_order_excludes_is_no_contradiction():
    # Arm 2 is a part of its own, of which no arm is left.
    side = lsdt.SideInformation(3, dissimilar=[(0, 1)], better=[(0, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lsdt.candidate_set(side).arms.tolist() == [0, 1]
        assert lsdt.candidate_set(side, "probing").arms.tolist() == [0, 1]


@pytest.mark.parametrize("method", ["auto", "probing"])
def test_contradictions_fall_back(method):
    circle = lsdt.SideInformation(4, [(0, 1), (0, 2)], [(1, 2)], better=[(0, 1), (1, 3), (3, 0)])
    with pytest.warns(ContradictionWarning, match="3 is better than 0"):
        found = lsdt.candidate_set(circle, method)
    assert found.arms.tolist() == [0, 1, 2, 3]
    assert found.max_wrong == 1
    assert len(found.conflict.relations) == 3
    # Neither order nor triangles alone exclude every arm.
    both = lsdt.SideInformation(3, [(0, 1), (0, 2)], [(1, 2)], better=[(0, 1), (0, 2)])
    with pytest.warns(ContradictionWarning, match="0 is better than"):
        found = lsdt.candidate_set(both, method)
    assert found.arms.tolist() == [0, 1, 2]
    assert len(found.conflict.relations) == 5


# ------------------------------------------------------------------ agreement


def check_order(seed):
    """One instance without dissimilar pairs: the answer is exact, and every part of it is proved."""
    n_arms, lists, epsilon = instance(seed, ("similar", "better", "ranges", "ranges"))
    side = built(n_arms, lists, epsilon)
    if side is None or side.ranges is None:
        return "skipped"
    bounds = bounds_of(lists, epsilon)
    expected = can_be_best(n_arms, bounds)
    try:
        found = order(side)
    except InconsistentSideInformation as error:
        assert expected == set()
        numbers = [
            tuple(exact(part) if isinstance(part, float) else part for part in relation)
            for relation in error.conflict.relations
        ]
        assert is_circle(n_arms, numbers, exact(epsilon), is_possible)
        return "contradictory"
    assert set(found.arms.tolist()) == expected
    assert found.verb == "can be"
    assert lsdt.candidate_set(side).arms.tolist() == found.arms.tolist()
    for arm in range(n_arms):
        why = found.explain(arm)
        assert why.is_candidate == (arm in expected)
        if why.is_candidate:
            assert satisfy(bounds, why.means)
            assert why.means[arm] == why.means.max()
        else:
            assert lies_below(bounds, why)
    return "excluding" if len(expected) < n_arms else "plain"


def check_mixed(seed):
    """One instance of all kinds: no method loses an arm that can be the best, or invents a contradiction."""
    n_arms, lists, epsilon = instance(seed)
    side = built(n_arms, lists, epsilon)
    if side is None or side.ranges is None:
        return "skipped"
    bounds, far = bounds_of(lists, epsilon), sorted(set(lists["dissimilar"]))
    expected = can_be_best(n_arms, bounds, far, epsilon)
    seen = "exact"
    for method in ("order", "propagation", "probing"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ContradictionWarning)
                found = lsdt.candidate_set(side, method)
        except InconsistentSideInformation:
            assert expected == set()
            seen = "contradictory"
            continue
        if found.conflict is not None:
            assert expected == set()
            seen = "contradictory"
            continue
        assert expected <= set(found.arms.tolist())
        if found.verb == "can be":
            assert expected == set(found.arms.tolist())
        for arm in set(range(n_arms)) - set(found.arms.tolist()):
            why = found.explain(arm)
            assert not why.is_candidate
            if any(relation[2] in ("better", "range") for relation in why.relations):
                apart = {frozenset(pair): exact(epsilon) for pair in far}
                assert follows(bounds, apart, why.steps, arm, (1, exact(epsilon)))
        if method == "probing" and set(found.arms.tolist()) != expected:
            seen = "wider"
    return seen


def test_order_is_exact(thorough):
    seen = [check_order(seed) for seed in range(5_000 if thorough else 70)]
    assert min(seen.count("contradictory"), seen.count("excluding"), seen.count("plain")) > len(seen) // 30


def test_mixed_relations_never_lose_the_best(thorough):
    seen = [check_mixed(seed) for seed in (range(5_000) if thorough else range(60, 120))]
    assert min(seen.count("contradictory"), seen.count("exact")) > len(seen) // 100


def test_floats_without_a_quantum_agree_with_fractions(thorough):
    excluded = 0
    for seed in range(1_000 if thorough else 60):
        n_arms, lists, epsilon = instance(seed, ("better", "ranges"), lambda rng: rng.normal())
        side = built(n_arms, lists, epsilon)
        if side is None or side.ranges is None:
            continue
        expected = can_be_best(n_arms, bounds_of(lists, epsilon, Fraction))
        try:
            found = order(side)
        except InconsistentSideInformation:
            assert expected == set()
            continue
        assert set(found.arms.tolist()) == expected
        excluded += len(expected) < n_arms
    assert excluded > 10


def test_many_arms_against_one_link_at_a_time():
    rng = np.random.default_rng(5)
    n_arms, n_ranges = 300, 3_000
    means = rng.integers(0, 1_000, n_arms)
    first = rng.integers(0, n_arms, n_ranges)
    second = (first + rng.integers(1, n_arms, n_ranges)) % n_arms
    gap, width = means[first] - means[second], rng.integers(0, 300, (2, n_ranges))
    side = lsdt.SideInformation(
        n_arms, ranges=np.column_stack([first, second, gap - width[0], gap + width[1]])
    )
    links, _ = links_of(side)
    quanta = quanta_of(links.bound, n_arms)
    found = least_levels(n_arms, links, quanta.bounds)
    level = np.zeros(n_arms, np.int64)
    for _ in range(n_arms):
        before = level.copy()
        for start, end, bound in zip(links.start, links.end, quanta.bounds, strict=True):
            level[end] = min(level[end], level[start] + bound)
        if np.array_equal(level, before):
            break
    assert found.circle is None
    assert np.array_equal(found.level, level)
    assert int(np.argmax(means)) in np.flatnonzero(level == 0)


# ------------------------------------------------------------------ gaps


def test_gaps_by_hand():
    side = lsdt.SideInformation(
        4, similar=[(1, 3)], epsilon=0.1, ranges=[(0, 1, 0.2, 0.5), (2, 1, None, 0.3), (2, 0, -0.3, None)]
    )
    found = lsdt.candidate_set(side)
    assert found.arms.tolist() == [0, 2]
    lower, upper = found.bounds(0)
    assert lower.tolist() == pytest.approx([0, 0.2, 0, 0.1])
    assert upper.tolist() == pytest.approx([0, 0.5, 0.3, 0.6])
    assert found.bounds(2).upper.tolist() == pytest.approx([0.1, 0.3, 0, 0.4])
    with pytest.raises(InvalidInput, match="cannot be the best"):
        found.bounds(1)
    with pytest.raises(InvalidInput, match="the order of the arms shows that arm 1 cannot be the best"):
        lsdt.candidate_set(side, "triangles").bounds(1)


def test_ranges_narrow_what_distances_say():
    far = {"similar": [(0, 1)], "dissimilar": [(0, 2)], "epsilon": 0.1}
    plain, more = lsdt.SideInformation(3, **far), lsdt.SideInformation(3, **far, ranges=[(0, 2, -0.4, 0.15)])
    before, after = (lsdt.candidate_set(side).bounds(0) for side in (plain, more))
    assert before.upper.tolist() == [0.0, 0.1, np.inf]
    assert after.lower.tolist() == before.lower.tolist()
    assert after.upper.tolist() == pytest.approx([0.0, 0.1, 0.15])
    mutual = lsdt.candidate_set(more).mutual_bounds
    assert mutual.indices[: mutual.indptr[1]].tolist() == [0, 1, 2]
    assert mutual.upper[: mutual.indptr[1]].tolist() == pytest.approx([0.0, 0.1, 0.15])
    assert mutual.lower[: mutual.indptr[1]].tolist() == before.lower.tolist()


def test_distances_of_no_size_are_not_mixed_with_ranges():
    side = lsdt.SideInformation(3, dissimilar=[(0, 2)], ranges=[(0, 1, -5, 7)])
    assert lsdt.candidate_set(side).bounds(0).lower.tolist() == [0.0, 0.0, 0.0]
    assert lsdt.candidate_set(side).bounds(0).upper.tolist() == [0.0, 7.0, np.inf]
    side = lsdt.SideInformation(3, dissimilar=[(0, 2)], better=[(0, 1)])
    assert lsdt.candidate_set(side).bounds(0).lower.tolist() == [0.0, 0.0, 1.0]  # in epsilons


def test_gaps_of_true_means_hold():
    for seed in range(40):
        rng = np.random.default_rng((seed, 9))
        n_arms = 8
        means = rng.random(n_arms).round(2)
        pairs = [pair for pair in combinations(range(n_arms), 2) if rng.random() < 0.5]
        rows = [
            (a, b, means[a] - means[b] - rng.random(), means[a] - means[b] + rng.random()) for a, b in pairs
        ]
        near = [
            pair for pair in combinations(range(n_arms), 2) if abs(means[pair[0]] - means[pair[1]]) < 0.195
        ]
        far = [
            pair for pair in combinations(range(n_arms), 2) if abs(means[pair[0]] - means[pair[1]]) > 0.205
        ]
        kept = rng.random(2) < [0.7, 0.5]
        side = lsdt.SideInformation(
            n_arms, near[::2] if kept[0] else (), far[::2] if kept[1] else (), epsilon=0.2, ranges=rows
        )
        found = lsdt.candidate_set(side)
        best = int(np.argmax(means))
        gaps = means[best] - means
        lower, upper = found.bounds(best)
        assert (lower <= gaps + 1e-9).all()
        assert (gaps <= upper + 1e-9).all()
        mutual, place = found.mutual_bounds, found.arms.tolist().index(best)
        row = slice(mutual.indptr[place], mutual.indptr[place + 1])
        inside = gaps[found.arms[mutual.indices[row]]]
        assert (mutual.lower[row] <= inside + 1e-9).all()
        assert (inside <= mutual.upper[row] + 1e-9).all()
        assert (np.diff(mutual.indices[row]) > 0).all()
