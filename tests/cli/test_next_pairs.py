"""``lsdt next-pairs``."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lsdt
from lsdt.cli.main import main

DRINKS = ["tea", "mate", "juice", "water"]


@pytest.fixture
def side(tmp_path):
    path = tmp_path / "side.csv"
    lsdt.SideInformation(4, better=[("tea", "mate")], arm_ids=DRINKS, epsilon=0.1).save(path)
    return path


def _judge(tmp_path, body):
    path = tmp_path / "judge.py"
    path.write_text(f"import sys\n{body}\n")
    return f"{sys.executable} {path} {{a}} {{b}}"


def test_list(side, capsys):
    assert main(["next-pairs", str(side), "--list", "--batch", "2", "--answers", "better"]) == 0
    shown = capsys.readouterr().out
    assert "left        3 of 4 arms: tea, juice, water" in shown
    assert "next        tea and juice: either may be the best" in shown
    assert (
        "probability 1 that the best arm is among them, if the judge prefers arms with larger means" in shown
    )
    assert "arbitrary" not in shown  # nothing is known of the judge yet
    assert not side.with_suffix(".answers.csv").exists()


def test_a_command_judges_and_the_next_run_goes_on(side, tmp_path, capsys):
    judge = _judge(tmp_path, "print('thinking'); print('better' if sys.argv[1] < sys.argv[2] else 'worse')")
    out, log = tmp_path / "known.csv", side.with_suffix(".answers.csv")
    words = ["next-pairs", str(side), "--answers", "better", "--judge", judge, "--out", str(out)]
    assert main([*words, "--max-questions", "1", "--json"]) == 1
    first = json.loads(capsys.readouterr().out)
    assert (first["answers"], first["new_answers"]) == (1, 1)
    assert log.read_text() == "a,b,answer\ntea,juice,worse\n"
    assert main([*words, "--json", "--jobs", "3"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["candidates"][0] == "juice"  # of juice, tea and water; mate was out before
    assert second["answers"] == len(log.read_text().splitlines()) - 1 <= 6
    assert second["probability"] >= 0.95
    assert set(second["judge"]) == {"slip", "noise", "tie", "position", "position_sd", "agreement"}
    assert second["known"] == (len(second["candidates"]) == 1)
    assert not first["known"]
    assert out.exists()


def test_arms_are_lines_of_a_file_and_a_judge_that_dies_loses_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.txt").write_text("be short\nstep, by step\n\n日本語で\n", encoding="utf-8")
    body = (
        "open('calls', 'a').write('.')\nif len(open('calls').read()) == 3: sys.exit('quota')\nprint('worse')"
    )
    words = ["next-pairs", "--arms", "prompts.txt", "--answers", "better", "--judge", _judge(tmp_path, body)]
    assert main(words) == 2
    told = (
        "failed with exit code 1: quota. There are 2 answers in 'prompts.answers.csv'; run it again to go on"
    )
    assert told in capsys.readouterr().err
    assert main([*words, "--json", "--max-questions", "2"]) in (0, 1)
    answer = json.loads(capsys.readouterr().out)
    assert answer["answers"] == answer["new_answers"] + 2
    assert set(answer["candidates"]) <= {"be short", "step, by step", "日本語で"}
    assert main(["next-pairs", "--arms", "none.txt", "--answers", "better"]) == 3
    assert "--arms: cannot read 'none.txt'" in capsys.readouterr().err


def test_a_person_answers(side, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("what\nb\nq\n"))
    assert main(["next-pairs", str(side), "--answers", "better"]) == 1
    shown = capsys.readouterr()
    assert "an answer must be one of 'better', 'worse', 'equal'; got 'what'" in shown.err
    assert "answers     1" in shown.out
    assert side.with_suffix(".answers.csv").read_text() == "a,b,answer\ntea,juice,better\n"


def test_answers_survive_an_interruption(side, tmp_path, capsys, monkeypatch):
    class Person(io.StringIO):
        def readline(self):
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(sys, "stdin", Person("worse\n"))
    assert main(["next-pairs", str(side), "--answers", "range"]) == 130
    log = side.with_suffix(".answers.csv")
    assert log.read_text() == "a,b,answer\njuice,tea,..0.0\n"
    log.write_text(log.read_text() + "water,te")  # cut short by a crash
    monkeypatch.setattr(sys, "stdin", io.StringIO("worse\n"))
    capsys.readouterr()
    assert main(["next-pairs", str(side), "--answers", "range"]) == 0
    assert log.read_text() == "a,b,answer\njuice,tea,..0.0\nwater,tea,..0.0\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--judge", ""], 2, "--judge must name a command"),
        (["--judge", "true {a}"], 2, "where the arms go"),
        (["--judge", "no-such-command {a} {b}"], 2, "cannot run 'no-such-command'"),
        (["--judge", "'{a}"], 2, "cannot be read"),
        (["--batch", "0"], 2, "batch"),
        (["--jobs", "0"], 2, "jobs"),
        (["--judge", "true {a} {b}", "--timeout", "0"], 2, "timeout must be positive and finite, in seconds"),
        (["--answers", "better", "--max-wrong", "1"], 2, "max_wrong is for --answers similar"),
        (["--n-arms", "4"], 2, "give one of these: FILE, with what is known; --arms"),
        (["--answers", "best"], 2, "answers must be one of"),
    ],
)
def test_bad_arguments(side, capsys, words, code, said):
    assert main(["next-pairs", str(side), *words]) == code
    assert said in capsys.readouterr().err


def test_a_judge_that_fails(side, tmp_path, capsys):
    for body, said in (
        ("sys.exit('no idea')", "failed with exit code 1: no idea"),
        ("pass", "printed no answer"),
        ("print('maybe')", "an answer must be one of 'similar', 'dissimilar'; got 'maybe'"),
    ):
        assert main(["next-pairs", str(side), "--judge", _judge(tmp_path, body)]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert re.search("--judge on '[a-z]+' and '[a-z]+'", told)  # which pair, to try it by hand
        assert "run it again" not in told  # there is nothing to go on from


def test_a_judge_that_hangs_is_stopped(side, tmp_path, capsys):
    judge = _judge(tmp_path, "import time\ntime.sleep(600)")
    assert main(["next-pairs", str(side), "--judge", judge, "--timeout", "0.2"]) == 2
    told = capsys.readouterr().err
    assert re.search("--judge on '[a-z]+' and '[a-z]+' took longer than 0.2 s and was stopped", told)


def test_what_a_judge_that_hangs_has_started_is_stopped_too(side, tmp_path, capsys):
    """A script was ended, and the program that it waited for went on."""
    started = tmp_path / "started"
    code = f"subprocess.run(['sh', '-c', 'echo $$ > {started}; exec sleep 600'])"
    judge = _judge(tmp_path, f"import subprocess\n{code}")
    assert main(["next-pairs", str(side), "--judge", judge, "--timeout", "2"]) == 2
    assert "was stopped" in capsys.readouterr().err
    number = int(started.read_text())
    for _ in range(100):
        if _has_ended(number):
            return
        time.sleep(0.05)
    os.kill(number, signal.SIGKILL)
    pytest.fail("the program that the judge started still runs")


def _has_ended(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_judge_that_reads_its_input_gets_none(side, tmp_path):
    judge = _judge(tmp_path, "print('better' if sys.stdin.read() else 'equal')")
    words = ["next-pairs", str(side), "--answers", "better", "--judge", judge, "--max-questions", "1"]
    read, write = os.pipe()  # like a terminal on which nothing is typed
    try:
        command = [sys.executable, "-m", "lsdt.cli.main", *words]
        done = subprocess.run(command, stdin=read, timeout=120, check=False)
    finally:
        os.close(read)
        os.close(write)
    assert done.returncode == 1
    assert side.with_suffix(".answers.csv").read_text().endswith(",equal\n")


def test_what_was_known_before_may_be_wrong(tmp_path, capsys):
    path = tmp_path / "side.parquet"
    lsdt.from_comparisons([("tea", "mate", "tea")] * 60 + [("mate", "juice", "mate")] * 9).save(path)
    words = ["next-pairs", str(path), "--answers", "better"]
    assert main([*words, "--list"]) == 0
    assert "with larger means, and FILE is right (risk 0.05)\n" in capsys.readouterr().out
    inquiry = lsdt.Inquiry(lsdt.load(path), answers="better")
    assert inquiry.next().reason == (
        "1 arm left; it is the best with probability 1, if what was known before is right, which has "
        "a risk of 0.05"
    )


def test_a_bad_log(side, capsys):
    log = side.with_suffix(".answers.csv")
    for text, said in (
        ("x,y\n", "is not a log of answers"),
        ("a,b,answer\ntea,water\n", "line 2: 2 columns"),
        ("a,b,answer\ntea,wine,similar\n", "line 2: there is no arm 'wine'"),
    ):
        log.write_text(text)
        assert main(["next-pairs", str(side), "--list"]) == 3
        assert said in capsys.readouterr().err


def test_answers_that_are_ranges(tmp_path, capsys, monkeypatch):
    """A judge says by how much; the log keeps what it said, and a person goes on with it."""
    path, log = tmp_path / "drinks.csv", tmp_path / "drinks.answers.csv"
    lsdt.SideInformation(4, arm_ids=DRINKS).save(path)
    judge = _judge(
        tmp_path,
        "means = dict(tea=.9, mate=.5, juice=.4, water=.8)\n"
        "apart = means[sys.argv[1]] - means[sys.argv[2]]\n"
        "print(f'{apart:.2f} +- 0.05')",
    )
    words = ["next-pairs", str(path), "--answers", "range"]
    out = tmp_path / "known.csv"
    assert main([*words, "--judge", judge, "--max-questions", "2", "--out", str(out), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["candidates"] == ["tea", "water"]
    asked = [line.split(",") for line in log.read_text().splitlines()]
    assert asked[1] == ["mate", "tea", "-0.45..-0.35000000000000003"]
    assert lsdt.load(out).difference("tea", "mate") == (0.35000000000000003, 0.45)
    monkeypatch.setattr(sys, "stdin", io.StringIO("much\n>= 0.05\n"))
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "by how much is the first better?" in shown.err
    assert "an answer is a range of the first mean minus the second" in shown.err
    assert "left        1 of 4 arms: water" in shown.out
    assert log.read_text().splitlines()[-1] == "water,tea,0.05.."


def test_disputed_ranges_as_json(tmp_path, capsys):
    path, log = tmp_path / "drinks.csv", tmp_path / "drinks.answers.csv"
    lsdt.SideInformation(4, arm_ids=DRINKS).save(path)
    log.write_text("a,b,answer\ntea,mate,0.1..\nmate,tea,0.3..\ntea,mate,0.2..\n")
    assert main(["next-pairs", str(path), "--answers", "range", "--max-wrong", "1", "--list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["disputed"]
    assert row == {"a": "tea", "b": "mate", "answers": 3, "low": 0.2, "high": None}
