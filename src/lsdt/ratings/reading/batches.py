"""Files and dataframes of ratings, as batches of three columns."""

from __future__ import annotations

from bisect import bisect_right
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv

from lsdt._files import checked_path
from lsdt._validation import check_columns
from lsdt.errors import InvalidFile, InvalidInput, LsdtError, suggest
from lsdt.ratings.reading.encoding import MOST_DENSE, is_text
from lsdt.side_information.io.csv import first_lines, line_of_row, what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PARQUET = (".parquet", ".pq")
_HIDDEN = ("_", ".")
NO_ROWS = "there are no rows, hence no ratings; a log needs at least one"


class Chunks(NamedTuple):
    """How much of a log to read at a time.

    Attributes
    ----------
    rows : int
        Rows of a batch: smaller ones would look up every id too often.
    csv_bytes : int
        Bytes of a CSV file.
    first_room : int
        Rows to make room for first, where their number is not known.
    most_rows : int
        Rows that 32 bits can tell apart.
    most_dense : int
        The widest range of whole numbers to cover by a table, 4 bytes each.
    """

    rows: int = 2**20
    csv_bytes: int = 2**23
    first_room: int = 2**18
    most_rows: int = 2**32 - 1
    most_dense: int = MOST_DENSE


USUAL_CHUNKS = Chunks()


class Columns(NamedTuple):
    """The user's names for the three columns."""

    user: str
    item: str
    rating: str

    def checked(self) -> Columns:
        """Return the names; refuse what cannot name three columns."""
        check_columns("user, item and rating", self)
        return self


class Batches(NamedTuple):
    """A log that is being read.

    Attributes
    ----------
    batches : iterator of pyarrow.RecordBatch
        Each with the three columns, in their order.
    row : callable
        Says in words where a row is; rows count from 0 over all batches.
    n_rows : int or None
        The number of rows, if it is known in advance.
    from_text : bool
        Whether the columns are text because the file is.
    """

    batches: Iterator[pa.RecordBatch]
    row: Callable[[int], str]
    n_rows: int | None = None
    from_text: bool = False


def batches_of(log: Any, columns: Columns, chunks: Chunks) -> Batches:
    """Open a log: a path or a dataframe."""
    if isinstance(log, (str, PathLike)):
        return _of_path(checked_path(log, "log"), columns, chunks)
    return _of_frame(log, columns, chunks.rows)


def _of_path(path: Path, columns: Columns, chunks: Chunks) -> Batches:
    """Open a file or a folder; every error names it."""
    try:
        path.stat()  # its own error is plainer than that of a reader
        if path.is_dir() or path.suffix.lower() in _PARQUET:
            return _of_parquet(path, columns, chunks.rows)
        if path.suffix.lower() == ".csv":
            return _of_csv(path, columns, chunks.csv_bytes)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidFile(f"cannot read {str(path)!r}: {reason}") from None
    except (LsdtError, pa.ArrowException) as error:
        raise InvalidFile(f"{str(path)!r} cannot be read as a log: {error}") from None
    raise InvalidFile(
        f"a log is a .csv or .parquet file, a folder of .parquet files, or a dataframe; got {str(path)!r}"
    )


def _of_csv(path: Path, columns: Columns, block: int) -> Batches:
    try:
        _, names, marked = first_lines(path, "user,item,rating")
    except UnicodeDecodeError:
        raise InvalidInput("it is not text in UTF-8") from None
    check_names(columns, names)
    ids = pa.dictionary(pa.int32(), pa.string())  # the parser encodes them
    reader_options: dict[str, Any] = {
        "read_options": pa_csv.ReadOptions(skip_rows=1 + marked, column_names=names, block_size=block),
        "parse_options": pa_csv.ParseOptions(newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types={columns.user: ids, columns.item: ids, columns.rating: pa.string()},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            with pa_csv.open_csv(path, **reader_options) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            why = what_is_wrong(path, error, NO_ROWS)
            raise InvalidFile(f"{str(path)!r} cannot be read as a log: {why}") from None

    return Batches(batches(), lambda row: f"{line_of_row(path, row)} of {path.name!r}", from_text=True)


def _of_parquet(path: Path, columns: Columns, rows: int) -> Batches:
    import pyarrow.parquet as pq

    files = _parquet_files(path)
    starts, texts = [0], []
    for file in files:
        with pq.ParquetFile(file) as opened:
            schema = opened.schema_arrow
            check_names(columns, schema.names)
            texts.append([name for name in columns[:2] if is_text(schema.field(name).type)])
            starts.append(starts[-1] + opened.metadata.num_rows)

    def batches() -> Iterator[pa.RecordBatch]:
        for file, as_numbers in zip(files, texts, strict=True):
            try:
                # Text ids are read as numbers into a dictionary per batch, which is all that is needed.
                with pq.ParquetFile(file, read_dictionary=as_numbers) as opened:
                    yield from opened.iter_batches(rows // 4, columns=list(columns))
            except (pa.ArrowException, OSError) as error:
                raise InvalidFile(f"{str(file)!r} cannot be read as a log: {error}") from None

    def row(number: int) -> str:
        at = bisect_right(starts, number) - 1
        return f"row {number - starts[at] + 1:,} of {files[at].name!r}"

    return Batches(_gather(batches(), columns, rows // 2), row, starts[-1])


def _parquet_files(path: Path) -> list[Path]:
    """Return a file, or all in a folder and below in the order of their names."""
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


def _gather(batches: Iterator[pa.RecordBatch], columns: Columns, enough: int) -> Iterator[pa.RecordBatch]:
    """Combine small batches, with the columns in the given order."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if waiting and (batch.schema != waiting[0].schema or sum(map(len, waiting)) >= enough):
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
        waiting.append(batch.select(list(columns)))
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _of_frame(frame: Any, columns: Columns, rows: int) -> Batches:
    """Open a dataframe of any engine; collect only these columns of a lazy one."""
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise InvalidInput(
            "a log is a path or a dataframe (pandas, polars, pyarrow, DuckDB, ...) with a row per rating; "
            f"got {type(frame).__name__}"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise InvalidInput(f"the dataframe cannot be read as a log: {error}") from None
    check_names(columns, native.collect_schema().names())
    try:
        selected = native.select(*columns)
        table = (selected.collect() if isinstance(selected, nw.LazyFrame) else selected).to_arrow()
    except (nw.exceptions.NarwhalsError, pa.ArrowException, ValueError, TypeError) as error:
        raise InvalidInput(
            f"the dataframe cannot be read as a log: {error}. Ids in a column must be of one kind"
        ) from None
    batches = iter(table.to_batches(max_chunksize=rows))
    return Batches(batches, lambda row: f"row {row + 1:,}", table.num_rows)


def check_names(columns: Columns, found: list[str]) -> None:
    """Refuse columns that are not among those found."""
    for role, name in zip(Columns._fields, columns, strict=True):
        if name not in found:
            raise InvalidInput(
                f"there is no column {name!r} for the {role}; the columns are {', '.join(map(repr, found))}"
                f"{suggest(name, found)}. Name the column with {role}=..."
            )
        if found.count(name) > 1:
            raise InvalidInput(f"{found.count(name)} columns are called {name!r}; the {role} needs one alone")
