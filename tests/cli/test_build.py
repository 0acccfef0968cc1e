"""The command ``lsdt build``: from a log to side information."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import lsdt
from lsdt.cli.main import main


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    frame, _ = lsdt.ratings.make_log(n_users=3000, n_items=10, ratings_per_user=7, seed=2)
    path = tmp_path_factory.mktemp("log") / "ratings.csv"
    frame.to_csv(path, index=False)
    return path


def test_three_commands_lead_from_a_log_to_an_answer(log, tmp_path, capsys):
    side = tmp_path / "side.parquet"
    assert main(["build", str(log), "--out", str(side)]) == 0
    out = capsys.readouterr().out
    assert "users, 10 items" in out
    assert "beaten      7 of 10 items; the best is among them with a probability of at most 0.05" in out
    assert main(["candidates", str(side), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = lsdt.candidate_set(lsdt.from_ratings(log)).arm_ids
    assert found["candidates"] == wanted
    words = ["replay", str(log), "--policies", "ts@order", "best_training_mean", "--splits", "3"]
    assert main([*words, "--horizon", "200"]) == 0
    assert "best_training_mean" in capsys.readouterr().out


def test_the_answer_as_json_with_its_evidence(log, tmp_path, capsys):
    pairs, plot = tmp_path / "pairs.csv", tmp_path / "epsilon.svg"
    words = [
        "build",
        str(log),
        "--out",
        str(tmp_path / "side.csv"),
        "--pairs",
        str(pairs),
        "--plot",
        str(plot),
    ]
    assert main([*words, "--json", "--epsilon", ".2", "--confidence", ".9"]) == 0
    answer = json.loads(capsys.readouterr().out)
    side = lsdt.from_ratings(log, epsilon=0.2, confidence=0.9)
    assert (answer["similar"], answer["dissimilar"]) == (side.n_similar, side.n_dissimilar)
    assert answer["epsilon"] == 0.2
    assert answer["notes"]
    pd.testing.assert_frame_equal(pd.read_csv(pairs), side.evidence.pairs, check_dtype=False)
    assert plot.stat().st_size > 1000


def test_beaten_items_are_counted_and_written(log, tmp_path, capsys):
    words = ["build", str(log), "--out", str(tmp_path / "side.parquet"), "--json"]
    assert main([*words, "--pairs", str(tmp_path / "pairs.csv")]) == 0
    answer = json.loads(capsys.readouterr().out)
    side = lsdt.from_ratings(log)
    assert lsdt.load(tmp_path / "side.parquet") == side
    assert (answer["guarantee"], answer["relations"], answer["beaten"]) == ("best", "none", 7)
    assert {row["item"] for row in answer["candidates"]} == set(lsdt.candidate_set(side).arm_ids)
    assert set(pd.read_csv(tmp_path / "pairs.csv")["relation"]) == {"beaten"}


def test_ranges_are_counted_and_written(log, tmp_path, capsys):
    words = ["build", str(log), "--guarantee", "all", "--out", str(tmp_path / "side.parquet")]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    side = lsdt.from_ratings(log, relations="ranges")
    assert lsdt.load(tmp_path / "side.parquet") == side
    ordered = len(side.ranges.ordered_pairs())
    assert (answer["relations"], answer["epsilon"]) == ("ranges", None)
    assert (answer["ranges"], answer["ordered"]) == (len(side.ranges.pairs), ordered)
    found = lsdt.candidate_set(side)
    assert {row["item"] for row in answer["candidates"]} == set(found.arm_ids)
    assert f"{len(side.ranges.pairs)} ranges, {ordered} of which say which item is better" in shown
    assert f"candidates  {len(found)} of 10 items may be the best" in shown
    assert "epsilon     " not in shown


def test_a_file_of_another_kind_is_named(tmp_path, capsys):
    votes = tmp_path / "votes.csv"
    votes.write_text("a,b,winner\ntea,mate,tea\n")
    assert main(["build", str(votes), "--out", str(tmp_path / "side.csv")]) == 3
    assert "Wins and losses are read by lsdt build --comparisons" in capsys.readouterr().err
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("user,item,rating\nann,tea,3\n")
    assert main(["candidates", str(ratings)]) == 3
    told = capsys.readouterr().err
    assert "this looks like a log of ratings, from which lsdt build makes side information" in told


def test_other_names_of_columns(log, tmp_path, capsys):
    renamed = tmp_path / "renamed.parquet"
    pd.read_csv(log).set_axis(["visitor", "ad", "stars"], axis=1).to_parquet(renamed)
    columns = ["--user", "visitor", "--item", "ad", "--rating", "stars"]
    assert main(["build", str(renamed), *columns, "--out", str(tmp_path / "side.csv")]) == 0
    capsys.readouterr()
    assert main(["build", str(renamed), "--out", str(tmp_path / "side.csv")]) != 0
    told = capsys.readouterr().err
    assert "visitor" in told
    assert "Name the column with --user ..., or" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--epsilon", "wide"], "--epsilon must be a number or auto; got 'wide'"),
        (["--confidence", "2"], "confidence"),
        (["--plot", "picture.txt"], "the file name of a picture must end in"),
        (["--pairs", "pairs.parquet"], "--pairs is written as CSV"),
        (["--out", "side.txt"], "side.txt"),
        (["--plot", "epsilon.svg"], "ranges have none; add --relations threshold"),
        (["--relations", "ranges", "--rule", "paper"], "--rule paper has none"),
    ],
)
def test_bad_arguments_are_named(log, tmp_path, capsys, words, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["build", str(log), "--out", "side.csv", *words]) in (2, 3)
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_candidates_are_ranked_by_their_ratings(log, tmp_path, capsys):
    words = ["build", str(log), "--guarantee", "all", "--out", str(tmp_path / "side.csv"), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)["candidates"]
    quality = [row["quality"] for row in found]
    assert quality == sorted(quality, reverse=True)
    assert all(row["low"] <= row["quality"] for row in found)
    side = lsdt.from_ratings(log, guarantee="all")
    ranking = side.evidence.ranking(lsdt.candidate_set(side).arm_ids)
    assert [row["item"] for row in found] == ranking["item"].tolist()
    assert found[0]["below"] is None  # nothing is shown to be better than the first
    pairs = side.evidence.pairs
    for row in found:
        if row["below"] is not None:
            a, b = (row["item"], row["below"])
            decided = pairs[((pairs["a"] == a) & (pairs["b"] == b)) | ((pairs["a"] == b) & (pairs["b"] == a))]
            assert (decided["low"] * decided["high"] > 0).all()


@pytest.mark.parametrize("words", [["--out", "ratings.csv"], ["--out", "side.csv", "--pairs", "side.csv"]])
def test_nothing_of_the_users_is_written_over(log, tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratings.csv").write_bytes(log.read_bytes())
    assert main(["build", "ratings.csv", *words]) == 2
    assert "choose another name" in capsys.readouterr().err
    assert (tmp_path / "ratings.csv").read_bytes() == log.read_bytes()


def test_a_pair_rated_twice_is_told_with_what_to_do(log, tmp_path, capsys):
    frame = pd.read_csv(log)
    pd.concat([frame, frame.iloc[:1]]).to_csv(tmp_path / "twice.csv", index=False)
    words = ["build", str(tmp_path / "twice.csv"), "--out", str(tmp_path / "side.csv")]
    assert main(words) == 2
    assert "say --duplicates last or --duplicates mean" in capsys.readouterr().err
    assert main([*words, "--json"]) == 2
    assert "say --duplicates last or" in json.loads(capsys.readouterr().out)["message"]
    assert main([*words, "--duplicates", "last"]) == 0


def test_clicks_as_words(tmp_path, capsys):
    rows = [(user, item, user % (item + 2) == 0) for user in range(400) for item in range(3)]
    pd.DataFrame(rows, columns=["user", "item", "rating"]).to_csv(tmp_path / "clicks.csv", index=False)
    words = ["--out", str(tmp_path / "side.csv"), "--epsilon", ".2", "--json"]
    assert main(["build", str(tmp_path / "clicks.csv"), *words]) == 0
    assert json.loads(capsys.readouterr().out)["scale"] == [0.0, 1.0]


def test_a_log_that_is_not_there(tmp_path, capsys):
    assert main(["build", str(tmp_path / "none.csv"), "--out", str(tmp_path / "side.csv")]) == 3
    assert "none.csv" in capsys.readouterr().err


def test_comparisons(tmp_path, capsys):
    rows, out = tmp_path / "votes.csv", tmp_path / "side.csv"
    lines = ["tea,mate,tea,tea", "tea,mate,tea,mate"] * 9 + ["mate,cola,mate,cola", "mate,cola,mate,a"] * 10
    lines += ["tea,mate,mate,tea", "tea,mate,mate,mate"]
    rows.write_text("\n".join(["a,b,winner,first", *lines]) + "\n")
    assert main(["build", "--comparisons", str(rows), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "log         40 comparisons of 3 arms" in shown
    assert "relations   3 better pairs, all right with 95% confidence" in shown
    assert "candidates  1 of 3 arms may be the best, by strength:\n            tea: " in shown
    assert lsdt.load(out).relation("tea", "cola") == "better"
    assert main(["build", "--comparisons", str(rows), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["better"], answer["candidates"][0]["arm"]) == (3, "tea")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_side_information_is_no_log(tmp_path, capsys, ending):
    pairs = tmp_path / f"side.{ending}"
    lsdt.from_order(["low", "high"]).save(pairs)
    assert main(["build", str(pairs), "--out", str(tmp_path / "out.csv")]) == 3
    assert "looks like side information: lsdt candidates, lsdt next-pairs and" in capsys.readouterr().err


def test_columns_of_comparisons_have_names(tmp_path, capsys):
    rows, out = tmp_path / "arena.csv", tmp_path / "side.csv"
    lines = ["x,y,model_a"] * 30 + ["y,x,model_a"] * 10 + ["y,x,both_bad"] * 2
    rows.write_text("model_a,model_b,won\n" + "\n".join(lines) + "\n")
    words = ["build", "--comparisons", str(rows), "--out", str(out)]
    assert main(words) == 2
    assert "has no column 'a'; found 'model_a', 'model_b', 'won'. If the column" in capsys.readouterr().err
    words += ["--a", "model_a", "--b", "model_b", "--winner", "won"]
    assert main(words) == 0
    assert "arm in the first column, say --first model_a" in capsys.readouterr().out
    assert main([*words, "--first", "model_a"]) == 0
    assert "position    coming first adds" in capsys.readouterr().out
    assert main(["build", str(rows), "--winner", "won", "--out", str(out)]) == 2
    assert "--winner names a column of comparisons; add --comparisons" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["votes.csv", "--order"], "give either --comparisons or --order"),
        (["votes.csv", "--plot", "x.svg", "--relations", "threshold"], "--plot is about ratings"),
        (["out.csv"], "is the log; choose another name"),
    ],
)
def test_comparisons_that_do_not_fit(words, said, capsys):
    assert main(["build", "--comparisons", *words, "--out", "out.csv"]) == 2
    assert said in capsys.readouterr().err
