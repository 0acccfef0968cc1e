"""From columns ``a``, ``b``, ``relation`` to arms and pairs: what files and dataframes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lsdt.errors import InvalidInput, suggest
from lsdt.side_information.arms import ArmsAndPairs
from lsdt.side_information.layouts.ranges import check_ends

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

RELATIONS = ("similar", "dissimilar")
WORDS = (*RELATIONS, "better", "range")
_BETTER, _RANGE = 2, 3  # their places in `WORDS`
_SHOWN = 100  # letters of an unknown word that an error shows, a line or so
# A whole number in plain digits, or as pandas writes it in a column with missing values: 7.0
_INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)(\.0)?$"


def arms_and_pairs(
    a: pa.ChunkedArray,
    b: pa.ChunkedArray,
    relation: pa.ChunkedArray | None,
    *,
    place: Callable[[int], str],
    names: tuple[str, str] = ("a", "b"),
    keep_ids: bool = False,
    threshold: pa.ChunkedArray | None = None,
    low: pa.ChunkedArray | None = None,
    high: pa.ChunkedArray | None = None,
) -> ArmsAndPairs:
    """Return the arms and pairs in some columns; errors name the row by ``place(row)``.

    `names` are the user's names for the columns of arms. `keep_ids` keeps ids that look like indices.
    Without a `relation` column every pair is similar. With a `threshold` column a pair may be in both
    relations. `low` and `high` are the ends of rows whose relation is ``range``; empty ones are open.
    """
    a, b = _same_kind(a, b, names)
    if len(a) == 0:
        raise InvalidInput("there are no rows, hence no arms; a file needs at least one arm")
    if a.null_count:
        raise InvalidInput(f"{place(_first(pc.is_null(a)))} has no arm in column {names[0]!r}")
    is_pair = pc.is_valid(b)
    codes = _relation_codes(relation, is_pair, place, names[1])
    arm_ids, a_index, b_index = _number_arms(a, b, keep_ids)
    paired = np.asarray(is_pair)
    same = paired & (a_index == b_index)
    if same.any():
        row = int(np.argmax(same))
        raise InvalidInput(
            f"{place(row)} joins arm {a[row].as_py()!r} to itself; a relation needs two different arms"
        )
    pairs = np.column_stack([a_index, b_index])
    thresholds = None
    if threshold is None:
        _refuse_both(pairs, codes, arm_ids, place)
    else:
        values = _thresholds(threshold, (codes == 0) | (codes == 1), place)
        thresholds = values[codes == 0], values[codes == 1]
    kept = None if not keep_ids and _are_indices(arm_ids) else arm_ids
    found = ArmsAndPairs(len(arm_ids), kept, pairs[codes == 0], pairs[codes == 1], thresholds)
    if not (codes >= _BETTER).any():
        return found
    rows = np.flatnonzero(codes == _RANGE)
    lows, highs = _ends(low, rows, -np.inf, place), _ends(high, rows, np.inf, place)
    check_ends(lows, highs, lambda number: place(int(rows[number])))
    return found._replace(ranges=(pairs[codes == _BETTER], pairs[rows], lows, highs))


def _ends(
    column: pa.ChunkedArray | None, rows: NDArray[np.int64], if_open: float, place: Callable[[int], str]
) -> NDArray[np.float64]:
    """Return one end of the ranges in some rows; an empty one is open."""
    if column is None:
        return np.full(len(rows), if_open)
    part = column.take(pa.array(rows))
    if pa.types.is_floating(part.type):
        part = pc.if_else(pc.is_nan(part), None, part)  # how pandas holds an empty end
    is_open = np.asarray(pc.is_null(part))
    try:
        values = np.array(pc.fill_null(part.cast(pa.float64()), np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = np.array([_number(entry.as_py()) for entry in part])
    wrong = np.isnan(values) & ~is_open
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(
            f"{place(int(rows[at]))} has the end {part[at].as_py()!r}; the ends of a range are numbers, or "
            "empty where open"
        )
    return np.where(is_open, if_open, values)


def _thresholds(
    column: pa.ChunkedArray, needed: NDArray[np.bool_], place: Callable[[int], str]
) -> NDArray[np.float64]:
    """Return the threshold of every row that needs one: those of similar and dissimilar pairs."""
    try:
        values = np.array(pc.fill_null(column.cast(pa.float64()), np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = np.array([_number(entry.as_py()) for entry in column])
    wrong = needed & ~((values > 0.0) & np.isfinite(values))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"{place(row)} has the threshold {column[row].as_py()!r}; where there is a column of thresholds "
            "every similar or dissimilar pair needs a positive number"
        )
    return values


def _number(entry: object) -> float:
    try:
        return float(entry)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")


def _refuse_both(
    pairs: NDArray[np.int64], codes: NDArray[np.int64], arm_ids: list[ArmId], place: Callable[[int], str]
) -> None:
    """Refuse a pair that is listed in both relations; the error names the rows."""
    keys = pairs.min(axis=1) * len(arm_ids) + pairs.max(axis=1)
    both = np.intersect1d(keys[codes == 0], keys[codes == 1])
    if len(both):
        rows = [int(np.argmax((keys == both[0]) & (codes == code))) for code in (0, 1)]
        first, second = (arm_ids[arm] for arm in divmod(int(both[0]), len(arm_ids)))
        raise InvalidInput(
            f"the pair ({first!r}, {second!r}) is listed both as similar ({place(rows[0])}) and as "
            f"dissimilar ({place(rows[1])}); keep one of the two"
        )


def integers_from_text(a: pa.ChunkedArray, b: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Convert two text columns to integers if every entry of both is an integer that fits in 64 bits."""
    columns = []
    for column in (a, b):
        if not pc.all(pc.match_substring_regex(column, _INTEGER_TEXT), min_count=0).as_py():
            return a, b
        try:
            columns.append(pc.replace_substring_regex(column, r"\.0$", "").cast(pa.int64()))
        except pa.ArrowInvalid:
            return a, b
    return columns[0], columns[1]


