"""The published Jester ratings of jokes, read from the user's file and checked cell by cell."""

from __future__ import annotations

import hashlib
import io
import lzma
import zipfile
import zlib
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from lsdt._files import checked_path, csv_rows
from lsdt.errors import InvalidFile, InvalidInput, MissingDependency
from lsdt.ratings.log import RatingLog

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

# As published, see `load_jester`.
JOKES = 100
LOW, HIGH = -10.0, 10.0
NOT_RATED = 99.0
_COLUMNS = JOKES + 1
_SHEETS = (".xls", ".xlsx")
_ENDINGS = (".csv", *_SHEETS)
# What the standard library raises for zips that are damaged in one way or another.
_BAD_ZIP = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, RuntimeError, ValueError),
)


def where_to_get_jester() -> str:
    """Say where the data set is and on which terms.

    Examples
    --------
    >>> import lsdt
    >>> "jester-data-1" in lsdt.ratings.where_to_get_jester()
    True
    """
    return (
        "The Jester ratings are published at https://eigentaste.berkeley.edu/dataset/ (data set 1, the file "
        "jester-data-1). They are free for research if you acknowledge them by citing Goldberg, Roeder, "
        "Gupta and Perkins, Eigentaste: a constant time collaborative filtering algorithm, Information "
        "Retrieval 4(2), 133-151, 2001. lsdt downloads nothing: fetch the file yourself and give its path, "
        "as the zip, the xls or a csv of it."
    )


def load_jester(path: str | PathLike[str]) -> RatingLog:
    """Read Jester ratings: the published zip, the sheet (xls) in it, or that sheet as CSV.

    The layout is that of ``jester-data-1`` (24,983 users), which the other parts of data set 1 share: no
    header, one row per user, first the number of jokes rated, then 100 ratings from -10 to 10, 99 for a joke
    that was not rated. All of it is checked. The spreadsheet needs python-calamine
    (``pip install 'lsdt[xls]'``).

    Returns
    -------
    RatingLog
        Users in the order of the rows; the items are 1 to 100.

    Raises
    ------
    InvalidFile
        With row, column and value of the first cell that does not fit.
    """
    file = checked_path(path)
    try:
        name, content = _content_of(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidFile(f"cannot read {str(file)!r}: {reason}. {where_to_get_jester()}") from None
    cells = _cells_of_sheet(content, name) if _ending(name) in _SHEETS else _cells_of_csv(content, name)
    return RatingLog.from_matrix(_checked_ratings(cells, name), range(1, JOKES + 1), (LOW, HIGH))


def file_fingerprint(path: str | PathLike[str]) -> str:
    """Return the SHA-256 of a file of ratings, which identifies it."""
    try:
        with checked_path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidFile(f"cannot read {str(path)!r}: {reason}. {where_to_get_jester()}") from None


def _ending(name: str) -> str:
    return PurePath(name).suffix.lower()


def _content_of(file: Path) -> tuple[str, bytes]:
    """Return the name and the content of the table in a file, or in its zip."""
    if _ending(file.name) in _ENDINGS:
        return file.name, file.read_bytes()
    if _ending(file.name) != ".zip":
        raise InvalidFile(f"Jester ratings end in .zip, {', '.join(_ENDINGS)}; got {str(file)!r}")
    try:
        with zipfile.ZipFile(file) as archive:
            # Archivers of some systems add files of their own, in hidden or marked folders.
            names = [
                name
                for name in archive.namelist()
                if _ending(name) in _ENDINGS and not name.startswith((".", "__"))
            ]
            if len(names) != 1:
                held = ", ".join(map(repr, archive.namelist())) or "nothing"
                raise InvalidFile(
                    f"the zip {file.name!r} must hold one file that ends in {', '.join(_ENDINGS)}; "
                    f"it holds {held}"
                )
            return names[0], archive.read(names[0])
    except InvalidFile:
        raise
    except _BAD_ZIP as error:
        raise InvalidFile(f"{str(file)!r} cannot be read as a zip: {error}") from None


def _cells_of_csv(content: bytes, name: str) -> NDArray[np.float64]:
    """Read all cells as numbers; on failure, a slow second pass finds the bad one."""
    names = [f"f{number}" for number in range(_COLUMNS)]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(content),
            read_options=pa_csv.ReadOptions(autogenerate_column_names=True),
            convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64())),
        )
    except pa.ArrowInvalid as error:
        raise InvalidFile(_what_is_wrong(content, name) or f"{name}: {error}") from None
    if table.num_columns != _COLUMNS or any(column.null_count for column in table.columns):
        raise InvalidFile(_what_is_wrong(content, name) or f"{name} is not a table of numbers")
    return np.column_stack([column.to_numpy() for column in table.columns])


