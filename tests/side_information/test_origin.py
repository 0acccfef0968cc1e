"""The risks that sources state stay with the relations, and are added wherever an answer rests on them."""

from __future__ import annotations

import pickle

import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.side_information import Origin, StatedRisk, side_as_arrays, side_of_arrays
from lsdt.side_information.origin import risks_of_list

TESTS = {"arm": ["red", "green", "blue"], "successes": [120, 180, 260], "trials": [2000, 2000, 2000]}
RANGE_WRONG = StatedRisk("a range from past experiments is wrong", 0.05)
VOTES = [("tea", "mate", "tea")] * 18 + [("tea", "mate", "mate")] * 2
VOTE_WRONG = StatedRisk("a better pair from comparisons is wrong", 0.05)


def sources():
    log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
    pilot = {"arm": list(range(40)), "mean": [0.02 * arm for arm in range(40)], "se": [0.01] * 40}
    yield "experiments", lsdt.from_experiments(TESTS), RANGE_WRONG
    yield "comparisons", lsdt.from_comparisons(VOTES), VOTE_WRONG
    features = lsdt.from_features([[float(arm)] for arm in range(60)], pilot=pilot, n_neighbours=4)
    yield "features", features, StatedRisk("a range from features is wrong", 0.05)
    yield "all", lsdt.from_ratings(log, guarantee="all"), StatedRisk("a relation from ratings is wrong", 0.05)
    yield "best", lsdt.from_ratings(log), StatedRisk("the best arm is among those beaten in a log", 0.05)


def test_every_form_of_a_source_states_its_risk(tmp_path):
    for name, side, risk in sources():
        check_forms(name, side, risk, tmp_path)


def check_forms(name, side, risk, tmp_path):
    forms = {"made": side, "unpickled": pickle.loads(pickle.dumps(side)), "explicit": side.explicit()}
    forms["subset"] = side.subset([side.label(0), side.label(1)])
    forms["titled"] = side.with_titles({side.label(0): "a title"})
    forms["revealed"] = side.reveal(0.5, 0.5, p_range=0.9)
    forms["rebuilt"] = side_of_arrays(*side_as_arrays(side))
    forms["restored"] = lsdt.Agent.restore(lsdt.Agent(side).snapshot()).side
    for ending in ("csv", "parquet"):
        side.save(tmp_path / f"side.{ending}")
        forms[ending] = lsdt.load(tmp_path / f"side.{ending}")
    for form, same in forms.items():
        if form == "subset" and same.beaten is None and name == "best":
            continue  # the beaten arm of the two may have been beaten by others only
        assert same.risks == (risk,), (name, form)
        assert same.risk == 0.05, (name, form)


def test_sources_without_a_risk_state_none(tmp_path):
    for side in (
        lsdt.SideInformation(3, better=[(0, 1)]),
        lsdt.from_order(["S", "M", "L"]),
        lsdt.from_features([[0.0], [1.0]], lipschitz=0.1),
        lsdt.from_means([0.1, 0.2], epsilon=0.15),
    ):
        assert (side.risks, side.risk) == ((), None)


def test_merge_adds_the_risks_also_of_loaded_files(tmp_path):
    lsdt.from_experiments(TESTS).save(tmp_path / "tests.csv")
    past = lsdt.load(tmp_path / "tests.csv")
    votes = lsdt.from_comparisons([("red", "blue", "blue")] * 18 + [("red", "blue", "red")] * 2)
    order = lsdt.from_order(["red", "blue"])
    merged = lsdt.merge([past, votes, order], names=["tests", "votes", "order"])
    assert merged.evidence.risk == pytest.approx(0.1)
    assert merged.evidence.risk_text() == (
        "something is wrong with probability at most 0.1: tests 0.05 (a range from past experiments is "
        "wrong) + votes 0.05 (a better pair from comparisons is wrong); assumed right: order"
    )
    assert merged.risks == (RANGE_WRONG, VOTE_WRONG)
    again = lsdt.merge([merged, lsdt.from_experiments(TESTS, confidence=0.99)])
    assert again.risk == pytest.approx(0.11)


