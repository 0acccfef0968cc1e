from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.candidates.propagation import method as propagation
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.contradiction import (
    FailedElimination,
    Reach,
    conflict_among,
    contradiction_message,
    mutual_exclusion,
    part_without_arms,
)
from lsdt.candidates.propagation.method import MOST_CLOSED, Clock, derive
from lsdt.candidates.triangles.rule import one_witness
from lsdt.errors import ContradictionWarning, InvalidInput
from naive.candidates import by_orders
from naive.checkers import derives_contradiction, in_epsilons, is_conflict
from naive.graphs import components
from naive.thresholds import by_all_orders
from strategies import any_relations, any_thresholds

SideInformation = lsdt.SideInformation
CIRCLE = {"similar": [(0, 1), (1, 2), (2, 3), (3, 0)], "dissimilar": [(0, 2), (1, 3)]}
CLAW = {"similar": [(0, 1), (0, 2), (0, 3)], "dissimilar": [(1, 2), (1, 3), (2, 3)]}


def told(relations):
    return {(frozenset((a, b)), word) for a, b, word, *_ in relations}


def quiet(side):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return lsdt.candidate_set(side, "propagation")


def with_a_flip(seed, n_arms=30, epsilon=0.2, share=0.5):
    """True relations but for one, and that one."""
    rng = np.random.default_rng(seed)
    true = lsdt.from_means(rng.uniform(size=n_arms), epsilon).reveal(share, share, seed=seed)
    pairs = np.concatenate([true.similar_pairs(), true.dissimilar_pairs()])
    is_similar = np.arange(len(pairs)) < true.n_similar
    wrong = int(rng.integers(len(pairs)))
    is_similar[wrong] = not is_similar[wrong]
    return SideInformation(n_arms, pairs[is_similar], pairs[~is_similar]), frozenset(pairs[wrong].tolist())


def no_means_fit(conflict):
    """Whether no order of the arms, all of them tried, fits the relations of a conflict."""
    number = {arm: at for at, arm in enumerate(conflict.arms)}
    similar, dissimilar = (
        {frozenset((number[a], number[b])) for a, b, said in conflict.relations if said == word}
        for word in ("similar", "dissimilar")
    )
    return not by_orders(len(number), similar, dissimilar)


@pytest.mark.parametrize("relations", [CIRCLE, CLAW])
def test_small_contradictions_are_told_whole(relations):
    side = SideInformation(6, relations["similar"], [*relations["dissimilar"], (4, 5)])
    with pytest.warns(
        ContradictionWarning, match="contradict one another: these cannot all be true"
    ) as caught:
        found = lsdt.candidate_set(side)
    assert len(caught) == 1
    assert found.method == "propagation"
    assert sorted(found.conflict.arms) == [0, 1, 2, 3]
    assert len(found.conflict.relations) == 6
    assert derives_contradiction(in_epsilons(side), found.conflict.steps) == told(found.conflict.relations)
    assert found.suggestion in found.conflict.relations
    assert found.max_wrong == 1
    assert found.notes[0] == str(caught[0].message)
    assert found.arms.tolist() == list(range(6))
    assert found.explain(0).is_candidate
    assert "\n  1. d(" in str(found.conflict)
    with pytest.raises(InvalidInput, match="they bound no gaps"):
        found.bounds(0)
    assert json.loads(json.dumps(found.conflict.to_dict()))["suggestion"] == list(found.suggestion)


@given(any_relations(max_arms=7))
def test_what_is_called_contradictory_is(problem):
    n_arms, similar, dissimilar = problem
    side = SideInformation(n_arms, similar, dissimilar)
    found = quiet(side)
    assert len(found.arms) > 0
    if found.conflict is None:
        assert found.suggestion is None
        return
    assert not by_orders(n_arms, set(map(frozenset, similar)), set(map(frozenset, dissimilar)))
    for a, b, word in found.conflict.relations:
        assert side.relation(a, b) == word
    if found.conflict.steps:
        assert derives_contradiction(in_epsilons(side), found.conflict.steps) is not None
    else:
        assert is_conflict(found.conflict) or no_means_fit(found.conflict)
    assert no_means_fit(found.conflict)


