"""What commands do with bad values, bad files and errors of their own: one line and an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lsdt.cli import candidates
from lsdt.cli.main import INTERNAL_ERROR, main

PAIRS = "a,b,relation\n1,2,similar\n2,3,similar\n1,3,dissimilar\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    rng = np.random.default_rng(0)
    rows = [
        f"{user},i{item},{rng.integers(0, 3 + item)}"
        for user in range(120)
        for item in range(4)
        if rng.random() < 0.8
    ]
    (tmp_path / "log.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")

    def run(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def refused(answer, code, message):
    got, out, err = answer
    assert (got, out) == (code, "")
    assert err.startswith("lsdt: error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["build", "log.csv", "--out", "x.csv", "--min-raters", 10**21],
            "from 1 to 2,147,483,647; got 10000",
        ),
        (
            ["replay", "log.csv", "--policies", "ts", "--splits", 10**20],
            "splits must be a whole number from 1",
        ),
        (
            ["replay", "log.csv", "--policies", "ts", "--n-jobs", 100_000],
            "n_jobs must be at most 4,096 workers",
        ),
        (
            ["replay", "log.csv", "--policies", "ts", "--n-jobs", 10**24],
            "n_jobs must be at most 4,096 workers",
        ),
        (["simulate", "--policies", "ts", "--n-jobs", 10**24], "n_jobs must be at most 4,096 workers"),
        (["simulate", "--policies", "ts", "--n-jobs", -7], "n_jobs must be a number of workers, or -1"),
        (
            ["simulate", "--policies", "ts", "--replications", 10**20],
            "replications must be a whole number from 1",
        ),
        (["reproduce", "--n-jobs", 100_000], "n_jobs must be at most 4,096 workers"),
        (
            ["reproduce", "--replications", 10**20],
            "replications must be a whole number from 1 to 1,000,000; got 1000",
        ),
        (
            ["candidates", "pairs.csv", "--plot", "x\0.svg"],
            "--plot must name a file, without a NUL character",
        ),
        (["candidates", "pairs.csv", "--table", "\0.csv"], "--table must name a file"),
        (["candidates", "pairs\0.csv"], "FILE must name a file"),
        (["build", "log\0.csv", "--out", "x.csv"], "LOG must name a file"),
        (
            ["build", "log.csv", "--out", "x\0.csv"],
            "--out must name a file, without a NUL character; got 'x\\x00",
        ),
        (["build", "log.csv", "--out", "x.csv", "--pairs", "\0.csv"], "--pairs must name a file"),
        (["build", "log.csv", "--out", "x.csv", "--plot", "\0.svg"], "--plot must name a file"),
        (["replay", "log.csv", "--policies", "ts", "--side", "\0.csv"], "--side must name a file"),
        (["replay", "log.csv", "--policies", "ts", "--out", "\0"], "--out must name a file"),
        (["simulate", "--policies", "ts", "--out", "\0"], "--out must name a file"),
        (["reproduce", "--out", "\0"], "--out must name a file"),
        (["reproduce", "--jester", "\0"], "--jester must name a file"),
    ],
)
def test_values_beyond_every_limit_are_refused_by_name(run, words, message):
    refused(run(*words), 2, message)


def test_files_that_readers_choke_on(run, tmp_path):
    (tmp_path / "deep.csv").write_text("# lsdt " + "[" * 100_000 + "\na,b,relation\n1,2,similar\n")
    refused(run("candidates", "deep.csv"), 3, "its metadata is not JSON")
    log = {"user": [1, 2], "item": [1, 2], "rating": [0.0, 1.0]}
    for name in ("user", "item"):
        for wrong in ([{"x": 1}, {"x": 2}], [[1], [2]]):
            pq.write_table(pa.table({**log, name: wrong}), "log.parquet")
            refused(run("build", "log.parquet", "--out", "x.csv"), 2, f"column '{name}' must hold ids")
    twice = pa.table([[1, 2], *log.values()], names=["user", *log])
    pq.write_table(twice, "twice.parquet")
    refused(run("build", "twice.parquet", "--out", "x.csv"), 3, "2 columns are called 'user'")
    twice = pa.table([[1], [1], [2], ["similar"]], names=["a", "a", "b", "relation"])
    pq.write_table(twice, "pairs.parquet")
    refused(run("candidates", "pairs.parquet"), 3, "pairs.parquet")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "its first line is blank"),
        ("user,item,rating\n", "there are no rows, hence no ratings"),
        ("user,item,rating\n1,1,nan\n1,2,nan\n", "holds the rating nan; ratings must be finite"),
        ("user,item,rating\n1,1,\n1,2,\n", "line 2 of 'odd.csv' has no rating"),
        (
            "user,item,rating\n1,1,1\n1,2,2\n2,1,3\n2,2,1e308\n",
            "ratings must be finite numbers, at most 1e+100 in size",
        ),
        (
            "user,item,rating\n1,1,1\n1,2,2\n2,1,3\n2,2,1e99\n",
            "line 5 of 'odd.csv' is 1e+99 and makes the scale so long that most ratings",
        ),
    ],
)
def test_logs_that_say_nothing_are_no_success(run, tmp_path, rows, message):
    (tmp_path / "odd.csv").write_text(rows)
    for words in (["build", "odd.csv", "--out", "x.csv"], ["replay", "odd.csv", "--policies", "ts"]):
        code, out, err = run(*words)
        assert code in (2, 3)
        assert out == ""
        assert message in err
    assert not (tmp_path / "x.csv").exists()


def test_a_scale_that_is_meant_is_taken(run, tmp_path):
    (tmp_path / "odd.csv").write_text("user,item,rating\n1,1,1\n1,2,2\n2,1,3\n2,2,1e99\n")
    words = ("build", "odd.csv", "--out", "x.csv", "--scale", "0", "1e99", "--epsilon", ".1")
    assert run(*words)[0] == 0


def test_many_zeros_beside_one_large_payment_are_no_mistake(run, tmp_path):
    rows = "".join(f"{user},{user % 2},0\n{user},2,0\n" for user in range(40))
    (tmp_path / "paid.csv").write_text(f"user,item,rating\n{rows}41,0,1e12\n41,1,0\n")
    assert run("build", "paid.csv", "--out", "x.csv", "--epsilon", ".1")[0] == 0


def test_a_replay_without_one_reward_is_no_success(run, tmp_path):
    rows = "".join(f"{user},a,1\n{user},b,0\n" for user in range(50))
    (tmp_path / "log.csv").write_text(f"user,item,rating\n{rows}50,c,1\n")  # one user alone rated c
    words = ["--policies", "always:c", "--train", ".9", "--splits", "5", "--side", "none", "--out", "x"]
    refused(run("replay", "log.csv", *words), 2, "no policy has a reward")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("words", [["--debug", "candidates"], ["candidates", "--debug"], ["candidates"]])
def test_an_error_of_our_own_is_one_line_and_a_traceback_on_request(run, monkeypatch, words):
    def broken(*_):
        raise ZeroDivisionError("a \x1b[31mred\nsurprise")

    monkeypatch.setattr(candidates, "read_pairs", broken)
    code, out, err = run(*words, "pairs.csv")
    last = err.splitlines()[-1]
    assert (code, out) == (INTERNAL_ERROR, "") == (70, "")
    assert last.startswith(
        "lsdt: internal error: ZeroDivisionError: a \\u001b[31mred surprise; please report"
    )
    assert last.endswith("with the output of the same command with --debug")
    assert ("Traceback" in err) == ("--debug" in words)
    assert "\x1b" not in err
    if "--debug" not in words:
        assert err.count("\n") == 1
    code, out, _ = run("candidates", "pairs.csv", "--json")
    assert json.loads(out)["exit_code"] == code == INTERNAL_ERROR


def test_errors_of_the_user_show_where_they_arose_on_request(run):
    _, _, err = run("--debug", "candidates", "none.csv")
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("lsdt: error: cannot read 'none.csv'")


def test_no_memory_is_said_in_one_line(run, monkeypatch):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(candidates, "read_pairs", broken)
    refused(run("candidates", "pairs.csv"), 6, "there is not enough memory")


def test_warnings_are_one_line_without_a_path(run, monkeypatch):
    read = candidates.read_pairs

    def warned(*options):
        warnings.warn("two\nlines, \x1b[31m", stacklevel=1)
        return read(*options)

    monkeypatch.setattr(candidates, "read_pairs", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run("candidates", "pairs.csv")
    assert (code, err) == (0, "lsdt: warning: two lines, \\u001b[31m\n")


@pytest.mark.parametrize("option", ["--columns", "--method", "--explain", "--timeout", "--table"])
def test_two_dashes_are_no_value(capsys, option):
    with pytest.raises(SystemExit, match="2"):
        main(["candidates", "--example", "partial", f"{option}=--"])
    assert option in capsys.readouterr().err.splitlines()[-1]


def test_module_is_the_command():
    """Also with its exit code, where the script is not on the path."""
    command = [sys.executable, "-m", "lsdt", "candidates"]
    good = subprocess.run([*command, "--example", "partial"], capture_output=True, text=True)
    bad = subprocess.run([*command, "nowhere.csv"], capture_output=True, text=True)
    assert (good.returncode, good.stderr) == (0, "")
    assert "may be the best" in good.stdout
    assert bad.returncode == 3
    assert bad.stderr.startswith("lsdt: error: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["identify", "--arms", "30"],
            "lsdt identify has no option '--arms' (did you mean '--n-arms'?); see",
        ),
        (["plan", "x.csv", "--horizon=5"], ""),  # a beginning of one option only is that option
        (["plan", "x.csv", "--zoo=5"], "lsdt plan has no option '--zoo'; see lsdt plan --help"),
        (["plan", "x.csv", "y\x1b.csv"], "lsdt plan has no argument 'y\\x1b.csv'"),
    ],
)
def test_unknown_options_are_named_with_a_similar_one(capsys, words, message):
    """The error named no command, showed the usage of all, and suggested nothing."""
    if message:
        with pytest.raises(SystemExit, match="2"):
            main(words)
    else:
        assert main(words) == 3
    assert message in capsys.readouterr().err
