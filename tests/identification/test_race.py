"""A race on common examples: against a slow twin, its level, its options, bad input, and the command."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom
from tests.naive import betting as naive

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidFile, InvalidInput, TooLarge
from lsdt.identification.racing.paired_bets import PairedBets
from lsdt.kernel.memory import memory_limit
from lsdt.side_information import Beaten, BeatenSource, Origin


def scores_of(means, n_examples, seed=0, spread=0.15):
    rng = np.random.default_rng(seed)
    hardness = rng.normal(0.0, 0.2, (n_examples, 1))
    return np.clip(means + hardness + rng.normal(0.0, spread, (n_examples, len(means))), 0.0, 1.0)


def raced(scores, **options):
    return lsdt.race(range(scores.shape[1]), lambda arm, at: scores[at, arm], range(len(scores)), **options)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_bets_are_those_of_a_slow_twin(seed, n_examples):
    rng = np.random.default_rng(seed)
    scores = rng.choice([0.0, 0.2, 1.0], (n_examples, 3))
    bets, near = PairedBets(3), PairedBets(3, 0.1)
    for row in scores:
        for each in (bets, near):
            each.learn(np.arange(3), row)
    shifted = scores - np.array([0.1, 0.0, 0.0])  # arm 0 being better by 0.1 is arm 0 less 0.1 being as good
    for rival in (1, 2):
        np.testing.assert_allclose(np.exp(bets.log_e[0, rival]), naive.e_value(scores, 0, rival), rtol=1e-9)
        np.testing.assert_allclose(np.exp(near.log_e[0, rival]), naive.e_value(shifted, 0, rival), rtol=1e-9)


def test_the_best_arm_wins_and_others_are_dropped_on_the_way():
    found = raced(scores_of([0.3, 0.5, 0.4, 0.65], 2000), seed=1)
    assert (found.arm_id, found.stop, found.left) == (3, True, [3])
    frame = found.to_frame()
    assert frame.status.tolist() == ["beaten", "beaten", "beaten", "left"]
    assert found.tries == frame.tries.sum() < 4 * found.examples
    assert frame.tries[0] < frame.tries[1]
    assert frame.beaten_by[0] == 3
    assert frame.after[0] == frame.tries[0]
    assert found.text.startswith("arm 3 is the best, but for a probability of 0.05, after")
    assert raced(scores_of([0.3, 0.5, 0.4, 0.65], 2000), seed=1).tries == found.tries


def test_a_tolerance_ends_it_earlier_and_a_budget_earlier_still():
    scores = scores_of([0.3, 0.5, 0.52], 4000)
    exact, near, short = raced(scores), raced(scores, tolerance=0.1), raced(scores, budget=60)
    assert near.stop
    assert near.tries < exact.tries
    assert len(near.left) == 2
    assert "within 0.1 of the best" in near.text
    assert not short.stop
    assert short.tries <= 60
    assert "is the best guess after 20 examples and 60 evaluations: 3 arms of 3 may be the best" in short.text


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_a_wrong_arm_is_named_no_more_often_than_stated(tolerance):
    # One arm is better by twice the tolerance, or, without one, hardly better.
    runs, wrong, gap = 40, 0, max(2.0 * tolerance, 0.02)
    for seed in range(runs):
        rng = np.random.default_rng([8, seed])
        scores = (rng.random((150, 4)) < np.array([0.1 + gap, 0.1, 0.1, 0.1])).astype(float)
        found = raced(scores, delta=0.2, tolerance=tolerance)
        wrong += 0 not in found.left if tolerance == 0.0 else bool(found.stop and found.arm != 0)
    # More than this would come about with a probability below 0.001 at the stated level.
    assert wrong <= binom.ppf(0.999, runs, 0.2)


def test_side_information_is_used_from_the_start():
    scores = scores_of([0.3, 0.5, 0.6], 3000)
    side = lsdt.SideInformation(3, better=[(2, 0)], ranges=[(1, 2, None, 0.05)])
    found = raced(scores, side=side, tolerance=0.05)
    assert found.to_frame().status.tolist()[0] == "excluded"
    assert found.to_frame().tries[0] == 0
    assert (found.arm_id, found.examples) == (2, 1)  # the range settles the rest
    pair, raters, evidence = np.array([[0], [2]], np.int32), np.array([50]), np.array([5.0])
    fact = BeatenSource("betting", 0.01, 9.0, *pair, raters, evidence)
    beaten = lsdt.SideInformation(3)._with_origin(Origin(beaten=Beaten((fact,))))
    text = raced(scores, side=beaten).text
    assert "but for a probability of 0.05 + 0.01, after" in text
    assert text.endswith("; 0.01 is the risk that the best arm is among those beaten in a log")


def test_arms_that_cannot_be_tried_on_an_example_are_skipped():
    scores = scores_of([0.3, 0.6], 1500)
    found = lsdt.race(
        ["a", "b"],
        lambda arm, at: None if (at + (arm == "a")) % 3 == 0 else scores[at, "ab".index(arm)],
        iter(range(1500)),
        jobs=2,
    )
    assert (found.arm_id, found.stop) == ("b", True)
    assert found.tries < 2 * found.examples


def test_a_race_goes_on_where_it_stopped(tmp_path):
    """A score that was paid for is never asked for again, whatever ended the race."""
    scores, asked = scores_of([0.3, 0.5, 0.65], 400), []
    names = ["plain", "two\nlines, 日本", 'a "quoted" one']
    whole = lsdt.race(names, lambda arm, at: scores[at, names.index(arm)], range(400))

    def evaluate(arm, at):
        if len(asked) in quotas:
            raise ConnectionError("quota exceeded")
        asked.append((arm, at))
        return scores[at, names.index(arm)]

    log = tmp_path / "scores.csv"
    quotas = [17]
    for _ in range(2):
        with pytest.raises(ConnectionError, match="quota exceeded") as caught:
            lsdt.race(names, evaluate, range(400), log=log)
        assert "was tried on the example" in caught.value.__notes__[0]
        quotas = [40]
    with log.open("a") as stream:
        stream.write('"two\nli')  # killed while writing
    quotas = []
    found = lsdt.race(names, evaluate, range(400), log=log)
    assert (found.arm_id, found.tries, found.examples) == (whole.arm_id, whole.tries, whole.examples)
    assert found.to_frame().equals(whole.to_frame())
    assert len(asked) == len(set(asked)) == whole.tries
    assert lsdt.race(names, None.__eq__, range(400), log=log).tries == whole.tries  # nothing is asked
    assert not lsdt.race(names, evaluate, range(400), log=log, budget=30).stop


def test_an_example_that_occurs_again_is_tried_again(tmp_path):
    coins = itertools.cycle([1.0, 0.0, 0.0, 1.0])  # each arm wins every other time
    arguments = {"examples": ["play"] * 200, "log": tmp_path / "scores.csv"}
    found = lsdt.race(["a", "b"], lambda *_: next(coins), **arguments)
    assert (found.tries, found.stop) == (400, False)  # the first score 200 times would beat an arm
    again = lsdt.race(["a", "b"], None.__eq__, **arguments)  # nothing is asked
    assert again.to_frame().equals(found.to_frame())


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_budget_is_for_scores(jobs, tmp_path):
    def evaluate(arm, example):
        return 0.5 if (arm + example) % 3 == 0 else None

    for _ in ("asked", "from the log"):
        found = lsdt.race(range(3), evaluate, range(900), budget=90, jobs=jobs, log=tmp_path / "scores.csv")
        assert 88 <= found.tries <= 90


def test_a_race_without_scores_ends_where_examples_do_not():
    with pytest.warns(UserWarning, match="returned None for every arm on the last 1,000 examples"):
        found = lsdt.race(range(3), lambda arm, example: None, itertools.count(), budget=90)
    assert (found.stop, found.tries) == (False, 0)
    scores = lambda arm, example: None if example % 1_000 else 0.3 * arm  # noqa: E731
    assert lsdt.race(range(3), scores, itertools.count()).arm_id == 2


def test_scores_that_are_none_are_kept_and_wrong_ones_are_not(tmp_path):
    log = tmp_path / "scores.csv"
    answers = {("a", "x"): None, ("b", "x"): 0.5, ("a", "y"): 2.0, ("b", "y"): 0.5}
    with pytest.raises(InvalidInput, match="evaluate returned 2.0 for arm 'a'"):
        lsdt.race(["a", "b"], lambda arm, at: answers[arm, at], iter("xy"), log=log)
    assert {"a,x,", "b,x,0.5"} < set(log.read_text().splitlines())
    assert "a,y" not in log.read_text()
    answers["a", "y"] = 0.25
    assert lsdt.race(["a", "b"], lambda arm, at: answers[arm, at], iter("xy"), log=log).tries == 3
    asked = []
    with pytest.raises(InvalidFile, match="cannot write .*No such file or directory"):
        lsdt.race(
            ["a", "b"], lambda *at: asked.append(at), iter("xy"), log=tmp_path / "nowhere" / "scores.csv"
        )
    assert not asked  # no evaluation is paid for
    rows = [{"q": 1}, {"q": 2}]
    lsdt.race(["a", "b"], lambda _arm, row: row["q"] / 2, rows, log=tmp_path / "rows.csv")
    assert "a,#1,1.0" in (tmp_path / "rows.csv").read_text().splitlines()
    for text, message in (
        ("a,b,answer\n", "is not a log of scores: its first line must be arm,example,score"),
        ("arm,example,score\na,x,much\n", "line 2: could not convert"),
        ("arm,example,score\na,x,3\n", "line 2: .* a score is a number from 0 to 1"),
    ):
        log.write_text(text)
        with pytest.raises(InvalidFile, match=message):
            lsdt.race(["a", "b"], lambda *_: 0.5, ["x"], log=log)


def test_workers_are_kept_busy_and_the_answer_is_the_same(tmp_path):
    """Four evaluations of two arms wait for one another, so the next example must be under way too."""
    scores, gate = scores_of([0.4, 0.6], 300), threading.Barrier(4)

    def together(arm, at):
        if at < 6:
            gate.wait(30)
        return scores[at, arm]

    alone = lsdt.race(range(2), lambda arm, at: scores[at, arm], iter(range(300)))
    found = lsdt.race(range(2), together, iter(range(300)), jobs=4)
    assert (found.arm_id, found.examples) == (alone.arm_id, alone.examples)
    assert found.to_frame().equals(alone.to_frame())
    assert alone.tries <= found.tries <= alone.tries + 8
    under_way = most = 0

    async def waiting(arm, at):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        async with asyncio.timeout(30):
            while at < 6 and most < 3:  # a busy machine starts the third when it can
                await asyncio.sleep(0.001)
        under_way -= 1
        return scores[at, arm]

    found = lsdt.race(range(2), waiting, iter(range(300)), jobs=3, log=tmp_path / "scores.csv")
    assert found.to_frame().equals(alone.to_frame())
    assert most == 3


def test_an_interrupted_race_keeps_the_scores_that_arrive(tmp_path):
    def evaluate(arm, at):
        if (arm, at) == (1, 3):
            raise KeyboardInterrupt
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        lsdt.race(range(3), evaluate, iter(range(9)), jobs=2, log=tmp_path / "scores.csv")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) >= 1 + 3 * 3 + 1


def test_ranges_are_in_the_units_of_scores_unless_they_come_from_ratings():
    scores = 100.0 * scores_of([0.5, 0.6], 50)
    side = lsdt.SideInformation(2, ranges=[(0, 1, None, 3.0)])
    assert raced(scores, side=side, tolerance=4.0, scale=(0, 100)).examples == 1
    assert raced(scores, side=side, tolerance=2.0, scale=(0, 100)).examples > 1
    shares = side._with_origin(Origin(scale=(1.0, 5.0)))  # 3 times the scale: no limit at all
    assert raced(scores, side=shares, tolerance=4.0, scale=(0, 100)).examples > 1


def test_one_arm_needs_no_race():
    assert raced(scores_of([0.5], 3)).tries == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": []}, "a race needs at least one arm"),
        ({"examples": 5}, "examples must be a list or an iterator; got 5"),
        ({"examples": "abc"}, "examples must be a list or an iterator; got 'abc'"),
        ({"examples": pd.DataFrame({"x": [1]})}, "Give a list of its rows"),
        ({"evaluate": 5}, "evaluate must be a function"),
        ({"evaluate": lambda *_: 2.0}, r"evaluate returned 2.0 for arm 'a'; a score is a number from 0 to 1"),
        ({"evaluate": lambda *_: "x"}, "evaluate returned 'x'"),
        ({"delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"tolerance": -1}, "tolerance"),
        ({"scale": (1, 0)}, "the scale must go from low to high"),
        ({"scale": 3}, "scale must be two numbers"),
        ({"budget": 0}, "budget"),
        ({"budget": 1}, "budget must allow one evaluation of each of the 2 arms .*; got 1"),
        ({"jobs": 0}, "jobs"),
        ({"log": 7}, "log must be a path"),
        ({"side": 3}, "side must be a SideInformation"),
        ({"side": lsdt.SideInformation(1, arm_ids=["z"])}, "there is no arm 'a'"),
    ],
)
def test_bad_input_is_named(change, message):
    usual = {"arms": ["a", "b"], "evaluate": lambda *_: 0.5, "examples": range(3)}
    arguments = {**usual, **change}
    with pytest.raises(InvalidInput, match=message):
        lsdt.race(arguments.pop("arms"), arguments.pop("evaluate"), arguments.pop("examples"), **arguments)


def test_a_race_of_too_many_arms_is_refused():
    with memory_limit(2**28), pytest.raises(TooLarge, match="a race of 2,000 arms .* race them in groups"):
        lsdt.race(range(2000), lambda *_: 0.5, range(3))


@pytest.fixture
def log(tmp_path):
    scores = scores_of([0.3, 0.45, 0.6], 600).round(3)
    rows = [(user, f"p{arm}", scores[user, arm]) for user in range(600) for arm in range(3)]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["question", "prompt", "score"]).to_csv(path, index=False)
    return path


def test_the_command_races_recorded_scores(log, capsys):
    words = ["race", str(log), "--user", "question", "--item", "prompt", "--rating", "score"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "arm         p2, known" in out
    assert main([*words, "--json", "--budget", "30"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["known"], answer["evaluations"], len(answer["arms"])) == (False, 30, 3)


def test_the_command_runs_a_command(tmp_path, capsys):
    arms, examples, script = (tmp_path / name for name in ("arms", "examples", "score.py"))
    arms.write_text("good\nbad\n")
    examples.write_text("\n".join(map(str, range(40))))
    script.write_text("import sys\nprint('scoring')\nprint(.9 if sys.argv[1] == 'good' else .1)\n")
    command = f"{sys.executable} -S {script} {{arm}} {{example}}"
    words = ["race", "--arms", str(arms), "--examples", str(examples), "--evaluate"]
    assert main([*words, command, "--jobs", "2"]) == 0
    assert "arm         good, known" in capsys.readouterr().out
    for bad, told in (
        ("./score.sh {arm}", "where the arm and the example go"),
        (f"{sys.executable} -c 1/0 {{arm}} {{example}}", "failed with exit code 1: ZeroDivisionError"),
        ("echo {arm} {example}", "its last line must be a score"),
        ("./no-such-file {arm} {example}", "--evaluate cannot run './no-such-file'"),
    ):
        assert main([*words, bad]) == 2
        assert told in capsys.readouterr().err
    hangs = f"{sys.executable} -c 'import time; time.sleep(600)' {{arm}} {{example}}"
    assert main([*words, hangs, "--timeout", "0.2"]) == 2
    assert "took longer than 0.2 s and was stopped" in capsys.readouterr().err
    kept = tmp_path / "scores.csv"
    script.write_text("import sys\nsys.exit('quota') if sys.argv[2] == '7' else print(.5)\n")
    assert main([*words, command, "--log", str(kept)]) == 2
    assert "failed with exit code 1: quota. The scores so far are in" in capsys.readouterr().err
    script.write_text("print(.5)\n")
    before = len(kept.read_text().splitlines())
    assert main([*words, command, "--log", str(kept), "--budget", str(before + 3)]) == 1
    assert before < len(kept.read_text().splitlines()) <= before + 4
    assert "the best guess" in capsys.readouterr().out
    assert main(["race"]) == 2
    assert "give LOG, or --arms, --examples and --evaluate" in capsys.readouterr().err
    assert main(["race", "--evaluate", command]) == 2
    assert "--evaluate needs --arms and --examples" in capsys.readouterr().err