def _same_kind(
    a: pa.ChunkedArray, b: pa.ChunkedArray, names: tuple[str, str]
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return both columns as int64 or both as text; refuse other types."""
    columns = []
    for name, column in zip(names, (a, b), strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if pa.types.is_floating(kind):  # integers beside missing values, as pandas holds them
            try:
                column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
            except pa.ArrowInvalid:
                raise InvalidInput(
                    f"column {name!r} must hold whole numbers or text; it holds fractions"
                ) from None
        elif pa.types.is_integer(kind):
            column = column.cast(pa.int64())
        elif pa.types.is_null(kind):
            column = None
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            column = column.cast(pa.string())
            column = pc.if_else(pc.equal(column, ""), None, column)
        else:
            raise InvalidInput(f"column {name!r} must hold arm ids (text or whole numbers); it holds {kind}")
        columns.append(column)
    kinds = {column.type for column in columns if column is not None}
    if len(kinds) == 2:
        raise InvalidInput(
            f"columns {names[0]!r} and {names[1]!r} must both hold text or both whole numbers; one holds each"
        )
    kind = kinds.pop() if kinds else pa.string()
    empty = pa.chunked_array([pa.nulls(len(a), kind)])
    filled = [empty if column is None else column for column in columns]
    return filled[0], filled[1]


def _relation_codes(
    relation: pa.ChunkedArray | None, is_pair: pa.ChunkedArray, place: Callable[[int], str], name_of_b: str
) -> NDArray[np.int64]:
    """Return the place of the relation in `WORDS`, -1 for a row that only names an arm."""
    paired = np.asarray(is_pair)
    if relation is None:
        return np.where(paired, 0, -1)
    words = relation.cast(pa.string())
    words = pc.if_else(pc.equal(words, ""), None, words)
    known = pc.index_in(words, value_set=pa.array(WORDS))
    codes = np.asarray(pc.fill_null(known, -1)).astype(np.int64)
    accepted = "accepted are 'similar', 'dissimilar', 'better' and 'range'"
    unknown = (codes < 0) & np.asarray(pc.is_valid(words))
    if unknown.any():
        row = int(np.argmax(unknown))
        word = words[row].as_py()
        shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..."
        raise InvalidInput(f"{place(row)} has the relation {shown!r}; {accepted}{suggest(shown, WORDS)}")
    missing = paired & (codes < 0)
    if missing.any():
        raise InvalidInput(f"{place(int(np.argmax(missing)))} has two arms and no relation; {accepted}")
    half = ~paired & (codes >= 0)
    if half.any():
        raise InvalidInput(
            f"{place(int(np.argmax(half)))} has a relation and only one arm; fill in column "
            f"{name_of_b!r}, or leave the relation empty to name an arm that occurs in no pair"
        )
    return codes


def _number_arms(
    a: pa.ChunkedArray, b: pa.ChunkedArray, keep_ids: bool
) -> tuple[list[ArmId], NDArray[np.int64], NDArray[np.int64]]:
    """Number the arms by appearance in `a`, then in `b` (by value where the values are 0 .. K - 1)."""
    distinct = pc.drop_null(pc.unique(pa.chunked_array([*a.chunks, *b.chunks])))
    if not keep_ids and pa.types.is_integer(distinct.type):
        ascending = distinct.take(pc.sort_indices(distinct))
        if ascending[0].as_py() == 0 and ascending[-1].as_py() == len(ascending) - 1:
            distinct = ascending
    index_of = [np.asarray(pc.fill_null(pc.index_in(column, value_set=distinct), -1)) for column in (a, b)]
    return distinct.to_pylist(), index_of[0].astype(np.int64), index_of[1].astype(np.int64)


def _are_indices(arm_ids: list[ArmId]) -> bool:
    return isinstance(arm_ids[0], int) and arm_ids == list(range(len(arm_ids)))


def _first(mask: pa.ChunkedArray) -> int:
    return int(np.argmax(np.asarray(mask)))
