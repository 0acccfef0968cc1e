"""The command ``lsdt reproduce``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lsdt.cli.main import main
from lsdt.reproduce.registry import BEYOND, IDS


def test_two_parts_end_in_a_report(tmp_path, capsys):
    words = [
        "reproduce",
        "--only",
        "fig-bstar-k",
        "--quick",
        "--replications",
        "3",
        "--out",
        str(tmp_path / "report"),
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "holds" in out
    assert "fig-bstar-k" in out
    assert str(tmp_path / "report" / "index.html") in out
    assert (tmp_path / "report" / "index.html").exists()
    assert main(words) == 0
    assert "kept" in capsys.readouterr().out


def test_claims_as_json(tmp_path, capsys):
    words = [
        "reproduce",
        "--only",
        "fig-bstar-k",
        "--quick",
        "--replications",
        "2",
        "--json",
        "--out",
        str(tmp_path),
    ]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["claims"][0]["name"] == "bstar-share-falls"
    assert answer["replications"] == 2


def test_all_parts_are_listed(capsys):
    assert main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in IDS)
    assert main(["reproduce", "--list", "--json"]) == 0
    assert [part["id"] for part in json.loads(capsys.readouterr().out)] == list(IDS)


def test_the_data_set_is_explained(capsys):
    assert main(["reproduce", "--where-is-jester"]) == 0
    assert "eigentaste" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--replications", "0"], 2, "replications must be a whole number from 1 to 1,000,000; got 0"),
        (["--n-jobs", "0"], 2, "n_jobs must be"),
        (["--n-jobs", "-7"], 2, "n_jobs must be"),
        (["--seed", "-1"], 2, "seed must be"),
        (["--only", "fig-bstar"], 2, "did you mean"),
        (["--jester", "nowhere.zip"], 3, "no file 'nowhere.zip'"),
    ],
)
def test_bad_arguments_are_named_before_any_work(words, code, told, tmp_path, capsys):
    assert main(["reproduce", "--out", str(tmp_path / "report"), *words]) == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


@pytest.mark.long
def test_a_reader_who_leaves_does_not_stop_the_work(tmp_path):
    words = ["reproduce", "--only", "fig-b*-k", "--quick", "--replications", "2", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "lsdt.cli.main", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(timeout=120) == 0, process.stderr.read().decode()
    process.stderr.close()
    assert (tmp_path / "index.html").exists()


def test_a_file_is_no_folder(tmp_path, capsys):
    (tmp_path / "report").write_text("mine")
    assert main(["reproduce", "--out", str(tmp_path / "report")]) == 3
    assert "is none" in capsys.readouterr().err
    assert (tmp_path / "report").read_text() == "mine"


def test_what_goes_beyond_the_paper_is_a_report_of_its_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("lsdt.reproduce.beyond.contests.contest.available", lambda: ["ts", "lsdt_closure"])
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "--beyond", "--only", "beyond-d*ed", "--quick", "--replications", "2"]
    assert main(words) == 0
    page = (tmp_path / "beyond-quick" / "index.html").read_text()
    assert "beyond the paper</h1>" in page
    assert "lsdt reproduce --beyond --only" in page
    assert 'id="beyond-disconnected"' in page
    claims = json.loads((tmp_path / "beyond-quick" / "claims.json").read_text())
    assert claims["missing"] == [part for part in BEYOND if part != "beyond-disconnected"]
    capsys.readouterr()
    assert main(words) == 0
    assert "kept" in capsys.readouterr().out


def test_parts_beyond_the_paper_are_listed_apart(capsys):
    assert main(["reproduce", "--beyond", "--list", "--json"]) == 0
    assert [part["id"] for part in json.loads(capsys.readouterr().out)] == list(BEYOND)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "beyond-wrong"], "goes beyond the paper; ask for it with"),
        (["--beyond", "--only", "fig-b0-k"], "one of the paper's"),
        (["--beyond", "--only", "fig-*"], "no part of the reproduction matches"),
        (["--beyond", "--only", "beyond-wrongs"], "did you mean"),
    ],
)
def test_a_part_of_the_other_report_is_named(words, told, tmp_path, capsys):
    assert main(["reproduce", "--out", str(tmp_path / "report"), *words]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "report").exists()
