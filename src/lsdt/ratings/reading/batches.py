"""Files and dataframes of ratings, as batches of columns."""

from __future__ import annotations

from bisect import bisect_right
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lsdt._files import checked_path
from lsdt.errors import InvalidFile, InvalidInput, LsdtError, Unsupported
from lsdt.ratings.reading.columns import NO_ORDER, Batches
from lsdt.ratings.reading.delimited import table_batches
from lsdt.ratings.reading.encoding import is_text
from lsdt.ratings.reading.json_lines import json_batches
from lsdt.ratings.reading.text_files import DAMAGE, JSON_LINES, text_file
from lsdt.side_information import refuse_growth, text_size, unpacked_sizes, written_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lsdt.ratings.reading.columns import Chunks, ColumnNames, LogColumns, TextLayout

_PARQUET = (".parquet", ".pq")
_HIDDEN = ("_", ".")


def batches_of(log: Any, columns: LogColumns, layout: TextLayout, chunks: Chunks) -> Batches:
    """Open a log: a path or a dataframe."""
    if isinstance(log, (str, PathLike)):
        return _of_path(checked_path(log, "log"), columns, layout, chunks)
    return _of_frame(log, columns, chunks.rows)


def _of_path(path: Path, columns: LogColumns, layout: TextLayout, chunks: Chunks) -> Batches:
    """Open a file or a folder; every error names it."""
    try:
        path.stat()  # raises a plainer error than a reader would
        if path.is_dir() or path.suffix.lower() in _PARQUET:
            layout.refuse("Parquet")
            return _of_parquet(path, columns, chunks.rows)
        file = text_file(path, any_ending=layout.sep is not None)
        if file is not None and file.ending in JSON_LINES:
            layout.refuse("JSON lines")
            return json_batches(file, columns, chunks.text_bytes)
        if file is not None:
            return table_batches(file, columns, layout, chunks.text_bytes)
    except (LsdtError, pa.ArrowException, UnicodeDecodeError) as error:  # the latter: a damaged footer
        raise InvalidFile(f"{str(path)!r} cannot be read as a log: {error}") from None
    except DAMAGE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InvalidFile(f"cannot read {str(path)!r}: {reason}") from None
    raise InvalidFile(
        "a log is a file that ends in .csv, .tsv, .dat, .jsonl (or in one of these and .gz), in .zip or "
        ".parquet, a folder of .parquet files, or a dataframe; other text is read if sep=... says what "
        f"separates its columns. Got {str(path)!r}"
    )


def _of_parquet(path: Path, columns: LogColumns, rows: int) -> Batches:
    import pyarrow.parquet as pq

    files = _parquet_files(path)
    starts, texts, names = [0], [], []
    for file in files:
        with pq.ParquetFile(file) as opened:
            schema = opened.schema_arrow
            names.append(columns.among(schema.names))
            texts.append([name for name in names[-1].listed if is_text(schema.field(name).type)])
            refuse_growth(max(unpacked_sizes(opened), default=0), file, "unpacking a group of rows")
            starts.append(starts[-1] + opened.metadata.num_rows)

    def batches() -> Iterator[pa.RecordBatch]:
        for file, as_numbers, those in zip(files, texts, names, strict=True):
            try:
                # Text ids are read as dictionaries, one per batch, so that each text is converted once.
                with pq.ParquetFile(file, read_dictionary=as_numbers) as opened:
                    for batch in opened.iter_batches(rows // 4, columns=those.listed):
                        checked = [_checked(batch.column(name), name, those, file) for name in those.listed]
                        yield pa.RecordBatch.from_arrays(checked, names[0].listed)
            except InvalidInput as error:
                raise InvalidFile(f"{str(file)!r} cannot be read as a log: {error}") from None
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise InvalidFile(f"{str(file)!r} cannot be read as a log: {error}") from None

    def row(number: int) -> str:
        at = bisect_right(starts, number) - 1
        return f"row {number - starts[at] + 1:,} of {files[at].name!r}"

    return Batches(names[0], _gather(batches(), rows // 2), row, starts[-1])


def _checked(column: pa.Array, name: str, names: ColumnNames, path: Path) -> pa.Array:
    """Return a column, after refusing texts that are too long; ids are kept once each."""
    whole = pa.chunked_array([column])
    if name not in names.ids:
        return written_out(whole, name, path).combine_chunks()
    if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
        text_size(whole, name)
    return column


def _parquet_files(path: Path) -> list[Path]:
    """Return a file, or all files in and below a folder, ordered by name."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in _PARQUET
        and not any(part.startswith(_HIDDEN) for part in file.relative_to(path).parts)
    )
    if not files:
        raise InvalidInput("the folder holds no file that ends in .parquet")
    return files


def _gather(batches: Iterator[pa.RecordBatch], enough: int) -> Iterator[pa.RecordBatch]:
    """Combine small batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if waiting and (batch.schema != waiting[0].schema or sum(map(len, waiting)) >= enough):
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
        waiting.append(batch)
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def narwhals_frame(frame: Any) -> Any:
    """Return a dataframe of any engine as a narwhals frame; refuse other objects."""
    import narwhals as nw

    try:
        return nw.from_native(frame)
    except TypeError:
        raise InvalidInput(
            "a log is a path or a dataframe (pandas, polars, pyarrow, DuckDB, ...) with a row per rating; "
            f"got {type(frame).__name__}"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise InvalidInput(f"the dataframe cannot be read as a log: {error}") from None


def refuse_no_order(log: Any) -> None:
    """Refuse ``duplicates='last'`` for a log whose rows have no order, as in a database."""
    import narwhals as nw

    if isinstance(log, (str, PathLike)):
        return
    frame = narwhals_frame(log)
    if isinstance(frame, nw.LazyFrame) and not frame.implementation.is_polars():
        raise Unsupported(NO_ORDER)


def _of_frame(frame: Any, columns: LogColumns, rows: int) -> Batches:
    """Open a dataframe of any engine; collect only these columns of a lazy one."""
    import narwhals as nw

    native = narwhals_frame(frame)
    names = columns.among(native.collect_schema().names())
    try:
        selected = native.select(*names.listed)
        table = (selected.collect() if isinstance(selected, nw.LazyFrame) else selected).to_arrow()
    except (nw.exceptions.NarwhalsError, pa.ArrowException, ValueError, TypeError) as error:
        raise InvalidInput(
            f"the dataframe cannot be read as a log: {error}. Ids in a column must be of one kind"
        ) from None
    batches = iter(table.to_batches(max_chunksize=rows))
    return Batches(names, batches, lambda row: f"row {row + 1:,}", table.num_rows)
