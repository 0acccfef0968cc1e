"""Files of many kinds become the same log, and what is wrong in them is said with its line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.cli.main import main
from lsdt.errors import InvalidFile, InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from lsdt.ratings import read_events, read_log
from lsdt.ratings.reading.columns import Chunks, LogColumns, TextLayout
from lsdt.ratings.reading.delimited import _OneByte
from lsdt.ratings.reading.text_files import MOST_LINE
from lsdt.ratings.reading.triples import read_triples

ROWS = [("ann", "tea", 4), ("bob", "tea", 2), ("ann", "cocoa", 5), ("cid", "mate", 1), ("bob", "mate", 3)]
FRAME = pd.DataFrame(ROWS, columns=["user", "item", "rating"])
NUMBERS = FRAME.assign(user=[7, 8, 7, 9, 8], item=[10, 10, 30, 20, 20])


def text(frame, sep=",", header=True):
    lines = [sep.join(map(str, row)) for row in frame.itertuples(index=False)]
    return "\n".join([sep.join(frame.columns)] * header + lines) + "\n"


def json_lines(frame):
    return frame.to_json(orient="records", lines=True)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_dot_", ".").replace("_in_", "/"), content)
    return path


def assert_same(first, second):
    assert (first.item_ids, first.low, first.high) == (second.item_ids, second.low, second.high)
    for name in ("starts", "items", "ratings"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("frame", [FRAME, NUMBERS])
def test_every_kind_of_file_gives_the_same_log(tmp_path, frame):
    expected = read_log(frame)
    bodies = {
        "log.csv": text(frame),
        "log.tsv": text(frame, "\t"),
        "log.dat": text(frame, "::", header=False),
        "log.jsonl": json_lines(frame),
        "log.ndjson": "\n" + json_lines(frame).rstrip("\n"),
    }
    for name, body in bodies.items():
        (tmp_path / name).write_text(body)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(body.encode()))
        half = len(body) // 2  # gzip files may be put together
        parts = gzip.compress(body[:half].encode()) + gzip.compress(body[half:].encode())
        (tmp_path / f"parts-{name}.gz").write_bytes(parts)
        inside = {
            f"ml_in_{name.replace('.', '_dot_')}": body,
            "ml_in_README": "read me",
            "__MACOSX_in_a.csv": "",
        }
        zipped(tmp_path / f"{name}.zip", **inside)
        for path in (name, f"{name}.gz", f"parts-{name}.gz", f"{name}.zip"):
            assert_same(read_log(tmp_path / path), expected)


def test_the_layout_of_text_in_words(tmp_path):
    expected = read_log(FRAME)
    odd = FRAME.assign(when=range(5))[["when", "rating", "user", "item"]]
    places = {"user": 2, "item": 3, "rating": 1}
    for name, sep in (("a.csv", ";"), ("b.data", "\t"), ("c.txt", "::"), ("d.dat", "|"), ("e", "→")):
        for header in (True, False):
            (tmp_path / name).write_text(text(odd, sep, header))
            assert_same(read_log(tmp_path / name, sep=sep, header=header, **places), expected)
        assert_same(read_log(tmp_path / name, 2, "column 3", "item", sep=sep, header=False), expected)
    (tmp_path / "f.csv").write_text(text(FRAME, ",", header=False))
    assert_same(read_log(tmp_path / "f.csv", header=False), expected)
    (tmp_path / "g.dat").write_text("\ufeff" + text(FRAME, "::"), "utf-8")
    assert_same(read_log(tmp_path / "g.dat", header=True), expected)
    FRAME.to_parquet(tmp_path / "log.parquet")
    for log in (FRAME, tmp_path / "log.parquet"):
        assert_same(read_log(log, 0, 1, 2), expected)


def test_the_words_are_those_of_the_command_line(tmp_path, capsys):
    frame, _ = lsdt.ratings.make_log(n_users=1500, n_items=6, ratings_per_user=5, seed=2)
    log = tmp_path / "u.data"
    log.write_text(text(frame[["rating", "item", "user"]], "\t", header=False))
    places = {"user": 2, "item": 1, "rating": 0}
    side = lsdt.from_ratings(read_log(log, sep="\t", header=False, **places), epsilon=0.2)
    words = [str(log), "--sep", r"\t", "--no-header", "--user", "2", "--item", "1", "--rating", "0"]
    assert main(["build", *words, "--epsilon", ".2", "--out", str(tmp_path / "side.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["similar"] == side.n_similar
    assert side.n_similar == lsdt.from_ratings(frame, epsilon=0.2).n_similar
    assert main(["replay", *words, "--policies", "ts", "--splits", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["policies"][0]["reward"]
    expected = lsdt.replay(frame, "ts", splits=2).summary()["reward"].iloc[0]
    assert told == pytest.approx(expected)
    assert main(["build", *words[:1], "--out", str(tmp_path / "side.csv")]) == 3
    assert "if --sep ... says what separates" in capsys.readouterr().err


def test_events_are_read_from_every_kind_of_file(tmp_path):
    frame = FRAME.assign(p=[0.5, 0.25, 1.0, 0.5, 0.125])
    expected = read_events(frame, propensity="p")
    (tmp_path / "log.dat").write_text(text(frame, "::", header=False))
    (tmp_path / "log.jsonl").write_text(json_lines(frame))
    for read in (
        read_events(tmp_path / "log.dat", propensity=3),
        read_events(tmp_path / "log.jsonl", propensity="p"),
    ):
        assert np.array_equal(read.users, expected.users)
        assert read.propensities.tolist() == expected.propensities.tolist()
    nobody = read_events(tmp_path / "log.dat", user=None, item=1, rating=2, propensity=3)
    assert (nobody.n_users, nobody.items.tolist()) == (5, expected.items.tolist())


def test_small_pieces_change_nothing(tmp_path):
    frame, _ = lsdt.ratings.make_log(n_users=60, n_items=9, ratings_per_user=5, seed=1)
    (tmp_path / "log.dat").write_text(text(frame, "::", header=False))
    (tmp_path / "log.jsonl").write_text(json_lines(frame))
    expected = read_triples(frame, LogColumns("user", "item", "rating"))
    for name in ("log.dat", "log.jsonl"):
        for size in (64, 97, 500):
            small = Chunks(rows=16, text_bytes=size, first_room=4, most_dense=20)
            read = read_triples(tmp_path / name, LogColumns("user", "item", "rating"), chunks=small)
            for column in ("users", "items", "ratings", "user_ids", "item_ids"):
                assert np.array_equal(getattr(read, column), getattr(expected, column)), (name, size, column)


@given(st.lists(st.text(":a\n", max_size=6)), st.sampled_from(["::", ":a", ":::", "→"]))
def test_a_separator_cut_in_two_is_still_one(blocks, sep):
    replaced = _OneByte(sep)
    pieces = [block.encode() for block in blocks if block]
    found = b"".join(map(replaced, [*pieces, b""]))
    assert found == b"".join(pieces).replace(sep.encode(), b"\x1f")


BAD = [
    ("log.dat", "1::2::3\n1::4\n", {}, "line 2 has 2 fields, and line 1 3"),
    ("log.dat", "1::2::3\n2::2::good\n", {}, "line 2 of 'log.dat' holds the rating 'good'"),
    ("log.dat", "1::2::3\n::2::3\n", {}, "line 2 of 'log.dat' has nothing in column 'user'"),
    ("log.dat", "1::2::3\n\x1f::2::3\n", {}, r"control character '\\x1f'"),
    ("log.dat", "\n1::2::3\n", {}, "first line is blank; it must be a rating"),
    ("log.tsv", "user\titem\trating\n1\t2\t3\n1\t2\n", {}, "line 3 has 2 fields, and the header names 3"),
    ("log.csv", "user;item;rating\n1;2;3\n", {}, "separated by semicolons; say so with sep=';'"),
    ("log.csv", "user::item::rating\n1::2::3\n", {}, "separated by double colons; say so with sep='::'"),
    ("log.csv", "1,2,3\n2,2,4\n", {}, r"no column 'user' .* say header=False if the first line is a rating"),
    (
        "log.csv",
        "user,item,rating\n1,2,3\n",
        {"user": 3},
        "no column 3 for the user; counted from 0, .* 'user'",
    ),
    ("log.csv", "user,item,rating\n1,2,3\n", {"user": 1}, "two of the columns are the same one"),
    ("log.csv", "user,item,rating\n1,2,3\n", {"user": -1}, "by name or by place, counted from 0; got -1"),
    ("log.csv", "user,item,rating\n1,2,3\n", {"sep": ""}, "sep must be text, one or more characters; got ''"),
    (
        "log.csv",
        "user,item,rating\n1,2,3\n",
        {"sep": "\n"},
        "sep must be text without quotes and ends of lines",
    ),
    ("log.csv", "user,item,rating\n1,2,3\n", {"header": 1}, "header must be True or False; got 1"),
    ("log.jsonl", "", {}, "there are no rows"),
    ("log.jsonl", "[1, 2]\n", {}, r"first line is not a JSON object; got '\[1, 2\]'"),
    ("log.jsonl", "{user\n", {}, "its first line is not JSON"),
    ("log.jsonl", '{"user": 1, "itm": 2, "rating": 3}\n', {}, "no column 'item' for the item; .* mean 'itm'"),
    ("log.jsonl", '{"user": [1], "item": 2, "rating": 3}\n', {}, r"has \[1\] in 'user'; it must be text"),
    ("log.jsonl", '{"user": 1, "item": 2, "rating": 3}\n', {"sep": ","}, "sep is for text with columns"),
    ("log.jsonl", '{"user": 1, "item": 2, "rating": 3}\n', {"user": 0}, "have names and no places; got 0"),
]
GOOD = '{"user": 1, "item": 2, "rating": 3}\n'
BAD += [
    ("log.jsonl", f"{GOOD}\n{line}\n", {}, message)
    for line, message in (
        (
            '{"user": "bob", "item": 2, "rating": 3}',
            "line 3 has 'bob' in 'user', where the first line has a whole",
        ),
        ('{"user": 2, "item": true, "rating": 3}', "line 3 has True in 'item'"),
        ('{"user": 2, "item": 2, "rating": "good"}', "line 3 has 'good' in 'rating'"),
        ('{"user": 2, "item": 2}', "line 3 of 'log.jsonl' has no rating"),
        ('{"user": null, "item": 2, "rating": 3}', "line 3 of 'log.jsonl' has nothing in column 'user'"),
        ('{"user": 2, "item": 2, "rating"}', "line 3 is not JSON"),
        ("[2, 2, 3]", "line 3 is not a JSON object"),
        (f'{{"user": {2**63}, "item": 2, "rating": 3}}', "line 3 has .* 64 bits"),
    )
]


@pytest.mark.parametrize(("name", "body", "words", "message"), BAD)
def test_what_is_wrong_is_said_with_its_line(tmp_path, name, body, words, message):
    (tmp_path / name).write_text(body)
    with pytest.raises(InvalidInput, match=message):
        read_log(tmp_path / name, **words)


def test_a_layout_is_for_text(tmp_path):
    FRAME.to_parquet(tmp_path / "log.parquet")
    for log, what in (
        (FRAME, "a DataFrame"),
        (tmp_path / "log.parquet", "Parquet"),
        (read_log(FRAME), "RatingLog"),
    ):
        with pytest.raises(
            InvalidInput, match=f"sep is for text with columns, and this is .*{what}; leave it out"
        ):
            read_log(log, sep=",")
    assert TextLayout(header=False).checked() == (None, False)


def test_damaged_archives_are_named(tmp_path):
    body = text(FRAME) + "".join(f"u{number},tea,4\n" for number in range(15_000))
    packed = gzip.compress(body.encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "no.csv.gz").write_bytes(b"user,item,rating\n")
    (tmp_path / "no.zip").write_bytes(b"user,item,rating\n")
    zipped(tmp_path / "two.zip", a_dot_csv=body, b_dot_tsv=body)
    zipped(tmp_path / "none.zip", README="read me")
    zipped(tmp_path / "empty.zip")
    whole = zipped(tmp_path / "flip.zip", a_dot_csv=body).read_bytes()
    (tmp_path / "flip.zip").write_bytes(whole[:200] + bytes([whole[200] ^ 255]) + whole[201:])
    for name, message in (
        ("cut.csv.gz", "cannot be read as a log|cannot read"),
        ("no.csv.gz", "cannot read .*no.csv.gz"),
        ("no.zip", "the archive is damaged"),
        ("two.zip", "must hold one file that ends in .*; it holds 2, of 'a.csv', 'b.tsv'. Unpack the one"),
        ("none.zip", "it holds 0, of 'README'"),
        ("empty.zip", "it holds 0, of nothing"),
        ("flip.zip", "flip.zip"),
    ):
        with pytest.raises(InvalidFile, match=message):
            read_log(tmp_path / name)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.jsonl.gz", "bomb.dat.gz"])
def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, name):
    """200 MB of one line in 200 kB: neither the fast reader nor the slow one may hold it."""
    starts = {
        "bomb.csv.gz": "user,item,rating\n1,2,3\n1,2,",
        "bomb.jsonl.gz": GOOD,
        "bomb.dat.gz": "1::2::3\n",
    }
    (tmp_path / name).write_bytes(gzip.compress(starts[name].encode()) + 200 * gzip.compress(b"1" * 10**6))
    assert (tmp_path / name).stat().st_size < 2**20
    tracemalloc.start()
    with pytest.raises(InvalidFile, match=f"line 2|line 3.*{MOST_LINE:,}"):
        read_log(tmp_path / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**27
    (tmp_path / name).write_bytes(gzip.compress(b"1" * (2 * MOST_LINE)))
    with pytest.raises(InvalidFile, match=rf"line 1 has {MOST_LINE:,} characters or more"):
        read_log(tmp_path / name)


def test_a_small_file_of_very_many_rows_is_refused_with_numbers(tmp_path):
    path = tmp_path / "many.dat.gz"
    path.write_bytes(40 * gzip.compress(b"1::2::3\n" * 10**4))
    refused = pytest.raises(
        TooLarge, match=r"a log of \d\d\d,\d\d\d ratings would need about .* are available"
    )
    with memory_limit(2**21), refused:
        read_log(path)
    with gzip.open(tmp_path / "ids.csv.gz", "wt", 1) as stream:
        stream.write("user,item,rating\n")
        for number in range(40):
            stream.write(f"{'u' * 10**6}{number},2,3\n")
    refused = pytest.raises(TooLarge, match="keeping .* different ids of column 'user' would need")
    with memory_limit(2**24), refused:
        read_log(tmp_path / "ids.csv.gz")


LONG = "x" * 131_073


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"user,item,{LONG}\nu,i,3\n", "line 1 has a field of more than 131,072 characters"),
        (f"user,item,rating\nu,i,3\nu,{LONG},4\nu,y\n", "line 3 has a field of more than 131,072 characters"),
    ],
)
def test_a_field_that_is_too_long(tmp_path, capsys, text, message):
    path = tmp_path / "log.csv"
    path.write_text(text)
    for read in (read_log, read_events, lsdt.ratings.read_titles):
        with pytest.raises(InvalidFile, match=message):
            read(path)
    assert main(["build", str(path), "--out", str(tmp_path / "out.csv")]) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("place", ["user", "item", "rating", "time"])
def test_a_small_parquet_log_does_not_become_large(tmp_path, place):
    path, n_rows = tmp_path / "log.parquet", 22_000

    def write(text):
        columns = {"user": "u", "item": "i", "rating": "3", "time": "2020-01-01", place: text}
        codes = np.zeros(n_rows, np.int32)
        table = {name: pa.DictionaryArray.from_arrays(codes, [word]) for name, word in columns.items()}
        pq.write_table(pa.table(table), path, compression="zstd", store_schema=False)
        assert path.stat().st_size < 3_000

    def read():
        return (
            read_events(path, time="time")
            if place == "time"
            else read_log(path, scale=(1, 5), duplicates="last")
        )

    write("x" * 10**6)
    with pytest.raises(
        InvalidFile, match=f"'{place}' holds a text of 1,000,000 bytes; a field has at most 131,072"
    ):
        read()
    write("x" * 10**5)
    if place in ("user", "item"):
        assert read().n_items == 1  # an id is kept once
    else:
        with pytest.raises(
            (InvalidFile, TooLarge), match=f"'{place}', 2,200,000,000 bytes of text, would need"
        ):
            read()


@pytest.mark.parametrize("role", ["item", "rating"])
def test_items_and_ratings_need_a_column(tmp_path, role):
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\na,x,1\nb,x,2\n")
    with pytest.raises(InvalidInput, match="must be different columns, by name or by place.*None"):
        lsdt.ratings.read_log(path, **{role: None})
