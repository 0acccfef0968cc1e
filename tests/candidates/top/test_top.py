"""The best m: against all assignments of small problems, with proofs checked by other code."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import lsdt
from lsdt.candidates.complete.anchors import find_anchors
from lsdt.candidates.options import Options
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.order import find_order
from lsdt.candidates.propagation.orientation import orient
from lsdt.candidates.top.method import find_top_by_order
from lsdt.candidates.top.orders import count_in_reflections
from lsdt.candidates.top.positions import TopPositions
from lsdt.errors import ContradictionWarning, InconsistentSideInformation, InvalidInput, Unsupported
from naive.candidates import by_triangles
from naive.checkers import excludes, in_epsilons, lies_below_either_way, lies_between, means_fit, satisfy
from naive.graphs import pair_set
from naive.mixed import mixed_instance
from naive.ranges import exact, lists_of, upper_bounds
from naive.top import by_positions, can_be_in_top, stands_inside


def quiet(side, *asked, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return lsdt.candidate_set(side, *asked, **options)


def naive_top(n_arms, lists, epsilon, top):
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    return can_be_in_top(n_arms, bounds, lists["dissimilar"], epsilon, top)


def check_proof(why, side, n_arms, lists, epsilon, top):
    """The relations named exclude the arm by themselves, and the steps follow and name enough arms."""
    assert why.arm not in naive_top(n_arms, lists_of(why.relations), epsilon, top)
    if not why.steps:
        assert excludes(side, why, top)
        return
    ends = [step for step in why.steps if step.kind in ("between", "contradiction")]
    rest = tuple(step for step in why.steps if step.kind not in ("between", "contradiction"))
    assert len(ends) >= top
    groups = [ends[:top], ends[top:]]
    if any(step.kind == "contradiction" for step in ends):
        groups = [[step for step in ends if (step.kind == "between") == between] for between in (True, False)]
        groups[1] *= top
    for group in groups:
        named = {frozenset((step.above, step.below)) - {why.arm} for step in group if step.kind == "between"}
        assert len(named) in (0, top)
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    apart = {frozenset(pair): exact(epsilon) for pair in lists["dissimilar"]}
    for at in range(top):
        steps = (*rest, *(group[at] for group in groups if group))
        if lists["better"] or lists["ranges"]:
            assert lies_below_either_way(bounds, apart, steps, why.arm, (1, exact(epsilon)))
        else:
            assert lies_between(in_epsilons(side), steps, why.arm) is not None


def check_candidate(found, arm, lists, epsilon, top):
    means = found.explain(arm).means
    if means is None:
        assert found.verb == "may be"
        return
    bounds = upper_bounds(lists["similar"], lists["better"], lists["ranges"], epsilon)
    assert satisfy(bounds, means)
    assert all(abs(means[a] - means[b]) > epsilon - 1e-9 for a, b in lists["dissimilar"])
    assert (means > means[arm]).sum() < top


def check(n_arms, lists, epsilon, top, seen):
    try:
        side = lsdt.SideInformation(n_arms, **lists, epsilon=epsilon)
    except InvalidInput:
        return
    expected = naive_top(n_arms, lists, epsilon, top)
    for method in ("propagation", "order", "triangles"):
        try:
            found = quiet(side, method, top=top)
        except InconsistentSideInformation:
            assert not expected
            continue
        if not expected or found.conflict is not None:
            assert not expected
            continue
        left = set(found.arms.tolist())
        assert expected <= left, (method, expected, left)
        if found.verb == "can be":
            assert expected == left, (method, expected, left)
            seen[f"{method} exact"] = seen.get(f"{method} exact", 0) + 1
        seen[method] = seen.get(method, 0) + n_arms - len(left)
        for arm in range(n_arms):
            if arm not in left:
                check_proof(found.explain(arm), found.side, n_arms, lists, epsilon, top)
            elif method != "triangles":
                check_candidate(found, arm, lists, epsilon, top)


def partial_instance(seed):
    """Five or six arms on a line, some relations revealed; at most seven dissimilar pairs."""
    rng = np.random.default_rng((seed, 3))
    while True:
        n_arms = int(rng.integers(5, 7))
        side = lsdt.from_means(rng.permutation(np.cumsum(rng.uniform(0.02, 0.15, n_arms))), 0.2)
        side = side.reveal(rng.choice([0.7, 1.0]), rng.choice([0.7, 1.0]), seed=seed)
        if 0 < side.n_dissimilar <= 7:
            pairs = {"similar": side.similar_pairs(), "dissimilar": side.dissimilar_pairs()}
            lists = {kind: [tuple(map(int, pair)) for pair in some] for kind, some in pairs.items()}
            return n_arms, {**lists, "better": [], "ranges": []}, 0.2


@pytest.mark.parametrize("make", [mixed_instance, partial_instance])
def test_no_arm_is_lost_and_every_proof_holds(make, thorough):
    seen = {}
    for seed in range(1_000 if thorough else 25):
        for top in (2, 3):
            check(*make(seed), top, seen)
    assert seen["propagation"] > 10
    assert seen["propagation exact"] > 10


@pytest.mark.parametrize("seed", [46, 134])
def test_means_where_ranges_of_one_point_join_arms(seed):
    """Bounds that hold with equality then form a cycle; similar pairs beside it are still strict."""
    for top in (2, 3):
        check(*mixed_instance(seed), top, {})


def test_complete_information_by_all_orders():
    """Every order tried, for arms on a line with gaps; proofs stand by themselves."""
    rng, n_out = np.random.default_rng(1), 0
    for _ in range(25):
        n_arms = int(rng.integers(5, 8))
        gaps = rng.choice([0.07, 0.13, 0.3], n_arms, p=[0.4, 0.5, 0.1])
        side = lsdt.from_means(rng.permutation(np.cumsum(gaps)), 0.2)
        similar = pair_set(side.similar_pairs())
        for top in (2, 3):
            found = lsdt.candidate_set(side, top=top)
            assert set(found.arms.tolist()) == by_positions(n_arms, similar, top)
            assert sorted(np.concatenate(found.classes).tolist()) == found.arms.tolist()
            for arm in range(n_arms):
                why = found.explain(arm)
                assert why.is_candidate == (arm in found)
                if why.is_candidate:
                    assert means_fit(side, why.means, 0.2)
                    assert (why.means > why.means[arm]).sum() < top
                else:
                    n_out += 1
                    assert all(side.relation(a, b) == word for a, b, word in why.relations)
                    assert stands_inside(why.relations, arm, top)
                    assert not stands_inside(why.relations, arm, top + 4)
    assert n_out > 10


def test_large_complete_information():
    """The m largest means are among the candidates, and proofs stay small."""
    rng = np.random.default_rng(0)
    means = rng.random(3_000)
    side = lsdt.from_means(means, 0.1)
    found = lsdt.candidate_set(side, top=7)
    assert set(np.argsort(-means)[:7]) <= set(found.arms.tolist())
    assert len(found) < 60
    why = found.explain(int(np.argsort(means)[1_500]))
    assert len(why.relations) <= 19 * 18 // 2
    assert stands_inside(why.relations, why.arm, 7)


def test_disjoint_triangles_by_definition():
    rng = np.random.default_rng(2)
    for seed in range(20):
        side = lsdt.from_means(rng.random(9), 0.4).reveal(0.9, 0.9, seed=seed)
        similar, dissimilar = pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs())
        for top, wrong in ((2, 0), (2, 1), (3, 0)):
            found = lsdt.candidate_set(side, "triangles", top=top, max_wrong=wrong)
            assert set(found.arms.tolist()) == by_triangles(9, similar, dissimilar, top + wrong)
            assert found.max_wrong == wrong


def test_wrong_relations_lose_none_of_the_best():
    """Each relation is wrong with probability .002, and one of the best 2 may be lost with probability .2.

    A binomial with 10 trials of probability .2 exceeds 7 with a probability below .0001.
    """
    rng, n_lost, n_out = np.random.default_rng(3), 0, 0
    for seed in range(10):
        means = rng.random(80)
        side = lsdt.from_means(means, 0.3).reveal(1.0, 1.0, seed=seed).corrupt(0.002, seed=seed)
        found = lsdt.candidate_set(side, "triangles", top=2, wrong_rate=0.002, risk=0.2)
        n_lost += not set(np.argsort(-means)[:2]) <= set(found.arms.tolist())
        n_out += 80 - len(found)
    assert n_lost <= 7
    assert n_out > 100


# ------------------------------------------------------------------ one arm is the best one of one


def test_the_best_one_is_the_best():
    """Counting at m = 1 gives what the methods for the best arm give, stage by stage."""
    rng = np.random.default_rng(4)
    n_excluded = 0
    for seed in range(15):
        means = rng.random(30)
        side = lsdt.from_means(means, 0.15)
        anchors = find_anchors(side)
        positions = TopPositions(anchors.proper, 1)
        assert positions.arms.tolist() == anchors.arms.tolist()
        assert [one.tolist() for one in positions.classes.split()] == [
            one.tolist() for one in anchors.classes
        ]
        system = system_around(side.reveal(0.7, 0.7, seed=seed), np.arange(30))
        counted, levels = count_in_reflections(system, np.arange(30), 1, lambda: False), orient(system)
        assert counted.is_out.tolist() == levels.is_out.tolist()
        n_excluded += int(levels.is_out.sum())
        better = [(a, b) for a, b in rng.integers(30, size=(25, 2)).tolist() if means[a] > means[b]]
        ordered = lsdt.SideInformation(30, better=better)
        assert (
            find_top_by_order(ordered, Options()).arms.tolist()
            == find_order(ordered, Options()).arms.tolist()
        )
    assert n_excluded > 100


def test_more_of_the_best_never_leave_fewer_arms():
    side = lsdt.from_means(np.random.default_rng(5).random(50), 0.12).reveal(0.6, 0.6, seed=1)
    sizes = [set(lsdt.candidate_set(side, top=top).arms.tolist()) for top in (2, 3, 5, 10, 49, 50, 60)]
    assert all(few <= many for few, many in pairwise(sizes))
    assert len(sizes[-1]) == 50


# ------------------------------------------------------------------ by hand, and what is refused


def test_a_ranking_by_hand():
    """0 > 1 > 2 > 3 and 4 anywhere: two arms lie above 2, three above 3."""
    side = lsdt.SideInformation(5, better=[(0, 1), (1, 2), (2, 3)], arm_ids=list("abcde"))
    assert lsdt.candidate_set(side, top=2).arm_ids == ["a", "b", "e"]
    found = lsdt.candidate_set(side, top=3)
    assert found.arm_ids == ["a", "b", "c", "e"]
    assert found.claim == "can be among the best 3"
    assert repr(found) == "CandidateSet(4 of 5 arms, method='propagation', top=3)"
    why = found.explain("d")
    assert str(why) == (
        "arm 'd' cannot be among the best 3: 'c', 'b' and 'a' are better than it, since 'c' is better than "
        "'d', 'b' is better than 'c' and 'a' is better than 'b'."
    )
    assert [(step.kind, step.above) for step in why.steps] == [("between", each) for each in "cba"]


def test_ties_count_for_the_arm():
    """A range closed at 0 lets two arms be equal: neither is strictly above."""
    side = lsdt.SideInformation(3, ranges=[(0, 1, 0.0, None), (1, 2, 0.0, None)])
    assert lsdt.candidate_set(side, top=2).arms.tolist() == [0, 1, 2]


def test_a_path_by_hand():
    """0 - 1 - 2 - 3 - 4 in a row: two arms on each side of 2."""
    side = lsdt.complete(5, similar=[(0, 1), (1, 2), (2, 3), (3, 4)])
    found = lsdt.candidate_set(side, top=2)
    assert (found.arms.tolist(), found.method) == ([0, 1, 3, 4], "anchors")
    assert str(found.explain(2)).startswith(
        "arm 2 cannot be among the best 2: 0 and 1 lie on one side of it and 3 and 4 on the other."
    )
    partial = lsdt.SideInformation(5, similar=side.similar_pairs(), dissimilar=side.dissimilar_pairs())
    assert lsdt.candidate_set(partial, "propagation", top=2).arms.tolist() == [0, 1, 3, 4]


def test_contradictions_fall_back_as_for_the_best():
    claw = {"similar": [(0, 1), (0, 2), (0, 3)], "dissimilar": [(1, 2), (1, 3), (2, 3)]}
    with pytest.warns(ContradictionWarning, match="contradict"):
        found = lsdt.candidate_set(lsdt.SideInformation(8, **claw), "propagation", top=2)
    assert found.conflict is not None
    assert set(found.arms.tolist()) >= set(range(1, 8))
    with pytest.raises(InconsistentSideInformation):
        lsdt.candidate_set(lsdt.SideInformation(3, better=[(0, 1), (1, 2), (2, 0)]), "order", top=2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"top": 0}, InvalidInput, "top must be a whole number of at least 1"),
        ({"top": 1.5}, InvalidInput, "top must be a whole number"),
        (
            {"top": 2, "method": "exact"},
            Unsupported,
            "'exact' finds arms that can be the best, not the best 2",
        ),
        (
            {"top": 2, "method": "probing"},
            Unsupported,
            "use 'propagation', 'order', 'anchors' or 'triangles'",
        ),
        (
            {"top": 2, "max_wrong": "auto"},
            InvalidInput,
            "max_wrong='auto' goes by whether an arm can be the best",
        ),
        ({"top": 2, "n_jobs": 2}, Unsupported, "leave it out with top=2"),
        ({"top": 2, "method": "order", "max_wrong": 1}, InvalidInput, "max_wrong=1 belongs to the method"),
        ({"top": 2, "method": "anchors"}, Unsupported, "needs complete side information"),
    ],
)
def test_what_is_refused(options, error, message):
    side = lsdt.SideInformation(4, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)])
    with pytest.raises(error, match=message):
        lsdt.candidate_set(side, **options)


def test_bounds_are_for_the_best_alone():
    found = lsdt.candidate_set(lsdt.SideInformation(4, similar=[(0, 1)], dissimilar=[(0, 2)]), top=2)
    with pytest.raises(Unsupported, match="with top=1"):
        found.bounds(0)
    with pytest.raises(Unsupported, match="with top=1"):
        _ = found.mutual_bounds


def test_pairs_in_an_engine_are_refused():
    pl = pytest.importorskip("polars")
    pairs = pl.LazyFrame({"a": [0], "b": [1], "relation": ["similar"]})
    with pytest.raises(Unsupported, match="in an engine"):
        lsdt.candidate_set(pairs, top=2)
