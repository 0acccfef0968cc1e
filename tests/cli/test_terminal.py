"""Ids that would steer a terminal, or that a spreadsheet would run."""

from __future__ import annotations

import json
import sys
from importlib import import_module

import pandas as pd
import pytest
from numba.core import event

import lsdt
from lsdt.cli.main import _announced_compilation, main
from lsdt.cli.terminal import escape

STEERING = "red \x1b[31m\nnew line"
TURNED = "tea\u202eoga"
DELETED = "to\x7f\x9b"
CELLS = ("=1+1", "+1+1", "-1+1", "@sum", "\t=x", "\r=x", "a\n=x")
SHOWN = ("'=1+1", "'+1+1", "'-1+1", "'@sum", "\\u0009=x", "\\u000d=x", "a\n=x")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(list(words))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def pairs(*ids):
    chain = [(at, at + 1) for at in range(len(ids) - 1)]
    lsdt.SideInformation(len(ids), similar=chain, arm_ids=ids).save("pairs.csv")


def log(*items):
    rows = [(user, item, (user + place) % 3) for user in range(60) for place, item in enumerate(items)]
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv("log.csv", index=False)


def steers(text):
    return any(letter in text for letter in ("\x1b", "\u202e", "\x7f", "\x9b", "\nnew"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, Größe 東京 👩‍🚀", "plain, Größe 東京 👩‍🚀"),
        ("\x00\x1b\x7f\x9b", "\\u0000\\u001b\\u007f\\u009b"),
        ("a\r\n\tb", "a\\u000d\\u000a\\u0009b"),
        ("\u202e\u2066\u200f\u2028\ufeff", "\\u202e\\u2066\\u200f\\u2028\\ufeff"),
        ("\udc80\U000e0041", "\\udc80\\U000e0041"),
    ],
)
def test_what_is_escaped(text, shown):
    assert escape(text) == shown


def test_ids_are_escaped_wherever_they_are_shown(run):
    pairs(STEERING, TURNED, DELETED)
    code, out, err = run("candidates", "pairs.csv", "--explain", STEERING, "--table", "t\x1b.csv")
    assert (code, err) == (0, "")
    assert not steers(out)
    assert "red \\u001b[31m\\u000anew line, tea\\u202eoga, to\\u007f\\u009b" in out
    assert out.splitlines()[-1] == "table       t\\u001b.csv"
    for words in (["--explain", "\x1b"], ["--method", "\x1b"], ["--columns", "\x1b,b,relation"]):
        code, out, err = run("candidates", "pairs.csv", *words)
        assert (code, out, err.count("\n")) == (2 if words[0] != "--columns" else 3, "", 1)
        assert not steers(err)
    assert not steers(run("candidates", "\x1b.csv")[2])


def test_arguments_that_are_none_are_escaped(capsys):
    with pytest.raises(SystemExit):
        main(["candidates", "--\x1b[31m"])
    assert "\x1b" not in capsys.readouterr().err


def test_json_keeps_the_ids(run):
    pairs(STEERING, TURNED, DELETED)
    _, out, _ = run("candidates", "pairs.csv", "--json")
    assert not steers(out)
    assert json.loads(out)["candidates"] == [STEERING, TURNED, DELETED]


def test_items_of_a_log_are_escaped(run):
    log(STEERING, "b")
    code, out, _ = run("build", "log.csv", "--out", "s.csv", "--epsilon", ".3")
    assert code == 0
    assert not steers(out)
    assert "red \\u001b[31m\\u000anew line: " in out
    code, out, _ = run(
        "replay", "log.csv", "--policies", f"always:{STEERING}", "--side", "none", "--splits", "2"
    )
    assert code == 0
    assert not steers(out)


def test_tables_for_people_hold_no_formulas(run):
    pairs(*CELLS, "tea")
    assert run("candidates", "pairs.csv", "--table", "table.csv")[0] == 0
    assert pd.read_csv("table.csv", dtype=str)["arm"].tolist() == [*SHOWN, "tea"]
    assert run("candidates", "pairs.csv", "--table", "table.parquet")[0] == 0
    assert pd.read_parquet("table.parquet")["arm"].tolist() == [*CELLS, "tea"]


def test_pairs_hold_no_formulas_and_side_information_keeps_its_ids(run):
    log("=a", "b")
    assert run("build", "log.csv", "--out", "s.csv", "--epsilon", ".3", "--pairs", "p.csv")[0] == 0
    assert pd.read_csv("p.csv")["a"].tolist() == ["'=a"]
    assert json.loads(run("candidates", "s.csv", "--json")[1])["candidates"] == ["=a", "b"]


def test_a_contradiction_in_ratings_is_a_note_of_build(run):
    rows, user = [], 0
    claw = {(0, 1): 0.0, (0, 2): 0.0, (0, 3): 0.0, (1, 2): 0.9, (1, 3): 0.9, (2, 3): 0.9}
    for (first, second), difference in claw.items():
        for _ in range(40):  # other users for every pair: differences need not add up
            rows += [(user, first, difference), (user, second, 0.0)]
            user += 1
    rows += [(user, 0, 1.0), (user + 1, 1, 0.0)]
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv("log.csv", index=False)
    words = ("build", "log.csv", "--out", "s.csv", "--rule", "paper", "--epsilon", ".3")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "contradict one another" in out
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    json.loads(out)


@pytest.mark.parametrize(("to_people", "is_terminal"), [(True, True), (True, False), (False, True)])
def test_a_terminal_hears_once_that_code_is_compiled(monkeypatch, capsys, to_people, is_terminal):
    import_module("lsdt.kernel.compiler")  # which listens to Numba
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with _announced_compilation(to_people):
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass
    with event.trigger_event("numba:compile"):
        pass
    said = "lsdt: compiling code, once for this installation: this takes seconds to a minute\n"
    assert capsys.readouterr().err == (said if to_people and is_terminal else "")
