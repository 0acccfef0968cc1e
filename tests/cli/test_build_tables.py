"""The command ``lsdt build`` on tables with a row per arm."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.cli.main import main

COUNTS = {"arm": ["red", "green", "blue"], "successes": [120, 180, 260], "trials": [2000, 2000, 2000]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(COUNTS).to_csv("tests.csv", index=False)
    pd.DataFrame(COUNTS).to_json("tests.jsonl", orient="records", lines=True)
    sizes = {"arm": ["a", "b", "c", "d"], "value": [1, 2, 1, 3], "within": ["x", "x", "y", "y"]}
    pd.DataFrame(sizes).to_csv("sizes.tsv", sep="\t", index=False)
    rng = np.random.default_rng(1)
    points = rng.random((40, 2))
    table = pd.DataFrame({"arm": np.arange(40), "x": points[:, 0], "y": points[:, 1]})
    table.to_parquet("features.parquet")
    means = 0.5 + 0.2 * points[:, 0]
    pilot = {"arm": np.arange(40), "mean": rng.normal(means, 0.01), "se": np.full(40, 0.01)}
    pd.DataFrame(pilot).to_csv("pilot.csv", index=False)


@pytest.mark.parametrize("name", ["tests.csv", "tests.jsonl"])
def test_experiments(folder, capsys, name):
    assert main(["build", "--experiments", name, "--out", "side.csv"]) == 0
    out = capsys.readouterr().out
    assert "1 experiment: 3 ranges, 3 of them with a known order; probability that all hold: 0.95" in out
    assert "candidates  1 of 3 arms may be the best\n            blue\n" in out
    assert lsdt.load("side.csv") == lsdt.from_experiments(COUNTS)


def test_an_order(folder, capsys):
    assert main(["build", "sizes.tsv", "--order", "--out", "side.parquet", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["candidates"] == ["b", "d"]
    assert (answer["source"], answer["better"], answer["risk"]) == ("order", 2, None)
    assert main(["build", "sizes.tsv", "--order", "--way", "down", "--out", "side.parquet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == ["a", "c"]


def test_features(folder, capsys):
    words = ["build", "--features", "features.parquet", "--out", "side.parquet", "--n-neighbours", "4"]
    assert main([*words, "--pilot", "pilot.csv", "--json", "--confidence", ".9"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["risk"] == pytest.approx(0.1)
    assert answer["ranges"] == len(lsdt.load("side.parquet").ranges.pairs)
    assert main([*words, "--lipschitz", ".2", "--increasing", "x", "y"]) == 0
    assert "means differ by at most 0.2 x distance, which is assumed" in capsys.readouterr().out
    assert lsdt.load("side.parquet").ranges.n_better > 0
    assert main([*words, "--lipschitz", ".2", "--epsilon", ".0001"]) == 0
    assert "note        no two arms are less than" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["tests.csv"], 2, "is a table of experiments, .*; add --experiments"),
        (["sizes", "--order"], 3, "a table ends in .csv, .tsv, .jsonl or .parquet; got 'sizes'"),
        (["tests.csv", "--order"], 2, "has no column 'value'; found 'arm', 'successes', 'trials'"),
        (["features.parquet", "--features"], 2, "estimates the constant from a pilot:"),
        (
            ["features.parquet", "--features", "--lipschitz", "much"],
            2,
            "--lipschitz must be a number or auto",
        ),
        (["missing.csv", "--experiments"], 3, "cannot read 'missing.csv': there is no such file"),
        (["tests.xlsx", "--experiments"], 3, "a table ends in .csv, .tsv, .jsonl or .parquet"),
        (["tests.csv", "--experiments", "--pairs", "p.csv"], 2, "are for logs of ratings"),
    ],
)
def test_errors_are_one_line(folder, capsys, words, code, message):
    assert main(["build", *words, "--out", "side.csv"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert re.search(message, printed.err)


def test_an_array_of_features(folder, capsys):
    np.save("features.npy", np.random.default_rng(1).random((30, 2)))
    assert main(["build", "--features", "features.npy", "--lipschitz", ".2", "--out", "side.parquet"]) == 0
    assert "candidates  all 30 arms may be the best: features alone rule none out." in capsys.readouterr().out
    assert lsdt.load("side.parquet").n_arms == 30
    words = ["build", "--features", "tests.csv", "--lipschitz", ".2", "--out", "side.csv"]
    assert main([*words, "--arm-ids", "arm"]) == 0
    assert main([*words, "--arm-ids", "name"]) == 2
    assert "no column 'name' of ids; found 'arm', 'successes', 'trials'. Name it: --arm-ids" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("head", "kind"),
    [("arm,mean,se", "experiments"), ("arm,value,within", "order"), ("arm,x0,x1", "features")],
)
def test_a_table_of_arms_is_no_log(folder, capsys, head, kind):
    with open("table.csv", "w") as file:
        file.write(f"{head}\nred,1,2\n")
    assert main(["build", "table.csv", "--out", "side.csv"]) == 2
    assert f"and no log of ratings; add --{kind}\n" in capsys.readouterr().err


def test_a_file_that_is_no_table(folder, capsys):
    with open("broken.csv", "wb") as file:
        file.write(b"arm,mean\n\xff\xfe,1\n")
    assert main(["build", "--experiments", "broken.csv", "--out", "side.csv"]) == 3
    assert "cannot be read as a table" in capsys.readouterr().err
