"""Text with columns: a fast reader, and a slow one that finds the line of an error.

pyarrow's reader takes separators of one byte. Longer ones (``::``) become one on the way to it, the unit
separator of ASCII, and such text has no quotes.
"""

from __future__ import annotations

import csv
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from lsdt._files import csv_rows
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.ratings.reading.columns import AS_ITS_ENDING_SAYS, NO_ROWS, Batches, LogColumns
from lsdt.ratings.reading.text_files import DAMAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lsdt.ratings.reading.columns import ColumnNames, TextLayout
    from lsdt.ratings.reading.text_files import TextFile

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".dat": "::"}
_WITHOUT_HEADER = (".dat",)
_NAMES = ("user", "item", "rating")  # of the first columns where there is no header
_WORDS = {";": "semicolons", "\t": "tabs", "|": "bars", "::": "double colons", ",": "commas"}
_UNIT = "\x1f"


class DelimitedFile(NamedTuple):
    """A file of text with columns."""

    file: TextFile
    sep: str
    header: bool
    encoding: str = "utf-8-sig"

    @property
    def one_byte(self) -> bool:
        """Whether pyarrow takes the separator as it is."""
        return len(self.sep.encode()) == 1

    def names(self) -> list[str]:
        """Return the names of the columns; refuse a first line that cannot name them."""
        first = next(self.file.lines(self.encoding), "")
        if not first.strip():
            wanted = "name the columns, such as user,item,rating" if self.header else "be a rating"
            raise InvalidInput(f"its first line is blank; it must {wanted}")
        found = next(row for _, row in self._split([first]))
        if len(found) == 1:
            for sep, word in _WORDS.items():
                if sep in first:
                    raise InvalidInput(f"its columns seem to be separated by {word}; say so with sep={sep!r}")
        if not self.header:
            return [_NAMES[at] if at < len(_NAMES) else f"column {at}" for at in range(len(found))]
        names = [name.strip() for name in found]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput(f"two of its {len(names)} columns are called {twice!r}; rename one")
        return names

    def _split(self, lines: Iterable[str], before: int = 0) -> Iterator[tuple[int, list[str]]]:
        if self.one_byte:
            return csv_rows(lines, before, delimiter=self.sep)
        lines = (line.replace(self.sep, _UNIT) for line in lines)
        return csv_rows(lines, before, delimiter=_UNIT, quoting=csv.QUOTE_NONE)

    def records(self, errors: str = "replace") -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of every row, skipping blank lines."""
        lines = islice(self.file.lines(self.encoding, errors), int(self.header), None)
        for number, record in self._split(lines, before=int(self.header)):
            if record:
                yield number, record

    def row(self, row: int) -> str:
        """Return in words where a row is, counted as an editor does (the line in which the row ends)."""
        with suppress(StopIteration, InvalidInput):
            return f"line {next(islice(self.records(), row, None))[0]} of {self.file.name}"
        return f"row {row + 1:,} of {self.file.name}"

    def open(self) -> pa.NativeFile:
        """Open the file for pyarrow, with a separator of one byte."""
        stream = self.file.open_arrow()
        return stream if self.one_byte else pa.TransformInputStream(stream, _OneByte(self.sep))

    def what_is_wrong(self, error: pa.ArrowInvalid, n_columns: int) -> str:
        """Read the file slowly and return in words why the fast reader failed."""
        if "UTF8" in str(error):
            return "it is not text in UTF-8"
        empty = True
        try:
            for line, record in self.records():
                empty = False
                if len(record) != n_columns:
                    wanted = f"the header names {n_columns} columns" if self.header else f"line 1 {n_columns}"
                    return f"line {line} has {len(record)} fields, and {wanted}"
        except InvalidInput as slow:
            return str(slow)
        return NO_ROWS if empty else f"it cannot be read as text with columns: {error}"


class _OneByte:
    """Replaces a separator in a stream of bytes, even where a block ends within one."""

    def __init__(self, sep: str) -> None:
        self.sep, self.rest = sep.encode(), b""

    def __call__(self, block: Any) -> bytes:
        """Return the next block; an empty one is the last."""
        data = bytes(block)
        if _UNIT.encode() in data:
            raise InvalidInput(
                f"it holds the control character {_UNIT!r}, which is not read where a separator has several "
                f"bytes; got sep={self.sep.decode()!r}"
            )
        parts = (self.rest + data).split(self.sep)
        begun = [size for size in range(1, len(self.sep)) if parts[-1].endswith(self.sep[:size])]
        kept = max(begun, default=0) if data else 0
        self.rest = parts[-1][len(parts[-1]) - kept :]
        parts[-1] = parts[-1][: len(parts[-1]) - kept]
        return _UNIT.encode().join(parts)


def open_table(
    file: TextFile, layout: TextLayout = AS_ITS_ENDING_SAYS, encoding: str = "utf-8-sig"
) -> DelimitedFile:
    """Return a file as text with columns; its ending supplies what the layout leaves open."""
    sep = _SEPARATORS.get(file.ending, ",") if layout.sep is None else layout.sep
    header = file.ending not in _WITHOUT_HEADER if layout.header is None else layout.header
    return DelimitedFile(file, sep, header, encoding)


def table_batches(file: TextFile, columns: LogColumns, layout: TextLayout, block: int) -> Batches:
    """Open a file of text with columns."""
    table = open_table(file, layout)
    try:
        found = table.names()
    except UnicodeDecodeError:
        raise InvalidInput("it is not text in UTF-8") from None
    hint = "; say header=False if the first line is a rating" if table.header else ""
    names = columns.among(found, hint)
    return Batches(names, _read(table, found, names, block), table.row, from_text=True)


def _read(table: DelimitedFile, found: list[str], names: ColumnNames, block: int) -> Iterator[pa.RecordBatch]:
    """Yield the columns as text; ids are numbered by the parser."""
    kinds = {name: pa.string() for name in names.listed}
    kinds |= {name: pa.dictionary(pa.int32(), pa.string()) for name in names.ids}
    parsing: dict[str, Any] = {"delimiter": table.sep, "newlines_in_values": True}
    if not table.one_byte:
        parsing = {"delimiter": _UNIT, "quote_char": False}
    options: dict[str, Any] = {
        "read_options": pa_csv.ReadOptions(skip_rows=int(table.header), column_names=found, block_size=block),
        "parse_options": pa_csv.ParseOptions(**parsing),
        "convert_options": pa_csv.ConvertOptions(
            include_columns=names.listed,
            column_types=kinds,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }
    try:
        with table.open() as stream, pa_csv.open_csv(stream, **options) as reader:
            yield from reader
    except pa.ArrowInvalid as error:
        why = table.what_is_wrong(error, len(found))
    except (*DAMAGE, InvalidInput) as error:
        why = str(error)
    else:
        return
    raise InvalidFile(f"{str(table.file.path)!r} cannot be read as a log: {why}")
