from __future__ import annotations

import errno
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import lsdt
from lsdt.errors import InvalidFile, TooLarge
from lsdt.kernel.memory import memory_limit
from strategies import any_relations
from systems import needs_modes

LONG = "x" * 131_073

SideInformation = lsdt.SideInformation
MEANS = lsdt.from_means([0.1, 0.25, 0.3, 0.9], 0.15, arm_ids=["a", "b", "c", "d"])

CASES = {
    "partial": SideInformation(4, [(0, 1)], [(1, 2)]),
    "nothing known": SideInformation(3, [], []),
    "one arm": SideInformation(1, [], []),
    "complete": lsdt.complete(4, [(0, 1), (1, 2)]),
    "epsilon": SideInformation(4, [(0, 1)], [(1, 2)], epsilon=0.25),
    "text ids": SideInformation(4, [("d", "a")], [("b", "c")], arm_ids=["d", "c", "b", "a"]),
    "text ids like numbers": SideInformation(3, [("01", "2")], [], arm_ids=["2", "01", "7"]),
    "awkward text": SideInformation(3, [('a "b", c', "x\ny")], [], arm_ids=["é", "x\ny", 'a "b", c']),
    "integer ids": SideInformation(3, [(30, 10)], [(10, 20)], arm_ids=[30, 10, 20]),
    "permuted integers": SideInformation(3, [(2, 0)], [], arm_ids=[2, 0, 1]),
    "huge integers": SideInformation(3, [(10**18, 2**63 - 1)], [], arm_ids=[10**18, -(2**63), 2**63 - 1]),
    "hostile text": SideInformation(
        12,
        [("# lsdt {}", "nan"), ("NULL", " x ")],
        [("-0", "1e5")],
        arm_ids=[
            "# lsdt {}",
            "nan",
            "NULL",
            "None",
            "1e5",
            "-0",
            " x ",
            "\t",
            "a" * 5000,
            "\ufeff",
            "'",
            "1.0",
        ],
    ),
    "means": MEANS,
    "other tolerance": lsdt.from_means([0.1, 0.2, 0.3], 0.1, tolerance=0.0).reveal(0.9, 0.9),
    "means, no ids": lsdt.from_means([3, 1, 2], 2),
    "revealed": MEANS.reveal(0.5, 0.25, seed=3),
    "by distance": MEANS.reveal(lambda x: 1 - x, 0.5, seed=1),
    "corrupted": MEANS.reveal(0.9, 0.9, seed=3).corrupt(0.1, seed=2),
}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("name", CASES)
def test_round_trip(tmp_path, name, ending):
    side = CASES[name]
    path = tmp_path / f"side{ending}"
    side.save(path)
    again = lsdt.load(path)
    assert again == side
    assert again.is_implicit == side.is_implicit
    assert (again.arm_ids, again.epsilon, again.n_arms) == (side.arm_ids, side.epsilon, side.n_arms)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_relations(), st.sampled_from([None, "text", "numbers"]), st.sampled_from([".csv", ".parquet"]))
def test_round_trip_of_any_relations(tmp_path, relations, ids, ending):
    n_arms, similar, dissimilar = relations
    arm_ids = {
        None: None,
        "text": [f"x{9 - a}" for a in range(n_arms)],
        "numbers": [50 - a for a in range(n_arms)],
    }
    named = arm_ids[ids] or range(n_arms)
    pairs = [[(named[a], named[b]) for a, b in relation] for relation in (similar, dissimilar)]
    side = SideInformation(n_arms, *pairs, arm_ids=arm_ids[ids])
    side.save(tmp_path / f"x{ending}")
    assert lsdt.load(tmp_path / f"x{ending}") == side


def test_the_csv_is_what_the_docs_say(tmp_path):
    path = tmp_path / "side.csv"
    SideInformation(3, [("a", "b")], [], arm_ids=["a", "b", "lonely"]).save(path)
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# lsdt ")
    assert lines[1].replace('"', "") == "a,b,relation"
    assert sorted(line.replace('"', "") for line in lines[2:-1]) == ["a,,", "a,b,similar", "b,,", "lonely,,"]
    assert lines[-1] == "# lsdt end"
    CASES["partial"].save(path)
    first, rest = path.read_text().split("\n", 1)
    assert set(json.loads(first.removeprefix("# lsdt "))) == {"format", "checksum"}
    assert rest.replace('"', "") == "a,b,relation\n3,,\n0,1,similar\n1,2,dissimilar\n# lsdt end\n"


