from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.policies.policy import parse_policy
from systems import needs_signals

SMALL = ["simulate", "--n-arms", "12", "--epsilon", ".2", "--horizon", "60", "--replications", "4"]


def test_table_picture_and_files(tmp_path, capsys):
    assert main([*SMALL, "--policies", "lsdt_csi", "ucb1:alpha=8", "--out", str(tmp_path / "s")]) == 0
    out = capsys.readouterr().out
    assert "12 arms, means on [0.1, 1], epsilon 0.2, Gaussian rewards, complete side information" in out
    assert "4 replications of 60 rounds, seed 0" in out
    assert "lsdt_csi, alpha=8" in out
    assert "ucb1 (alpha=8)" in out
    names = {path.name for path in (tmp_path / "s").iterdir()}
    assert names == {
        "study.json", "rounds.parquet", "runs.parquet", "plays.parquet", "table.csv", "regret.svg"
    }  # fmt: skip
    assert (tmp_path / "s/regret.svg").read_text().startswith("<?xml")
    again = lsdt.SimulationResult.load(tmp_path / "s")
    assert again.policies == ["lsdt_csi", "ucb1 (alpha=8)"]


def test_without_matplotlib_the_picture_is_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*SMALL, "--policies", "ucb1", "--out", str(tmp_path / "s")]) == 0
    told = capsys.readouterr()
    assert told.err == ("lsdt: regret.svg is left out: plots need matplotlib: pip install 'lsdt[report]'\n")
    assert told.out.endswith("s: table.csv, study.json and Parquet files\n")
    assert {"table.csv", "study.json"} < {path.name for path in (tmp_path / "s").iterdir()}
    assert not (tmp_path / "s/regret.svg").exists()


def test_json_for_programs(capsys):
    assert main([*SMALL, "--policies", "lsdt_csi", "--json", "--rewards", "bernoulli"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["replications"] == 4
    assert answer["problem"]["rewards"]["law"] == "bernoulli"
    row = answer["policies"][0]
    assert row["policy"] == "lsdt_csi"
    assert row["low"] <= row["regret"] <= row["high"]
    assert row["parameters"]["alpha"] == 2.0
    assert main([*SMALL, "--policies", "ucb1", "--json", "--replications", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["low"] is None


def test_horizons_and_partial_information(capsys):
    words = ["--policies", "lsdt_psi", "ts@paper", "--p-similar", ".5", "--p-dissimilar", ".5"]
    assert main(["simulate", *words, "--n-arms", "12", "--replications", "3", "--horizons", "20", "50"]) == 0
    out = capsys.readouterr().out
    assert "50% of the relations known" in out
    assert "policy at T = 20" in out
    assert "policy at T = 50" in out
    assert "ts on paper" in out


def test_list_shows_every_policy_and_parameter(capsys):
    assert main(["simulate", "--list"]) == 0
    out = capsys.readouterr().out
    for name in lsdt.policies.available():
        assert f"\n{name} " in f"\n{out}"
    assert "lambda_: a number above 0 (default 0.125)" in out
    assert main(["simulate", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [policy["name"] for policy in listed] == lsdt.policies.available()


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        ("ucb1", lsdt.Policy("ucb1")),
        ("ucb1@paper:alpha=.5", lsdt.Policy("ucb1", on="paper", alpha=0.5)),
        ("lsdt_csi:index=moss,sigma=2", lsdt.Policy("lsdt_csi", index="moss", sigma=2.0)),
        ("ts:label=5", lsdt.Policy("ts", label="5")),
        ("ucb1:on=paper", lsdt.Policy("ucb1", on="paper")),
    ],
)
def test_words_for_policies(word, policy):
    assert parse_policy(word) == policy


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--policies", "usb1"], 2, "unknown policy 'usb1'"),
        (["--policies", "ucb1:alpha"], 2, "a parameter is written name=value"),
        (["--policies", "ucb1:alpha=-1"], 2, "alpha must be a number above 0"),
        (["--policies", "ucb1@"], 2, "say after @"),
        (["--policies", "ucb1@best"], 2, "on must be one of"),
        (["--policies", "ucb1:name=x"], 2, "has no parameter 'name'"),
        (["--policies", "ucb1:alpha=1,alpha=2"], 2, "given twice"),
        (["--policies", "@paper"], 2, "begins with its name"),
        (
            ["--policies", "ucb1", "--replications", "0"],
            2,
            "replications must be a whole number of at least 1",
        ),
        (["--policies", "ucb1", "--n-jobs", "0"], 2, "n_jobs"),
        (["--policies", "ucb1", "--p-similar", "2"], 2, "p_similar must lie"),
        (["--policies", "ucb1", "--low=-1e308"], 2, "low must be a finite number"),
        (["--policies", "ucb1", "--out", ""], 2, "--out must name a file"),
        ([], 2, "--policies"),
        (["--policies", "ucb1", "--horizons", "5"], 2, "give either --horizon or --horizons"),
        (["--policies", "ucb1", "--rewards", "poisson"], 2, "rewards must be"),
        (["--policies", "lsdt_csi", "--p-similar", ".5"], 7, "needs complete side information"),
        (["--policies", "ucb1", "--out", __file__], 3, "is none"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(words, code, message, capsys):
    assert main([*SMALL, *words]) == code
    err = capsys.readouterr().err
    assert err.startswith("lsdt: error: ")
    assert message in err
    assert "Traceback" not in err


def _seconds_worked(pid):
    seconds = 0.0
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        for each in (first, *first.children(recursive=True)):
            seconds += sum(each.cpu_times()[:2])
    return seconds


@needs_signals
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    words = ["--policies", "ucb1", "--horizon", "30000", "--replications", "100000", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "lsdt.cli.main", "simulate", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # On a quiet machine long enough for a first replication; either answer is right.
        while process.poll() is None and _seconds_worked(process.pid) < 1:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:  # what does not listen must not go on after the test
        process.send_signal(signal.SIGABRT)
        pytest.fail(f"it goes on: {process.communicate()[1]}")
    assert process.returncode == 130
    assert "Traceback" not in err
    if "of 100000 replications are finished" in err:
        assert lsdt.SimulationResult.load(tmp_path).partial
    else:  # nothing was finished yet
        assert "interrupted" in err
