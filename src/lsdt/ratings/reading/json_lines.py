"""JSON lines: one object a line, one rating an object."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.json as pa_json

from lsdt.errors import InvalidFile, InvalidInput
from lsdt.ratings.reading.columns import NO_ROWS, Batches, LogColumns
from lsdt.ratings.reading.text_files import DAMAGE, MOST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsdt.ratings.reading.columns import ColumnNames
    from lsdt.ratings.reading.text_files import TextFile

_KINDS = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class _Lines(NamedTuple):
    """A file of JSON lines: its columns, and what the first line holds in each."""

    file: TextFile
    names: ColumnNames
    kinds: dict[str, type]

    def row(self, row: int) -> str:
        """Return in words where a row is."""
        written = (number for number, line in _numbered(self.file) if line.strip())
        number = next(islice(written, row, None), None)
        return (
            f"row {row + 1:,} of {self.file.name}" if number is None else f"line {number} of {self.file.name}"
        )

    def what_is_wrong(self, error: Exception) -> str:
        """Read the file slowly and return in words why the fast reader failed."""
        try:
            for number, line in _numbered(self.file):
                if line.strip() and (why := self._what_is_wrong_in(json_object(line, f"line {number}"))):
                    return f"line {number} {why}"
        except UnicodeDecodeError:
            return "it is not text in UTF-8"
        except InvalidInput as slow:
            return str(slow)
        return f"it cannot be read as JSON lines: {error}"

    def _what_is_wrong_in(self, found: dict[str, Any]) -> str:
        for name, kind in self.kinds.items():
            value = found.get(name)
            fits = isinstance(value, (int, float) if kind is float else kind)
            if value is not None and (not fits or (isinstance(value, bool) and kind is not bool)):
                return f"has {value!r} in {name!r}, where the first line has {_WORDS[kind]}; keep to one kind"
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                return f"has {value} in {name!r}; whole numbers must fit in 64 bits"
        return ""


def json_object(line: str, where: str) -> dict[str, Any]:
    """Return a line as an object; an error says `where` the line is."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} is not a JSON object; got {line.strip()[:40]!r}")
    return found


def _numbered(file: TextFile) -> Iterator[tuple[int, str]]:
    return enumerate(file.lines(), 1)


def json_batches(file: TextFile, columns: LogColumns, block: int) -> Batches:
    """Open a file of JSON lines; columns are called by the names in the first line."""
    for word in columns:
        if word is not None and not isinstance(word, str):
            raise InvalidInput(f"the columns of JSON lines have names and no places; got {word!r}")
    try:
        first = next((line for line in file.lines() if line.strip()), "")
    except UnicodeDecodeError:
        raise InvalidInput("it is not text in UTF-8") from None
    if not first:
        raise InvalidInput(NO_ROWS)
    found = json_object(first, "its first line")
    names = columns.among(list(found))
    kinds = {name: _kind(name, found[name], name in names.ids) for name in names.listed}
    lines = _Lines(file, names, kinds)
    return Batches(names, _read(lines, block), lines.row)


def _kind(name: str, value: Any, is_id: bool) -> type:
    """Return the type that a column has by its first value."""
    kind = type(value)
    if kind not in _KINDS:
        raise InvalidInput(f"its first line has {value!r} in {name!r}; it must be text or a number")
    return float if kind is int and not is_id else kind  # whole ratings may come before others


def _read(lines: _Lines, block: int) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, _KINDS[kind]) for name, kind in lines.kinds.items()])
    parsing = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        with lines.file.open_arrow() as stream:
            for text in _whole_lines(stream, block):
                if not text.isspace():
                    reading = pa_json.ReadOptions(block_size=len(text) + 1)
                    table = pa_json.read_json(pa.BufferReader(text), reading, parsing)
                    yield from table.select(lines.names.listed).combine_chunks().to_batches()
    except pa.ArrowInvalid as error:
        why = lines.what_is_wrong(error)
    except (*DAMAGE, InvalidInput) as error:
        why = str(error)
    else:
        return
    raise InvalidFile(f"{str(lines.file.path)!r} cannot be read as a log: {why}")


def _whole_lines(stream: pa.NativeFile, block: int) -> Iterator[bytes]:
    """Yield whole lines, about `block` bytes of them at a time; refuse one too long to be held."""
    rest, before = b"", 0
    while more := stream.read(block):
        end = more.rfind(b"\n") + 1
        if end:
            yield rest + more[:end]
            before += more.count(b"\n")
            rest = more[end:]
        else:
            rest += more
        if len(rest) > MOST_LINE:
            raise InvalidInput(f"line {before + 1:,} has more than {MOST_LINE:,} bytes; no rating does")
    if rest:
        yield rest