@pytest.mark.large
def test_implicit_information_is_saved_as_its_recipe(tmp_path):
    side = lsdt.from_means(np.random.default_rng(0).random(50_000), 0.5).reveal(0.5, 0.5, seed=7)
    side.save(tmp_path / "side.parquet")
    assert (tmp_path / "side.parquet").stat().st_size < 10_000_000
    table = pq.read_table(tmp_path / "side.parquet")
    assert table.column_names == ["arm", "mean"]
    recipe = json.loads(table.schema.metadata[b"lsdt"])
    assert recipe["layers"] == [{"reveal": {"p_similar": 0.5, "p_dissimilar": 0.5, "seed": 7}}]
    assert lsdt.load(tmp_path / "side.parquet") == side


def written(tmp_path, text, name="pairs.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plain_csv_of_somebody_else(tmp_path):
    path = written(tmp_path, "\ufeffrelation,note,b,a\nsimilar,x,2,1\n\ndissimilar,,5,2\n,,,9\n")
    side = lsdt.load(path)
    assert side.arm_ids == (1, 2, 9, 5)
    assert side.relation(1, 2) == "similar"
    assert side.relation(5, 2) == "dissimilar"
    assert side.relation(9, 2) is None


def test_what_pandas_writes_and_people_type(tmp_path):
    """A column of whole numbers with a gap comes out of pandas as 2.0; people add blanks and capitals."""
    path = written(tmp_path, "A, B ,Relation\n1,2.0, similar\n2,3.0,dissimilar\n4,,\n")
    side = lsdt.load(path)
    assert side.arm_ids == (1, 2, 4, 3)
    assert side.relation(2, 1) == "similar"
    path = written(tmp_path, "a,b,relation\ntea ,coffee,similar\n tea,cocoa,dissimilar\n")
    assert lsdt.load(path).arm_ids == ("tea", "coffee", "cocoa")


@pytest.mark.parametrize(
    "first_line",
    ['# lsdt {"complete": true}', '"# lsdt {""complete"": true}",', '# lsdt {"complete": true},,'],
)
def test_a_file_that_went_through_a_spreadsheet(tmp_path, first_line):
    side = lsdt.load(written(tmp_path, f"{first_line}\na,b\n1,2\n3,\n"))
    assert side.is_complete
    assert side.n_arms == 3
    with pytest.raises(InvalidFile, match="line 4 joins arm 3 to itself"):
        lsdt.load(written(tmp_path, f"{first_line}\na,b\n1,2\n3,3\n"))


def test_files_are_synced_by_a_handle_that_may_write(tmp_path, monkeypatch):
    """Windows refuses to sync one that only reads, and opens no folder."""
    os_open = os.open

    def opening(path, flags, *mode):
        if not flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return os_open(path, flags, *mode)

    monkeypatch.setattr("lsdt._files.os.open", opening)
    CASES["partial"].save(tmp_path / "side.csv")
    assert lsdt.load(tmp_path / "side.csv") == CASES["partial"]


def test_folders_are_made_and_errors_name_the_file_that_was_asked_for(tmp_path):
    CASES["partial"].save(tmp_path / "new" / "side.csv")
    assert lsdt.load(tmp_path / "new" / "side.csv") == CASES["partial"]
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match=r"cannot write '.*side\.csv': (File exists|Not a directory)"):
        CASES["partial"].save(tmp_path / "file" / "side.csv")


