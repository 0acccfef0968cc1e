from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.propagation import gap_bounds, method
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.derivation import relations_of
from lsdt.candidates.propagation.gap_bounds import mutual_bounds
from lsdt.candidates.propagation.orientation import growth_kernel as kernel
from lsdt.candidates.propagation.orientation.growth import Grower, GrowthEffort, codes_of, never, orient
from lsdt.candidates.propagation.orientation.growth_log import Log
from lsdt.candidates.propagation.orientation.proofs import (
    _between,
    _steps,
    explain_both_reflections,
    explain_by_log,
)
from lsdt.candidates.propagation.orientation.reflections import Reflection
from lsdt.candidates.reasons import BETWEEN
from lsdt.errors import InvalidInput
from naive.candidates import by_orders
from naive.checkers import in_epsilons, lies_below_either_way, lies_between, means_fit, satisfy
from naive.graphs import pair_set
from naive.orientation import by_orientation, orders
from naive.ranges import can_be_best, upper_bounds
from strategies import any_relations, integer_means

SideInformation = lsdt.SideInformation


def oriented(side):
    return orient(system_around(side, np.arange(side.n_arms)))


@pytest.fixture
def alone(monkeypatch):
    """Other methods without this stage."""
    monkeypatch.setattr(method, "_WORTH_ORIENTING", 10**9)


def naive_of(side):
    return side.n_arms, pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())


# 1 and 2 are dissimilar and both similar to 0: say 1 is above. 3 is similar to 2 and dissimilar to 0 and 1,
# so it lies below both: above 0 it would be at least 1 away from 2. The line is 1, 0, 2, 3.
LINE = SideInformation(4, [(0, 1), (0, 2), (2, 3)], [(1, 2), (0, 3), (1, 3)])


def test_hand_worked_line():
    found = oriented(LINE)
    assert (found.n_ordered, found.n_pairs) == (3, 3)
    assert found.is_out.tolist() == [True, False, True, False]
    assert found.is_exact
    for means in found.models:
        assert means_fit(LINE, means, 1.0)
    assert sorted(int(means.argmax()) for means in found.models) == [1, 3]


def levels_below(codes, bits, signs, levels):
    queue, came_from = np.arange(len(levels), dtype=np.int32), np.zeros(len(levels), np.int32)
    return kernel.lower_levels(codes, bits, signs, queue, len(queue), came_from, levels)


def test_strict_relations_in_a_circle_that_levels_do_not_show():
    # 0 above 1, 1 similar to 2, 2 above 3, 3 similar to 0: adds up to 0, and similar pairs are strict.
    side = SideInformation(4, [(1, 2), (0, 3)], [(0, 1), (2, 3)])
    codes = codes_of(system_around(side, np.arange(4)))
    bits, signs = np.zeros(4, np.int16), np.zeros(kernel.MOST_CLASSES, np.int8)
    bits[:], signs[2] = [2, -2, 2, -2], 1
    levels, counts = np.zeros(4, np.int64), np.zeros(4, np.int64)
    assert levels_below(codes, bits, signs, levels) == -1
    assert kernel.strict_counts(codes, bits, signs, levels, counts) >= 0
    counts[:] = 0
    assert kernel.raise_counts(codes, bits, signs, levels, np.arange(4), counts) >= 0


@pytest.mark.parametrize("signed", [False, True])
def test_counts_raised_bit_by_bit_are_those_of_kahns_order(signed, thorough):
    for seed in range(100 if thorough else 8):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 40)
        side = lsdt.from_means(means, 0.1).reveal(0.4, 0.4, seed).explicit()
        if signed:
            pairs = np.random.default_rng(seed).integers(0, 40, (6, 2))
            pairs = pairs[means[pairs[:, 0]] > means[pairs[:, 1]]]
            side = SideInformation(
                40, side.similar_pairs(), side.dissimilar_pairs(), better=pairs, epsilon=0.1
            )
        codes = codes_of(system_around(side, np.arange(40)))
        grower = Grower(codes, GrowthEffort(), never)
        grower.grow_all(np.arange(40))
        for chosen in grower.rounds():
            reflection = Reflection(codes, grower.classes, chosen, 1)
            reflection.find()
            if reflection.wrong >= 0:
                continue
            known = codes, grower.classes.bits, reflection.signs, reflection.levels
            expected, counts = np.zeros(40, np.int64), np.zeros(40, np.int64)
            assert kernel.strict_counts(*known, expected) == -1
            assert kernel.raise_counts(*known, np.arange(40), counts) == -1
            assert counts.tolist() == expected.tolist()
            assert counts.max() > 0


