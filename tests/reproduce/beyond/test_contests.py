"""Contests: who takes part, and what is read off their tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.kernel import new_stream
from lsdt.reproduce import Request
from lsdt.reproduce.beyond.contests import contest as contest_module
from lsdt.reproduce.beyond.contests.contest import contest_setting, entrants, larger_setting, play_contest
from lsdt.reproduce.beyond.contests.linear_regret import _halves, detectable_gap
from lsdt.reproduce.beyond.contests.results import (
    contest_discussion,
    lowest_claim,
    ratio_claim,
    standings,
)
from lsdt.reproduce.beyond.wrong_relations.wrong_contest import best_arm_claims, wrong_discussion
from lsdt.reproduce.beyond.wrong_relations.wrong_problems import RobustPolicy, WrongProblem
from lsdt.reproduce.framework.claims import CONFIRMED, REFUTED, UNDECIDED
from lsdt.reproduce.framework.experiment import Work


@pytest.mark.parametrize("complete", [True, False])
def test_every_policy_takes_part_wherever_it_may_play(complete):
    words = entrants(complete)
    assert len(set(words)) == len(words)
    named = {word.partition("@")[0].partition(":")[0] for word in words}
    assert named == set(lsdt.policies.available()) - {"identify"}  # made to find out, not to lose little
    for word in words:
        lsdt.policies.policy.parse_policy(word)
    on = {word.partition("@")[2] for word in words if word.startswith("moss")}
    assert on == ({"", "paper"} if complete else {"", "paper", "propagation"})
    assert {"lsdt_csi:index=moss", "lsdt_csi:index=kl_ucb", "lsdt_csi:index=gaussian_ts"} <= set(words)
    assert {"ucb1:tails=heavy", "ucb1@paper:tails=heavy", "lsdt_psi:tails=heavy"} <= set(words)
    assert not any("tails=light" in word for word in words)
    assert not any(word.startswith("lsdt_closure@") for word in words)


def small(words, **changes):
    """Return the setting of a small contest."""
    setting = contest_setting(Request(replications=3), revealed=0.5, rewards="bernoulli", arms=12, horizon=50)
    return {**setting, "policies": words, **changes}


def test_those_who_refuse_are_left_out_with_the_reason():
    tables = play_contest(small(["ts", "osub", "lsdt_csi"]), Work(n_jobs=1))
    assert tables["policies"]["word"].tolist() == ["ts"]
    assert tables["left_out"]["word"].tolist() == ["osub", "lsdt_csi"]
    assert tables["left_out"]["reason"].str.startswith("needs complete side information").all()
    assert "Left out: OSUB, LSDT-CSI (alpha 2) (needs complete" in contest_discussion(tables)


def test_a_graph_in_pieces_in_one_run_is_enough_to_refuse():
    setting = small(["ts", "uts"], revealed=1.0, epsilon=0.25, replications=30)
    tables = play_contest(setting, Work(n_jobs=1))
    problem = contest_module.contest_problem(setting)
    connected = [np.diff(np.sort(problem.draw(0, run).means)).max() < 0.25 for run in range(30)]
    assert any(connected)
    assert not all(connected)
    assert tables["left_out"]["word"].tolist() == ["uts"]


def test_those_who_are_too_slow_are_left_out_with_their_time():
    tables = play_contest(small(["ts", "ucb1"], most_microseconds=1e6), Work(n_jobs=1))
    assert "left_out" not in tables
    admitted, left_out = contest_module._admit(small(["ts", "ucb1"], most_microseconds=1e-3), Work())
    assert admitted == []
    assert [row[0] for row in left_out] == ["ts", "ucb1"]
    assert all(row[2] > 1e-3 for row in left_out)


def test_those_who_do_not_begin_in_time_are_left_out_unasked():
    tables = play_contest(small(["ts", "ucb1"], without={"ts": "takes an hour"}), Work(n_jobs=1))
    assert tables["policies"]["word"].tolist() == ["ucb1"]
    assert tables["left_out"]["reason"].tolist() == ["takes an hour"]


def test_a_contest_is_the_same_study_as_a_simulation_of_one_policy():
    setting = small(["ts", "ucb1@paper"])
    regret = play_contest(setting, Work(seed=5))["regret"]
    alone = lsdt.simulate(contest_module.contest_problem(setting), "ucb1@paper", 50, 3, seed=5)
    found = regret[(regret["policy"] == "UCB1 on B0 (alpha 2)") & (regret["t"] == 50)]
    assert np.array_equal(found["regret"], alone.regret("ucb1 on paper")[:, -1])


def test_larger_contests_have_fewer_runs():
    settings = [larger_setting(Request(replications=n), 100, 0.5, 50.0) for n in (1, 2, 10, 200)]
    assert [setting["replications"] for setting in settings] == [1, 2, 2, 20]


def made_up(ours, others):
    """Return the tables of a contest with these regrets at the end."""
    regrets = {"LSDT-posterior": ours, **others}
    rows = [
        {"policy": name, "run": run, "t": t, "regret": value * t / 100}
        for name, values in regrets.items()
        for run, value in enumerate(values)
        for t in (50, 100)
    ]
    words = ["lsdt_posterior", *others]
    return {
        "regret": pd.DataFrame(rows),
        "policies": pd.DataFrame({"policy": list(regrets), "word": words}),
        "times": pd.DataFrame({"policy": list(regrets), "us_per_step": 1.0}),
    }


@pytest.mark.parametrize(
    ("ours", "other", "outcome"),
    [
        ([10.0, 11.0, 12.0, 13.0], [20.0, 21.5, 22.0, 23.0], CONFIRMED),
        ([10.0, 11.0, 12.0, 13.0], [9.5, 12.0, 11.0, 12.9], CONFIRMED),  # behind, but not clearly
        ([10.0, 11.0, 12.0, 13.0], [8.0, 9.1, 10.0, 11.0], REFUTED),
        ([10.0], [8.0], UNDECIDED),
    ],
)
def test_the_least_regret_is_claimed_up_to_the_interval(ours, other, outcome):
    tables = made_up(ours, {"b": other, "c": [100.0] * len(ours)})
    (check,) = lowest_claim(tables, "name", "Here").checks
    assert check.outcome == outcome
    assert check.estimate.value == pytest.approx(np.mean(ours) - np.mean(other))
    assert "minus b, the best of the other 2" in check.what


@pytest.mark.parametrize(("ours", "outcome"), [(20.0, CONFIRMED), (30.0, REFUTED)])
def test_a_share_of_the_regret_of_another(ours, outcome):
    tables = made_up([ours, ours + 1, ours - 1], {"lsdt_csi": [100.0, 101.0, 99.0]})
    claim = ratio_claim(tables, "name", "Here", "lsdt_csi", 1 / 4)
    assert [check.outcome for check in claim.checks] == [outcome]
    assert "at most 1/4 of that of lsdt_csi" in claim.text


def test_without_our_policy_nothing_is_decided():
    tables = made_up([1.0, 2.0], {"b": [3.0, 4.0]})
    tables["policies"]["word"] = ["another", "b"]
    for claim in (lowest_claim(tables, "a", "Here"), ratio_claim(tables, "b", "Here", "b", 0.5)):
        assert [check.outcome for check in claim.checks] == [UNDECIDED]
        assert claim.checks[0].to_dict()["estimate"] is None


def test_standings_and_words_say_who_wins():
    tables = made_up([10.0, 12.0, 14.0], {"b": [5.0, 5.5, 6.6], "c": [50.0, 60.0, 70.0]})
    table = standings(tables)
    assert table["policy"].tolist() == ["b", "LSDT-posterior", "c"]
    assert table["behind the first"].tolist() == pytest.approx([0.0, 6.3, 54.3])
    assert table["95% of runs below"][2] == pytest.approx(69.0)
    assert table["behind, from"][1] < 6.3 < table["behind, to"][1]
    words = contest_discussion(tables)
    assert "lowest first: b 5.7" in words
    assert "LSDT-posterior is number 2; LSDT-posterior loses 6.3" in words
    assert "more than b" in words


def test_a_run_with_linear_regret_is_one_that_keeps_losing_much():
    size = detectable_gap(10_000, 1.0) * 5_000
    assert size == pytest.approx(math.sqrt(2 * math.log(10_000) / 5_000) * 5_000)
    halves = [(size, 2.1 * size), (size, 1.7 * size), (0.5 * size, 1.4 * size), (3 * size, 4.5 * size)]
    rows = [
        {"problem": "complete", "policy": "a", "run": run, "t": t, "regret": regret}
        for run, pair in enumerate(halves)
        for t, regret in zip((5_000, 10_000), pair, strict=True)
    ]
    setting = {"studies": {"complete": {"rewards": "gaussian"}}, "as_before": 0.8}
    assert _halves(pd.DataFrame(rows), setting)["linear"].tolist() == [True, False, False, False]
    setting["studies"]["complete"]["rewards"] = "bernoulli"  # half the noise, half the size
    assert _halves(pd.DataFrame(rows), setting)["linear"].tolist() == [True, False, True, False]


def wrong_tables(out):
    """Return tables of two policies, the watchful one with these runs without the best arm."""
    rows = [
        {"wrong": wrong, "word": word, "policy": name, "run": run, "regret": 1.0 + run, "out": lost}
        for wrong in (0.0, 0.01, 0.05)
        for word, name, losses in (("lsdt_watchful", "W", out), ("ts", "TS", [False] * len(out)))
        for run, lost in enumerate(losses)
    ]
    return {"runs": pd.DataFrame(rows)}


@pytest.mark.parametrize(("lost", "outcome"), [(0, CONFIRMED), (2, CONFIRMED), (3, REFUTED)])
def test_the_best_arm_is_out_in_few_runs(lost, outcome):
    tables = wrong_tables([run < lost for run in range(200)])
    (claim,) = best_arm_claims(tables, "name", "Here")
    assert [check.outcome for check in claim.checks] == [outcome] * 2  # 5% wrong is told, not claimed
    assert f"{lost} of 200" in claim.checks[0].measured
    assert f"W {np.arange(1, 201).mean():.0f}" in wrong_discussion(tables).replace("100.5", "100")


def test_without_a_watchful_policy_nothing_is_claimed_of_it():
    tables = wrong_tables([False] * 3)
    tables["runs"] = tables["runs"][tables["runs"]["word"] == "ts"]
    assert best_arm_claims(tables, "name", "Here") == []


def wrong_pairs(problem):
    """Return the wrong relations of the first run."""
    means, side, _ = problem.draw(3, 0)
    pairs = {}
    for word, listed in (("similar", side.similar_pairs()), ("dissimilar", side.dissimilar_pairs())):
        far = np.abs(means[listed[:, 0]] - means[listed[:, 1]]) >= 0.1
        wrong = far if word == "similar" else ~far
        pairs.update({tuple(pair): bool(flag) for pair, flag in zip(listed.tolist(), wrong, strict=True)})
    return pairs


@pytest.mark.parametrize("revealed", [0.5, None])
def test_relations_that_are_wrong_stay_wrong_when_more_are(revealed):
    complete = lsdt.problems.uniform(60, 0.1, 0.9, 0.1, "bernoulli")
    none, few, many = (wrong_pairs(WrongProblem(complete, revealed, q)) for q in (0.0, 0.05, 0.3))
    assert set(none) == set(few) == set(many)
    assert not any(none.values())
    assert 0 < sum(few.values()) < sum(many.values())
    assert all(many[pair] for pair, wrong in few.items() if wrong)
    assert sum(many.values()) / len(many) == pytest.approx(0.3, abs=0.06)
    assert len(none) / (60 * 59 / 2) == pytest.approx(0.5 if revealed else 0.38, abs=0.08)


def test_near_pairs_are_revealed_first():
    problem = WrongProblem(lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli"), None, 0.0)
    means, side, _ = problem.draw(0, 0)
    every = np.abs(means[:, None] - means)[np.triu_indices(100, 1)]
    shown = np.concatenate([side.similar_pairs(), side.dissimilar_pairs()])
    distance = np.abs(means[shown[:, 0]] - means[shown[:, 1]])
    for low, high in ((0.0, 0.1), (0.3, 0.4), (0.6, 0.7)):
        share = ((low <= distance) & (distance < high)).sum() / ((low <= every) & (every < high)).sum()
        assert share == pytest.approx(math.exp(-(low + high) / 2 / 0.2), abs=0.06)


def test_robust_triangles_are_those_of_the_candidate_set():
    problem = WrongProblem(lsdt.problems.uniform(60, 0.1, 0.9, 0.1, "bernoulli"), 0.5, 0.05)
    side = problem.draw(0, 0).side
    ready = RobustPolicy("ts").begin(side, problem.rewards.model, None, new_stream(1))
    robust = lsdt.candidate_set(side, "triangles", max_wrong="auto")
    assert ready.arms.tolist() == robust.arms.tolist()
    assert 0 < len(ready.arms) < 60
    result = lsdt.simulate(problem, [RobustPolicy("ts")], 30, 1)
    played = np.flatnonzero(result.plays(RobustPolicy("ts"))[0])
    assert set(played) <= set(robust.arms.tolist())
