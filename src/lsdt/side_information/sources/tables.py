"""Small tables, such as one row per arm or per comparison: from a file, a dataframe, dicts or columns."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._files import checked_path
from lsdt._validation import checked_list, is_number
from lsdt.errors import InvalidFile, InvalidInput, listed, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

_FORMS = "a dataframe, a dict of columns, a list of dicts, or a file"


def is_table(given: Any) -> bool:
    """Return whether arms are given as a table with a column ``arm``, and not as a mapping or a list of them.

    Examples
    --------
    >>> is_table({"arm": ["S", "L"], "value": [1, 2]}), is_table({"S": 1, "L": 2}), is_table(["S", "L"])
    (True, False, False)
    """
    if isinstance(given, Mapping):
        column = given.get("arm")  # of a mapping from arms, it would be one value or one group
        return hasattr(column, "__len__") and not isinstance(column, str)
    if isinstance(given, (list, tuple)):
        return any(isinstance(row, Mapping) for row in given)
    if isinstance(given, str):  # text without an ending is an arm or a group by mistake
        return bool(PurePath(given).suffix)
    return isinstance(given, PathLike) or hasattr(given, "columns")


def read_table(path: str | PathLike[str], endings: str = ".csv, .tsv, .jsonl or .parquet") -> pa.Table:
    """Read a file: .csv, .tsv (also .gz), .jsonl or .parquet; `endings` are those that an error lists."""
    import pyarrow as pa

    place = checked_path(path, "file")
    ending = place.name.lower().removesuffix(".gz").rpartition(".")[2]
    try:
        if ending in ("csv", "tsv"):
            return _read_text(str(place), "\t" if ending == "tsv" else ",")
        if ending == "jsonl":
            from pyarrow import json

            return json.read_json(str(place))
        if ending in ("parquet", "pq"):
            from pyarrow import parquet

            return parquet.read_table(str(place))
    except FileNotFoundError:
        raise InvalidFile(f"cannot read {str(path)!r}: there is no such file") from None
    except OSError as error:
        raise InvalidFile(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise InvalidFile(f"{str(path)!r} cannot be read as a table: {str(error).splitlines()[0]}") from None
    raise InvalidFile(f"a table ends in {endings}; got {str(path)!r}")


def _read_text(path: str, delimiter: str) -> pa.Table:
    """Read a text file with a line of column names; blanks around names and words do not count."""
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))
    table = table.rename_columns([name.strip() for name in table.column_names])
    for at, column in enumerate(table.columns):
        if pa.types.is_binary(column.type):  # what is not UTF-8
            name = table.column_names[at]
            raise InvalidFile(f"{path!r} cannot be read as a table: the column {name!r} is not in UTF-8")
        if pa.types.is_string(column.type):
            table = table.set_column(at, table.column_names[at], compute.utf8_trim_whitespace(column))
    return table


def table_columns(rows: Any, what: str) -> dict[str, list[Any]]:
    """Return the columns of a table by name; `what` says in errors what the table is.

    Examples
    --------
    >>> table_columns([{"arm": "tea", "mean": .5}, {"arm": "cola", "mean": .25}], "experiments")
    {'arm': ['tea', 'cola'], 'mean': [0.5, 0.25]}
    """
    if isinstance(rows, (str, PathLike)):
        rows = read_table(rows)
    if isinstance(rows, Mapping):
        columns = {str(name): checked_list(column, str(name), "values") for name, column in rows.items()}
    elif isinstance(rows, (list, tuple)):
        columns = _columns_of_dicts(rows, what)
    else:
        columns = _columns_of_frame(rows, what)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput(f"the columns of {what} must have one length; got {lengths}")
    if not columns or not next(iter(lengths.values())):
        raise InvalidInput(f"{what} must have at least one row; got none")
    return columns


def _columns_of_dicts(rows: Any, what: str) -> dict[str, list[Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidInput(f"{what} must be {_FORMS}; row {number} is {row!r}")
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}


def _columns_of_frame(rows: Any, what: str) -> dict[str, list[Any]]:
    import narwhals as nw

    try:
        frame = nw.from_native(rows)
    except TypeError:
        raise InvalidInput(f"{what} must be {_FORMS}; got {type(rows).__name__}") from None
    eager: Any = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return {name: eager[name].to_list() for name in eager.columns}


def take_column(columns: dict[str, list[Any]], name: str, what: str) -> list[Any]:
    """Return a column, or say that it is missing."""
    if name not in columns:
        names = list(columns)
        raise InvalidInput(
            f"{what} has no column {name!r}; found {listed(names, name)}{suggest(name, names)}"
        )
    return columns[name]


def take_numbers(columns: dict[str, list[Any]], name: str, what: str) -> NDArray[np.float64]:
    """Return a column of finite numbers; an error names the row."""
    values = take_column(columns, name, what)
    bad = [row for row, value in enumerate(values) if not is_number(value) or not np.isfinite(float(value))]
    if bad:
        # One word makes a whole column of a file text: the word is what is wrong, not the numbers before it.
        row = next((row for row in bad if not _reads_as_number(values[row])), bad[0])
        raise InvalidInput(f"{name} must be a finite number; row {row} of {what} has {values[row]!r}")
    return np.array(values, np.float64)


def _reads_as_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def take_ids(columns: dict[str, list[Any]], name: str, what: str) -> list[ArmId]:
    """Return a column of ids, all text or all whole numbers; an error names the row."""
    values = [
        value.item() if isinstance(value, np.generic) else value for value in take_column(columns, name, what)
    ]
    kinds = {type(value) for value in values}
    if not (kinds == {str} or kinds == {int}):
        row = next(
            row
            for row, value in enumerate(values)
            if type(value) is not type(values[0]) or type(value) not in (str, int)
        )
        raise InvalidInput(
            f"{name} must be all text or all whole numbers; row {row} of {what} has {values[row]!r}"
        )
    return values


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, NaN, or a text without letters.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), " ", 0, "no")]
    [True, True, True, False, False]
    """
    if value is None or value != value:
        return True
    return isinstance(value, str) and not value.strip()


def take_groups(columns: dict[str, list[Any]], name: str, what: str) -> list[Any] | None:
    """Return a column of labels, all of which are given; None without such a column."""
    if name not in columns:
        return None
    for row, value in enumerate(columns[name]):
        if is_missing(value):
            raise InvalidInput(
                f"row {row} of {what} has no {name}; fill it in, or leave the column out if all rows belong "
                "together"
            )
    return columns[name]


def numbered(values: Iterable[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the different values in order of appearance, and the number of each value among them.

    Examples
    --------
    >>> numbered(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    index: dict[Any, int] = {}
    numbers = np.array([index.setdefault(value, len(index)) for value in values], np.int64)
    return list(index), numbers
