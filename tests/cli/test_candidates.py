from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import lsdt
from lsdt.cli.main import main
from systems import needs_proc

SideInformation = lsdt.SideInformation


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,relation\ntea,coffee,similar\ncoffee,cocoa,similar\ntea,cocoa,dissimilar\nwater,,\n")
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_answer_in_words(capsys, pairs):
    code, out, err = run(capsys, "candidates", pairs, "--explain", "coffee", "--explain", "tea")
    assert (code, err) == (0, "")
    assert "4 arms, 2 similar pairs, 1 dissimilar pair (partial)" in out
    assert "3 of 4 arms may be the best (75.00%), method propagation" in out
    assert "arms        tea, water, cocoa" in out
    said = " ".join(out.split())
    assert "arm 'coffee' cannot be the best: it is similar to 'tea' and 'cocoa', which are dissimilar" in said
    assert "arm 'tea' may be the best: assuming that it is led to no contradiction" in said


def test_the_best_two(capsys, tmp_path):
    path = tmp_path / "ranking.csv"
    path.write_text("a,b,relation\ntea,coffee,better\ncoffee,cocoa,better\n")
    code, out, _ = run(capsys, "candidates", path, "--top", 2, "--explain", "cocoa")
    assert code == 0
    assert "2 of 3 arms can be among the best 2" in out
    assert "arm 'cocoa' cannot be among the best 2: 'coffee' and 'tea' are better" in " ".join(out.split())
    answer = json.loads(run(capsys, "candidates", path, "--top", 2, "--json")[1])
    assert (answer["top"], answer["candidates"]) == (2, ["tea", "coffee"])
    code, _, err = run(capsys, "candidates", path, "--top", 2, "--method", "exact")
    assert code == 7
    assert "'exact' finds arms that can be the best, not the best 2" in err


def test_the_docs_show_what_is_printed(capsys):
    page = (Path(__file__).parents[2] / "docs/reference/command-line.md").read_text()
    block = page.split("    $ lsdt ")[1].split("\n\n")[0].splitlines()
    _, out, _ = run(capsys, *block[0].split())
    shown = [re.sub(r", [\d.]+ m?s$", "", line.removeprefix("    ")) for line in block[1:]]
    assert [re.sub(r", [\d.]+ m?s$", "", line) for line in out.splitlines()] == shown


def test_complete_information_has_classes_and_means(capsys, pairs):
    code, out, _ = run(capsys, "candidates", pairs, "--complete", "--explain", "tea")
    assert code == 0
    assert "classes     tea | water | cocoa" in out
    assert "means       tea: " in out


def test_answer_as_json(capsys, pairs):
    code, out, _ = run(capsys, "candidates", pairs, "--complete", "--json", "--explain", "coffee")
    answer = json.loads(out)
    assert code == 0
    assert answer["candidates"] == ["tea", "water", "cocoa"]
    assert answer["classes"] == [["tea"], ["water"], ["cocoa"]]
    assert answer["method"] == "anchors"
    assert answer["explanations"][0]["relations"][0] == ["coffee", "tea", "similar"]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_pictures(capsys, tmp_path, ending):
    for example in ("complete", "partial"):
        path = tmp_path / "new folder" / f"{example}.{ending}"
        code, out, _ = run(capsys, "candidates", "--example", example, "--plot", path)
        assert code == 0
        assert f"picture     {path}" in out
        assert path.stat().st_size > 5000


def test_table_of_reasons(capsys, pairs, tmp_path):
    for ending, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet)):
        path = tmp_path / f"table{ending}"
        assert run(capsys, "candidates", pairs, "--table", path)[0] == 0
        frame = read(path).set_index("arm")
        assert not frame.loc["coffee", "candidate"]
        assert "'tea' and 'cocoa'" in frame.loc["coffee", "reason"]


def test_integer_arms_and_long_lists(capsys, tmp_path):
    side = SideInformation(100, [(0, 1)], [])
    side.save(tmp_path / "many.parquet")
    code, out, _ = run(capsys, "candidates", tmp_path / "many.parquet", "--explain", "7")
    assert code == 0
    assert "... (100 arms; --json lists all)" in out
    assert "arm 7 may be the best" in out


def test_implicit_file_is_not_counted(capsys, tmp_path):
    side = lsdt.from_means([i / 300_000 for i in range(300_000)], 0.01).reveal(0.5, 0.5)
    side.save(tmp_path / "big.parquet")
    code, out, _ = run(capsys, "candidates", tmp_path / "big.parquet")
    assert code == 0
    assert "known       300,000 arms (partial, epsilon 0.01)" in out


