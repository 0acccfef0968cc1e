"""Columns of a log, batch by batch: ids become numbers on the way, ratings become floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lsdt._validation import LARGEST_REWARD
from lsdt.errors import InvalidInput
from lsdt.kernel import require_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.side_information import ArmId

MOST_DENSE = 2**24  # widest range of whole numbers that a table covers: 64 MiB at 4 bytes each

_PLURAL = {"rating": "ratings", "propensity": "propensities", "time": "times"}
_MOMENTS = (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))

# A whole number, or one as pandas writes it if the column has missing values: 7.0
_INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)(\.0)?$"


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


class IdEncoder:
    """Numbers for the ids of one column, in the order in which they first appear.

    Parameters
    ----------
    name : str
        The column, as the user calls it.
    from_text : bool
        Whether the ids were read from a file of text: then blanks around them mean nothing, and they are
        whole numbers if all of them look like it.
    most_dense : int
        The widest range of whole numbers to cover by a table.
    """

    def __init__(self, name: str, from_text: bool, most_dense: int = MOST_DENSE) -> None:
        self.name, self.from_text = name, from_text
        self.known: pa.Array | None = None
        self._table: _NumberTable | None = _NumberTable(most_dense)

    def codes(self, column: pa.Array, place: Callable[[int], str]) -> NDArray[np.int32]:
        """Return a number for every row of a batch; `place` says in words where a row is."""
        if self._table is not None:
            if pa.types.is_integer(column.type) and not column.null_count:
                codes = self._table.codes(np.asarray(column))
                if codes is not None:
                    return codes
            self._leave_table()
        if pa.types.is_nested(column.type):
            raise self._wrong_kind(column.type)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        if encoded.null_count:
            raise self._missing_id(place(int(np.argmax(encoded.is_null()))))
        indices = np.asarray(encoded.indices)
        used = np.bincount(indices, minlength=len(encoded.dictionary)) > 0

        def first_row(wrong: Any) -> str:
            bad = np.zeros(len(used), bool)
            bad[used] = np.asarray(wrong)
            return place(int(np.argmax(bad[indices])))

        values = self._normal(encoded.dictionary.filter(pa.array(used)), first_row)
        lookup = np.full(len(used), -1, np.int32)
        lookup[used] = self._numbers(values)
        return np.asarray(lookup[indices])

    def _leave_table(self) -> None:
        """Switch from the table to hashing, and keep the ids of the table."""
        if self._table is not None and len(self._table.ids):
            self.known = pa.array(self._table.ids)
        self._table = None

    def finish(self) -> tuple[list[ArmId], NDArray[np.int32]]:
        """Return the ids in ascending order, and the place of each number's id in that order."""
        self._leave_table()
        known = pa.array([], pa.int64()) if self.known is None else self.known
        if pa.types.is_temporal(known.type):
            known = pa.array([moment.isoformat() for moment in known.to_pylist()], pa.string())
        elif self.from_text:
            known = _integers_if_all(known)
        distinct = known.unique()
        distinct = distinct.take(pc.sort_indices(distinct))
        places = np.asarray(pc.index_in(known, value_set=distinct)).astype(np.int32)
        return distinct.to_pylist(), places

    def _numbers(self, values: pa.Array) -> NDArray[np.int32]:
        """Return the numbers of ids; new ids get the next numbers."""
        if self.known is None:
            self.known = values.unique()
        if values.type != self.known.type:
            raise InvalidInput(
                f"ids in column {self.name!r} must be of one kind; found {self.known.type} and {values.type}"
            )
        places = pc.index_in(values, value_set=self.known)
        if places.null_count:
            fresh = values.filter(places.is_null()).unique()
            require_memory(
                float(self.known.nbytes + fresh.nbytes),
                f"keeping {len(self.known) + len(fresh):,} different ids of column {self.name!r}",
                "use shorter ids, or fewer rows",
            )
            self.known = pa.concat_arrays([self.known, fresh])
            places = pc.index_in(values, value_set=self.known)
        return np.asarray(places).astype(np.int32)

    def _normal(self, values: pa.Array, first_row: Callable[[Any], str]) -> pa.Array:
        """Return ids as int64, text or times; `first_row` says in words where the first wrong id is."""
        kind = values.type
        if values.null_count:
            raise self._missing_id(first_row(values.is_null()))
        if pa.types.is_integer(kind):
            return self._cast(values, pa.int64(), first_row, "fit in 64 bits")
        if pa.types.is_floating(kind):  # pandas does this to whole numbers if some are missing
            if (gaps := np.isnan(values)).any():
                raise self._missing_id(first_row(gaps))
            return self._cast(values, pa.int64(), first_row, "be whole numbers or text")
        if pa.types.is_date(kind):
            return values.cast(pa.date32())
        if pa.types.is_timestamp(kind):
            return self._cast(values, pa.timestamp("us", kind.tz), first_row, "be whole microseconds")
        if is_text(kind):
            values = values.cast(pa.string())
            if self.from_text:
                values = pc.utf8_trim_whitespace(values)
            if pc.any(blank := pc.equal(values, "")).as_py():
                raise self._missing_id(first_row(blank))
            return values
        raise self._wrong_kind(kind)

    def _cast(
        self, values: pa.Array, kind: pa.DataType, first_row: Callable[[Any], str], must: str
    ) -> pa.Array:
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            wrong = [not _can_be(value, kind) for value in values]
            shown = values[int(np.argmax(wrong))].as_py()
            raise InvalidInput(
                f"ids in column {self.name!r} must {must}; {first_row(wrong)} has {shown!r}"
            ) from None

    def _wrong_kind(self, kind: pa.DataType) -> InvalidInput:
        return InvalidInput(
            f"column {self.name!r} must hold ids: text, whole numbers or dates; it holds {kind}"
        )

    def _missing_id(self, row: str) -> InvalidInput:
        return InvalidInput(
            f"{row} has nothing in column {self.name!r}; every rating needs its user and item"
        )