@needs_modes
def test_a_link_stays_a_link_and_the_mode_stays(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    CASES["partial"].save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    CASES["complete"].save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert lsdt.load(real) == CASES["complete"]


def test_complete_may_be_said_when_loading(tmp_path):
    path = written(tmp_path, "a,b\nx,y\ny,z\nlonely,\n")
    side = lsdt.load(path, complete=True)
    assert side.is_complete
    assert side.arm_ids == ("x", "y", "lonely", "z")
    assert side.n_similar == 2
    with pytest.raises(InvalidFile, match=r"lacks the columns 'relation'; found 'a', 'b'"):
        lsdt.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,relation\n1,2,similar\n1,3,alike\n",
            "pairs.csv: line 3 has the relation 'alike'; accepted are",
        ),
        ("a,b,relation\n\n1,2,simlar\n", "line 3 has the relation 'simlar'.*did you mean 'similar'"),
        ('a,b,relation\n"x\ny",z,similar\n1,2,no\n', "line 4 has the relation 'no'"),
        ("a,b,relation\n1,1,similar\n", "line 2 joins arm 1 to itself"),
        ("a,b,relation\n,2,similar\n", "line 2 has no arm in column 'a'"),
        ("a,b,relation\n1,2,\n", "line 2 has two arms and no relation"),
        ("a,b,relation\n1,,similar\n", "line 2 has a relation and only one arm"),
        ("a,b,relation\n1,2,similar\n2,1,dissimilar\n", r"pair \(1, 2\) is listed both"),
        ("a,b,relation\n", "there are no rows, hence no arms"),
        ("x,y\n1,2\n", r"lacks the columns 'a', 'b', 'relation'; found 'x', 'y'"),
        ("", "its first line is blank; it must name the columns"),
        ("\na,b,relation\n1,2,similar\n", "its first line is blank"),
        ("a,b,relation", "there are no rows, hence no arms"),
        ("a,b,relation\n1,2,similar\n\n1,2\n", "line 4 has 2 fields, and the header names 3 columns"),
        ("a;b;relation\n1;2;similar\n", "columns seem to be separated by semicolons; use commas"),
        ("a,b,b\n1,2,3\n", "two of its columns have the same name"),
        (
            "a,b,relation\n1,2,similar\nx,y,similar\n2,1,dissimilar\n",
            r"similar \(line 2\) and as dissimilar \(line 4\)",
        ),
        ('# lsdt {"complete": "no"}\na,b\n1,2\n', "complete='no'; accepted are true and false"),
        (
            '# lsdt {"ids": "integers"}\na,b,relation\nx,2,similar\n',
            "says that its ids are integers, but they",
        ),
        ('# lsdt {"layers": [], "epsilon": 0, "threshold": 1}\narm,mean\n0,1\n', "epsilon must be positive"),
        (
            '# lsdt {"layers": [], "epsilon": 1, "threshold": 0}\narm,mean\n0,1\n',
            "threshold must lie above 0",
        ),
        (
            '# lsdt {"layers": [], "epsilon": 1, "threshold": NaN}\narm,mean\n0,1\n',
            "threshold must lie above 0",
        ),
        (
            '# lsdt {"layers": [], "epsilon": 1, "threshold": 2}\narm,mean\n0,1\n',
            "threshold must lie above 0",
        ),
        (
            '# lsdt {"layers": [1], "epsilon": 1, "threshold": 1}\narm,mean\n0,1\n',
            "a layer must be one entry",
        ),
        (
            '# lsdt {"layers": [{"reveal": {"p_similar": [0.5], "p_dissimilar": 1, "seed": 0}}], '
            '"epsilon": 1, "threshold": 1}\narm,mean\n0,1\n',
            "p_similar must hold 1025 probabilities; it holds 1",
        ),
        ('# lsdt {"format": 99}\na,b,relation\n1,2,similar\n', "has format 99; this version reads format 1"),
        ("# lsdt nonsense\na,b,relation\n1,2,similar\n", "its metadata is not JSON"),
        ("# lsdt [1]\na,b,relation\n1,2,similar\n", "must be a JSON object"),
        (
            '# lsdt {"layers": [{"melt": {}}], "epsilon": 1, "threshold": 1}\narm,mean\n0,1.5\n',
            "unknown layer 'melt'",
        ),
        ('# lsdt {"layers": [], "epsilon": 1, "threshold": 1}\narm,mean\n0,x\n', "cannot be read as side"),
        ('# lsdt {"layers": []}\narm,mean\n0,1.0\n', "cannot be read as side information"),
        ('# lsdt {"layers": []}\narm,value\n0,1.0\n', r"lacks the columns 'mean'"),
        (f"a,b,{LONG}\n1,2,similar\n", "line 1 has a field of more than 131,072 characters"),
        (f"a,b,relation\n1,2,similar\n1,{LONG},similar\n1,3\n", "line 3 has a field of more than 131,072"),
        (f"a,b,relation\n1,2,{LONG}\n", "line 2 has a field of more than 131,072 characters"),
        (f'"# lsdt {LONG}"\na,b,relation\n1,2,similar\n', "line 1 has a field of more than 131,072"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, message):
    with pytest.raises(InvalidFile, match=message):
        lsdt.load(written(tmp_path, text))


def repeated(text, n_rows):
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), [text])


@pytest.mark.parametrize("place", ["a", "b", "relation"])
def test_a_small_parquet_file_does_not_become_large(tmp_path, place):
    """It says a text once and means it in every row: 2 GiB out of a thousand bytes."""
    path = tmp_path / "pairs.parquet"

    def write(text, n_rows):
        columns = {"a": "p", "b": "q", "relation": "similar", place: text}
        table = pa.table({name: repeated(word, n_rows) for name, word in columns.items()})
        pq.write_table(table, path, compression="zstd", store_schema=False)
        assert path.stat().st_size < 10_000

    write("x" * 10**6, 2_200)
    with pytest.raises(
        InvalidFile, match=f"'{place}' holds a text of 1,000,000 bytes; a field has at most 131,072"
    ):
        lsdt.load(path)
    write("x" * 10**5, 22_000)
    with pytest.raises(TooLarge, match=f"'{place}', 2,200,000,000 bytes of text, would need"):
        lsdt.load(path)
    write("x" * 10**5, 22_000)
    with memory_limit(2**30), pytest.raises(TooLarge, match="1.0 GiB are available"):
        lsdt.load(path)
    write("similar" if place == "relation" else "x" * 1_000, 1_000)
    assert lsdt.load(path).n_arms == 2


