"""CSV files line by line: the first line, the last one, and where a row stands."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from lsdt.errors import InvalidInput
from lsdt.side_information.io.csv import first_lines, line_of_row, parse_about, read_csv, write_csv

ABOUT = {"complete": True, "epsilon": 0.1}
TABLE = pa.table({"a": ["x", "line\nbreak"], "b": ["y", 'a "quoted", comma']})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pairs.csv"


def test_what_is_written_comes_back(path):
    write_csv(TABLE, ABOUT, path)
    lines = path.read_text().splitlines()
    assert (lines[0], lines[1], lines[-1]) == (f"# lsdt {json.dumps(ABOUT)}", '"a","b"', "# lsdt end")
    table, about, is_ended = read_csv(path)
    assert (table.to_pydict(), about, is_ended) == (TABLE.to_pydict(), ABOUT, True)


def test_a_file_from_elsewhere_has_no_marks_and_its_blanks_mean_nothing(path):
    path.write_bytes("\ufeffa, b\r\n x ,y\r\n".encode())  # as spreadsheets save it
    table, about, is_ended = read_csv(path)
    assert (table.to_pydict(), about, is_ended) == ({"a": ["x"], "b": ["y"]}, {}, False)


def test_quotes_and_commas_of_a_spreadsheet_do_no_harm_to_the_marks(path):
    about = json.dumps(ABOUT).replace('"', '""')
    path.write_text(f'"# lsdt {about}",,\na,b,c\nx,y,z\n# lsdt end,,\n')
    table, read, is_ended = read_csv(path)
    assert (table.num_rows, read, is_ended) == (1, ABOUT, True)


def test_one_wrong_letter_in_the_mark_is_damage(path):
    path.write_text("# lsdx {}\na,b\nx,y\n")
    with pytest.raises(InvalidInput, match="its first line is damaged"):
        read_csv(path)
    path.write_text("# list {}\nx\n")  # two wrong letters: not our mark
    assert read_csv(path)[0].to_pydict() == {"# list {}": ["x"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nx,y\n", "its first line is blank; it must name the columns, such as a,b,relation"),
        ("a;b\nx;y\n", "separated by semicolons; use commas"),
        ("a\tb\nx\ty\n", "separated by tabs; use commas"),
        ("a,a\nx,y\n", "two of its columns have the same name"),
        ("a,b\nx,y\n\nx\n", "line 4 has 1 fields, and the header names 2 columns"),
        ("# lsdt {\na,b\nx,y\n", "its metadata is not JSON"),
        ("# lsdt []\na,b\nx,y\n", r"must be a JSON object; got '\[\]'"),
    ],
)
def test_what_is_wrong_is_named(path, text, message):
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_csv(path)


def test_bytes_that_are_not_text_are_named(path):
    path.write_bytes(b"a,b\nx,\xff\n")
    with pytest.raises(InvalidInput, match="not text in UTF-8"):
        read_csv(path)


def test_lines_are_counted_as_an_editor_does(path):
    path.write_text('a,b\nx,y\n\n"two\nlines",z\nu,v\n')
    assert [line_of_row(path, row) for row in range(4)] == ["line 2", "line 5", "line 6", "row 4"]
    write_csv(TABLE, ABOUT, path)
    assert [line_of_row(path, row) for row in range(2)] == ["line 3", "line 5"]


def test_the_header_is_read_on_its_own(path):
    path.write_text('# lsdt {"epsilon": 1}\n a ,"b, c"\n')
    assert first_lines(path) == ({"epsilon": 1}, ["a", "b, c"], True)


def test_numbers_of_very_many_digits_are_refused():
    with pytest.raises(InvalidInput, match="is not JSON"):
        parse_about('{"epsilon": ' + "9" * 5000 + "}")