def test_what_a_judge_says_keeps_its_risk(tmp_path):
    means = {"tea": 0.9, "mate": 0.5, "cola": 0.1}
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3, arm_ids=list(means)), answers="better", repeats=True)
    for _ in range(12):
        for a, b in (("tea", "mate"), ("mate", "cola"), ("cola", "tea")):
            inquiry.tell(a, b, "better" if means[a] > means[b] else "worse")
    side = inquiry.side
    assert side.relation("tea", "cola") == "better"
    assert side.risks == (StatedRisk("a better pair from a judge is wrong", 0.05),)
    assert side.evidence.risk == 0.05
    side.save(tmp_path / "judged.csv")
    merged = lsdt.merge([lsdt.load(tmp_path / "judged.csv"), lsdt.from_order(["cola", "tea"])])
    assert merged.evidence.risk == 0.05
    assert "assumed right: source 2" in merged.evidence.risk_text()


def test_facts_told_to_an_inquiry_keep_beaten_arms_and_risks():
    log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
    side = lsdt.from_ratings(log)
    inquiry = lsdt.Inquiry(side, epsilon=0.1)
    assert inquiry.found.arm_ids == lsdt.candidate_set(side).arm_ids
    first, second = (side.label(arm) for arm in range(2))
    inquiry.tell(first, second, "similar")
    assert inquiry.side.risks == side.risks


def test_stopping_and_identify_add_the_risk():
    side = lsdt.from_experiments(TESTS)
    agent = lsdt.Agent(side)
    for _ in range(3):
        agent.tell(agent.ask(), 1.0)
    known = agent.stopping(tolerance=0.0)
    assert (known.stop, known.delta, known.risk) == (True, 0.0, 0.05)
    assert known.text == (
        "arm 'blue' is within 0 of the best, but for a probability of 0 + 0.05, after 3 rewards; 0.05 is the "
        "risk that a range from past experiments is wrong"
    )
    assert "risk=0.05" in repr(known)
    found = lsdt.identify(lambda arm: 1.0, side, tolerance=0.0)
    assert (found.delta, found.risk, found.tries) == (0.0, 0.05, 0)
    assert repr(found) == "Identification(arm_id='blue', stop=True, delta=0, risk=0.05, tries=0)"
    assert "0 + 0.05" in found.text
    three = lsdt.identify(lambda arm: 1.0, side, tolerance=0.0, top=2)
    assert three.risk == 0.05
    assert "0 + 0.05" in three.text
    raced = lsdt.race(["red", "green", "blue"], lambda arm, at: 0.5, [0, 1], side=side)
    assert "but for a probability of 0.05 + 0.05" in raced.text


def test_an_agent_that_is_extended_has_the_risks_of_both():
    agent = lsdt.Agent(lsdt.from_experiments(TESTS))
    agent.extend(lsdt.SideInformation(4, arm_ids=["red", "green", "blue", "grey"]))
    assert agent.side.risks == ()  # its relations are gone, too
    past = lsdt.from_experiments({name: column[:2] for name, column in TESTS.items()})
    agent = lsdt.Agent(lsdt.from_experiments(TESTS))
    agent.extend(past)
    assert agent.side.risks[-1] == RANGE_WRONG


@pytest.mark.parametrize(
    "risks", [3, ["what"], [["what"]], [["", 0.1]], [["what", 0.0]], [["what", 1.5]], [["what", "much"]]]
)
def test_damaged_risks_are_refused(risks, tmp_path):
    with pytest.raises(InvalidInput, match=r"risks are a list of \[what may be wrong, probability\]; got"):
        risks_of_list(risks)
    path = tmp_path / "side.csv"
    path.write_text('# lsdt {"format": 1, "risks": 3}\na,b,relation\n0,1,similar\n# lsdt end\n')
    with pytest.raises(InvalidFile, match="risks are a list"):
        lsdt.load(path)


def test_risks_are_at_most_one():
    many = tuple(StatedRisk("all is wrong", 0.4) for _ in range(3))
    assert lsdt.SideInformation(2)._with_origin(Origin(risks=many)).risk == 1.0