def test_a_small_parquet_file_of_very_many_rows_is_refused(tmp_path):
    rows = pa.table({name: repeated(word, 10**6) for name, word in (("a", "p"), ("b", "q"))})
    pq.write_table(rows, tmp_path / "pairs.parquet", compression="zstd")
    with pytest.raises(
        TooLarge, match=r"reading 1,000,000 rows would need .*beyond 64.0 MiB at most 1,000 times"
    ):
        lsdt.load(tmp_path / "pairs.parquet")
    plain = pa.table({"a": ["x" * 10**5] * 1_000, "b": ["y"] * 1_000})
    pq.write_table(plain, tmp_path / "pairs.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(TooLarge, match=r"reading 1,000 rows would need .* at most 1,000 times"):
        lsdt.load(tmp_path / "pairs.parquet")


def test_other_bad_files(tmp_path):
    with pytest.raises(InvalidFile, match="there is no such file"):
        lsdt.load(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidFile, match="it is a folder"):
        lsdt.load(tmp_path / "folder.csv")
    MEANS.save(tmp_path / "recipe.csv")
    with pytest.raises(InvalidFile, match="a recipe for complete information and cannot be read as anything"):
        lsdt.load(tmp_path / "recipe.csv", complete=False)
    with pytest.raises(InvalidFile, match=r"ends in \.csv or \.parquet"):
        lsdt.load(tmp_path / "pairs.xlsx")
    with pytest.raises(InvalidFile, match=r"ends in \.csv or \.parquet"):
        CASES["partial"].save(tmp_path / "pairs.txt")
    with pytest.raises(InvalidFile, match="cannot be read as side information"):
        lsdt.load(written(tmp_path, "not parquet", "x.parquet"))
    (tmp_path / "latin.csv").write_bytes("a,b,relation\né,x,similar\n".encode("latin-1"))
    with pytest.raises(InvalidFile, match="UTF"):
        lsdt.load(tmp_path / "latin.csv")
    table = pa.table({"a": [1, 2], "b": [2, 3], "relation": ["similar", "far"]})
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(InvalidFile, match="row 2 has the relation 'far'"):
        lsdt.load(tmp_path / "bad.parquet")


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "side.csv"
    CASES["partial"].save(path)
    before = path.read_bytes()

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lsdt.side_information.io.csv.pa_csv.write_csv", fail)
    with pytest.raises(InvalidFile, match=r"cannot write '.*side\.csv': No space left"):
        CASES["complete"].save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["side.csv"]


@pytest.mark.parametrize("end", ["first", "last", "both, in part"])
def test_a_parquet_file_without_its_metadata_is_known_as_ours_by_either_mark(tmp_path, end):
    """It would else be read as a file from elsewhere, without its epsilon."""
    path, mark = tmp_path / "side.parquet", b"\0lsdt side information\0\0"
    lsdt.SideInformation(3, similar=[(0, 1)], epsilon=0.25).save(path)
    data = bytearray(path.read_bytes())
    places = data.index(mark), data.rindex(mark)
    assert places[0] < places[1]
    for place in {"first": places[:1], "last": places[1:]}.get(end, places):
        length = 10 if end == "both, in part" else len(mark)
        data[place : place + length] = bytes(length)
    path.write_bytes(
        data.replace(b"lsdt\x18", b"lsdu\x18").replace(b"GxzZHQ", b"GxzZHU")
    )  # twice: once in base64
    assert b"lsdt" not in pq.ParquetFile(path).schema_arrow.metadata
    with pytest.raises(InvalidFile, match="its metadata was lost"):
        lsdt.load(path)


def test_a_parquet_file_without_metadata_and_marks_is_from_elsewhere(tmp_path):
    path = tmp_path / "side.parquet"
    pq.write_table(pq.read_table(_saved(tmp_path)).replace_schema_metadata(None), path)
    assert lsdt.load(path).epsilon is None


def _saved(folder):
    lsdt.SideInformation(3, similar=[(0, 1)], epsilon=0.25).save(folder / "saved.parquet")
    return folder / "saved.parquet"
