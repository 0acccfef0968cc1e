from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.options import Options
from lsdt.candidates.propagation import method
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.gap_bounds import MOST_BOUNDS, mutual_bounds
from lsdt.candidates.propagation.method import Clock, PropagationEffort, derive, find_propagation, most_near
from lsdt.errors import InvalidInput
from naive.graphs import components, pair_set
from naive.propagation import by_propagation, gaps
from strategies import any_relations, integer_means

SideInformation = lsdt.SideInformation


def left_by(side):
    return set(derive(side, Clock(None)).left.tolist())


def naive_of(side):
    return side.n_arms, pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())


def revealed(n_arms, epsilon, share, seed):
    means = np.random.default_rng(seed).uniform(0.1, 1.0, n_arms)
    return means, lsdt.from_means(means, epsilon).reveal(share, share, seed).explicit()


# 0 is similar to 1 and 2, 1 to 3, and 2 to 4. Were 0 the best, 3 and 4, dissimilar to it, would both lie
# one to two epsilons below, hence be similar; they are not. No two arms similar to 0 are known dissimilar.
SECOND_STEP = SideInformation(5, [(0, 1), (0, 2), (1, 3), (2, 4)], [(0, 3), (0, 4), (3, 4)])


def test_hand_worked_where_no_triangle_helps():
    assert lsdt.candidate_set(SECOND_STEP, "triangles").arms.tolist() == [0, 3, 4]
    found = lsdt.candidate_set(SECOND_STEP, "propagation")
    assert found.arms.tolist() == [3, 4]
    assert 0 not in found


def test_hand_worked_bounds():
    gap = lsdt.candidate_set(SECOND_STEP, "propagation").bounds(3)
    # The order is 3, 1, 0, 2, 4, each less than one epsilon from the next; 3, 0 and 4 are one or more apart.
    assert gap.lower.tolist() == [1.0, 0.0, 1.0, 0.0, 2.0]
    assert gap.upper.tolist() == [2.0, 1.0, 3.0, 0.0, 4.0]


def test_bounds_are_in_units_of_the_rewards():
    side = SideInformation(3, [(0, 1)], [(0, 2)], epsilon=0.2)
    gap = lsdt.candidate_set(side).bounds(0)
    assert gap.lower.tolist() == [0.0, 0.0, 0.2]
    assert gap.upper.tolist() == [0.0, 0.2, np.inf]
    with pytest.raises(InvalidInput, match=r"arm 0 cannot be the best.*ask about a candidate"):
        lsdt.candidate_set(SECOND_STEP).bounds(0)


@given(any_relations(8))
def test_agrees_with_the_naive_twin_on_any_relations(known):
    side = SideInformation(*known)
    if side.is_complete:
        return
    expected = set()
    for part in components(side.n_arms, pair_set(side.similar_pairs())):
        inside = [[pair for pair in pairs if set(pair) <= set(part)] for pairs in known[1:]]
        expected |= by_propagation(side.n_arms, *inside) & set(part)
    assert left_by(side) == expected


