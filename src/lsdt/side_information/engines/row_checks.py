"""Checks of pairs that stay in their engine: columns, arms, words, ends of ranges.

One query counts all kinds of wrong rows; a second one fetches an example. Rows of an engine have no number,
so errors show the row itself. Contradictory pairs are found where repeated pairs are joined
(`pair_tables`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw

from lsdt._validation import check_columns
from lsdt.errors import InvalidInput, Unsupported, counted, listed
from lsdt.side_information.engines.workspace import row_of
from lsdt.side_information.io.columns import WORDS

if TYPE_CHECKING:
    from lsdt.side_information.engines.workspace import Lazy

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_LARGEST = 1e300  # an end beyond this is open
_ACCEPTED = "accepted are 'similar', 'dissimilar', 'better' and 'range'"


class Columns(NamedTuple):
    """The user's names for the columns of pairs."""

    a: str
    b: str
    relation: str
    low: str
    high: str

    def present(self, names: list[str]) -> dict[str, str]:
        """Map each role to its column; `low` and `high` may be missing if they are not renamed."""
        check_columns("a, b, relation, low and high", self)
        found = {role: name for role, name in self._asdict().items() if name in names}
        own = [name for role, name in self._asdict().items() if role in ("low", "high") and name != role]
        missing = [name for name in (self.a, self.b, self.relation, *own) if name not in names]
        if missing:
            raise InvalidInput(
                f"the frame lacks the columns {listed(missing)}; found {listed(names, missing[0])}"
            )
        return found


class CheckedPairs(NamedTuple):
    """A lazy frame of columns ``a``, ``b``, ``relation``, ``low``, ``high``: open ends are null.

    A row with a null in ``b`` only names an arm. `n_rows` counts all rows, `counts` those of each relation.
    """

    rows: Lazy
    has_text: bool
    n_rows: int
    counts: dict[str, int]


def checked_pairs(frame: Lazy, columns: Columns) -> CheckedPairs:
    """Check the rows in their engine; return them with standard column names and their counts."""
    kinds = frame.collect_schema()
    present = columns.present(kinds.names())
    if "threshold" in kinds.names():
        raise Unsupported(
            "the frame has a column 'threshold', and distinct thresholds are compared in memory only: read "
            "it with lsdt.from_frame, or leave that column out of your query where all are one epsilon"
        )
    has_text = _has_text(kinds, columns)
    rows = frame.select(
        _arm(columns.a, has_text).alias("a"),
        _arm(columns.b, has_text).alias("b"),
        _word(columns.relation, kinds).alias("relation"),
        *(_end(end, present, kinds).alias(end) for end in ("low", "high")),
    )
    n_rows, counts = _check_rows(rows, columns)
    is_range = nw.col("relation") == "range"
    open_ends = [
        nw.when(is_range & (nw.col(end).abs() <= _LARGEST)).then(nw.col(end)).alias(end)
        for end in ("low", "high")
    ]
    return CheckedPairs(rows.with_columns(*open_ends), has_text, n_rows, counts)


def _has_text(kinds: Any, columns: Columns) -> bool:
    texts = []
    for name in (columns.a, columns.b):
        kind = kinds[name]
        if not (kind in _TEXT or kind.is_integer()):
            raise InvalidInput(
                f"column {name!r} must hold arm ids (text or whole numbers); it holds {kind}. Cast it in "
                "your own query"
            )
        texts.append(kind in _TEXT)
    if texts[0] != texts[1]:
        raise InvalidInput(
            f"columns {columns.a!r} and {columns.b!r} must both hold text or both whole numbers; one holds "
            "each"
        )
    return texts[0]


def _arm(name: str, is_text: bool) -> nw.Expr:
    if not is_text:
        return nw.col(name).cast(nw.Int64)
    text = nw.col(name).cast(nw.String)
    return nw.when(text != "").then(text)


def _word(name: str, kinds: Any) -> nw.Expr:
    if kinds[name] not in _TEXT:
        raise InvalidInput(f"column {name!r} must hold words; it holds {kinds[name]}. {_ACCEPTED}")
    text = nw.col(name).cast(nw.String)
    return nw.when(text != "").then(text)


def _end(end: str, present: dict[str, str], kinds: Any) -> nw.Expr:
    """Return one end of a range; NaN, which pandas uses for an empty cell, is an open end."""
    if end not in present:
        return nw.lit(None, nw.Float64)
    name = present[end]
    if not kinds[name].is_numeric():
        raise InvalidInput(
            f"column {name!r} must hold ends of ranges, which are numbers; it holds {kinds[name]}. Cast it "
            "in your own query"
        )
    number = nw.col(name).cast(nw.Float64)
    return nw.when(~number.is_nan()).then(number)


def _check_rows(rows: Lazy, columns: Columns) -> tuple[int, dict[str, int]]:
    a, b, word = nw.col("a"), nw.col("b"), nw.col("relation")
    low, high = nw.col("low"), nw.col("high")
    is_range = word == "range"
    wrong = {
        f"no arm in column {columns.a!r}": a.is_null(),
        f"a relation that is not known; {_ACCEPTED}": ~word.is_null() & ~word.is_in(WORDS),
        f"two arms and no relation; {_ACCEPTED}": ~b.is_null() & word.is_null(),
        "a relation and only one arm; a row with one arm names an arm, and has no relation": b.is_null()
        & ~word.is_null(),
        "the same arm twice; a relation needs two different arms": a == b,
        "ends that leave no difference; low must not be above high, and an open end is empty": is_range
        & ((low > high) | (low > _LARGEST) | (high < -_LARGEST)),
    }
    query = rows.select(
        nw.len().alias("rows"),
        *((word == name).cast(nw.Int64).sum().alias(name) for name in WORDS),
        *(when.cast(nw.Int64).sum().alias(f"wrong{at}") for at, when in enumerate(wrong.values())),
    )
    found = row_of(query)
    if found["rows"] == 0:
        raise InvalidInput("there are no rows, hence no arms; the frame needs at least one arm")
    for at, (what, when) in enumerate(wrong.items()):
        number = int(found[f"wrong{at}"] or 0)
        if number:
            row = row_of(rows.filter(when).head(1))
            shown = ", ".join(f"{name}={value!r}" for name, value in row.items() if value is not None)
            raise InvalidInput(
                f"{counted(number, 'row')} of {found['rows']:,} {'has' if number == 1 else 'have'} {what}; "
                f"such as {shown}. Correct it in your own query"
            )
    return int(found["rows"]), {name: int(found[name] or 0) for name in WORDS}
