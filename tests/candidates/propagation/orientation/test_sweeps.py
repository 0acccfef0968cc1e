"""Bounds of all arms at once: the same as one step at a time, in any order, and with a log."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.orientation import growth, growth_kernel as kernel, sweeps, sweeps_kernel
from lsdt.candidates.propagation.orientation.growth import Grower, GrowthEffort, codes_of, never, orient
from lsdt.candidates.propagation.orientation.growth_log import Log
from lsdt.candidates.propagation.orientation.proofs import explain_by_log
from lsdt.candidates.propagation.orientation.reflections import Reflection
from lsdt.kernel import parallel
from naive.checkers import in_epsilons, lies_between
from naive.graphs import pair_set
from naive.orientation import around_one

LAZY = GrowthEffort(patience=3)  # looks around single arms tell little


@pytest.fixture
def swept(monkeypatch):
    """However few arms there are, all of them are swept."""
    monkeypatch.setattr(growth, "_WORTH_SWEEPING", 0)


@pytest.fixture
def shared(monkeypatch):
    """However few arms there are, blocks of them are swept by several threads."""
    monkeypatch.setattr(sweeps, "_MANY_ARMS", 1)
    monkeypatch.setattr(parallel, "available_cores", lambda: 3)


def relations(seed, n_arms=40, share=0.35, wrong=0.0):
    means = np.random.default_rng(seed).uniform(0.1, 1.0, n_arms)
    return lsdt.from_means(means, 0.1).reveal(share, share, seed).corrupt(wrong, seed=seed).explicit()


def grower_of(side, most_logged=0, effort=LAZY):
    return Grower(codes_of(system_around(side, np.arange(side.n_arms))), effort, never, most_logged)


def ready(grower):
    """Plant a class, and grow it a little."""
    marks, number = np.zeros(grower.n_arms, bool), 0
    for middle in range(grower.n_arms):
        number = number or kernel.seed_class(grower.codes, grower.classes, grower.agenda, middle, marks)
    grower.grow(number, 0, 40)
    return number


def orders_in(grower, number):
    """The pairs of a class, the upper arm first; both rows of each have to say so."""
    c, k = grower.codes, grower.classes
    first = np.repeat(np.arange(grower.n_arms), np.diff(c.dissimilar_starts))
    mine = np.flatnonzero((k.bits != 0) & (k.root[np.abs(k.bits)] == k.root[number]))
    signs = np.sign(k.bits[mine]) * k.sign[np.abs(k.bits[mine])]
    rows = {
        (int(a), int(b)): int(one) for a, b, one in zip(first[mine], c.dissimilar[mine], signs, strict=True)
    }
    assert all(rows[b, a] == -one for (a, b), one in rows.items())
    return {pair for pair, one in rows.items() if one > 0}


def look(grower, number):
    reference, n_pairs = grower._pick_reference(number, True), len(grower.codes.dissimilar) // 2
    known = grower.codes, grower.classes, grower.frame, number, reference, n_pairs
    return sweeps.sweep_all(*known, never)


@pytest.mark.parametrize("most_logged", [0, 100_000], ids=["without a log", "with a log"])
def test_a_frame_of_all_arms_learns_what_follows_around_its_reference(most_logged, thorough):
    n_learnt = n_wrong = 0
    for seed in range(300 if thorough else 15):
        side = relations(seed, wrong=0.02 if seed % 3 == 0 else 0.0)
        grower = grower_of(side, most_logged)
        number = ready(grower)
        if grower.contradiction >= 0:  # before any sweep; the twin knows orders alone, and need not meet it
            assert seed % 3 == 0
            continue
        known = orders_in(grower, number)
        similar, dissimilar = pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())
        expected = around_one(side.n_arms, similar, dissimilar, grower._pick_reference(number, True), known)
        found = look(grower, number)
        if expected is None:
            n_wrong += 1
            assert grower.contradiction >= 0
            continue
        assert grower.contradiction < 0
        assert orders_in(grower, number) == expected
        assert found == len(expected) - len(known)
        assert grower.size(number) == len(expected)
        n_learnt += found
    assert n_learnt > 300
    assert n_wrong > 0


@pytest.mark.usefixtures("shared")
def test_threads_make_no_difference(monkeypatch):
    n_learnt = 0
    for seed in range(5):
        side = relations(seed, n_arms=150, share=0.15)
        together, alone = grower_of(side), grower_of(side)
        number = ready(together)
        assert ready(alone) == number
        n_learnt += look(together, number)
        reflections = [Reflection(together.codes, together.classes, [number], sign) for sign in (1, -1)]
        for one in reflections:
            one.find_levels()
        with monkeypatch.context() as single:
            single.setattr(sweeps, "_MANY_ARMS", 10**9)
            look(alone, number)
            assert together.classes.bits.tolist() == alone.classes.bits.tolist()
            for one, sign in zip(reflections, (1, -1), strict=True):
                other = Reflection(alone.codes, alone.classes, [number], sign)
                other.find_levels()
                assert one.levels.tolist() == other.levels.tolist()
                assert one.levels.min() < -2
    assert n_learnt > 1_000


def test_classes_whose_order_is_forced_are_joined():
    n_joined = 0
    for seed in range(30):
        grower = grower_of(relations(seed))
        marks, seeded = np.zeros(grower.n_arms, bool), []
        for middle in range(0, grower.n_arms, 3):
            seeded.append(kernel.seed_class(grower.codes, grower.classes, grower.agenda, middle, marks))
        numbers = [number for number in seeded if number]
        if not numbers:
            continue
        look(grower, numbers[0])
        n_joined += len(numbers) - len(set(grower.classes.root[numbers].tolist()))
        truth = np.random.default_rng(seed).uniform(0.1, 1.0, grower.n_arms)
        above = {truth[a] > truth[b] for a, b in orders_in(grower, numbers[0])}
        assert len(above) == 1  # all as they are, or all turned
    assert n_joined > 5


def test_a_class_whose_direction_becomes_known_goes_that_way(thorough):
    n_joined = n_turned = 0
    for seed in range(400 if thorough else 60):
        side = relations(seed)
        means, rng = np.random.default_rng(seed).uniform(0.1, 1.0, side.n_arms), np.random.default_rng(seed)
        pairs = rng.integers(0, side.n_arms, (4, 2))
        better = pairs[means[pairs[:, 0]] > means[pairs[:, 1]]]
        known = side.similar_pairs(), side.dissimilar_pairs()
        grower = grower_of(lsdt.SideInformation(side.n_arms, *known, better=better, epsilon=0.1))
        kernel.list_signed(grower.codes, grower.agenda)
        grower.grow(1, 0, 1_000)
        number = ready(grower)
        if grower.classes.root[number] == 1 or not orders_in(grower, number):
            continue
        a, b = min(orders_in(grower, number))
        look(grower, number)
        if grower.classes.root[number] == 1:
            n_joined += 1
            n_turned += means[a] < means[b]
            assert grower.contradiction < 0
            assert all(means[upper] > means[lower] for upper, lower in orders_in(grower, number))
    assert n_joined > n_turned > 2


@pytest.mark.parametrize("fewest_swept", [0, 10**9], ids=["swept", "not swept"])
def test_the_log_holds_the_orders_of_the_growth_without_one(fewest_swept, monkeypatch, thorough):
    # With other orders in the log, an arm that is out might have no steps that show it.
    monkeypatch.setattr(growth, "_WORTH_SWEEPING", fewest_swept)
    for seed in range(300 if thorough else 20):
        side = relations(seed, n_arms=60, share=0.25)
        plain, log = grower_of(side), Log(system_around(side, np.arange(60)), LAZY, seed)
        plain.grow_all(np.random.default_rng(seed).permutation(60))
        logged = log.grower
        assert logged.classes.bits.tolist() == plain.classes.bits.tolist()
        assert logged.rounds() == plain.rounds()


@pytest.mark.usefixtures("swept")
def test_the_log_shows_arms_that_only_a_frame_of_all_arms_excludes(thorough):
    shown = more = 0
    for seed in range(100 if thorough else 6):
        side = relations(seed, n_arms=60, share=0.25)
        system = system_around(side, np.arange(side.n_arms))
        found = orient(system, effort=LAZY)
        with pytest.MonkeyPatch.context() as unswept:
            unswept.setattr(growth, "_WORTH_SWEEPING", 10**9)
            local = orient(system, effort=LAZY)
        log = Log(system, found.effort, found.seed)
        for arm in np.flatnonzero(found.is_out).tolist():
            why = explain_by_log(side, system, arm, log)
            assert lies_between(in_epsilons(side), why.steps, arm), (seed, arm)
            shown += 1
            more += not local.is_out[arm]
    assert shown > 30
    assert more > 5


@pytest.mark.usefixtures("swept")
def test_exact_where_all_arms_are_swept(thorough):
    for seed in range(200 if thorough else 6):
        side = relations(seed, n_arms=50, share=0.4, wrong=0.01 * (seed % 2))
        found = orient(system_around(side, np.arange(50)))
        if found.contradiction is not None:
            assert seed % 2
            continue
        exact = set(lsdt.candidate_set(side, "exact", timeout=1e6).arms.tolist())
        left = set(np.flatnonzero(~found.is_out).tolist())
        assert exact <= left
        assert exact == left or not found.is_exact


def test_long_distances_are_left_to_looks_around_single_arms():
    grower = grower_of(relations(0))
    number = ready(grower)
    grower.codes = grower.codes._replace(similar_codes=np.array([2 * 10**9 - 1]))
    assert look(grower, number) == 0


def test_orders_far_from_the_reference_are_no_bounds():
    # 0 lies between 1 and 2; the pairs of 3, 4, 5, ... are in the class, but nothing says where they are.
    n_arms = 9_000
    far = [(arm, arm + 1) for arm in range(3, n_arms - 1)]
    side = lsdt.SideInformation(n_arms, [(0, 1), (0, 2)], [(1, 2), *far, (3, n_arms - 1)])
    grower = grower_of(side)
    number = kernel.seed_class(grower.codes, grower.classes, grower.agenda, 0, np.zeros(n_arms, bool))
    c, k = grower.codes, grower.classes
    first = np.repeat(np.arange(n_arms), np.diff(c.dissimilar_starts))
    in_line = (first > 2) & (np.abs(c.dissimilar - first) == 1)
    k.bits[in_line] = np.where(c.dissimilar < first, -number, number)[in_line]
    signs = np.where(k.root == number, k.sign, 0).astype(np.int8)
    bounds, nobody = np.full((n_arms, 2), sweeps_kernel.NO_BOUND, np.int16), np.zeros(0, bool)
    bounds[0] = 0
    for _ in range(3):
        _changed, n_learnt = sweeps_kernel.sweep_frame(
            c, k, signs, grower.frame, number, 0, bounds, nobody, nobody, 0, n_arms
        )
        assert n_learnt == 0
    assert bounds[:3].max() == 1
    assert bounds[3:].min() == sweeps_kernel.NO_BOUND


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("n_arms", [50, 1_000])
def test_levels_that_fall_too_far_or_for_too_long_are_found_otherwise(n_arms, monkeypatch):
    # Each arm is dissimilar to the next, which lies below it, and sweeps go the other way.
    side = lsdt.SideInformation(n_arms, [], [(arm, arm + 1) for arm in range(n_arms - 1)])
    codes = codes_of(system_around(side, np.arange(n_arms)))
    codes = codes._replace(dissimilar_codes=np.array([2**26]))
    first = np.repeat(np.arange(n_arms), np.diff(codes.dissimilar_starts))
    grower = Grower(codes, LAZY, never)
    grower.classes.bits[:] = np.where(codes.dissimilar < first, 2, -2)
    grower.classes.totals[0] = 2
    reflection = Reflection(codes, grower.classes, [2], 1)
    levels = np.zeros(n_arms, np.int32)
    assert not sweeps.settle_levels(codes, grower.classes.bits, reflection.signs, levels)
    reflection.find()
    assert reflection.wrong == -1
    assert reflection.levels.tolist() == [-(2**26) * below for below in range(n_arms - 1, -1, -1)]