@given(any_relations())
def test_mutual_bounds_that_the_closure_stage_found_are_those_computed_afresh(known):
    side = SideInformation(*known)
    found = derive(side, Clock(None))
    if side.is_complete or found.depths is None or len(found.left) == 0:
        return
    assert found.depths.arms.tolist() == found.left.tolist()
    # Every row, then rows that are cut to one entry, which the stage does not provide.
    for most_entries in (MOST_BOUNDS, 1):
        kept, afresh = (mutual_bounds(side, found.left, most_entries, one) for one in (found, None))
        for one, other in zip(kept, afresh, strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()


@given(integer_means(10), st.sampled_from([0.3, 0.6, 0.9]), st.integers(0, 99))
def test_bounds_agree_with_the_naive_twin(drawn, share, seed):
    means, epsilon = drawn
    side = lsdt.from_means(means, epsilon).reveal(share, share, seed).explicit()
    found = lsdt.candidate_set(side, "propagation")
    for arm in found.arms.tolist():
        lower, upper = gaps(*naive_of(side), arm)
        got = found.bounds(arm)
        assert (got.lower / epsilon).tolist() == lower
        assert (got.upper / epsilon).tolist() == upper


@given(integer_means(10))
def test_bounds_of_complete_information_agree_with_the_naive_twin(drawn):
    means, epsilon = drawn
    side = lsdt.from_means(means, epsilon)
    found = lsdt.candidate_set(side)
    for arm in found.arms.tolist():
        lower, upper = gaps(*naive_of(side), arm)
        got = found.bounds(arm)
        assert (got.upper / epsilon).tolist() == upper
        assert (got.lower / epsilon).tolist() == lower


@pytest.mark.parametrize(("share", "seed"), [(0.2, 0), (0.3, 1), (0.5, 2), (1.0, 3)])
def test_mutual_bounds_are_the_bounds_of_every_candidate(share, seed):
    _means, side = revealed(60, 0.1, share, seed)
    found = lsdt.candidate_set(side)
    mutual = found.mutual_bounds
    for place, arm in enumerate(found.arms.tolist()):
        row = slice(mutual.indptr[place], mutual.indptr[place + 1])
        others, gap = found.arms[mutual.indices[row]], found.bounds(arm)
        assert (np.diff(others) > 0).all()
        assert arm in others
        assert (mutual.lower[row] == gap.lower[others]).all()
        assert (mutual.upper[row] == gap.upper[others]).all()
        unknown = np.setdiff1d(found.arms, others)
        assert (gap.lower[unknown] == 0).all()
        assert np.isinf(gap.upper[unknown]).all()


@pytest.mark.parametrize("seed", range(5))
def test_sound_and_exact_on_random_graphs(seed):
    means, side = revealed(60, 0.1, 0.25, seed)
    found = lsdt.candidate_set(side, "propagation")
    assert means.argmax() in found
    assert found.arms.tolist() == lsdt.candidate_set(side, "exact").arms.tolist()
    assert set(found.arms) < set(lsdt.candidate_set(side, "triangles").arms)
    below = means.max() - means
    gap = found.bounds(int(means.argmax()))
    assert (gap.lower <= below + 1e-9).all()
    assert (below <= gap.upper + 1e-9).all()


def test_stages_say_what_was_done():
    _means, side = revealed(100, 0.1, 0.15, 1)
    found = find_propagation(side, Options())
    assert [stage.name for stage in found.stages] == ["triangles", "orientation", "intervals", "closure"]
    left, proven = side.n_arms, int(found.derivation.oriented.is_proven.sum())
    assert proven > 0
    for stage in found.stages:
        is_later = stage.name in ("intervals", "closure")
        assert stage.examined == (left - proven if is_later else left)
        assert stage.seconds >= 0
        assert stage.remark == ""
        left -= stage.excluded
    assert left == len(found.arms)
    assert all(stage.excluded > 0 for stage in found.stages[:2])


def test_running_out_of_time_keeps_more_arms_and_says_so():
    _means, side = revealed(100, 0.1, 0.2, 0)
    whole, hurried = (lsdt.candidate_set(side, timeout=timeout) for timeout in (None, 1e-9))
    assert set(whole.arms) < set(hurried.arms) == set(lsdt.candidate_set(side, "triangles").arms)
    assert "time ran out" in " ".join(hurried.notes)
    assert whole.notes == ()


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), "long", True])
def test_a_bad_limit_is_named(wrong):
    with pytest.raises(InvalidInput, match="timeout must be .*, in seconds, or None for no limit"):
        lsdt.candidate_set(SECOND_STEP, timeout=wrong)


def test_more_witnesses_are_refused_or_mean_triangles():
    with pytest.raises(InvalidInput, match="'propagation' assumes that all relations are right"):
        lsdt.candidate_set(SECOND_STEP, "propagation", max_wrong=2)
    assert lsdt.candidate_set(SECOND_STEP, max_wrong=1).method == "triangles"


@pytest.mark.large
def test_dense_information_is_looked_at_through_some_arms():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 2_000)
    side = lsdt.from_means(means, 0.1).reveal(0.5, 0.5, 0)
    arms = lsdt.candidate_set(side, "triangles").arms
    system = system_around(side, arms)
    assert set(arms) < set(system.arms)
    assert len(system.arms) < 1_500
    found = lsdt.candidate_set(side, "propagation")
    assert means.argmax() in found
    assert len(found) < len(arms)


def test_few_near_arms_are_sound():
    _means, side = revealed(200, 0.1, 0.2, 0)
    arms = lsdt.candidate_set(side, "triangles").arms
    system = system_around(side, arms)
    assert most_near(system, len(arms)) == 200
    assert most_near(system, 10**9) == 200  # never fewer than a few hundred, and no more than there are
    from lsdt.candidates.propagation.method_kernel import eliminate_by_intervals

    possible = {near: np.zeros(len(arms), bool) for near in (1, 10, 50, 200)}
    for near, written in possible.items():
        eliminate_by_intervals(system.constraints, arms.copy(), 0, len(arms), near, written)
    assert possible[1].all()
    for fewer, more in ((1, 10), (10, 50), (50, 200)):
        assert (possible[fewer] >= possible[more]).all()
    assert possible[10].sum() > possible[200].sum()


@pytest.mark.large
def test_narrow_bounds_first_needs_few_arms():
    """Among 2,000 arms fifty around each exclude most of what can be excluded."""
    instance = lsdt.problems.sparse(2_000, 35, locality=1.0).draw(0, 0)
    arms = lsdt.candidate_set(instance.side, "triangles").arms.copy()
    system = system_around(instance.side, arms)
    from lsdt.candidates.propagation.method_kernel import eliminate_by_intervals

    left = {}
    for near in (50, 2_000):
        for unit in (1, system.unit):  # with 1 all bounds are wide, and arms are visited in any order
            possible = np.ones(len(arms), bool)
            constraints = system.constraints._replace(unit=unit)
            eliminate_by_intervals(constraints, arms, 0, len(arms), near, possible)
            assert possible[np.searchsorted(arms, instance.means.argmax())]
            left[near, unit > 1] = possible.sum()
    assert left[2_000, True] == left[2_000, False]
    assert left[50, True] < 1.5 * left[2_000, True]
    assert left[50, False] > 3 * left[2_000, True]


