"""The command ``lsdt replay``: what policies would have earned on a log."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.cli.main import main

QUICK = ["--splits", "3", "--horizon", "150"]
AS_QUICK = {"splits": 3, "horizon": 150}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    frame, _ = lsdt.ratings.make_log(n_users=2000, n_items=8, ratings_per_user=6, seed=3)
    path = tmp_path_factory.mktemp("log") / "ratings.parquet"
    frame.to_parquet(path)
    return path


def test_policies_are_ranked_as_the_library_ranks_them(log, tmp_path, capsys):
    words = ["--policies", "ucb1", "ts:prior_weight=1", "best_training_mean", "--side", "none", *QUICK]
    assert main(["replay", str(log), *words, "--out", str(tmp_path / "study")]) == 0
    lines = capsys.readouterr().out.splitlines()
    result = lsdt.replay(log, ["ucb1", "ts:prior_weight=1", "best_training_mean"], horizon=150, splits=3)
    ranked = result.summary().sort_values("reward", ascending=False).index
    assert [line.split("  ")[0] for line in lines[1:4]] == list(ranked)
    table = pd.read_csv(tmp_path / "study" / "table.csv")
    assert table["reward"].tolist() == pytest.approx(result.summary()["reward"].tolist())


def test_the_answer_as_json(log, capsys):
    words = ["--policies", "ts", "--side", "none", "--train", ".2", "--test", ".5", "--json"]
    assert main(["replay", str(log), *words, *QUICK]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [answer["problem"][name] for name in ("users", "trained_on", "tested_on")] == [1996, 399, 998]
    assert [row["policy"] for row in answer["policies"]] == ["ts"]
    assert answer["notes"]


def test_ranges_out_of_the_ratings_trained_on(log, capsys):
    words = ["--policies", "ts@order", "ts", "--relations", "ranges", "--train", ".4", *QUICK]
    assert main(["replay", str(log), *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    result = lsdt.replay(log, ["ts@order", "ts"], relations="ranges", train=0.4, **AS_QUICK)
    reward = {row["policy"]: row["reward"] for row in told["policies"]}
    assert reward["ts on order"] == pytest.approx(result.summary().loc["ts on order", "reward"], rel=1e-9)


def test_side_information_from_a_file(log, tmp_path, capsys):
    lsdt.from_ratings(log, epsilon=0.3).save(tmp_path / "side.csv")
    words = ["--policies", "ts@paper", "--side", str(tmp_path / "side.csv"), *QUICK]
    assert main(["replay", str(log), *words]) == 0
    out = capsys.readouterr().out
    assert "ts on paper" in out
    assert "if it was made from this log" in out


def test_propensities_give_estimates(tmp_path, capsys):
    rng = np.random.default_rng(0)
    items = rng.choice(3, 4000, p=[0.5, 0.3, 0.2])
    clicks = (rng.random(4000) < np.array([0.2, 0.4, 0.6])[items]).astype(float)
    frame = pd.DataFrame({"item": items, "rating": clicks, "p": np.array([0.5, 0.3, 0.2])[items]})
    frame.to_csv(tmp_path / "events.csv", index=False)
    words = ["--policies", "ucb1", "--propensity", "p", "--no-user", "--side", "none", *QUICK]
    assert main(["replay", str(tmp_path / "events.csv"), *words]) == 0
    assert "snips" in capsys.readouterr().out
    assert main(["replay", str(tmp_path / "events.csv"), *words, "--json"]) == 0
    estimates = json.loads(capsys.readouterr().out)["estimates"]
    assert {row["estimator"] for row in estimates} == {"ips", "snips", "dr"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--policies", "nothing"], 2, "nothing"),
        (["--policies", "ts", "--n-jobs", "0"], 2, "n_jobs must be"),
        (["--policies", "ts", "--side", "nowhere.csv"], 3, "nowhere.csv"),
        (["--policies", "ts", "--train", "1"], 2, "train"),
        (["--policies", "ts", "--no-user"], 2, "if they were shown at random, --method uniform"),
        (["--policies", "ts", "--method", "propensity"], 2, "say which column holds them with --propensity"),
        (["--policies", "ts", "--chronological"], 2, "name their column with --time"),
        (["--policies", "ts", "--user", "who"], 3, "Name the column with --user ..., or give its place"),
        (["--policies", "ts", "--relations", "ranges", "--side", "paper"], 2, "rule='paper' has none"),
        (["--policies", "ts", "--relations", "ranges", "--epsilon", ".1"], 2, "needs no epsilon; got 0.1"),
        (["--policies", "ts", "--relations", "ranges", "--side", "none"], 2, "is for --side interval; got"),
    ],
)
def test_bad_arguments_are_named(log, capsys, words, code, told):
    assert main(["replay", str(log), *QUICK, *words]) == code
    assert told in capsys.readouterr().err
