"""Similar, dissimilar and better pairs and ranges together: every method against all orders, exactly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lsdt
from lsdt.candidates.propagation.constraints import system_around
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, InvalidInput, Unsupported
from naive.checkers import follows, satisfy
from naive.mixed import mixed_instance
from naive.ranges import can_be_best, exact, lists_of, upper_bounds


def side_of(n_arms, lists, epsilon):
    """The side information, or None where one pair contradicts itself."""
    try:
        return lsdt.SideInformation(n_arms, **lists, epsilon=epsilon)
    except InvalidInput:
        return None


def quiet(side, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return lsdt.candidate_set(side, method)


def best_by(n_arms, lists, epsilon):
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    return can_be_best(n_arms, bounds, lists["dissimilar"], epsilon)


def is_proved(why, n_arms, lists, epsilon):
    """Whether the relations of an explanation exclude its arm, and its steps, if it has any, follow."""
    if why.arm in best_by(n_arms, lists_of(why.relations), epsilon):
        return False
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    apart = {frozenset(pair): exact(epsilon) for pair in lists["dissimilar"]}
    return not why.steps or follows(bounds, apart, why.steps, why.arm, (1, exact(epsilon)))


def check_conflict(conflict, n_arms, lists, epsilon):
    """A conflict must be one, and steps must follow where there are any; is none of it superfluous?"""
    assert conflict.relations
    assert best_by(n_arms, lists_of(conflict.relations), epsilon) == set()
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    apart = {frozenset(pair): exact(epsilon) for pair in lists["dissimilar"]}
    if conflict.steps and conflict.steps[0].kind != "supposition":
        assert follows(bounds, apart, conflict.steps, None, (1, exact(epsilon)))
    rest = [conflict.relations[:at] + conflict.relations[at + 1 :] for at in range(len(conflict.relations))]
    return all(best_by(n_arms, lists_of(some), epsilon) for some in rest)


def check(seed):
    """One instance: what is exact is exact, what is derived is derived, and no best arm is lost."""
    n_arms, lists, epsilon = mixed_instance(seed)
    side = side_of(n_arms, lists, epsilon)
    if side is None:
        return {"refused"}
    expected, seen = best_by(n_arms, lists, epsilon), set()
    try:
        found = lsdt.candidate_set(side, "exact", timeout=600)
        assert found.notes == ()
        assert found.verb == "can be"
        assert set(found.arms.tolist()) == expected
        bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
        for arm in expected:
            means = found.explain(arm).means
            assert satisfy(bounds, means)
            assert all(abs(means[a] - means[b]) > epsilon - 1e-9 for a, b in lists["dissimilar"])
            assert means[arm] == means.max()
    except InconsistentSideInformation as error:
        assert expected == set()
        seen |= {"contradictory", f"lean {check_conflict(error.conflict, n_arms, lists, epsilon)}"}
    for method in ("propagation", "probing"):
        found = quiet(side, method)
        if found.conflict is not None:
            assert expected == set()
            seen.add(f"lean {check_conflict(found.conflict, n_arms, lists, epsilon)}")
            continue
        if not expected:
            seen.add(f"{method} sees no contradiction")
            continue
        left = set(found.arms.tolist())
        assert expected <= left
        seen |= {"excluding"} if len(expected) < n_arms else set()
        seen |= set() if expected == left else {f"{method} leaves more"}
        for arm in set(range(n_arms)) - left:
            assert is_proved(found.explain(arm), n_arms, lists, epsilon)
        if method == "propagation" and len(left) < len(quiet(side, "order").arms):
            seen.add("more than order")
    return seen


def test_all_kinds_agree_with_every_order_tried(thorough):
    seen = [check(seed) for seed in range(5_000 if thorough else 25)]
    for what in ("contradictory", "excluding", "more than order", "lean True"):
        assert sum(what in one for one in seen) > len(seen) // 100, what
    for what in ("propagation leaves more", "probing leaves more", "propagation sees no contradiction"):
        assert sum(what in one for one in seen) <= len(seen) // 40, what


# ------------------------------------------------------------------ by hand


def test_a_dissimilar_pair_of_known_direction_is_a_bound():
    """1 and 2 are dissimilar and 1 is better, so 2 lies .1 below 1, and 0, similar to 2, below 1."""
    side = lsdt.SideInformation(3, similar=[(0, 2)], dissimilar=[(1, 2)], better=[(1, 2)], epsilon=0.1)
    for method in ("order", "propagation", "probing", "exact"):
        found = lsdt.candidate_set(side, method)
        assert found.arms.tolist() == [1], method
        assert found.verb == "can be", method
    why = lsdt.candidate_set(side).explain(0)
    assert str(why) == (
        "arm 0 cannot be the best: 1 is better than it, since 1 and 2 are dissimilar, 1 is better than 2 and "
        "2 and 0 are similar."
    )
    assert [step.kind for step in why.steps] == ["order", "contradiction"]
    assert is_proved(why, 3, lists_of(why.relations), 0.1)
    lower, upper = lsdt.candidate_set(side).bounds(1)
    assert lower.tolist() == pytest.approx([0, 0, 0.1])
    assert upper.tolist() == [np.inf, 0, np.inf]


def test_a_range_that_excludes_one_order_only():
    """The range goes from -.05 to .3, and .1 is the least distance: 0 is above 1."""
    side = lsdt.SideInformation(2, dissimilar=[(0, 1)], ranges=[(0, 1, -0.05, 0.3)], epsilon=0.1)
    assert lsdt.candidate_set(side).arms.tolist() == [0]
    wide = lsdt.SideInformation(2, dissimilar=[(0, 1)], ranges=[(0, 1, -0.1, 0.3)], epsilon=0.1)
    assert lsdt.candidate_set(wide).arms.tolist() == [0, 1]


def test_a_range_that_is_open_below():
    """If 0 is the best, 1 lies .2 below it, nobody knows how far, and 2 close to 1 below it as well."""
    side = lsdt.SideInformation(
        3, similar=[(1, 2)], dissimilar=[(0, 1)], ranges=[(0, 1, -1.0, None)], epsilon=0.2
    )
    found = lsdt.candidate_set(side, "exact")
    assert (found.arms.tolist(), found.notes) == ([0, 1, 2], ())
    means = found.explain(0).means
    assert means[0] - means[1] >= 0.2
    assert abs(means[1] - means[2]) < 0.2
    assert means[2] < means[0]


def test_a_derivation_through_a_range_by_hand():
    """If 0 is the best, 1 and 2 lie from 0 to .15 below it, and are not .2 apart."""
    side = lsdt.SideInformation(
        3, dissimilar=[(1, 2)], ranges=[(0, 1, None, 0.15), (0, 2, None, 0.15)], epsilon=0.2
    )
    found = lsdt.candidate_set(side, "propagation")
    assert found.arms.tolist() == [1, 2]
    why = found.explain(0)
    words = "a < leads along a similar or a better pair, a <= along a range or up to the best, [n] is step n:"
    assert str(why).splitlines()[0].endswith(f"let d(j) be how far arm j lies below it; {words}")
    assert {relation.relation for relation in why.relations} == {"dissimilar", "range"}
    assert is_proved(why, 3, lists_of(why.relations), 0.2)
    closed = lsdt.SideInformation(
        3, dissimilar=[(1, 2)], ranges=[(0, 1, None, 0.2), (0, 2, None, 0.2)], epsilon=0.2
    )
    assert 0 in lsdt.candidate_set(closed, "exact")  # one of them at 0, the other at .2


def test_a_contradiction_that_needs_order_and_distances():
    """0 is better than 1 and 2, and by them not the best."""
    side = lsdt.SideInformation(
        3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)], better=[(0, 1), (0, 2)], epsilon=0.1
    )
    found = quiet(side, "propagation")
    assert found.conflict is not None
    assert len(found.conflict.relations) == 5
    with pytest.raises(InconsistentSideInformation, match="is better than"):
        lsdt.candidate_set(side, "exact")


def test_a_circle_of_better_is_shown_by_every_method():
    side = lsdt.SideInformation(4, better=[(0, 1), (1, 2), (2, 0)], dissimilar=[(0, 3)], epsilon=0.1)
    with pytest.raises(InconsistentSideInformation, match="0 is better than 1") as error:
        lsdt.candidate_set(side, "exact")
    assert len(error.value.conflict.relations) == 3
    for method in ("propagation", "probing"):
        assert len(quiet(side, method).conflict.relations) == 3


def test_means_are_not_mirrored_beside_ranges():
    """Only 0 can be the best of a chain; its mirror image would make 2 the best."""
    side = lsdt.SideInformation(
        3, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)], ranges=[(0, 1, 0, None)], epsilon=0.1
    )
    assert lsdt.candidate_set(side, "exact").arms.tolist() == [0]


def test_epsilon_that_is_not_known():
    known = {"similar": [(0, 1)], "dissimilar": [(1, 2)], "better": [(1, 2)]}
    side = lsdt.SideInformation(3, **known)
    assert lsdt.candidate_set(side, "exact").arms.tolist() == [0, 1]
    assert lsdt.candidate_set(side).verb == "can be"
    sized = lsdt.SideInformation(4, similar=[(0, 3), (0, 1)], dissimilar=[(1, 3)], ranges=[(1, 2, 5, 6)])
    found = lsdt.candidate_set(sized)
    assert found.arms.tolist() == [1, 3]
    assert any("read only the direction of ranges" in note for note in found.notes)
    with pytest.raises(Unsupported, match="'exact' compares .* needs their epsilon; give one"):
        lsdt.candidate_set(sized, "exact")


def test_ranges_beside_distinct_thresholds(thorough):
    for seed in range(600 if thorough else 10):
        n_arms, lists, _ = mixed_instance(seed)
        rng = np.random.default_rng((seed, 3))
        near = [float(rng.choice([0.2, 0.3])) for _ in lists["similar"]]
        far = [float(rng.choice([0.1, 0.2])) for _ in lists["dissimilar"]]
        try:
            side = lsdt.SideInformation(n_arms, **lists, epsilon=(near, far))
        except InvalidInput:
            continue
        bounds = upper_bounds([], lists["better"], lists["ranges"], 0)
        for (a, b), size in zip(lists["similar"], near, strict=True):
            bounds += [(a, b, exact(size), True), (b, a, exact(size), True)]
        apart = [(*pair, exact(size)) for pair, size in zip(lists["dissimilar"], far, strict=True)]
        expected = can_be_best(n_arms, bounds, apart)
        try:
            assert set(lsdt.candidate_set(side, "exact").arms.tolist()) == expected
        except InconsistentSideInformation:
            assert expected == set()
        found = quiet(side, "propagation")
        assert found.conflict is not None or expected <= set(found.arms.tolist())


def test_ends_without_a_quantum(thorough):
    """Rounded outward: nothing is lost, and the answer says so where it cannot decide."""
    undecided = 0
    for seed in range(400 if thorough else 12):
        n_arms, lists, epsilon = mixed_instance(seed)
        rng = np.random.default_rng((seed, 5))
        lists["ranges"] = [
            (
                a,
                b,
                *(
                    None if end is None else end + sign * rng.random() / 7
                    for end, sign in zip(ends, (-1, 1), strict=True)
                ),
            )
            for a, b, *ends in lists["ranges"]
        ]
        side = side_of(n_arms, lists, epsilon)
        if side is None:
            continue
        expected = best_by(n_arms, lists, epsilon)
        try:
            found = lsdt.candidate_set(side, "exact", timeout=600)
        except InconsistentSideInformation:
            assert expected == set()
            continue
        assert expected <= set(found.arms.tolist())
        undecided += expected != set(found.arms.tolist())
    assert undecided == 0


def test_epsilon_stays_whole_beside_ends_without_a_quantum():
    """What is less than epsilon above an arm epsilon below is below, whatever ends other ranges have."""
    known = {"similar": [(0, 2)], "dissimilar": [(1, 2)], "epsilon": 0.3}
    odd = [(3, 1, -np.pi / 7, 2**0.5), (1, 2, -1 / 7, None)]
    found = lsdt.candidate_set(lsdt.SideInformation(4, **known, ranges=odd), "order")
    assert found.arms.tolist() == [1, 3]
    assert "no common unit" in found.notes[0]
    triangle = {"similar": [(0, 1), (1, 2), (1, 3)], "dissimilar": [(0, 2), (0, 3), (2, 3)], "epsilon": 0.3}
    side = lsdt.SideInformation(5, **triangle, ranges=[(4, 0, -np.pi / 7, 2**0.5)])
    assert system_around(side, np.arange(5)).size * 2**20 < 0.3
    plain = lsdt.SideInformation(5, **triangle)
    assert not set(quiet(side, "propagation").arms.tolist()) - set(quiet(plain, "propagation").arms.tolist())


def test_gaps_hold_for_true_means(thorough):
    for seed in range(300 if thorough else 8):
        n_arms, lists, epsilon = mixed_instance(seed)
        side = side_of(n_arms, lists, epsilon)
        if side is None or not best_by(n_arms, lists, epsilon):
            continue
        found = lsdt.candidate_set(side, "exact", timeout=600)
        models = [found.explain(arm) for arm in found.arms.tolist()]
        for model in models:
            bounds = found.bounds(model.arm)
            gaps = model.means[model.arm] - model.means
            assert (gaps >= bounds.lower - 1e-9).all()
            assert (gaps <= bounds.upper + 1e-9).all()
            row = found.mutual_bounds
            place = found.arms.tolist().index(model.arm)
            inside = slice(row.indptr[place], row.indptr[place + 1])
            among = gaps[found.arms][row.indices[inside]]
            assert (among >= row.lower[inside] - 1e-9).all()
            assert (among <= row.upper[inside] + 1e-9).all()


@pytest.mark.large
def test_many_arms_with_ranges_keep_the_best():
    rng = np.random.default_rng(8)
    n_arms = 700  # more than are closed at once
    means = rng.uniform(0, 3, n_arms)
    pairs = np.unique(np.sort(rng.integers(0, n_arms, (9_000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    gap = means[pairs[:, 0]] - means[pairs[:, 1]]
    near, word = np.abs(gap) < 0.2, rng.random(len(pairs))
    ranged = (word > 0.8) & (np.abs(gap) < 0.5)
    rows = [
        (a, b, d - 0.1, d + 0.1)
        for (a, b), d in zip(pairs[ranged].tolist(), gap[ranged].tolist(), strict=True)
    ]
    listed = pairs[near & (word < 0.8)], pairs[~near & (word < 0.6)]
    side = lsdt.SideInformation(n_arms, *listed, epsilon=0.2, ranges=rows)
    found, plain = lsdt.candidate_set(side), lsdt.candidate_set(side.reveal(1, 1, p_range=0))
    assert int(means.argmax()) in found
    assert set(found.arms.tolist()) < set(plain.arms.tolist())
    system = system_around(side, found.arms)
    assert system.ranges is not None
    excluded = np.setdiff1d(np.arange(n_arms), found.arms)[:: max(n_arms // 12, 1)]
    assert not any(found.explain(int(arm)).is_candidate for arm in excluded)