def test_orders_in_a_circle_are_noticed():
    side = SideInformation(3, [], [(0, 1), (1, 2)])
    codes = codes_of(system_around(side, np.arange(3)))
    # Rows: 0: 1; 1: 0, 2; 2: 1. The pair (1, 2) is ordered both ways, as no growth would do.
    bits, signs = np.array([2, 2, -2, 2], np.int16), np.zeros(kernel.MOST_CLASSES, np.int8)
    signs[2] = 1
    levels = np.zeros(3, np.int64)
    assert levels_below(codes, bits, signs, levels) in (0, 1)


def checked(side):
    """Check one instance by trying all orders of the arms; return whether it was decided exactly."""
    possible = by_orders(*naive_of(side))
    found = oriented(side)
    if found.contradiction is not None:
        assert not possible
        return True
    left = set(np.flatnonzero(~found.is_out).tolist())
    assert possible <= left
    if found.is_exact:
        assert possible == left
        for arm in left:
            assert any(means[arm] == means.max() for means in found.models)
        for means in found.models:
            assert means_fit(side, means, 1.0)
    naive = by_orientation(*naive_of(side))
    assert naive is None or naive <= left
    return left == possible


@given(any_relations(6))
def test_sound_on_any_relations(known):
    side = SideInformation(*known)
    if not side.is_complete:
        checked(side)


@given(integer_means(7), st.sampled_from([0.5, 0.7, 0.9]), st.integers(0, 99))
def test_sound_on_true_relations(drawn, share, seed):
    means, epsilon = drawn
    side = lsdt.from_means(means, epsilon).reveal(share, share, seed).explicit()
    if side.is_complete:
        return
    checked(SideInformation(len(means), side.similar_pairs(), side.dissimilar_pairs()))
    assert oriented(side).contradiction is None


def test_orders_are_those_that_follow():
    """Every order of a class follows from every other, by the twin."""
    compared = 0
    for seed in range(40):
        means = np.random.default_rng(seed).uniform(0, 4, 9)
        side = lsdt.from_means(means, 1.0).reveal(0.7, 0.7, seed).explicit()
        signs, rows = orders_of(side)
        for number in set(abs(signs).tolist()) - {0}:
            mine = signs * (abs(signs) == number)
            known = {
                (int(rows[at, 0]), int(rows[at, 1])) if mine[at] > 0 else (int(rows[at, 1]), int(rows[at, 0]))
                for at in np.flatnonzero(mine)
            }
            follow, _ = orders(*naive_of(side), *min(known))
            assert known <= follow
            compared += len(known) - 1
    assert compared > 200


def orders_of(side):
    from lsdt.candidates.propagation.orientation.growth import _USUAL_EFFORT, Grower, never

    codes = codes_of(system_around(side, np.arange(side.n_arms)))
    grower = Grower(codes, _USUAL_EFFORT, never)
    grower.grow_all(np.arange(side.n_arms))
    starts, others = grower.codes.dissimilar_starts, grower.codes.dissimilar
    rows = np.column_stack([np.repeat(np.arange(side.n_arms), np.diff(starts)), others])
    bits = grower.classes.bits.astype(int)
    return grower.classes.root[abs(bits)] * grower.classes.sign[abs(bits)] * np.sign(bits), rows


@pytest.mark.large
@pytest.mark.usefixtures("alone", "always_compiled")
@pytest.mark.parametrize(("n_arms", "share"), [(60, 0.25), (100, 0.5), (200, 0.15)])
def test_exact_on_random_graphs(n_arms, share, thorough):
    for seed in range(20 if thorough else 1):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, n_arms)
        side = lsdt.from_means(means, 0.1).reveal(share, share, seed).explicit()
        found = oriented(side)
        left = set(np.flatnonzero(~found.is_out).tolist())
        exact = set(lsdt.candidate_set(side, "exact", timeout=1e6).arms.tolist())
        assert exact <= left
        assert found.contradiction is None
        if found.is_exact:
            assert exact == left
            assert all(means_fit(side, 0.1 * model, 0.1) for model in found.models)


