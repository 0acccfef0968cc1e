"""Which pairs to ask about: `lsdt.next_pairs` and `lsdt.Inquiry`."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.identification.questions.votes import Votes, needed_lead

EPSILON = 0.15


def _answer(kind, difference):
    if abs(difference) < EPSILON:
        return "similar" if kind == "similar" else "equal"
    if kind == "similar":
        return "dissimilar"
    return "better" if difference > 0.0 else "worse"


def _run(kind, means, until, wrong_rate=0.0, batch=4, most=2_000):
    inquiry = lsdt.Inquiry(lsdt.SideInformation(len(means), epsilon=EPSILON), kind, wrong_rate, until)
    coins = np.random.default_rng(7)
    words = lsdt.identification.questions.votes.KINDS[kind]
    while inquiry.n_answers < most and (asked := inquiry.next(batch)):
        assert len(asked) <= batch
        for one in asked:
            answer = _answer(kind, means[one.a] - means[one.b])
            if coins.random() < wrong_rate:
                answer = next(word for word in words if word != answer)
            inquiry.tell(one.a, one.b, answer)
    return inquiry


@pytest.mark.parametrize(("kind", "most"), [("similar", 200), ("better", 90)])
def test_few_answers_leave_few_arms_and_the_best(kind, most):
    means = np.random.default_rng(3).uniform(0.1, 1.0, 40)
    inquiry = _run(kind, means, until=8, batch=8)
    assert len(inquiry.found) <= 8
    assert means.argmax() in inquiry.found
    assert inquiry.n_answers <= most  # of 780 pairs
    side = inquiry.side
    assert set(lsdt.candidate_set(side, "propagation").arms) == set(inquiry.found.arms)


def test_wrong_answers_are_asked_again():
    means = np.random.default_rng(5).uniform(0.1, 1.0, 16)
    inquiry = _run("better", means, until=5, wrong_rate=0.05)
    assert len(inquiry.found) <= 5
    assert means.argmax() in inquiry.found
    assert len(inquiry.disputed) > 0
    assert list(inquiry.disputed.columns) == ["a", "b", "better", "worse", "equal"]


def test_it_stops_by_itself():
    # All pairs are answered, and the two ends of the line look alike.
    means = np.linspace(0.1, 1.0, 8)
    inquiry = _run("similar", means, until=1)
    asked = inquiry.next()
    assert not asked
    assert asked.reason == "no answer about an open pair is expected to exclude an arm"
    assert {0, 7} <= set(inquiry.found.arms.tolist())
    assert len(inquiry.found) < 8


def test_reasons_for_no_question():
    assert lsdt.next_pairs(lsdt.SideInformation(1)).reason == "1 arm left"
    assert lsdt.next_pairs(lsdt.SideInformation(5), until=5).reason == "5 arms left"
    complete = lsdt.from_means([0.1, 0.2, 0.5], epsilon=0.15)
    assert lsdt.next_pairs(complete).reason == "every pair is known"


def test_questions_say_what_they_are_for():
    side = lsdt.SideInformation(4, arm_ids=["tea", "mate", "juice", "water"]).with_titles(
        {"tea": "Earl Grey"}
    )
    asked = lsdt.next_pairs(side, n=2, answers="better")
    assert asked.questions[0].why == "to compare mate with the best so far"
    frame = asked.to_frame()
    assert list(frame.columns) == ["a", "b", "expected", "cost", "why"]
    assert (frame["expected"] > 0.0).all()
    assert repr(asked) == "NextPairs(2 of them; 4 arms left)"


def test_costs_decide_among_equals():
    side = lsdt.SideInformation(4)
    dear = lsdt.next_pairs(side, n=3, cost=lambda a, b: 1.0 if 3 in (a, b) else 5.0)
    assert 3 in dear.pairs[0]
    assert dear.questions[0].cost == 1.0
    with pytest.raises(InvalidInput, match="cost of 1 and 0 must be positive"):
        lsdt.next_pairs(side, cost=lambda a, b: 0.0)
    with pytest.raises(InvalidInput, match="cost must be positive"):
        lsdt.next_pairs(side, cost=-1.0)


def test_a_contradiction_is_asked_again():
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3), "better", wrong_rate=0.1)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        inquiry.tell(a, b, "better")
    asked = inquiry.next(3)
    assert {frozenset(pair) for pair in asked.pairs} == {frozenset(p) for p in ((0, 1), (1, 2), (2, 0))}
    assert asked.questions[0].why == "answers contradict one another here"


def test_bad_values():
    side = lsdt.SideInformation(3, similar=[(0, 1)])
    with pytest.raises(InvalidInput, match="side must be SideInformation"):
        lsdt.next_pairs([1, 2])
    with pytest.raises(InvalidInput, match="answers must be one of 'similar', 'better'; got 'best'"):
        lsdt.next_pairs(side, answers="best")
    with pytest.raises(InvalidInput, match="wrong_rate"):
        lsdt.Inquiry(side, wrong_rate=0.5)
    inquiry = lsdt.Inquiry(side)
    with pytest.raises(InvalidInput, match="an answer must be one of 'similar', 'dissimilar'; got 'simlar'"):
        inquiry.tell(0, 2, "simlar")
    with pytest.raises(InvalidInput, match="known before: similar"):
        inquiry.tell(0, 1, "dissimilar")
    with pytest.raises(InvalidInput, match="two different arms"):
        inquiry.tell(2, 2, "similar")
    distinct = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.1, 0.2))
    with pytest.raises(Unsupported, match="need one epsilon"):
        lsdt.next_pairs(distinct)


def test_what_was_known_counts():
    side = lsdt.SideInformation(3, better=[(0, 1)], ranges=[(0, 2, 0.1, None)])
    assert lsdt.next_pairs(side, answers="better").reason == "1 arm left"


def test_votes():
    votes = Votes("better", 2)
    votes.add(1, 0, "better")
    assert votes.leader(0, 1)[2:] == ("worse", 1)
    votes.add(0, 1, "better")
    assert votes.leader(0, 1) is None  # level
    votes.add(0, 1, "better")
    assert not votes.is_settled(0, 1)
    votes.add(0, 1, "better")
    assert votes.is_settled(1, 0)
    assert votes.disputed() == [(0, 1, {"worse": 1, "better": 3})]
    assert needed_lead(100, 0.0) == 1
    assert needed_lead(100, 0.05) == 3  # log(2000) / log(19) = 2.6


def test_very_many_arms():
    means = np.random.default_rng(0).uniform(0.1, 1.0, 3_000)
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3_000, epsilon=EPSILON), "better", until=100)
    for _turn in range(3):
        for one in inquiry.next(200):
            inquiry.tell(one.a, one.b, _answer("better", means[one.a] - means[one.b]))
    assert inquiry.n_answers == 600
    assert len(inquiry.found) < 2_700
