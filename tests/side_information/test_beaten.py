"""Beaten arms: a value of their own beside the relations."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lsdt
from lsdt.errors import ContradictionWarning, InvalidFile, InvalidInput
from lsdt.side_information import Beaten, BeatenSource, Origin, side_as_arrays, side_of_arrays
from lsdt.side_information.beaten import beaten_of_list

NAMES = ["tea", "juice", "cola", "mate"]


def source(kind="betting", needed=60.0, rows=((1, 0, 90, 7.0), (2, 0, 80, 3.5), (2, 1, 70, 3.4))):
    arms, beaters, raters, evidence = zip(*rows, strict=True)
    numbers = np.array(arms, np.int32), np.array(beaters, np.int32), np.array(raters, np.int64)
    return BeatenSource(kind, 0.05, needed, *numbers, np.array(evidence, float))


def side_of(*sources, **relations):
    return lsdt.SideInformation(4, arm_ids=NAMES, **relations)._with_origin(Origin(beaten=Beaten(sources)))


def test_an_arm_is_out_if_the_e_values_against_it_add_up_to_enough():
    side = side_of(source())  # e^7 > 60, e^3.5 + e^3.4 = 33 + 30 > 60
    assert side.beaten.is_out(4).tolist() == [False, True, True, False]
    found = lsdt.candidate_set(side)
    assert found.arm_ids == ["tea", "mate"]
    assert found.explain("juice").text == (
        "arm 'juice' is out: beaten by 'tea' among 90 common raters, e-value 1e+03; the best arm is called "
        "beaten with a probability of at most 0.05."
    )
    assert "by 'tea' among 80 common raters, e-value 3e+01; by 'juice' among 70" in found.explain("cola").text
    assert found.explain("mate").is_candidate
    assert [stage.name for stage in found.stages][-1] == "beaten"
    assert found.to_frame().candidate.tolist() == [True, False, False, True]


def test_the_best_several_need_more_evidence():
    rows = ((1, 0, 90, 9.0), (1, 2, 90, 5.0), (1, 3, 90, 4.5), (2, 0, 80, 9.0))
    side = side_of(source(rows=rows))  # 60 are needed for the best, 120 without the largest for the best two
    assert lsdt.candidate_set(side).arm_ids == ["tea", "mate"]
    assert lsdt.candidate_set(side, top=2).arm_ids == ["tea", "cola", "mate"]  # e^5 + e^4.5 = 238
    assert lsdt.candidate_set(side, top=2).explain("juice").text == (
        "arm 'juice' is out: beaten by 'tea' among 90 common raters, e-value 8e+03; by 'cola' among 90 "
        "common raters, e-value 1e+02; any of the best 2 arms is called beaten with "
        "a probability of at most 0.05."
    )
    assert "may be among the best 2: it was not beaten" in lsdt.candidate_set(side, top=2).explain("tea").text
    assert lsdt.candidate_set(side, top=3).arm_ids == NAMES
    multiples = side_of(source("bootstrap", 1.0, rows))
    assert lsdt.candidate_set(multiples, top=2).arm_ids == NAMES


def test_multiples_of_chance_do_not_add_up():
    rows = ((1, 0, 90, 0.9), (1, 2, 90, 0.9), (2, 0, 50, 1.2))
    side = side_of(source("bootstrap", 1.0, rows))
    assert side.beaten.is_out(4).tolist() == [False, False, True, False]
    assert "'tea' among 50 common raters, by 1.2 times what chance explains" in side.beaten.in_words(side, 2)


def test_a_beater_that_is_gone_excludes_no_longer():
    side = side_of(source())
    assert lsdt.candidate_set(side.subset(["juice", "cola", "mate"])).arm_ids == ["juice", "cola", "mate"]
    assert lsdt.candidate_set(side.subset(["tea", "cola"])).arm_ids == ["tea", "cola"]  # e^3.5 is too little
    assert lsdt.candidate_set(side.subset(["tea", "juice"])).arm_ids == ["tea"]
    agent = lsdt.Agent(side)
    assert agent.arms_in_play == ["tea", "mate"]
    agent.extend(side.subset(["juice", "cola", "mate"]))
    assert agent.arms_in_play == ["juice", "cola", "mate"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_keep_them(tmp_path, ending):
    side = side_of(source(), source("bootstrap", 1.0), similar=[("tea", "mate")])
    path = tmp_path / f"side.{ending}"
    side.save(path)
    loaded = lsdt.load(path)
    assert loaded == side
    assert loaded.beaten.sources[0].raters.tolist() == [90, 80, 70]


def test_copies_snapshots_and_other_forms_keep_them():
    side = side_of(source(), similar=[("tea", "mate")])
    arrays, about = side_as_arrays(side)
    agent = lsdt.Agent(side, policy="ucb1@triangles")
    for same in (
        pickle.loads(pickle.dumps(side)),
        side_of_arrays(arrays, about),
        lsdt.Agent.restore(agent.snapshot()).side,
        side.with_titles({"tea": "Tea"}),
        side.explicit(),
        side.reveal(1.0, 1.0),
    ):
        assert same == side
    assert side != lsdt.SideInformation(4, similar=[("tea", "mate")], arm_ids=NAMES)
    assert "2 beaten" in repr(side)
    assert "beaten" in side._repr_html_()


def test_merge_renumbers_them_and_adds_risks_up():
    beaten = Beaten((source(rows=((0, 1, 30, 9.0),)),))
    other = lsdt.SideInformation(2, arm_ids=["mate", "tea"])._with_origin(Origin(beaten=beaten))
    merged = lsdt.merge([side_of(source()), other])
    assert merged.beaten.risk == pytest.approx(0.1)
    assert lsdt.candidate_set(merged).arm_ids == ["tea"]
    assert merged.beaten.to_frame(merged).arm.tolist() == ["juice", "cola", "cola", "mate"]


def test_relations_and_beaten_arms_work_together():
    side = side_of(source(), better=[("tea", "mate")])
    found = lsdt.candidate_set(side)
    assert found.arm_ids == ["tea"]
    assert found.explain("mate").text == "arm 'mate' cannot be the best: 'tea' is better than it."
    contrary = side_of(source(), better=[("juice", "tea"), ("juice", "mate"), ("juice", "cola")])
    with pytest.warns(ContradictionWarning, match="leave only arms that were beaten"):
        assert lsdt.candidate_set(contrary).arm_ids == ["juice"]


def test_complete_information_loses_beaten_arms_from_its_classes():
    side = lsdt.from_means([0.1, 0.12, 0.5, 0.9, 0.91], 0.5)
    assert [members.tolist() for members in lsdt.candidate_set(side).classes] == [[0, 1], [3, 4]]
    fact = Beaten((source(rows=((0, 3, 50, 9.0), (1, 3, 50, 9.0), (3, 4, 50, 9.0))),))
    known = side._with_origin(Origin(beaten=fact))
    found = lsdt.candidate_set(known)
    assert [members.tolist() for members in found.classes] == [[4]]
    for policy in ("lsdt_csi", "lsdt_closure", "ts"):
        agent = lsdt.Agent(known, policy=lsdt.Policy(policy, on="auto") if policy == "ts" else policy)
        agent.tell(agent.ask(), 1.0)


def test_stopping_and_identify_state_the_further_risk():
    side = side_of(source())
    means = dict(zip(NAMES, (0.9, 0.8, 0.7, 0.1), strict=True))
    found = lsdt.identify(lambda arm: means[arm], side, tolerance=0.3)
    assert found.arm_id == "tea"
    assert found.text.endswith("; 0.05 is the risk that the best arm is among those beaten in a log")
    rows = ((1, 0, 90, 9.0), (1, 2, 90, 5.0), (1, 3, 90, 4.5))
    for budget in (None, 2):
        several = lsdt.identify(
            lambda arm: means[arm], side_of(source(rows=rows)), tolerance=0.3, top=2, budget=budget
        )
        assert "juice" not in several.arm_ids
        assert "0.05 is the risk that one of the best 2 arms is among those beaten in a log" in several.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "luck"}, "of kind betting or bootstrap"),
        ({"delta": 2.0}, "invalid delta"),
        ({"arms": [9]}, "indices from 0 to 3"),
        ({"arms": [0]}, "beside another arm"),
        (
            {"arms": [1, 1], "beaters": [0, 2], "raters": [9, 9], "evidence": [1.0, 2.0]},
            "strongest beaters of an arm must come first",
        ),
        ({"evidence": [float("nan")]}, "finite numbers"),
        ({"raters": []}, "lists of one length"),
        ({"more": 1}, "a source of beaten arms has"),
    ],
)
def test_damaged_ones_are_refused(change, message):
    fact = {"kind": "betting", "delta": 0.05, "needed": 20.0, "arms": [1], "beaters": [0], "raters": [9]}
    whole = {**fact, "evidence": [4.0]}
    assert beaten_of_list([whole], 4) == Beaten((source(needed=20.0, rows=((1, 0, 9, 4.0),)),))
    with pytest.raises(InvalidInput, match=message):
        beaten_of_list([{**whole, **change}], 4)


def test_a_changed_file_is_noticed(tmp_path):
    path = tmp_path / "side.csv"
    side_of(source()).save(path)
    path.write_text(path.read_text().replace('"raters": [90', '"raters": [91'))
    with pytest.raises(InvalidFile, match="checksum"):
        lsdt.load(path)
