"""Parquet files: written with checksums of their pages, and inspected before they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lsdt._files import MOST_FIELD
from lsdt.errors import InvalidInput, TooLarge
from lsdt.kernel import readable_bytes, require_memory
from lsdt.side_information.io.csv import parse_about

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_KEY = b"lsdt"
# Written before the first and after the last page, where no reader looks: damage to the footer and to one
# mark leaves the other.
_MARK = b"\0lsdt side information\0\0"
_HEAD = 4  # bytes at the beginning of a Parquet file: PAR1
_TAIL = 8  # bytes at its end: the length of its footer, and PAR1
_ALIKE = len(_MARK) // 2  # matching bytes that suffice to recognise a mark
_OWN = ("a", "b", "relation", "threshold", "low", "high", "arm", "mean")
_BYTES_PER_ROW, _BYTES_PER_TEXT = 160.0, 30.0  # at the peak, as measured; a text column takes more
_COPIES = 3.0  # of a text, at the peak
# A few bytes of Parquet can stand for any number of rows, and for a text in each of them. Real files take at
# most some hundred times their size in memory.
_MOST_GROWTH, _ALWAYS_READ = 1_000, 64 * 2**20
_FEWER = "keep fewer rows, or use a machine with more memory"


def write_parquet(table: pa.Table, about: dict[str, Any], path: Path) -> None:
    """Write a table with `about` in its metadata."""
    schema = table.schema.with_metadata({_KEY: json.dumps(about).encode()})
    with (
        pa.OSFile(str(path), "wb") as sink,
        pq.ParquetWriter(sink, schema, write_page_checksum=True) as writer,
    ):
        sink.write(_MARK)
        writer.write_table(table)
        sink.write(_MARK)


def read_parquet(path: Path, columns: Sequence[str]) -> tuple[pa.Table, dict[str, Any], bool]:
    """Return the columns that matter, the description in the metadata, and whether we wrote the file."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        _check_columns(schema, columns)
        wanted = [name for name in schema.names if name in columns or name.lower() in _OWN]
        texts = [name for name in wanted if not pa.types.is_primitive(schema.field(name).type)]
    with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=texts) as file:
        _check_footer(file.metadata)
        per_row = _BYTES_PER_ROW + len(texts) * _BYTES_PER_TEXT
        needed, what = file.metadata.num_rows * per_row, f"reading {file.metadata.num_rows:,} rows"
        require_memory(needed, f"{path}: {what}", _FEWER)
        refuse_growth(needed + sum(unpacked_sizes(file)), path, what)
        table = file.read(columns=wanted) if wanted else schema.empty_table()
        table = pa.table({name: written_out(table.column(name), name, path) for name in wanted})
        if wanted and table.num_rows != file.metadata.num_rows:
            raise InvalidInput(
                f"it is damaged: {table.num_rows:,} rows, and its footer says {file.metadata.num_rows:,}"
            )
    metadata = schema.metadata or {}
    return table, parse_about(metadata.get(_KEY, b"{}").decode()), _is_marked(path)


def unpacked_sizes(file: pq.ParquetFile) -> list[int]:
    """Return the uncompressed size of every row group in bytes, according to the footer.

    The footer also has it per column, but reading that from a damaged footer makes pyarrow end the process.
    """
    return [file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups)]


def text_size(column: pa.ChunkedArray, name: str) -> int:
    """Return the bytes of a dictionary-encoded column as plain text; refuse a text that is too long."""
    size = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary)
        longest = pc.max(lengths).as_py() or 0
        if longest > MOST_FIELD:
            raise InvalidInput(
                f"column {name!r} holds a text of {longest:,} bytes; a field has at most {MOST_FIELD:,}"
            )
        size += pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0
    return size


def written_out(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    """Return a dictionary-encoded column as text, refused if it would not fit in memory; others unchanged."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or pa.types.is_primitive(kind.value_type):
        return column
    size = text_size(column, name)
    what = f"writing out column {name!r}, {size:,} bytes of text,"
    require_memory(_COPIES * size, f"{path}: {what}", _FEWER)
    refuse_growth(_COPIES * size, path, what)
    return column.cast(column.type.value_type)


def refuse_growth(needed: float, path: Path, what: str) -> None:
    """Refuse a file that would need implausibly much memory for its size."""
    size = path.stat().st_size
    if needed > max(_ALWAYS_READ, _MOST_GROWTH * size):
        raise TooLarge(
            f"{path}: {what} would need about {readable_bytes(needed)} of memory, and the file has {size:,} "
            f"bytes; beyond {readable_bytes(_ALWAYS_READ)} at most {_MOST_GROWTH:,} times the file are read. "
            "It must repeat the same rows: keep each row once"
        )


def _check_footer(metadata: pq.FileMetaData) -> None:
    """Refuse a footer whose row counts disagree: it is damaged, which readers do not notice."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) != metadata.num_rows or metadata.num_rows < 0:
        raise InvalidInput(f"it is damaged: its parts do not add up to its {metadata.num_rows:,} rows")


def _check_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    for name in {*columns, *_OWN}:
        fields = [field for field in schema if field.name == name]
        if len(fields) > 1:
            raise InvalidInput(f"it has {len(fields)} columns {name!r}; every column needs its own name")
        if fields and pa.types.is_nested(fields[0].type):
            raise InvalidInput(f"column {name!r} must hold text or numbers; it holds {fields[0].type}")


def _is_marked(path: Path) -> bool:
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - _TAIL, 0))
        length = int.from_bytes(stream.read(4), "little")
        for place in (_HEAD, size - _TAIL - length - len(_MARK)):
            stream.seek(max(place, 0))
            found = stream.read(len(_MARK))
            if sum(map(int.__eq__, found, _MARK)) >= _ALIKE:
                return True
    return False