def test_parts_have_classes_of_their_own():
    both = SideInformation(
        8,
        [(0, 1), (0, 2), (2, 3), (4, 5), (4, 6), (6, 7)],
        [(1, 2), (0, 3), (1, 3), (5, 6), (4, 7), (5, 7)],
    )
    found = oriented(both)
    assert found.is_out.tolist() == [True, False, True, False] * 2
    assert found.n_ordered == 6


@pytest.mark.usefixtures("alone")
def test_wrong_relations_are_noticed_or_harmless():
    noticed = 0
    for seed in range(20):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 60)
        side = lsdt.from_means(means, 0.1).reveal(0.4, 0.4, seed).corrupt(0.01, seed=seed).explicit()
        found = oriented(side)
        noticed += found.contradiction is not None
        if found.contradiction is None:
            exact = lsdt.candidate_set(side, "exact", timeout=1e6)
            assert set(exact.arms.tolist()) <= set(np.flatnonzero(~found.is_out).tolist())
    assert noticed >= 15


def test_time_that_is_over_excludes_nobody():
    found = orient(system_around(LINE, np.arange(4)), lambda: True)
    assert not found.is_out.any()
    assert "time ran out" in found.remark


def test_the_stage_and_its_certificates(monkeypatch):
    means = np.random.default_rng(0).uniform(0.1, 1.0, 100)
    side = lsdt.from_means(means, 0.1).reveal(0.5, 0.5, 0).explicit()
    found = lsdt.candidate_set(side)
    assert [stage.name for stage in found.stages] == ["triangles", "orientation"]
    assert found.verb == "can be"
    with monkeypatch.context() as patched:
        patched.setattr(method, "_WORTH_ORIENTING", 10**9)
        assert found.arms.tolist() == lsdt.candidate_set(side, "exact", timeout=1e6).arms.tolist()
    for arm in found.arms.tolist():
        why = found.explain(arm)
        assert why.is_candidate
        assert why.means.argmax() == arm or why.means[arm] == why.means.max()
        assert means_fit(side, why.means, 0.1)
    for arm in np.setdiff1d(np.arange(100), found.arms).tolist():
        assert not found.explain(arm).is_candidate


def with_ranges(side):
    return orient(system_around(side, np.arange(side.n_arms)))


def signed_instance(seed):
    """Relations of six arms with better pairs and ranges; every fourth instance has a wrong one."""
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 12, 6) / 4.0
    similar, dissimilar, better, ranges = [], [], [], []
    for a in range(6):
        for b in range(a + 1, 6):
            gap, coin = means[a] - means[b], rng.random()
            if coin < 0.55:
                (similar if abs(gap) < 1 else dissimilar).append((a, b))
            if coin > 0.5 and rng.random() < 0.3:
                wrong = 0.75 if seed % 4 == 0 and rng.random() < 0.3 else 0.0
                ranges.append((a, b, float(gap + wrong - rng.integers(0, 2) / 4), float(gap + wrong + 0.25)))
            elif rng.random() < 0.1 and gap > 0:
                better.append((a, b))
    return similar, dissimilar, better, ranges


def test_sound_with_better_pairs_and_ranges(thorough):
    exactly = excluded = contradictions = 0
    for seed in range(1_000 if thorough else 25):
        similar, dissimilar, better, ranges = signed_instance(seed)
        try:
            side = SideInformation(6, similar, dissimilar, better=better, ranges=ranges, epsilon=1.0)
        except InvalidInput:
            continue
        if side.is_complete or side.ranges is None or len(dissimilar) > 5:
            continue
        bounds = upper_bounds(similar, better, ranges, 1)
        possible = can_be_best(6, bounds, dissimilar, 1)
        found = with_ranges(side)
        if found.contradiction is not None:
            contradictions += 1
            assert not possible
            continue
        left = set(np.flatnonzero(~found.is_out).tolist())
        assert possible <= left
        excluded += 6 - len(left)
        if found.is_exact:
            exactly += 1
            assert possible == left
            for means in found.models:
                assert satisfy(bounds, means * found.size)
                assert means_fit(side, means * found.size, 1.0)
    assert exactly > 2
    assert excluded > 10


