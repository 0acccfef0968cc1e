"""``lsdt identify``."""

from __future__ import annotations

import json

import lsdt
from lsdt.cli.main import main


def test_one_run(capsys):
    assert main(["identify", "--n-arms", "20", "--epsilon", ".2", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "known       yes: arm" in shown
    assert "is within 0.2 of the best" in shown


def test_several_runs_as_json(capsys):
    words = ["identify", "--n-arms", "20", "--epsilon", ".2", "--replications", "3", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["runs"]) == 3
    assert answer["tolerance"] == 0.2
    assert answer["mean_tries"] == sum(run["tries"] for run in answer["runs"]) / 3
    assert main(words[:-1]) == 0
    assert "3 replications, known in 3" in capsys.readouterr().out


def test_a_budget_that_does_not_suffice(capsys):
    assert main(["identify", "--n-arms", "20", "--epsilon", ".2", "--delta", "1e-9", "--budget", "3"]) == 1
    assert "known       no: arm" in capsys.readouterr().out


def test_a_log(tmp_path, capsys):
    log, _ = lsdt.ratings.make_log(n_users=3_000, n_items=8, ratings_per_user=6, seed=0)
    path = tmp_path / "ratings.csv"
    log.to_csv(path, index=False)
    code = main(["identify", str(path), "--tolerance", ".1", "--epsilon", ".15", "--json"])
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["runs"][0]["gap"] <= 0.1


def test_bad_options_are_one_line(capsys):
    assert main(["identify", "--delta", "2"]) == 2
    assert "delta must" in capsys.readouterr().err
    assert main(["identify", "--relations", "ranges"]) == 2
    assert "--relations is for a log" in capsys.readouterr().err


def test_the_best_two(capsys):
    words = ["identify", "--n-arms", "12", "--epsilon", ".3", "--best", "2"]
    assert main(words) == 0
    assert "of the best 2" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["runs"][0]["arms"]) == 2
    assert main([*words[:-1], "many"]) == 2
    assert "top must be a whole number" in capsys.readouterr().err
