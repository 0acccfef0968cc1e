"""Titles of items, for people to read."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lsdt._files import checked_path
from lsdt.errors import InvalidFile, InvalidInput, listed
from lsdt.kernel import require_memory
from lsdt.ratings.reading.columns import TextLayout
from lsdt.ratings.reading.delimited import open_table
from lsdt.ratings.reading.json_lines import json_object
from lsdt.ratings.reading.text_files import DAMAGE, JSON_LINES, text_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    from lsdt.ratings.reading.text_files import TextFile

_SEPARATORS = ("::", "\t", "|", ";", ",")
_LONGEST = 10_000  # bytes of a title: far longer than any
_ROW = 300.0  # bytes of memory for a row of Parquet; measured 316 for titles of 15 letters, 385 for 40
_BYTES = 10.0  # of memory for a byte of JSON; measured 5.7 for titles of 30 letters, 13 for empty ones


def read_titles(path: str | PathLike[str]) -> dict[str, str]:
    r"""Read the titles of items from a file.

    Parameters
    ----------
    path : path
        Text with columns, whatever its ending and separator (comma, tab, semicolon, bar, ``::``), compressed
        or not; ``.parquet``; or ``.jsonl``, an object a line. The first column holds ids, the one called
        ``title``, or else the second, titles. Or ``.json``: one object, ids and their titles. Text that is
        not in UTF-8 is taken for Latin-1, in which some lists of titles come.

    Returns
    -------
    dict
        Titles by id, all of them text: look up ``titles[str(item)]``.

    Examples
    --------
    >>> import lsdt, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "movies.csv"
    >>> _ = path.write_text("movieId,title,genres\n1,Toy Story (1995),Animation\n")
    >>> lsdt.ratings.read_titles(path)
    {'1': 'Toy Story (1995)'}
    """
    file = checked_path(path, "titles")
    try:
        file.stat()  # raises a plainer error than a reader would
        ending = file.suffix.lower()
        if ending == ".json":
            return _of_json(file)
        if ending in (".parquet", ".pq"):
            return _of_parquet(file)
        opened = text_file(file, any_ending=True)
        assert opened is not None
        read = _of_lines if opened.ending in JSON_LINES else _of_table
        try:
            return read(opened, "utf-8-sig")
        except UnicodeDecodeError:
            return read(opened, "latin-1")
    except (InvalidInput, pa.ArrowException, csv.Error) as error:
        raise InvalidFile(f"{str(file)!r} cannot be read as titles: {error}") from None
    except DAMAGE as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidFile(f"cannot read {str(file)!r}: {reason}") from None


def _title_column(names: Sequence[str]) -> int:
    """Return which column holds titles: the one called title, or else the second."""
    if len(names) < 2:
        raise InvalidInput("it has one column, and needs two: ids and titles")
    lowered = [name.lower() for name in names]
    return lowered.index("title") if "title" in lowered else 1


def _of_table(file: TextFile, encoding: str) -> dict[str, str]:
    first = next(file.lines(encoding), "")
    if "\0" in first:
        raise InvalidInput("it is not text; titles are text with columns, JSON, or Parquet")
    sep = next((each for each in _SEPARATORS if each in first), ",")
    # A first line that begins with a number is a row, not a header.
    header = not first.split(sep)[0].strip().strip('"').isdigit()
    table = open_table(file, TextLayout(sep, header), encoding)
    at = _title_column(table.names()) if header else 1
    titles: dict[str, str] = {}
    for line, record in table.records(errors="strict"):
        if len(record) <= at:
            raise InvalidInput(f"line {line} has {len(record)} fields, and titles are in number {at + 1}")
        titles.setdefault(record[0].strip(), record[at].strip())
    return titles


def _of_lines(file: TextFile, encoding: str) -> dict[str, str]:
    """Read objects, one a line: the first value is the id."""
    titles: dict[str, str] = {}
    for number, line in enumerate(file.lines(encoding), 1):
        if line.strip():
            found = json_object(line, f"line {number}")
            values = list(found.values())
            titles.setdefault(str(values[0]), str(values[_title_column(list(found))]))
    return titles


def _of_parquet(path: Path) -> dict[str, str]:
    """Read both columns as dictionaries, because a small file may expand to very much text."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as opened:
        schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
    names = schema.names
    wanted = [names[0], names[_title_column(names)]]
    for name in wanted:
        kind = schema.types[names.index(name)]
        if pa.types.is_nested(kind):
            raise InvalidInput(f"its column {name!r} holds {kind}; ids and titles are text or numbers")
    if any(names.count(name) > 1 for name in wanted):
        raise InvalidInput(f"two of its columns have the same name; got {listed(names)}")
    require_memory(_ROW * n_rows, f"{n_rows:,} titles", "keep those of the items in the log")
    found: dict[str, str] = {}
    with pq.ParquetFile(path, read_dictionary=wanted) as opened:
        for batch in opened.iter_batches(columns=wanted):
            ids, titles = (_texts(batch[name]) for name in wanted)
            for item, title in zip(ids, titles, strict=True):
                if item is not None and title:
                    found.setdefault(item, title)
    return found


def _texts(column: pa.Array) -> list[str | None]:
    """Return a column as text, equal texts sharing memory."""
    if not pa.types.is_dictionary(column.type):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if len(column.dictionary) and pc.max(pc.binary_length(column.dictionary)).as_py() > _LONGEST:
        raise InvalidInput(f"it has text of more than {_LONGEST:,} bytes, which is no title")
    values = column.dictionary.to_pylist()
    return [None if at is None else str(values[at]) for at in column.indices.to_pylist()]


def _of_json(path: Path) -> dict[str, str]:
    size = path.stat().st_size
    require_memory(_BYTES * size, f"a file of titles of {size:,} bytes", "keep those of the items in the log")
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput("it must be one JSON object, with ids and their titles")
    for item, title in found.items():
        if not isinstance(title, str):
            raise InvalidInput(f"the title of {item!r} must be text; got {title!r}")
    return found