CIRCLE = "a,b,relation\n0,1,similar\n1,2,similar\n2,3,similar\n3,0,similar\n0,2,dissimilar\n1,3,dissimilar\n"


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        (None, [], 2, "give either a file of pairs or --example"),
        (None, ["--example", "total"], 2, "there is no example 'total'"),
        (None, ["--example", "partial", "--complete"], 2, "an example needs neither"),
        (None, ["--example", "partial", "--method", "triangle"], 2, "did you mean 'triangles'"),
        (None, ["--example", "partial", "--method", "anchors"], 7, "needs complete side information"),
        (
            None,
            ["--example", "partial", "--explain", "99"],
            2,
            "there is no arm 99; arm ids are 1, 2, 3, ...",
        ),
        (None, ["--example", "partial", "--explain", "x"], 2, "there is no arm 'x'"),
        (None, ["--example", "partial", "--max-wrong", "none"], 2, "whole number of at least 0, or 'auto'"),
        (
            None,
            ["--example", "partial", "--plot", "x.bmp"],
            2,
            "the file name of a picture must end in .svg, .png, .pdf",
        ),
        (None, ["--example", "partial", "--table", "x.txt"], 2, "table must end in .csv or .parquet"),
        pytest.param(
            None, ["--example", "partial", "--plot", "/proc/none/x.svg"], 3, "lsdt: error: ", marks=needs_proc
        ),
        (None, ["--example", "partial", "--plot", ""], 2, "--plot must name a file"),
        (None, ["--example", "partial", "--explain=--5"], 2, "there is no arm '--5'"),
        (None, ["--example", "partial", "--explain", "9" * 5000], 2, "there is no arm '999"),
        (
            None,
            ["--example", "partial", "--max-wrong", "9" * 5000],
            2,
            "whole number of at least 0, or 'auto'",
        ),
        (
            "a,b,relation\n1,2,similar\n",
            ["--table", "pairs.csv"],
            2,
            "would replace the file of pairs",
        ),
        ("a,b,relation\n1,2,similar\n", ["--table", "pairs.csv/x.csv"], 3, "pairs.csv"),
        ("x,y,z\n1,2,similar\n", ["--columns", "x,y,q"], 3, "lacks the columns 'q'; found 'x', 'y', 'z'"),
        (
            "x,y,z\n1,2,similar\n",
            ["--columns", "x"],
            3,
            "columns must name two columns of arms and one of relations",
        ),
        (None, ["missing.csv"], 3, "cannot read 'missing.csv': there is no such file"),
        ("a,b,relation\n1,2,alike\n", [], 3, "line 2 has the relation 'alike'"),
        (
            CIRCLE.replace("1,3,dissimilar\n", "1,3,dissimilar\n4,0,similar\n4,2,similar\n"),
            ["--method", "triangles"],
            4,
            "contradict",
        ),
        (CIRCLE, [], 5, "chordless cycle of the arms 0, 1, 2, 3"),
    ],
)
def test_errors_are_one_message_and_a_code(capsys, tmp_path, monkeypatch, text, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "pairs.csv").write_text(text)
        arguments = ["pairs.csv", *arguments]
    got, out, err = run(capsys, "candidates", *arguments)
    assert (got, out) == (code, "")
    assert err.startswith("lsdt: error: ")
    assert message in err
    assert "Traceback" not in err


def test_many_arms_have_a_picture_too(capsys, tmp_path):
    SideInformation(201, [], []).save(tmp_path / "x.csv")
    code, out, _ = run(capsys, "candidates", tmp_path / "x.csv", "--plot", tmp_path / "x.svg")
    assert code == 0
    assert "x.svg" in out
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")


def test_wrong_relations_are_allowed_for_and_said(capsys, tmp_path):
    (tmp_path / "x.csv").write_text(CIRCLE + "4,0,similar\n4,2,similar\n")
    code, out, _ = run(capsys, "candidates", tmp_path / "x.csv", "--max-wrong", "auto")
    assert code == 0
    assert "note        the relations contradict one another; max_wrong='auto' took 1" in out


