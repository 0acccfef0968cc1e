"""The contest of ways to ask about pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lsdt.reproduce.beyond.inquiry import contest
from lsdt.reproduce.beyond.inquiry.askers import WAYS, Ensemble
from lsdt.reproduce.beyond.inquiry.judges import KINDS, Answers, Judge
from lsdt.reproduce.framework.experiment import Request

MEANS = np.array([0.1, 0.35, 0.4, 0.9])


@pytest.mark.parametrize(("kind", "said"), [("similar", "similar"), ("better", "equal")])
def test_a_judge_answers_in_words(kind, said):
    judge = Judge(kind, MEANS, 0.1, (0,))
    assert judge(1, 2) == said
    assert judge(3, 0) == {"similar": "dissimilar", "better": "better"}[kind]
    wrong = Judge(kind, MEANS, 0.1, (0,), wrong=1.0)
    assert wrong(1, 2) != said


def test_a_judge_says_by_how_much():
    """As wide as epsilon, with the truth inside; the same pair the other way round is the same answer."""
    for number in range(50):
        judge = Judge("range", MEANS, 0.1, (number,))
        low, high = judge(3, 1)
        assert low <= 0.55 <= high
        assert high - low == pytest.approx(0.1)
        again = Judge("range", MEANS, 0.1, (number,))(1, 3)
        assert (-again[1], -again[0]) == pytest.approx((low, high))
        assert judge(3, 1) != (low, high)  # a repeat is drawn anew
        wrong = Judge("range", MEANS, 0.1, (number,), wrong=1.0)(3, 1)
        assert not wrong[0] <= 0.55 <= wrong[1]


def test_answers_become_relations():
    side = Answers([(0, 1), (0, 2), (3, 1), (1, 2)], ["worse", "dissimilar", "better", "equal"]).side(4, 0.1)
    assert [side.relation(*pair) for pair in ((0, 2), (1, 2))] == ["dissimilar", "similar"]
    assert {tuple(pair) for pair in side.ranges.better_pairs().tolist()} == {(1, 0), (3, 1)}
    assert Answers([(0, 3)], [(-0.9, -0.7)]).left(4, 0.1).tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_leaves_few_arms_and_the_best(kind, way):
    means = np.random.default_rng(4).uniform(0.1, 1.0, 12)
    asked = WAYS[way](Judge(kind, means, 0.2, (1,)), 6, np.random.default_rng(0))
    assert len(asked.left) <= 6
    assert means.argmax() in asked.left
    assert 6 <= asked.answers <= 66


def test_an_ensemble_follows_what_it_is_told():
    """Told the same by three, its draws come to agree on differences that were told, and on no others."""
    judge, rng = Judge("range", MEANS, 0.1, (0,)), np.random.default_rng(1)
    ensemble = Ensemble(judge, rng)
    pairs = np.array([[1, 2], [0, 3]])
    before = ensemble.disagreement(pairs)
    for _ in range(3):
        ensemble.tell(1, 2, judge(1, 2))
    for _ in range(60):
        ensemble.move()
    apart = ensemble._draws[:, 2] - ensemble._draws[:, 1]
    assert np.median(np.abs(apart - 0.05)) <= 0.1
    unsure = ensemble.disagreement(pairs)
    assert unsure[0] < before[0] / 4
    assert unsure[1] > before[1] / 4


def test_claims_say_what_was_measured():
    setting = contest.EXPERIMENT.setting(Request(replications=200))
    assert setting["replications"] == 20
    counts = {"random pairs": 1_000, "most uncertain pairs": 800, contest.OURS: 400}
    rows = [
        {
            "kind": kind,
            "way": way,
            "run": run,
            "answers": count // (1 + 2 * (kind == "range")) + run,
            "left": 10,
            "kept": not (kind == "similar" and way == "random pairs" and run == 3),
        }
        for kind in KINDS
        for way, count in counts.items()
        for run in range(20)
    ]
    few, fewer, ranges, kept = contest._claims({"runs": pd.DataFrame(rows)})
    assert [check.outcome for check in few.checks] == ["confirmed", "refuted"]  # 410 answers, of 600 and 250
    assert {check.outcome for check in fewer.checks} == {"confirmed"}
    assert len(fewer.checks) == 6
    assert ranges.checks[0].outcome == "confirmed"
    assert kept.checks[0].outcome == "refuted"  # by one run