def test_one_signed_pair_fixes_the_mirror():
    side = SideInformation(4, [(0, 1), (0, 2), (2, 3)], [(1, 2), (0, 3), (1, 3)], better=[(3, 1)])
    found = with_ranges(side)
    assert found.is_out.tolist() == [True, True, True, False]
    assert found.is_exact
    assert found.n_ordered == 3


def test_closed_ranges_may_be_tight_in_a_circle():
    similar, dissimilar, ranges = [(0, 1), (0, 2)], [(1, 2)], [(1, 3, 0.5, 0.5), (3, 2, 0.5, 0.5)]
    found = with_ranges(SideInformation(4, similar, dissimilar, ranges=ranges, epsilon=1.0))
    assert found.contradiction is None
    left = set(np.flatnonzero(~found.is_out).tolist())
    assert left == can_be_best(4, upper_bounds(similar, [], ranges, 1), dissimilar, 1) == {1}
    # 3 stands in the middle of 1 and 2, less than 1 from 0, which lies between them.
    wrong = with_ranges(SideInformation(4, similar, [*dissimilar, (0, 3)], ranges=ranges, epsilon=1.0))
    assert wrong.contradiction.tolist() == [0, 1, 2, 3]


@pytest.mark.usefixtures("alone")
def test_sound_with_distinct_thresholds(thorough):
    exactly = 0
    for seed in range(200 if thorough else 60):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0, 3, 8)
        first, second = np.triu_indices(8, 1)
        known = rng.random(28) < 0.6
        pairs, apart = np.column_stack([first, second])[known], np.abs(means[first] - means[second])[known]
        limits = rng.integers(4, 9, len(pairs)) / 8
        near = apart < limits
        if near.all() or not near.any():
            continue
        side = SideInformation(
            8, pairs[near].tolist(), pairs[~near].tolist(), epsilon=(limits[near], limits[~near])
        )
        found = oriented(side)
        assert found.contradiction is None
        left = set(np.flatnonzero(~found.is_out).tolist())
        exact = set(lsdt.candidate_set(side, "exact", timeout=1e6).arms.tolist())
        assert exact <= left
        if found.is_exact:
            exactly += 1
            assert exact == left
    assert exactly > 1


def test_derivations_show_an_arm_between_two_others(thorough):
    """Where no local contradiction excludes an arm, the independent checker accepts the derivation."""
    shown, graphs = 0, 6 if thorough else 2
    for seed in range(graphs):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 120)
        side = lsdt.from_means(means, 0.1).reveal(0.2, 0.2, seed).explicit()
        system = system_around(side, np.arange(120))
        out = np.flatnonzero(oriented(side).is_out)
        for arm in out[::9].tolist():
            found = _between(system, arm)
            if found is None:
                continue
            steps = _steps(side, system, found)
            used = lies_between(in_epsilons(side), steps, arm)
            assert used is not None
            assert used <= {
                (frozenset((a, b)), word) for a, b, word in relations_of(side, system, found.known)
            }
            shown += 1
    assert shown > 5 * graphs


def test_hand_worked_derivation():
    system = system_around(LINE, np.arange(4))
    found = _between(system, 2)
    steps = _steps(LINE, system, found)
    assert lies_between(in_epsilons(LINE), steps, 2)
    assert not lies_between(in_epsilons(LINE), steps[1:], 2)
    assert not lies_between(in_epsilons(LINE), steps, 0)
    assert [step.kind for step in steps][-2:] == ["between", "between"]


def logged(side):
    """The arms that are out, and the explanation of each from the log of the growth."""
    system = system_around(side, np.arange(side.n_arms))
    found = orient(system)
    if found.contradiction is not None:
        return
    log = Log(system, found.effort, found.seed)
    for arm in np.flatnonzero(found.is_out).tolist():
        yield arm, explain_by_log(side, system, arm, log)


def n_suppositions(why):
    return sum(step.kind == "supposition" for step in why.steps)


