"""Files that we saved, with one bit changed: refused, or read as what was saved."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lsdt
from lsdt.errors import InvalidFile, TooLarge
from lsdt.kernel.memory import memory_limit
from side_information.io.test_files import CASES

SideInformation = lsdt.SideInformation
KINDS = {
    **{name: CASES[name] for name in CASES if name != "hostile text"},
    "thresholds": SideInformation(4, [(0, 1), (1, 2)], [(0, 1), (2, 3)], epsilon=([0.3, 0.5], [0.1, 0.25])),
    "named thresholds": SideInformation(
        3, [("x", "y")], [("y", "z")], arm_ids=["x", "y", "z"], epsilon=(0.5, 0.25)
    ),
    "complete, named": lsdt.complete(4, [(7, 5)], arm_ids=[7, 5, 6, 4], epsilon=0.5),
}


def wrong_load(path, side):
    """Return what is wrong with loading a damaged file; None where it is refused or says the same."""
    try:
        found = lsdt.load(path)
    except InvalidFile as error:
        return None if str(path) in str(error) else f"no path in {error}"
    except BaseException as error:
        return repr(error)
    same = found == side and found.is_implicit == side.is_implicit and found.is_complete == side.is_complete
    return None if same else f"{found} instead of {side}"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("name", KINDS)
def test_one_flipped_bit_is_refused_or_harmless(tmp_path, name, ending, thorough):
    side, path = KINDS[name], tmp_path / f"side{ending}"
    side.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(len(name))
    flips = 400 if thorough else 20
    for bit in rng.choice(8 * len(whole), min(flips, 8 * len(whole)), replace=False).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert wrong_load(path, side) is None, (bit // 8, bit % 8)


@pytest.mark.parametrize("name", ["complete", "epsilon", "permuted integers"])
def test_every_bit_of_the_mark_of_a_csv_file(tmp_path, name):
    """A damaged mark must not make our file one of somebody else, partial and without epsilon."""
    path = tmp_path / "side.csv"
    KINDS[name].save(path)
    whole = path.read_bytes()
    for bit in range(8 * len(b"# lsdt {")):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert wrong_load(path, KINDS[name]) is None, bit
    path.write_bytes(whole.replace(b"# lsdt", b"# lsdu", 1))
    with pytest.raises(InvalidFile, match="but for one letter: its first line is damaged"):
        lsdt.load(path)


@pytest.mark.parametrize("name", KINDS)
def test_a_csv_file_that_lost_its_first_or_its_last_line(tmp_path, name):
    path = tmp_path / "side.csv"
    KINDS[name].save(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    with pytest.raises(InvalidFile, match="it has lost its first line"):
        lsdt.load(path)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InvalidFile, match="its last line, '# lsdt end', is lost"):
        lsdt.load(path)
    path.write_bytes(b"".join(lines).rstrip() + b",,\r\n")  # as a spreadsheet writes it
    assert lsdt.load(path) == KINDS[name]


def test_an_arm_may_be_called_as_the_last_line(tmp_path):
    path = tmp_path / "side.csv"
    side = lsdt.SideInformation(2, [], [], arm_ids=["x", "# lsdt end"])
    side.save(path)
    assert lsdt.load(path) == side


def test_a_parquet_file_that_lost_its_metadata(tmp_path):
    path = tmp_path / "side.parquet"
    KINDS["complete"].save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"\x04lsdt", b"\x04lsdu").replace(b"ARROW:schema", b"ARROW:schemb"))
    with pytest.raises(InvalidFile, match="its metadata was lost"):
        lsdt.load(path)


def test_a_changed_csv_says_how_to_go_on(tmp_path):
    path = tmp_path / "side.csv"
    KINDS["partial"].save(path)
    path.write_text(path.read_text().replace("0,1,", "0,2,"))
    with pytest.raises(InvalidFile, match="if that was on purpose, remove 'checksum' from its metadata"):
        lsdt.load(path)
    first, rest = path.read_text().split("\n", 1)
    about = json.loads(first.removeprefix("# lsdt "))
    del about["checksum"]
    path.write_text(f"# lsdt {json.dumps(about)}\n{rest}")
    assert lsdt.load(path).relation(0, 2) == "similar"


def test_a_spreadsheet_may_add_quotes_and_line_ends(tmp_path):
    path = tmp_path / "side.csv"
    KINDS["text ids"].save(path)
    first, rest = path.read_text().split("\n", 1)
    quoted = '"' + first.replace('"', '""') + '",,\r\n' + rest.replace("\n", "\r\n")
    path.write_bytes(quoted.encode())
    assert lsdt.load(path) == KINDS["text ids"]


def test_what_was_said_beside_a_checksum_counts(tmp_path):
    path = tmp_path / "side.parquet"
    KINDS["partial"].save(path)
    with pytest.raises(InvalidFile, match="two columns of arms, all different"):
        lsdt.load(path, complete=True, columns=("a", "a"))
    KINDS["complete"].save(path)
    assert not lsdt.load(path, complete=False).is_complete


def test_a_misspelt_word_in_the_first_line_is_refused(tmp_path):
    path = tmp_path / "side.csv"
    path.write_text('# lsdt {"complet": true}\na,b,relation\n1,2,similar\n')
    with pytest.raises(InvalidFile, match="did you mean 'complete'"):
        lsdt.load(path)
    path.write_text("# lsdt " + "[" * 100_000 + "\na,b,relation\n1,2,similar\n")
    with pytest.raises(InvalidFile, match="is not JSON"):
        lsdt.load(path)


def test_a_small_file_with_very_many_rows_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "rows.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int8)), ["x"]).cast(pa.string())
    pq.write_table(pa.table({"a": column, "b": column, "relation": column}), path)
    assert path.stat().st_size < 10**5
    refused = pytest.raises(TooLarge, match=r"rows\.parquet: reading 1,000,000 rows would need about")
    with memory_limit(10**8), refused:
        lsdt.load(path)


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.struct([("x", pa.int64())]), {"x": 1}), (pa.list_(pa.int64()), [1])]
)
def test_nested_columns_are_refused(tmp_path, kind, value):
    path = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"a": pa.array([value], kind), "b": ["y"], "relation": ["similar"]}), path)
    with pytest.raises(InvalidFile, match="column 'a' must hold text or numbers; it holds"):
        lsdt.load(path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.table([["x"], ["y"], ["z"], ["similar"]], ["a", "a", "b", "relation"]), path)
    with pytest.raises(InvalidFile, match="it has 2 columns 'a'"):
        lsdt.load(path)
