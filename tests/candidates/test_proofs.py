from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

import lsdt
from lsdt.errors import InvalidInput
from naive.checkers import excludes, means_fit
from strategies import integer_means

SideInformation = lsdt.SideInformation


@given(integer_means())
def test_every_arm_of_complete_information_has_a_proof(problem):
    means, epsilon = problem
    implicit = lsdt.from_means(means, epsilon)
    for side in (implicit, implicit.explicit()):
        found = lsdt.candidate_set(side)
        for arm in range(side.n_arms):
            explanation = found.explain(arm)
            assert explanation.is_candidate == (arm in found.arms)
            if explanation.is_candidate:
                assert means_fit(side, explanation.means, epsilon)
                assert explanation.means[arm] == explanation.means.max()
            else:
                assert excludes(side, explanation)


def test_second_case_of_theorem_1_in_words():
    side = lsdt.complete(
        5, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("b", "d")], arm_ids=list("abcde")
    )
    explanation = lsdt.candidate_set(side).explain("c")
    assert not explanation.is_candidate
    assert "between one and two epsilons below it" in str(explanation)
    assert excludes(side, explanation)


def test_robust_explanation_lists_all_its_pairs():
    side = SideInformation(5, [(0, arm) for arm in range(1, 5)], [(1, 2), (3, 4)])
    explanation = lsdt.candidate_set(side, max_wrong=1).explain(0)
    assert sorted(explanation.pairs) == [(1, 2), (3, 4)]
    assert "1 wrong relations could not undo it" not in str(explanation)
    assert "a wrong relation could not undo it" in str(explanation)


def test_explanation_as_json():
    side = lsdt.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=["x", "y", "z"])
    found = lsdt.candidate_set(side)
    out = json.loads(json.dumps(found.explain("y").to_dict()))
    assert out["arm"] == "y"
    assert out["candidate"] is False
    assert ["x", "z", "dissimilar"] in out["relations"]
    assert len(json.loads(json.dumps(found.explain("z").to_dict()))["means"]) == 3


def test_frame_has_a_row_and_a_reason_for_every_arm():
    side = lsdt.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=["x", "y", "z"])
    frame = lsdt.candidate_set(side).to_frame()
    assert frame["arm"].tolist() == ["x", "y", "z"]
    assert frame["candidate"].tolist() == [True, False, True]
    assert "similar to 'x' and 'z'" in frame.set_index("arm").loc["y", "reason"]
    assert frame["class"].isna().tolist() == [False, True, False]
    assert "class" not in lsdt.candidate_set(side, "triangles").to_frame()


def test_contains_and_unknown_arms():
    found = lsdt.candidate_set(lsdt.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=[7, 8, 9]))
    assert 7 in found
    assert 8 not in found
    assert found.arm_ids == [7, 9]
    with pytest.raises(InvalidInput, match="there is no arm 0; arm ids are 7, 8, 9"):
        found.explain(0)


def test_repr_and_inputs_untouched():
    means = np.array([0.3, 0.1, 0.2])
    found = lsdt.candidate_set(lsdt.from_means(means, 0.15))
    assert repr(found) == "CandidateSet(2 of 3 arms, method='anchors')"
    assert means.tolist() == [0.3, 0.1, 0.2]