def test_errors_as_json_hold_the_conflict(capsys, tmp_path):
    (tmp_path / "x.csv").write_text(CIRCLE)
    code, out, err = run(capsys, "candidates", tmp_path / "x.csv", "--json")
    answer = json.loads(out)
    assert (code, answer["exit_code"], answer["error"]) == (5, 5, "NotUnitInterval")
    assert answer["conflict"]["arms"] == [0, 1, 2, 3]
    assert answer["conflict"]["kind"] == "hole"
    assert [0, 1, "similar"] in answer["conflict"]["relations"]
    assert err.startswith("lsdt: error: ")
    code, out, _ = run(capsys, "candidates", tmp_path / "missing.csv", "--json")
    assert json.loads(out)["conflict"] is None
    (tmp_path / "long.csv").write_text("a,b\n" + "".join(f"{arm},{(arm + 1) % 500}\n" for arm in range(500)))
    code, out, _ = run(capsys, "candidates", tmp_path / "long.csv", "--complete", "--json")
    answer = json.loads(out)
    assert len(answer["conflict"]["arms"]) == 500
    assert answer["conflict"]["relations"] is None


def test_nineteen_digit_ids_can_be_explained(capsys, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,relation\n1234567890123456789,2,similar\n3,,\n")
    code, out, _ = run(capsys, "candidates", tmp_path / "x.csv", "--explain", "1234567890123456789")
    assert code == 0
    assert "arm 1234567890123456789 may be the best" in out


def test_columns_may_have_other_names(capsys, tmp_path):
    (tmp_path / "x.csv").write_text("item1,item2,kind,a\np,q,similar,1\nq,r,dissimilar,2\n")
    code, out, _ = run(capsys, "candidates", tmp_path / "x.csv", "--columns", "item1,item2,kind")
    assert code == 0
    assert "3 arms, 1 similar pair, 1 dissimilar pair" in out


def test_ids_that_the_terminal_cannot_show(monkeypatch, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,relation\né,日本,similar\n", encoding="utf-8")
    terminal = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, "ascii"))
    assert main(["candidates", str(tmp_path / "x.csv")]) == 0
    assert b"\\xe9" in terminal.getvalue()


def test_usage_error_and_help_have_an_example(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["unknown"])
    assert caught.value.code == 2
    with pytest.raises(SystemExit):
        main(["candidates", "--help"])
    assert "lsdt candidates pairs.csv --complete --plot arms.svg" in capsys.readouterr().out


def test_reader_that_leaves_early_sees_no_traceback(capsys, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(["candidates", "--example", "complete", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_interrupt_is_quiet(capsys, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("lsdt.candidates.candidate_set", interrupt)
    code, _, err = run(capsys, "candidates", "--example", "partial")
    assert code == 130
    assert err == "lsdt: interrupted\n"


class Interrupted:
    """Ctrl-C comes while it is destroyed, where Python drops the KeyboardInterrupt."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_is_not_lost(capsys, monkeypatch):
    def interrupt(*_args, **_options):
        there = Interrupted()
        del there
        for _ in range(200):
            time.sleep(0.05)

    monkeypatch.setattr("lsdt.candidates.candidate_set", interrupt)
    code, _, err = run(capsys, "candidates", "--example", "partial")
    assert code == 130
    assert err == "lsdt: interrupted\n"


def test_work_that_listens_by_itself_is_interrupted_once(capsys, monkeypatch):
    """It stops, and saves what is finished: a second interrupt must not come in between."""
    heard = []

    def listen(number, frame):
        heard.append(number)
        raise KeyboardInterrupt

    def work(*_args, **_options):
        before = signal.signal(signal.SIGINT, listen)
        there = Interrupted()
        del there
        signal.signal(signal.SIGINT, before)
        time.sleep(0.5)
        heard.append("saved")
        raise KeyboardInterrupt

    monkeypatch.setattr("lsdt.candidates.candidate_set", work)
    code, _, err = run(capsys, "candidates", "--example", "partial")
    assert heard == [signal.SIGINT, "saved"]
    assert (code, err) == (130, "lsdt: interrupted\n")


def test_exact_by_name(capsys, tmp_path):
    path = tmp_path / "arms.svg"
    code, out, _ = run(
        capsys, "candidates", "--example", "partial", "--method", "exact", "--explain", "5", "--plot", path
    )
    assert code == 0
    assert "7 of 11 arms can be the best (63.64%), method exact" in out
    assert "means       1: " in out
    assert path.stat().st_size > 5000
    for example in ("complete", "partial"):
        assert run(capsys, "candidates", "--example", example, "--method", "exact", "--plot", path)[0] == 0