def test_hand_worked_log():
    explained = dict(logged(LINE))
    assert list(explained) == [0, 2]
    steps = explained[2].steps
    assert [step.kind for step in steps] == ["supposition", "order", "between", "between"]
    used = lies_between(in_epsilons(LINE), steps, 2)
    assert used is not None
    assert {(frozenset(one[:2]), one[2]) for one in explained[2].relations} == used
    assert not lies_between(in_epsilons(LINE), steps[1:], 2)
    assert not lies_between(in_epsilons(LINE), (steps[0]._replace(kind="order"), *steps[1:]), 2)


def test_an_explanation_without_steps_says_so(monkeypatch):
    monkeypatch.setattr(Log, "ends", lambda log, arm: [])
    why = dict(logged(LINE))[2]
    assert why.steps == ()
    assert "No step-by-step proof was found" in why.text


@pytest.mark.large
def test_the_log_shows_every_arm_that_is_out(thorough):
    """Also where several classes were joined, and an arm lies between others by orders of two of them."""
    shown = joined = 0
    for seed in range(1_000) if thorough else (51, 135):  # in the first of the two classes are joined
        rng = np.random.default_rng(seed)
        n_arms, share = int(rng.integers(6, 150)), rng.uniform(0.05, 0.6)
        means = rng.uniform(0.1, 1.0, n_arms)
        side = lsdt.from_means(means, 0.1).reveal(share, share, seed).explicit()
        for arm, why in logged(side):
            assert lies_between(in_epsilons(side), why.steps, arm), (seed, arm)
            shown += 1
            joined += n_suppositions(why) > 1
    assert shown > 60
    assert joined > 1


def test_the_log_shows_every_arm_that_is_out_by_wrong_relations_too(thorough):
    shown = 0
    for seed in range(300 if thorough else 12):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 25)
        side = lsdt.from_means(means, 0.15).reveal(0.35, 0.35, seed).corrupt(0.02, seed=seed).explicit()
        for arm, why in logged(side):
            assert lies_between(in_epsilons(side), why.steps, arm), (seed, arm)
            shown += 1
    assert shown > 20


def better_and_ranges(seed):
    """Relations of up to 40 arms whose means are quarters, some of them better pairs and ranges."""
    rng = np.random.default_rng(seed)
    means = rng.integers(0, rng.integers(6, 30), rng.integers(5, 40)) / 4
    share, signed = rng.uniform(0.2, 0.9), rng.uniform(0.002, 0.1)
    similar, dissimilar, better, ranges = [], [], [], []
    for a in range(len(means)):
        for b in range(a + 1, len(means)):
            gap, coin = means[a] - means[b], rng.random()
            if rng.random() < share:
                (similar if abs(gap) < 1 else dissimilar).append((a, b))
            if coin < signed:
                below, above = rng.integers(0, 3, 2) / 4
                ranges.append((a, b, float(gap - below), float(gap + above)))
            elif coin < 2 * signed and gap:
                better.append((a, b) if gap > 0 else (b, a))
    return len(means), similar, dissimilar, better, ranges


def test_the_log_shows_arms_that_are_out_by_better_pairs_and_ranges(thorough):
    shown = both = 0
    for seed in range(600 if thorough else 12):
        n_arms, similar, dissimilar, better, ranges = better_and_ranges(seed)
        side = SideInformation(n_arms, similar, dissimilar, better=better, ranges=ranges, epsilon=1.0)
        if side.ranges is None:
            continue
        bounds, apart = upper_bounds(similar, better, ranges, 1), {frozenset(pair): 1 for pair in dissimilar}
        for arm, why in logged(side):
            assert lies_below_either_way(bounds, apart, why.steps, arm), (seed, arm)
            shown += 1
            both += n_suppositions(why) > 0
    assert shown > 50
    assert both > 0 or not thorough


# The line 1, 0, 2, 3 again, and 4 better than 5; arm 6 is below 1 and below 3, one of which is above 0.
BESIDE = {"better": [(4, 5), (1, 6), (3, 6)]}


