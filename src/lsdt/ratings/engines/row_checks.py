"""Checks of a log that stays in its engine: columns, ids, ratings, repeats, scale.

Each check is one query of narwhals' lazy expressions, which DuckDB, Spark, polars and others answer alike.
Rows of an engine have no number, so errors name the user and the item instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from lsdt._validation import LARGEST_REWARD
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.ratings.log import checked_scale
from lsdt.ratings.reading.columns import NO_ORDER, NO_ROWS
from lsdt.side_information import row_of

if TYPE_CHECKING:
    from lsdt.ratings.reading.columns import ColumnNames, LogColumns
    from lsdt.side_information import Lazy

_TEXT = (nw.Categorical, nw.Enum)  # engines differ in how they order and return these


class CheckedLog(NamedTuple):
    """A lazy frame with columns ``user``, ``item`` and ``rating``: one valid row per user and item.

    ``low`` and ``high`` are the ends of the scale.
    """

    frame: Lazy
    low: float
    high: float


def checked_log(
    frame: Lazy, words: LogColumns, duplicates: str, scale: tuple[float, float] | None
) -> CheckedLog:
    """Check a log in its engine; see `lsdt.ratings.read_log` for the parameters."""
    if duplicates == "last":
        raise Unsupported(NO_ORDER)
    kinds = frame.collect_schema()
    columns = words.among(kinds.names())
    assert columns.user is not None
    _check_kinds(kinds, columns)
    log = frame.select(
        _id(columns.user, kinds[columns.user]).alias("user"),
        _id(columns.item, kinds[columns.item]).alias("item"),
        _number(columns.rating, kinds[columns.rating]).alias("rating"),
    )
    ends = _check_rows(log, kinds, columns)
    low, high = checked_scale(
        scale, np.array(ends), ("the smallest rating", "the largest rating").__getitem__
    )
    times = log.group_by("user", "item").agg(nw.col("rating").mean(), times=nw.len())
    if duplicates == "error":
        _refuse_repeats(times)
        return CheckedLog(log, low, high)
    return CheckedLog(times.select("user", "item", "rating"), low, high)


def _id(name: str, kind: Any) -> nw.Expr:
    return nw.col(name).cast(nw.String) if kind in _TEXT else nw.col(name)


def _number(name: str, kind: Any) -> nw.Expr:
    column = nw.col(name).cast(nw.Int8) if kind == nw.Boolean else nw.col(name)
    return column.cast(nw.Float64)


def _check_kinds(kinds: Any, columns: ColumnNames) -> None:
    rating = kinds[columns.rating]
    if not (rating.is_numeric() or rating == nw.Boolean):
        raise InvalidInput(
            f"column {columns.rating!r} must hold ratings, which are numbers; it holds {rating}. Cast it in "
            "your own query"
        )
    for name in columns.ids:
        kind = kinds[name]
        fits = kind in (nw.String, *_TEXT, nw.Date) or kind.is_numeric() or isinstance(kind, nw.Datetime)
        if not fits:
            raise InvalidInput(
                f"column {name!r} must hold ids: text, whole numbers or dates; it holds {kind}"
            )


def _is_missing(role: str, kind: Any) -> nw.Expr:
    """Return, for every row, whether it lacks an id."""
    column = nw.col(role)
    if kind.is_float():
        return column.is_null() | column.is_nan()
    return column.is_null() | (column == "") if kind == nw.String or kind in _TEXT else column.is_null()


def _check_rows(log: Lazy, kinds: Any, columns: ColumnNames) -> tuple[float, float]:
    """Refuse rows without an id or a finite rating; return the smallest and the largest rating."""
    wrong = {
        "user": _is_missing("user", kinds[columns.user]),
        "item": _is_missing("item", kinds[columns.item]),
        "rating": nw.col("rating").is_null()
        | ~nw.col("rating").is_finite()
        | (nw.col("rating").abs() > LARGEST_REWARD),
    }
    counts = {role: when.cast(nw.Int64).sum().alias(role) for role, when in wrong.items()}
    query = log.select(
        nw.len().alias("rows"),
        nw.col("rating").min().alias("low"),
        nw.col("rating").max().alias("high"),
        *(count.alias(f"bad_{role}") for role, count in counts.items()),
    )
    found = row_of(query)
    if found["rows"] == 0:
        raise InvalidInput(NO_ROWS)
    for role, when in wrong.items():
        count = int(found[f"bad_{role}"] or 0)
        if count:
            row = row_of(log.filter(when).head(1))
            lack = (
                f"no finite rating of at most {LARGEST_REWARD:g}"
                if role == "rating"
                else f"nothing in column {getattr(columns, role)!r}"
            )
            raise InvalidInput(
                f"{counted(count, 'row')} of {found['rows']:,} have {lack}, such as that of user "
                f"{row['user']!r}, item {row['item']!r}, rating {row['rating']!r}; leave them out in your "
                "own query"
            )
    return found["low"], found["high"]


def _refuse_repeats(times: Lazy) -> None:
    repeated = times.filter(nw.col("times") > 1)
    found = row_of(repeated.select(nw.len().alias("n")))
    if found["n"]:
        row = row_of(repeated.head(1))
        raise InvalidInput(
            f"{counted(found['n'], 'pair')} of a user and an item occur more than once, such as user "
            f"{row['user']!r} and item {row['item']!r}, {row['times']} times; keep one of them in your own "
            "query, or say duplicates='mean'"
        )