def test_one_wrong_relation_is_in_the_conflict_and_mostly_suggested(thorough):
    """All other relations are true, so that every conflict must hold the wrong one."""
    noticed, suggested, flips = 0, 0, 100 if thorough else 9
    for seed in range(flips):
        side, wrong = with_a_flip(seed)
        found = quiet(side)
        if found.conflict is not None:
            noticed += 1
            assert wrong in {frozenset((a, b)) for a, b, _ in found.conflict.relations}
            assert derives_contradiction(in_epsilons(side), found.conflict.steps) is not None
            suggested += wrong == frozenset(found.suggestion[:2])
    assert noticed >= flips / 2
    assert suggested >= 0.7 * noticed  # by chance it would be one in ten


def test_one_contradictory_part_is_enough():
    claw_apart = SideInformation(
        8, [*CLAW["similar"], (4, 5), (5, 6)], [*CLAW["dissimilar"], (4, 6), (0, 4), (7, 0)]
    )
    assert sorted(quiet(claw_apart).conflict.arms) == [0, 1, 2, 3]
    fine = SideInformation(8, [(0, 1), (4, 5), (5, 6)], [(4, 6), (0, 4), (7, 0)])
    assert lsdt.candidate_set(fine).conflict is None


@given(any_relations(max_arms=9))
def test_parts_without_arms(problem):
    n_arms, similar, dissimilar = problem
    side = SideInformation(n_arms, similar, dissimilar)
    if side.is_complete:
        return
    left = np.arange(n_arms)[:: max(n_arms // 3, 1)]
    parts = components(n_arms, set(map(frozenset, similar)))
    empty = [set(part) for part in parts if not set(part) & set(left.tolist())]
    found = part_without_arms(side, system_around(side, left), left)
    assert (found is None) == (not empty)
    if found is not None:
        assert set(found.tolist()) in empty
        assert len(found) == min(map(len, empty))


def failed(side):
    """Return the arms of a part in which propagation leaves none, and what it did."""
    done = derive(side, Clock(None))
    part = part_without_arms(side, done.system, done.left)
    return part, FailedElimination(done.witnesses, done.system, done.near, MOST_CLOSED)


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_conflict_is_found_if_orders_come_first_and_leave_no_arm(seed, monkeypatch):
    monkeypatch.setattr(propagation, "_MANY_ARMS", 50)
    side, _wrong = with_a_flip(seed, n_arms=60, epsilon=0.1)
    found = quiet(side)
    assert [stage.name for stage in found.stages][:2] == ["orientation", "triangles"]
    part, done = failed(side)
    assert len(part) > 0
    assert done.near > 0
    conflict = found.conflict
    assert conflict.steps
    assert derives_contradiction(in_epsilons(side), conflict.steps)


NO_ORDERS = Reach(sizes=())


@pytest.mark.parametrize("seed", range(2))
def test_sets_of_which_every_arm_is_excluded(seed):
    """What is told where the order of one pair leads to no contradiction."""
    side, wrong = with_a_flip(seed + 20)
    part, done = failed(side)
    assert (part is None) == (quiet(side).conflict is None)
    if part is not None:
        conflict = conflict_among(side, part, done, NO_ORDERS)
        assert wrong in {frozenset((a, b)) for a, b, _ in conflict.relations}
        number = {arm: at for at, arm in enumerate(conflict.arms)}
        alone = SideInformation(
            len(number),
            *(
                [(number[a], number[b]) for a, b, said in conflict.relations if said == word]
                for word in ("similar", "dissimilar")
            ),
        )
        assert quiet(alone).conflict is not None


def test_triangles_in_one_part_where_no_order_leads_to_a_contradiction():
    """The witnesses of arms in other parts, which may have none, are not followed."""
    circle = {word: [(a + 3, b + 3) for a, b in pairs] for word, pairs in CIRCLE.items()}
    side = SideInformation(8, [(0, 1), *circle["similar"]], circle["dissimilar"])
    conflict = conflict_among(side, *failed(side), NO_ORDERS)
    assert conflict.arms == (3, 4, 5, 6)
    assert is_conflict(conflict)
    assert conflict.suggestion in conflict.relations


def test_when_no_small_set_is_found_all_arms_are_told():
    side = SideInformation(6, CLAW["similar"], CLAW["dissimilar"])
    conflict = conflict_among(side, *failed(side), Reach(sizes=(), most_arms=0))
    assert conflict.arms == (0, 1, 2, 3)
    assert len(conflict.relations) == 6
    conflict = conflict_among(side, *failed(side), Reach(sizes=(), most_arms=0, most_listed=1))
    assert conflict.relations == ()
    assert "no small set was found" in contradiction_message(conflict, 1)
    assert "what is known about 4 arms" in str(conflict)


def test_a_set_closed_under_reasons_is_shrunk():
    side = SideInformation(9, [*CLAW["similar"], (3, 4), (4, 5)], [*CLAW["dissimilar"], (3, 5), (1, 4)])
    system = system_around(side, np.arange(9))
    chosen = mutual_exclusion(system, np.arange(6), FailedElimination(one_witness(side), system, 9, 256))
    assert sorted(system.arms[chosen.arms].tolist()) == [0, 1, 2, 3]
    assert chosen.n_relations == 6


def test_other_methods_refuse_as_before():
    side = SideInformation(5, [*CIRCLE["similar"], (4, 0), (4, 2)], CIRCLE["dissimilar"])
    for method in ("triangles", "paper", "exact"):
        with pytest.raises(lsdt.errors.InconsistentSideInformation, match="contradict"):
            lsdt.candidate_set(side, method)


@given(any_thresholds(max_arms=6))
def test_distinct_thresholds_that_contradict_one_another(problem):
    n_arms, similar, dissimilar = problem
    values = (list(similar.values()), list(dissimilar.values()))
    side = SideInformation(n_arms, list(similar), list(dissimilar), epsilon=values)
    found = quiet(side)
    assert len(found.arms) > 0
    if found.conflict is None or side.thresholds is None:
        return
    assert not by_all_orders(n_arms, similar, dissimilar)
    number = {arm: at for at, arm in enumerate(found.conflict.arms)}
    alone = {"similar": {}, "dissimilar": {}}
    for a, b, word, threshold in found.conflict.relations:
        known = (similar if word == "similar" else dissimilar)[min(a, b), max(a, b)]
        assert threshold == pytest.approx(known)
        alone[word][number[a], number[b]] = known
    assert not by_all_orders(len(number), alone["similar"], alone["dissimilar"])
    assert "apart" in found.notes[0]
    assert "apart" in str(found.conflict)


def test_thresholds_that_contradict_whatever_is_supposed():
    """A path of similar pairs that is shorter than a dissimilar pair is far: also arms elsewhere are out."""
    side = SideInformation(5, [(0, 1), (1, 2), (3, 4)], [(0, 2)], epsilon=([0.1, 0.1, 0.1], [0.3]))
    conflict = quiet(side).conflict
    assert sorted(conflict.arms) == [0, 1, 2]
    assert len(conflict.relations) == 3


def test_what_only_probing_sees_is_told_as_well():
    """Arms that propagation had left have no derivation: the conflict is all that is known of the part."""
    side = SideInformation(6, CLAW["similar"], CLAW["dissimilar"])
    assert sorted(probing(side).conflict.arms) == [0, 1, 2, 3]
    part, done = failed(side)
    blind = done._replace(witnesses=np.full_like(done.witnesses, -1), near=1, most_closed=1)
    conflict = conflict_among(side, part, blind)
    assert sorted(conflict.arms) == [0, 1, 2, 3]
    assert no_means_fit(conflict)


def probing(side):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return lsdt.candidate_set(side, "probing")