def test_a_class_turned_either_way_beside_better_pairs():
    side = SideInformation(7, LINE.similar_pairs(), LINE.dissimilar_pairs(), epsilon=1.0, **BESIDE)
    bounds = upper_bounds(LINE.similar_pairs().tolist(), BESIDE["better"], [], 1)
    apart = {frozenset(pair): 1 for pair in LINE.dissimilar_pairs().tolist()}
    explained = dict(logged(side))
    assert {0, 2, 5, 6} == set(explained)
    for arm, why in explained.items():
        assert lies_below_either_way(bounds, apart, why.steps, arm)
        assert [step.kind for step in why.steps[-2:]] == ["between", "between"] or arm > 3
    steps = explained[2].steps
    assert any("turned" in link.why for link in steps[-1].links)
    unturned = [link._replace(why=link.why.removesuffix(", turned")) for link in steps[-1].links]
    for wrong in (
        steps[:-1],
        (*steps[:-1], steps[-1]._replace(links=tuple(unturned))),
        (*steps[:-1], steps[-2]),
    ):
        assert not lies_below_either_way(bounds, apart, wrong, 2)


def test_an_image_that_a_range_refutes():
    # Say 1 lies above 4: then 0 lies above 3, which is close below 1; so 4 is further below 0 than the range
    # allows. Hence 4 lies above 1, and 3 above 0.
    similar = [(0, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (4, 5)]
    dissimilar = [(0, 3), (0, 5), (1, 4), (1, 6), (2, 5), (3, 5), (3, 6)]
    ranges = [(4, 0, -0.25, None)]
    side = SideInformation(7, similar, dissimilar, ranges=ranges, epsilon=1.0)
    bounds, apart = upper_bounds(similar, [], ranges, 1), {frozenset(pair): 1 for pair in dissimilar}
    explained = dict(logged(side))
    for arm, why in explained.items():
        assert lies_below_either_way(bounds, apart, why.steps, arm)
    steps = explained[0].steps
    assert [step.kind for step in steps] == ["supposition", "order", "contradiction", "between"]
    assert not lies_below_either_way(bounds, apart, (*steps[:2], steps[3]), 0)
    assert not lies_below_either_way(bounds, apart, (*steps[:3], steps[2]), 0)


def test_long_arguments_are_cut_in_the_text_alone():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 120)
    side = lsdt.from_means(means, 0.1).reveal(0.12, 0.12, 0).explicit()
    _, why = max(logged(side), key=lambda one: len(one[1].steps))
    assert len(why.steps) > 60
    assert f"... {len(why.steps) - 15:,} more steps" in why.text
    assert len(why.text.splitlines()) < 100


def test_explain_goes_on_to_the_log_where_arms_near_by_are_not_enough():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 100)
    side = lsdt.from_means(means, 0.1).reveal(0.3, 0.3, 0).explicit()
    found = method.derive(side, method.Clock(None))
    out = np.flatnonzero(found.oriented.is_out)
    assert len(out) > 20
    for arm in out[::7].tolist():
        why = explain_both_reflections(side, found.system, arm, found.near, 0, lambda: found.log, sizes=())
        assert lies_between(in_epsilons(side), why.steps, arm)


def bounds_of(side, arms, found=None):
    """Lower and upper bounds as matrices."""
    bounds = mutual_bounds(side, arms, found=found)
    lower, upper = np.zeros((len(arms), len(arms))), np.full((len(arms), len(arms)), np.inf)
    row = np.repeat(np.arange(len(arms)), np.diff(bounds.indptr))
    lower[row, bounds.indices], upper[row, bounds.indices] = bounds.lower, bounds.upper
    return lower, upper


def test_hand_worked_bounds_of_the_line():
    # If 1 is the best, 3 lies below 0, which lies less than 1 below 1, by at least 1; and below 2, which lies
    # at least 1 below 1, by less than 1. So 3 is at least 1 below, and less than 2 + 1.
    derived = replace(method.derive(LINE, method.Clock(None)), oriented=oriented(LINE))
    lower, upper = bounds_of(LINE, np.array([1, 3]), derived)
    assert lower.tolist() == [[0, 1], [1, 0]]
    assert upper.tolist() == [[0, 3], [3, 0]]


