"""Every method returns the same immutable value, complete, with proofs that are derived on demand."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import polars as pl
import pytest

import lsdt
from lsdt.candidates.candidate_set import METHODS, method_for
from lsdt.candidates.options import USUAL, Options
from lsdt.candidates.outcome import Outcome
from lsdt.candidates.propagation.parts import find_by_parts
from lsdt.candidates.reasons import BETWEEN, CANDIDATE, COMPLETE, DERIVED, ORDER, TRIANGLE, reasons_of
from lsdt.candidates.result import CandidateSet
from lsdt.errors import ContradictionWarning, InvalidInput

MEANS = np.random.default_rng(2).uniform(0.1, 1.0, 60)
COMPLETE_SIDE = lsdt.from_means(MEANS, 0.1)
PARTIAL = COMPLETE_SIDE.reveal(0.3, 0.3, 2).explicit()
# A cycle of six similar pairs, nearly all other pairs dissimilar: no means fit.
CYCLE = lsdt.complete(6, [(arm, (arm + 1) % 6) for arm in range(6)])
WRONG = lsdt.SideInformation(
    6, CYCLE.similar_pairs(), [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4), (2, 5), (3, 5)]
)
ORDERED = lsdt.SideInformation(5, [(0, 1), (1, 2)], [(0, 2)], better=[(0, 3), (3, 4)], epsilon=0.1)


class Unasked:
    """Evidence that must not be asked to explain anything."""

    def __init__(self, evidence):
        self.kinds = evidence.kinds

    def explain(self, side, arm):
        raise AssertionError("a proof was derived before anything asked for it")


def outcome_of(side, method):
    return METHODS[method](side, USUAL)


# A method and side information that it takes.
RUNS = [
    *(("anchors", COMPLETE_SIDE), ("exact", COMPLETE_SIDE), ("propagation", WRONG), ("probing", WRONG)),
    *((method, side) for side in (PARTIAL, ORDERED) for method in METHODS if method != "anchors"),
]


@pytest.mark.parametrize(("method", "side"), RUNS)
def test_every_method_fills_the_same_value(method, side):
    outcome = outcome_of(side, method)
    assert type(outcome) is Outcome
    assert outcome.side.n_arms == side.n_arms
    assert isinstance(outcome.is_exact, bool)
    assert (outcome.classes is not None) == (method == "anchors")
    for system in fields(outcome):
        with pytest.raises(FrozenInstanceError):
            setattr(outcome, system.name, None)
    for array in (outcome.arms, outcome.kinds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert np.flatnonzero(outcome.kinds == CANDIDATE).tolist() == outcome.arms.tolist()


@pytest.mark.parametrize(("method", "side"), RUNS)
def test_a_reason_has_the_kind_and_the_proof_of_its_arm(method, side):
    outcome = outcome_of(side, method)
    for arm in range(0, side.n_arms, 3):
        reason = outcome.reason(arm)
        kind, why = reason.kind, reason.explain(outcome.side)
        assert why.arm == arm
        assert why.is_candidate == (kind == CANDIDATE) == (arm in outcome.arms)
        assert kind == outcome.kinds[arm]
        if kind == TRIANGLE:
            assert "which are dissimilar" in why.text
        if kind in (BETWEEN, DERIVED):
            assert why.relations
        if kind == ORDER:
            assert "is better than it" in why.text


def test_kinds_of_all_methods_worked_by_hand():
    """Arm 1 is similar to 0 and 2, which are dissimilar; 0 is better than 3, which is better than 4."""
    expected = {
        "order": [CANDIDATE, CANDIDATE, CANDIDATE, ORDER, ORDER],
        "triangles": [CANDIDATE, TRIANGLE, CANDIDATE, CANDIDATE, CANDIDATE],
        "propagation": [CANDIDATE, TRIANGLE, CANDIDATE, ORDER, ORDER],
        "probing": [CANDIDATE, TRIANGLE, CANDIDATE, ORDER, ORDER],
        "exact": [CANDIDATE, TRIANGLE, CANDIDATE, ORDER, ORDER],
    }
    for method, kinds in expected.items():
        assert outcome_of(ORDERED, method).kinds.tolist() == kinds
    assert set(outcome_of(COMPLETE_SIDE, "anchors").kinds.tolist()) == {CANDIDATE, COMPLETE}


@pytest.mark.parametrize(("method", "side"), RUNS)
def test_nothing_but_explain_derives_a_proof(method, side):
    outcome = outcome_of(side, method)
    found = CandidateSet(method, replace(outcome, evidence=Unasked(outcome.evidence)), 0.0)
    assert len(reasons_of(found).kinds) == side.n_arms
    assert found.max_wrong == outcome.max_wrong
    assert len(found.mutual_bounds.indptr) == len(found) + 1
    reason = outcome.reason(int(outcome.arms[0]))
    assert reason.explain(outcome.side).is_candidate
    with pytest.raises(AssertionError, match="before anything asked"):
        found.explain(side.label(0))


def test_contradictory_relations_bound_no_gaps():
    outcome = outcome_of(WRONG, "propagation")
    assert outcome.conflict is not None
    assert not outcome.is_exact
    assert outcome.max_wrong == 1
    assert outcome.bounds(int(outcome.arms[0])) is None
    with pytest.warns(ContradictionWarning):
        found = lsdt.candidate_set(WRONG)
    with pytest.raises(InvalidInput, match="the relations contradict one another"):
        found.bounds(int(found.arms[0]))


def test_what_can_be_said_of_exactness():
    assert outcome_of(COMPLETE_SIDE, "anchors").is_exact
    assert outcome_of(PARTIAL, "exact").is_exact
    assert outcome_of(lsdt.SideInformation(3, better=[(0, 1)]), "order").is_exact
    assert not outcome_of(PARTIAL, "order").is_exact
    assert not outcome_of(PARTIAL, "triangles").is_exact


def test_outcomes_and_what_users_see_of_them_can_be_pickled():
    for side in (COMPLETE_SIDE, PARTIAL):
        found = lsdt.candidate_set(side)
        again = pickle.loads(pickle.dumps(found))
        assert again.arms.tolist() == found.arms.tolist()
        assert [again.explain(arm).text for arm in range(0, 60, 7)] == [
            found.explain(arm).text for arm in range(0, 60, 7)
        ]


def test_parts_have_the_kinds_of_the_whole():
    pairs = [
        np.concatenate([each, each + 60]) for each in (PARTIAL.similar_pairs(), PARTIAL.dissimilar_pairs())
    ]
    outcome = find_by_parts(lsdt.SideInformation(120, *pairs, epsilon=0.1), Options(), 1)
    once = outcome_of(PARTIAL, method_for(PARTIAL, "auto")).kinds.tolist()
    assert outcome.kinds.tolist() == once + once


def test_what_goes_on_in_memory_after_an_engine_says_its_own_kinds():
    side = COMPLETE_SIDE.reveal(0.5, 0.5, 3)
    rows = [(a, b, "similar") for a, b in side.similar_pairs().tolist()]
    rows += [(a, b, "dissimilar") for a, b in side.dissimilar_pairs().tolist()]
    frame = pl.DataFrame(rows, schema=["a", "b", "relation"], orient="row").lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lsdt.candidate_set(frame)
    in_memory = lsdt.candidate_set(found.side, "propagation")
    kinds = reasons_of(found).kinds.tolist()
    assert kinds == reasons_of(in_memory).kinds.tolist()
    assert set(kinds) <= {CANDIDATE, BETWEEN, DERIVED}
