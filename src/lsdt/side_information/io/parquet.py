"""Parquet files: written with checksums of their pages, and inspected before they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lsdt.errors import InvalidInput
from lsdt.kernel.memory import require_memory
from lsdt.side_information.io.csv import parse_about

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_KEY = b"lsdt"
_MARK = b"\0lsdt side information\0\0"  # stands before the footer of a file that we wrote
_TAIL = 8  # bytes at the end of a Parquet file: the length of its footer, and PAR1
_OWN = ("a", "b", "relation", "threshold", "low", "high", "arm", "mean")
_BYTES_PER_ROW, _BYTES_PER_TEXT = 160.0, 30.0  # at the peak, as measured; a text column takes more


def write_parquet(table: pa.Table, about: dict[str, Any], path: Path) -> None:
    """Write a table with `about` in its metadata."""
    schema = table.schema.with_metadata({_KEY: json.dumps(about).encode()})
    with (
        pa.OSFile(str(path), "wb") as sink,
        pq.ParquetWriter(sink, schema, write_page_checksum=True) as writer,
    ):
        writer.write_table(table)
        sink.write(_MARK)


def read_parquet(path: Path, columns: Sequence[str]) -> tuple[pa.Table, dict[str, Any], bool]:
    """Return the columns that matter, what the file says about itself, and whether we wrote it."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        _check_footer(file.metadata)
        schema = file.schema_arrow
        _check_columns(schema, columns)
        wanted = [name for name in schema.names if name in columns or name.lower() in _OWN]
        texts = sum(not pa.types.is_primitive(schema.field(name).type) for name in wanted)
        require_memory(
            file.metadata.num_rows * (_BYTES_PER_ROW + texts * _BYTES_PER_TEXT),
            f"{path}: reading {file.metadata.num_rows:,} rows",
            "keep fewer pairs, or use a machine with more memory",
        )
        table = file.read(columns=wanted) if wanted else schema.empty_table()
        if wanted and table.num_rows != file.metadata.num_rows:
            raise InvalidInput(
                f"it is damaged: {table.num_rows:,} rows, and its footer says {file.metadata.num_rows:,}"
            )
    metadata = schema.metadata or {}
    return table, parse_about(metadata.get(_KEY, b"{}").decode()), _is_marked(path)


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
        place = size - _TAIL - length - len(_MARK)
        if place < 0:
            return False
        stream.seek(place)
        return stream.read(len(_MARK)) == _MARK