class _NumberTable:
    """Numbers for ids that are whole numbers not far apart, in a table, which is faster than hashing."""

    def __init__(self, most_dense: int) -> None:
        self._most_dense = most_dense
        self.base, self.table, self.ids = 0, np.empty(0, np.int32), np.empty(0, np.int64)

    def codes(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.int32] | None:
        """Return a number for every id, or None where they are too far apart."""
        if len(ids) == 0:
            return np.empty(0, np.int32)
        low, high = int(ids.min()), int(ids.max())
        if len(self.table):
            low, high = min(low, self.base), max(high, self.base + len(self.table) - 1)
        if high - low >= self._most_dense or high >= 2**63:
            return None
        if high - low >= len(self.table):
            table = np.full(high - low + 1, -1, np.int32)
            table[self.base - low : self.base - low + len(self.table)] = self.table
            self.base, self.table = low, table
        places = np.subtract(ids, self.base, dtype=np.int64, casting="unsafe")
        codes = self.table[places]
        if (new := codes < 0).any():
            marks = np.zeros(len(self.table), bool)
            marks[places[new]] = True
            fresh = np.flatnonzero(marks)
            self.table[fresh] = np.arange(len(self.ids), len(self.ids) + len(fresh))
            self.ids = np.concatenate((self.ids, fresh + self.base))
            codes = self.table[places]
        return np.asarray(codes)


def numbers_of(
    column: pa.Array, name: str, place: Callable[[int], str], role: str = "rating"
) -> NDArray[np.float64]:
    """Return the ratings, or propensities, of a batch; refuse anything but finite numbers, naming the row.

    Times may also be dates and moments, in ISO form where they are text; they become seconds since 1970.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if role == "time":
        column = _seconds_of_moments(column, place)
        kind = column.type
    if is_text(kind):
        column = _numbers_of_text(column, place, role)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise InvalidInput(f"column {name!r} must hold {_PLURAL[role]}, which are numbers; it holds {kind}")
    if column.null_count:
        row = place(int(np.argmax(column.is_null())))
        raise InvalidInput(
            f"{row} has no {role}; drop rows without one, every other {role} is a finite number"
        )
    numbers = np.asarray(column.cast(pa.uint8() if pa.types.is_boolean(kind) else pa.float64(), safe=False))
    if not (fits := np.abs(numbers) <= LARGEST_REWARD).all():
        at = int(np.argmin(fits))
        raise InvalidInput(
            f"{place(at)} holds the {role} {numbers[at]}; {_PLURAL[role]} must be finite numbers, at most "
            f"{LARGEST_REWARD:g} in size"
        )
    return numbers.astype(np.float64, copy=False)


def _numbers_of_text(column: pa.Array, place: Callable[[int], str], role: str) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
    trimmed = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
    for word, number in (("true", "1"), ("false", "0")):  # as dataframes write them
        trimmed = pc.if_else(pc.equal(pc.utf8_lower(trimmed), word), number, trimmed)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        row = next(row for row, text in enumerate(trimmed) if not _can_be(text, pa.float64()))
        raise InvalidInput(
            f"{place(row)} holds the {role} {trimmed[row].as_py()!r}; {_PLURAL[role]} must be finite numbers"
        ) from None


def _seconds_of_moments(column: pa.Array, place: Callable[[int], str]) -> pa.Array:
    """Convert dates and times, also in text, to seconds; return other columns unchanged."""
    if is_text(column.type):
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
        first = next((text for text in trimmed.to_pylist() if text), "")
        kind = next((kind for kind in _MOMENTS if _can_be(pa.scalar(first), kind)), None)
        if kind is None or not any(mark in first for mark in "-:"):  # a number
            return column
        trimmed = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
        try:
            column = trimmed.cast(kind)
        except pa.ArrowInvalid:
            row = next(row for row, text in enumerate(trimmed) if not _can_be(text, kind))
            raise InvalidInput(
                f"{place(row)} holds the time {trimmed[row].as_py()!r}, and others are written as {first!r}"
            ) from None
    if pa.types.is_date(column.type):
        column = column.cast(_MOMENTS[0])
    if pa.types.is_timestamp(column.type):
        moments = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
        return pc.divide(moments.cast(pa.int64()).cast(pa.float64()), 1e6)
    return column


def _can_be(value: pa.Scalar, kind: pa.DataType) -> bool:
    try:
        value.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _integers_if_all(known: pa.Array) -> pa.Array:
    if not pc.all(pc.match_substring_regex(known, _INTEGER_TEXT)).as_py():
        return known
    try:
        return pc.replace_substring_regex(known, r"\.0$", "").cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits
        return known