def _what_is_wrong(content: bytes, name: str) -> str | None:
    try:
        return _first_bad_row(content, name)
    except InvalidInput as error:
        return f"{name}: {error}"


def _first_bad_row(content: bytes, name: str) -> str | None:
    """Return what is wrong with the first row that is not 101 numbers."""
    text = io.StringIO(content.decode("utf-8-sig", errors="replace"), newline="")
    number = 0
    for number, (_, row) in enumerate(csv_rows(text), start=1):
        if len(row) != _COLUMNS:
            return (
                f"{name}: row {number} has {len(row)} columns, separated by commas; there must be "
                f"{_COLUMNS}: the number of jokes rated, then a rating of each of {JOKES} jokes"
            )
        for column, cell in enumerate(row, start=1):
            if not _is_number(cell):
                return _bad_cell(name, number, column, repr(cell), "a number is wanted in every cell")
    return None if number else f"{name} has no rows"


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _cells_of_sheet(content: bytes, name: str) -> NDArray[np.float64]:
    import pandas as pd

    try:
        import python_calamine  # noqa: F401  pandas would name its own extras
    except ImportError:
        raise MissingDependency(
            f"reading {name} needs python-calamine; install it with: pip install 'lsdt[xls]', or save the "
            "sheet as CSV"
        ) from None
    try:
        frame = pd.read_excel(io.BytesIO(content), header=None, engine="calamine", na_filter=False)
    except Exception as error:  # calamine has errors of its own, which are not to be imported
        raise InvalidFile(f"{name} cannot be read as a spreadsheet: {error}") from None
    cells: NDArray[Any] = frame.to_numpy(object)
    if cells.shape[0] == 0 or cells.shape[1] != _COLUMNS:
        raise InvalidFile(f"{name} has {cells.shape[1]} columns; there must be {_COLUMNS}")
    try:
        return cells.astype(np.float64)
    except (ValueError, TypeError):
        for row, column in np.ndindex(*cells.shape):
            if not isinstance(cells[row, column], (int, float)):
                why = "a number is wanted in every cell"
                raise InvalidFile(
                    _bad_cell(name, row + 1, column + 1, repr(cells[row, column]), why)
                ) from None
        raise


def _checked_ratings(cells: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return the ratings with NaN where there is none, or name the first cell that does not fit."""
    ratings = np.ascontiguousarray(cells[:, 1:])
    none = ratings == NOT_RATED
    bad = ~(none | ((ratings >= LOW) & (ratings <= HIGH)))
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        why = f"ratings go from {LOW:g} to {HIGH:g}, and {NOT_RATED:g} stands for not rated"
        raise InvalidFile(_bad_cell(name, row + 1, column + 2, f"{ratings[row, column]:g}", why))
    counts = JOKES - none.sum(axis=1)
    if (wrong := np.flatnonzero(counts != cells[:, 0])).size:
        row = int(wrong[0])
        why = f"it must be the number of jokes rated, and the row has {counts[row]} ratings"
        raise InvalidFile(_bad_cell(name, row + 1, 1, f"{cells[row, 0]:g}", why))
    ratings[none] = np.nan
    return ratings


def _bad_cell(name: str, row: int, column: int, value: str, why: str) -> str:
    joke = f" (joke {column - 1})" if column > 1 else ""
    return f"{name}: row {row}, column {column}{joke} holds {value}; {why}"
