"""Titles in place of ids, on the command line."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lsdt
from lsdt.cli.main import main
from lsdt.ratings import read_titles


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("titles")
    frame, _ = lsdt.ratings.make_log(n_users=3000, n_items=6, ratings_per_user=5, seed=2)
    frame.to_csv(path / "ratings.csv", index=False)
    names = [f"Film, {letter} (1995)" for letter in "ABCDE"]  # none for item 5
    pd.DataFrame({"movieId": range(5), "title": names, "genres": "x"}).to_csv(
        path / "movies.csv", index=False
    )
    side = lsdt.SideInformation(4, [(1, 2), (2, 5)], [(1, 5)], arm_ids=[1, 2, 5, 9])
    side.save(path / "side.csv")
    return path


def test_titles_are_read_from_files_of_several_kinds(tmp_path):
    wanted = {"1": "Amélie", "07": "Toy, Story"}
    (tmp_path / "a.csv").write_text('id,kind,title\n1,x,Amélie\n07,y,"Toy, Story"\n1,x,again\n', "utf-8")
    (tmp_path / "b.tsv").write_text("id\tname\n1\tAmélie\n07\tToy, Story\n", "utf-8")
    (tmp_path / "c.dat").write_text("1::Amélie::x\n07::Toy, Story::y\n", "latin-1")
    (tmp_path / "d.json").write_text(json.dumps(wanted))
    (tmp_path / "u.item").write_text(
        "1|Amélie|1995\n07|Toy, Story|1996\n", "latin-1"
    )  # of MovieLens, as it is
    (tmp_path / "e.txt").write_text("id;name\n1;Amélie\n07;Toy, Story\n", "utf-8")
    (tmp_path / "f.csv").write_text('1,Amélie\n07,"Toy, Story"\n', "utf-8")
    (tmp_path / "g.jsonl").write_text('{"id": 1, "title": "Amélie"}\n{"id": "07", "title": "Toy, Story"}\n')
    pd.DataFrame({"id": ["1", "07", "1"], "n": 0, "Title": [*wanted.values(), "again"]}).to_parquet(
        tmp_path / "h.parquet"
    )
    (tmp_path / "i.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in sorted(each.name for each in tmp_path.iterdir()):
        assert read_titles(tmp_path / name) == wanted, name


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("t.csv", "id\n1\n", "one column, and needs two"),
        ("t.csv", "id,kind,title\n1,x,A\n2,x\n", "line 3 has 2 fields, and titles are in number 3"),
        ("t.json", "[1]", "must be one JSON object"),
        ("t.json", "{", "it is not JSON"),
        ("t.json", '{"1": 2}', "the title of '1' must be text; got 2"),
        ("t.txt", "", "one column, and needs two|first line is blank"),
        ("t.bin", "\0\1\2", "it is not text; titles are text with columns, JSON, or Parquet"),
        ("t.jsonl", "[1]", "line 1 is not a JSON object"),
        ("t.parquet", "x", "cannot be read as titles"),
    ],
)
def test_what_cannot_be_titles_is_said(tmp_path, name, body, message):
    (tmp_path / name).write_text(body)
    with pytest.raises(lsdt.errors.InvalidFile, match=message):
        read_titles(tmp_path / name)
    with pytest.raises(lsdt.errors.InvalidFile, match="cannot read .*: No such file"):
        read_titles(tmp_path / "none.csv")


def test_build_shows_titles(folder, tmp_path, capsys):
    words = ["build", str(folder / "ratings.csv"), "--epsilon", ".2", "--out", str(tmp_path / "side.csv")]
    assert main([*words, "--titles", str(folder / "movies.csv")]) == 0
    told = capsys.readouterr().out
    assert " (1995) [" in told
    assert main([*words, "--titles", str(folder / "movies.csv"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["titles"]["0"] == "Film, A (1995)"
    assert all(isinstance(row["item"], int) for row in answer["candidates"])
    assert lsdt.load(tmp_path / "side.csv").arm_ids == tuple(range(6))


def test_candidates_shows_titles_in_lists_explanations_tables_and_plots(folder, tmp_path, capsys):
    table, plot = tmp_path / "table.csv", tmp_path / "arms.svg"
    words = ["candidates", str(folder / "side.csv"), "--titles", str(folder / "movies.csv"), "--explain", "2"]
    words += ["--table", str(table), "--plot", str(plot)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "arms        Film, B (1995) [1], 5, 9\n" in told
    why = "arm 'Film, C (1995) [2]' cannot be the best: it is similar to 'Film, B (1995) [1]' and '5'"
    assert why in " ".join(told.split())
    pictures: list[str] = []
    for json_too in ([], ["--json"]):
        assert main([*words, *json_too]) == 0
        assert pd.read_csv(table)["arm"].tolist() == ["Film, B (1995) [1]", "Film, C (1995) [2]", "5", "9"]
        pictures.append(plot.read_text())
    assert main([words[0], words[1], "--plot", str(plot)]) == 0
    assert pictures[0] == pictures[1] != plot.read_text()  # letters are drawn, not written
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["candidates"], answer["titles"]) == ([1, 5, 9], {"1": "Film, B (1995)"})


def test_a_small_file_that_stands_for_much_text_is_refused(tmp_path):
    pd.DataFrame({"id": range(1_000), "title": "x" * 20_000}).to_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 2**16
    with pytest.raises(lsdt.errors.InvalidFile, match="text of more than 10,000 bytes, which is no title"):
        read_titles(tmp_path / "t.parquet")


def test_an_arm_is_explained_by_its_title(folder, capsys):
    words = ["candidates", str(folder / "side.csv"), "--titles", str(folder / "movies.csv"), "--explain"]
    answers = []
    for word in ("2", "film, c (1995)", "Film, C (1995) [2]"):
        assert main([*words, word]) == 0
        answers.append(capsys.readouterr().out.partition("why ")[2])
    assert answers == [answers[0]] * 3
    assert "cannot be the best" in answers[0]
    assert main([*words, "Film, C (1994)"]) == 2
    assert "no arm has the id or the title 'Film, C (1994)' (did you mean 'Film, " in capsys.readouterr().err


def test_a_title_that_several_arms_have_is_not_enough(tmp_path, capsys):
    side = lsdt.SideInformation(3, [(3, 5)], arm_ids=[3, 5, 7]).with_titles({3: "Alien", 5: "alien"})
    side.save(tmp_path / "side.parquet")
    assert main(["candidates", str(tmp_path / "side.parquet"), "--explain", "Alien"]) == 2
    assert "2 arms have the title 'Alien'; give an id: '3', '5'" in capsys.readouterr().err


def test_replay_shows_the_title_of_an_item_that_is_always_played(folder, capsys):
    words = ["replay", str(folder / "ratings.csv"), "--policies", "ts", "always:1", "--splits", "2"]
    assert main([*words, "--titles", str(folder / "movies.csv"), "--horizon", "50"]) == 0
    assert "always Film, B (1995) [1]" in capsys.readouterr().out


def test_titles_of_other_items_are_refused(folder, tmp_path, capsys):
    (tmp_path / "other.csv").write_text("id,title\nx,A\n")
    assert main(["candidates", str(folder / "side.csv"), "--titles", str(tmp_path / "other.csv")]) == 2
    assert "has no title for any item: items are 1, 2, 5, ..., titles are for 'x'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [[[1], [2]], [{"x": 1}, {"x": 2}]])
def test_nested_columns_of_parquet_are_no_ids(tmp_path, kind):
    pq.write_table(pa.table({"id": kind, "title": ["one", "two"]}), tmp_path / "titles.parquet")
    with pytest.raises(lsdt.errors.LsdtError, match="its column 'id' holds .*; ids and titles are text"):
        lsdt.ratings.read_titles(tmp_path / "titles.parquet")