def test_bounds_hold_and_are_those_of_all_arms_one_by_one():
    compared = 0
    for seed in range(12):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 60)
        side = lsdt.from_means(means, 0.1).reveal(0.6, 0.6, seed).explicit()
        found = method.derive(side, method.Clock(None))
        if found.oriented is None or found.oriented.n_ordered < found.oriented.n_pairs:
            continue
        lower, upper = bounds_of(side, found.left, found)
        best = int(means[found.left].argmax())
        gaps = means[found.left][best] - means[found.left]
        assert (lower[best] <= gaps).all()
        assert (gaps <= upper[best]).all()
        low, high = bounds_of(side, found.left)
        np.testing.assert_allclose(lower, low, atol=1e-12)
        np.testing.assert_allclose(upper, high, atol=1e-12)
        compared += int((lower > 0).sum())
    assert compared > 20


@pytest.mark.parametrize("epsilon", [0.1, (0.1, 0.09)], ids=["one quantum", "ten quanta"])
def test_bounds_through_few_arms_hold(epsilon, monkeypatch):
    """With few visits a search, long ways lead through hubs; rows are cut to the arms known best."""
    means = np.random.default_rng(3).uniform(0.1, 1.0, 80)
    side = lsdt.from_means(means, 0.1).reveal(0.4, 0.4, 3)
    side = lsdt.SideInformation(80, side.similar_pairs(), side.dissimilar_pairs(), epsilon=epsilon)
    found = method.derive(side, method.Clock(None))
    whole = bounds_of(side, found.left, found)
    monkeypatch.setattr(gap_bounds, "most_near", lambda system, n_arms: 4)
    lower, upper = bounds_of(side, found.left, found)
    assert (lower == whole[0]).all()
    assert (upper >= whole[1]).all()
    assert np.isfinite(upper).all()
    cut = mutual_bounds(side, found.left, 3 * len(found.left), found)
    assert np.diff(cut.indptr).max() == 3
    assert all(row in cut.indices[slice(*cut.indptr[row : row + 2])] for row in range(len(found.left)))


def test_means_are_mended_where_few_pairs_are_open(thorough):
    mended = 0
    for seed in range(200 if thorough else 12):
        means = np.random.default_rng(seed).uniform(0.1, 1.0, 60)
        side = lsdt.from_means(means, 0.1).reveal(0.3, 0.3, seed).explicit()
        found = oriented(side)
        for model in found.models:
            assert means_fit(side, 0.1 * model, 0.1)
        proven = np.flatnonzero(found.is_proven)
        assert not found.is_out[proven].any()
        assert all(any(model[arm] == model.max() for model in found.models) for arm in proven)
        mended += found.n_ordered < found.n_pairs and len(found.models) > 0
    assert mended > 1


def test_very_many_arms_are_ordered_before_triangles(monkeypatch):
    means = np.random.default_rng(0).uniform(0.1, 1.0, 100)
    side = lsdt.from_means(means, 0.1).reveal(0.5, 0.5, 0).explicit()
    wrong = side.corrupt(0.01, seed=1).explicit()
    usual = [lsdt.candidate_set(side).arms.tolist()]
    with pytest.warns(lsdt.errors.ContradictionWarning):
        usual.append(lsdt.candidate_set(wrong).arms.tolist())
    monkeypatch.setattr(method, "_MANY_ARMS", 100)
    found = lsdt.candidate_set(side)
    assert [stage.name for stage in found.stages] == ["orientation"]
    assert found.arms.tolist() == usual[0]
    for arm in range(100):
        assert found.explain(arm).is_candidate == (arm in usual[0])
    with pytest.warns(lsdt.errors.ContradictionWarning):
        again = lsdt.candidate_set(wrong)
    assert again.arms.tolist() == usual[1]
    assert again.conflict is not None


def test_proofs_look_around_arms_if_orders_and_triangles_leave_nothing_to_examine(monkeypatch):
    """Orders prove all arms that triangles leave, so that no stage looks at arms one by one."""
    monkeypatch.setattr(method, "_MANY_ARMS", 50)
    means = np.random.default_rng(2).uniform(0.1, 1.0, 71)
    side = lsdt.from_means(means, 0.1).reveal(0.3, 0.3, 2).explicit()
    found = method.derive(side, method.Clock(None))
    assert [stage.name for stage in found.stages] == ["orientation", "triangles"]
    assert found.stages[-1].excluded > 0
    assert found.near > 0
    for arm in np.flatnonzero(found.kinds == BETWEEN).tolist():
        assert found.explain(side, arm).relations
