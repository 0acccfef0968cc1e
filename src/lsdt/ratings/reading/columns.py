"""What to read from a log: which columns, in which text layout, how much at a time."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_flag, checked_text, is_whole
from lsdt.errors import InvalidInput, listed, suggest
from lsdt.ratings.reading.encoding import MOST_DENSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    Word = str | int  # the name of a column, or its place, counted from 0

NO_ORDER = (
    "duplicates='last' needs an order of the rows, and the tables of an engine have none; choose 'mean' or "
    "'error', read the log with lsdt.ratings.read_log and name the column that says when a rating was given "
    "(time=...), or keep one rating per user and item in your own query"
)
NO_ROWS = "there are no rows, hence no ratings; a log needs at least one"


class Chunks(NamedTuple):
    """How much of a log to read at a time.

    Attributes
    ----------
    rows : int
        Rows of a batch: tens of megabytes. Smaller batches would look up every id more often.
    text_bytes : int
        Bytes of text read at a time: large enough for pyarrow to parse on all cores.
    first_room : int
        Rows to make room for at first if their number is unknown, 4 MB; the room then grows by doubling.
    most_rows : int
        Rows that 32 bits can tell apart.
    most_dense : int
        The widest range of whole numbers to cover by a table, 4 bytes each.
    """

    rows: int = 2**20
    text_bytes: int = 2**23
    first_room: int = 2**18
    most_rows: int = 2**32 - 1
    most_dense: int = MOST_DENSE


USUAL_CHUNKS = Chunks()


class TextLayout(NamedTuple):
    """How text separates its columns, and whether its first line names them; None: as its ending says."""

    sep: str | None = None
    header: bool | None = None

    def checked(self) -> TextLayout:
        """Return the layout; raise an error if a value is invalid."""
        if self.header is not None:
            checked_flag(self.header, "header")
        if self.sep is not None:
            checked_text(self.sep, "sep", ", one or more characters")
            if any(mark in '"\r\n\0' or "\ud800" <= mark <= "\udfff" for mark in self.sep):
                raise InvalidInput(f"sep must be text without quotes and ends of lines; got {self.sep!r}")
        return self

    def checked_for(self, log: Any) -> TextLayout:
        """Return the layout; raise an error if it says something and the log is no file."""
        if not isinstance(log, (str, PathLike)):
            self.refuse(f"a {type(log).__name__}")
        return self.checked()

    def refuse(self, what: str) -> None:
        """Raise an error if the layout says anything; `what` is a log that has no layout."""
        for name, value in zip(self._fields, self, strict=True):
            if value is not None:
                raise InvalidInput(f"{name} is for text with columns, and this is {what}; leave it out")


AS_ITS_ENDING_SAYS = TextLayout()


class ColumnNames(NamedTuple):
    """The names of the columns, as a file or a dataframe has them."""

    user: str | None
    item: str
    rating: str
    propensity: str | None
    time: str | None = None

    @property
    def listed(self) -> list[str]:
        """All names, in this order."""
        return [name for name in self if name is not None]

    @property
    def ids(self) -> list[str]:
        """The columns that hold ids."""
        return self.listed[: 1 if self.user is None else 2]


class LogColumns(NamedTuple):
    """The user's words for the columns: names, or positions counted from 0; None for a missing one."""

    user: Word | None
    item: Word
    rating: Word
    propensity: Word | None = None
    time: Word | None = None

    def checked(self) -> LogColumns:
        """Return the words; refuse what cannot mean different columns."""
        given = [word for word in self if word is not None]
        fits = all(isinstance(word, str) or (is_whole(word) and word >= 0) for word in given)
        fits = fits and self.item is not None and self.rating is not None
        if not fits or len(set(given)) < len(given):
            more = [role for role in ("propensity", "time") if getattr(self, role) is not None]
            roles = ["user", "item", "rating", *more]
            words = [getattr(self, role) for role in roles]
            raise InvalidInput(
                f"{', '.join(roles[:-1])} and {roles[-1]} must be different columns, by name or by place, "
                f"counted from 0; got {', '.join(map(repr, words))}"
            )
        return self

    def with_users(self) -> LogColumns:
        """Return the words; refuse a missing column of users, because ratings are compared user by user."""
        if self.user is None:
            raise InvalidInput(
                "user must be a column, by name or by place, counted from 0; got None. A log without users "
                "is one of events: read it with lsdt.ratings.read_events"
            )
        return self.checked()

    def among(self, found: list[str], hint: str = "") -> ColumnNames:
        """Return the names of the columns; refuse what is not among those found."""
        names = [
            None if word is None else _column(role, word, found, hint)
            for role, word in zip(self._fields, self, strict=True)
        ]
        user, item, rating, propensity, time = names
        if len(set(names) - {None}) < sum(name is not None for name in names):
            raise InvalidInput(f"two of the columns are the same one; got {', '.join(map(repr, self))}")
        assert item is not None
        assert rating is not None
        return ColumnNames(user, item, rating, propensity, time)


def _instead(found: list[str]) -> str:
    """Return what reads a table of comparisons or of pairs, if the columns look like one."""
    if {"a", "b"} <= set(found) and {"winner", "wins"} & set(found):
        return ". Wins and losses are read by lsdt build --comparisons, or lsdt.from_comparisons"
    if {"a", "b", "relation"} <= set(found) or "".join(found[:1]).startswith("# lsdt "):
        return (
            ". This looks like side information: lsdt candidates, lsdt next-pairs and lsdt plan read it, and "
            "lsdt.load does"
        )
    return ""


def _column(role: str, word: Word, found: list[str], hint: str) -> str:
    shown = listed(found, str(word))
    if not isinstance(word, str):
        if word >= len(found):
            raise InvalidInput(
                f"there is no column {word} for the {role}; counted from 0, the columns are {shown}"
            )
        word = found[word]
    if word not in found:
        raise InvalidInput(
            f"there is no column {word!r} for the {role}; the columns are {shown}{suggest(word, found)}. "
            f"Name the column with {role}=..., or give its place, counted from 0{hint}{_instead(found)}"
        )
    if found.count(word) > 1:
        raise InvalidInput(f"{found.count(word)} columns are called {word!r}; the {role} needs one alone")
    return word


class Batches(NamedTuple):
    """A log that is being read.

    Attributes
    ----------
    names : ColumnNames
        The columns.
    batches : iterator of pyarrow.RecordBatch
        Each with these columns, in their order.
    row : callable
        Says in words where a row is; rows count from 0 over all batches.
    n_rows : int or None
        The number of rows, if it is known in advance.
    from_text : bool
        Whether the columns are text because the file is.
    """

    names: ColumnNames
    batches: Iterator[pa.RecordBatch]
    row: Callable[[int], str]
    n_rows: int | None = None
    from_text: bool = False