def test_gains_that_are_too_small_are_left_out_and_the_closure_makes_up_for_it():
    excluded = {1: 0, 2: 0}
    for seed in range(10):
        means, side = revealed(60, 0.15, 0.25, seed)
        system = system_around(side, np.arange(60))
        from lsdt.candidates.propagation.closure_kernel import eliminate_by_closure
        from lsdt.candidates.propagation.method_kernel import eliminate_by_intervals

        answers = []
        for stage, least in enumerate((1, system.unit // 2), 1):
            constraints = system.constraints._replace(least_gain=least)
            possible, no_table = np.ones(60, bool), np.empty((0, 0), np.int64)
            eliminate_by_intervals(constraints, np.arange(60), 0, 60, 60, possible)
            excluded[stage] += int((~possible).sum())
            assert possible[means.argmax()]
            eliminate_by_closure(constraints, np.arange(60), 0, 60, 60, 256, possible, no_table, no_table)
            answers.append(possible.tolist())
        assert answers[0] == answers[1]
    assert excluded[2] < excluded[1]


@pytest.mark.large
def test_many_arms_are_looked_at_again_where_few_are_left_and_not_at_all_where_it_does_not_pay(monkeypatch):
    monkeypatch.setattr(method, "_WORTH_ORIENTING", 10**9)
    effort = PropagationEffort(most_steps=3e5, fewest_near=40, many=100, tried=50)
    instance = lsdt.problems.sparse(1_000, 40, locality=1.0).draw(0, 0)
    found = find_propagation(instance.side, Options(), effort)
    names = [stage.name for stage in found.stages]
    assert names.count("intervals") > 1
    assert "only 40 arms around each were examined" in " ".join(found.notes)
    assert instance.means.argmax() in found.arms
    side = lsdt.problems.sparse(1_000, 6).draw(0, 0).side
    sparse = find_propagation(side, Options(), effort)
    assert len(sparse.arms) > 950
    assert "was not tried on the others" in " ".join(sparse.notes)
    sparse = find_propagation(side, Options(), effort._replace(most_to_close=100))
    assert "too many for it" in " ".join(sparse.notes)


def test_mutual_bounds_of_very_many_candidates_are_few():
    _means, side = revealed(80, 0.1, 0.25, 1)
    found = lsdt.candidate_set(side)
    whole, n_arms = found.mutual_bounds, len(found)
    few = mutual_bounds(side, found.arms, most_entries=5 * n_arms)
    assert np.diff(few.indptr).max() == 5 < np.diff(whole.indptr).max()
    for row in range(n_arms):
        mine, all_of_them = (slice(*each.indptr[row : row + 2]) for each in (few, whole))
        at = all_of_them.start + np.searchsorted(whole.indices[all_of_them], few.indices[mine])
        assert row in few.indices[mine]
        assert (whole.indices[at] == few.indices[mine]).all()
        assert (whole.lower[at] == few.lower[mine]).all()
        assert (whole.upper[at] == few.upper[mine]).all()


def test_arms_that_a_sample_excludes_are_out_though_the_stage_stops():
    effort = PropagationEffort(many=100, tried=100)
    means = np.random.default_rng(3).random(400)
    side = lsdt.from_means(means, 0.05).reveal(0.04, 0.04, seed=2)
    found = find_propagation(side, Options(), effort)
    stopped = [stage for stage in found.stages if "was not tried on the others" in stage.remark]
    assert any(stage.excluded for stage in stopped)
    assert side.n_arms - sum(stage.excluded for stage in found.stages) == len(found.arms)
    assert means.argmax() in found.arms
    for arm in np.setdiff1d(np.arange(400), found.arms).tolist():
        assert not found.reason(arm).explain(side).is_candidate


def test_a_closure_that_does_not_pay_stops_and_one_that_does_goes_on():
    _means, side = revealed(60, 0.1, 0.2, 6)
    whole = find_propagation(side, Options())
    closure = whole.stages[-1]
    assert closure.excluded > 0
    assert closure.remark == ""
    costly = PropagationEffort(costly_steps=0.0, sampled=len(whole.arms))
    again = find_propagation(side, Options(), costly)
    assert again.arms.tolist() == whole.arms.tolist()
    assert again.stages[-1][:3] == closure[:3]
    sparse = lsdt.from_means(np.random.default_rng(3).random(400), 0.05).reveal(0.02, 0.02, seed=0)
    stopped = find_propagation(sparse, Options(), PropagationEffort(sampled=20)).stages[-1]
    assert stopped[:3] == ("closure", 20, 0)
    assert stopped.remark == "it excluded 0 of 20 arms, and was not tried on the others"
