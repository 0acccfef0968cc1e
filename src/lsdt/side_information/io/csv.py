"""CSV files: a fast reader, and a slow one that finds the line of an error."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from lsdt._files import csv_rows
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

# The first line holds what columns cannot; without the last line, a lost first line or a lost end of the file
# would go unnoticed.
_MARK = "# lsdt "
_END = "# lsdt end"
_NO_ROWS = "there are no rows, hence no arms; a file needs at least one arm"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def write_csv(table: pa.Table, about: dict[str, Any], path: Path) -> None:
    """Write a table between a first line with `about` and a last line that marks the end."""
    with path.open("wb") as stream:
        stream.write(f"{_MARK}{json.dumps(about)}\n".encode())
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(quoting_style="needed"))
        stream.write(f"{_END}\n".encode())


def read_csv(path: Path) -> tuple[pa.Table, dict[str, Any], bool]:
    """Return the columns as text, the description in the first line, and whether the end line is there."""
    try:
        _refuse_damaged_mark(path)
        about, names, marked = first_lines(path)
        rows, is_ended = _without_end(path)
        table = pa_csv.read_csv(
            rows,
            read_options=pa_csv.ReadOptions(skip_rows=1 + marked, column_names=names),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except UnicodeDecodeError:
        raise InvalidInput("it is not text in UTF-8") from None
    except pa.ArrowInvalid as error:
        raise InvalidInput(what_is_wrong(path, error)) from None
    if not about:  # not written by us: blanks around words mean nothing
        table = pa.table({name: pc.utf8_trim_whitespace(table.column(name)) for name in names})
    return table, about, is_ended


def _without_end(path: Path) -> tuple[pa.BufferReader, bool]:
    """Return the content without the last line that `write_csv` adds, and whether it was there."""
    content = pa.py_buffer(path.read_bytes())
    tail = content.slice(max(0, len(content) - 1000)).to_pybytes()
    last = tail[tail.rstrip().rfind(b"\n") + 1 :]
    is_ended = _is_end(last.decode(errors="replace"))
    return pa.BufferReader(content.slice(0, len(content) - len(last)) if is_ended else content), is_ended


def _is_end(line: str) -> bool:
    """Return whether a line marks the end; editors change line ends, spreadsheets add quotes and commas."""
    return line.strip('"\r\n, \t') == _END


def _refuse_damaged_mark(path: Path) -> None:
    """Refuse a file whose first line is the mark with one wrong letter: it is damaged."""
    with path.open("rb") as stream:
        start = stream.read(len(_MARK))
    mark = _MARK.encode()
    if len(start) == len(mark) and sum(map(operator.ne, start, mark)) == 1:
        raise InvalidInput(
            f"it begins with {start!r}, which is {mark!r} but for one letter: its first line is damaged; "
            "correct it, or load another copy"
        )


def line_of_row(path: Path, row: int) -> str:
    """Return the line of a row in words, counted as an editor does (the line in which the row ends)."""
    for number, (line, _) in enumerate(_records(path)):
        if number == row:
            return f"line {line}"
    return f"row {row + 1}"


def parse_about(text: str) -> dict[str, Any]:
    """Parse the JSON description that a file carries."""
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as error:  # a number of very many digits is a ValueError
        raise InvalidInput(f"its metadata is not JSON: {error}") from None
    if not isinstance(about, dict):
        raise InvalidInput(f"its metadata must be a JSON object; got {text.strip()!r}")
    return about


def _read_about(line: str) -> str | None:
    """Return the description in a first line, None if it is ordinary; spreadsheets add quotes and commas."""
    if line.startswith('"'):
        line = next((row[0] for _, row in csv_rows([line]) if row), "")
    return line[len(_MARK) :].rstrip().rstrip(",") if line.startswith(_MARK) else None


def first_lines(path: Path) -> tuple[dict[str, Any], list[str], bool]:
    """Return the description of a file, its column names, and whether its first line is a description."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        line = stream.readline()
        about = _read_about(line)
        header = line if about is None else stream.readline()
    if not header.strip():
        raise InvalidInput("its first line is blank; it must name the columns, such as a,b,relation")
    names = [name.strip() for _, row in csv_rows([header]) for name in row]
    for separator, word in _SEPARATORS.items():
        if len(names) == 1 and separator in header:
            raise InvalidInput(f"its columns seem to be separated by {word}; use commas")
    if len(set(names)) < len(names):
        raise InvalidInput(f"two of its columns have the same name; found {names}")
    return {} if about is None else parse_about(about), names, about is not None


def _records(path: Path) -> Any:
    """Yield the line number and the fields of every row after the header, skipping blank lines."""
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as stream:
        skipped = 1 if _read_about(stream.readline()) is None else 2
        if skipped == 2:
            stream.readline()
        for number, record in csv_rows(stream, before=skipped):
            if record and not (_is_end(record[0]) and not any(record[1:])):
                yield number, record


def what_is_wrong(path: Path, error: pa.ArrowInvalid) -> str:
    """Read a file slowly and return in words why the fast reader failed."""
    if "UTF8" in str(error):
        return "it is not text in UTF-8"
    _, names, _ = first_lines(path)
    for line, record in _records(path):
        if len(record) != len(names):
            return f"line {line} has {len(record)} fields, and the header names {len(names)} columns"
    if not any(True for _ in _records(path)):
        return _NO_ROWS
    return f"it cannot be read as CSV: {error}"
