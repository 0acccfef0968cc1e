"""A log as it is read: user, item and rating, in the order of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lsdt.errors import InvalidInput, TooLarge
from lsdt.kernel.memory import require_memory
from lsdt.ratings.reading.batches import NO_ROWS, USUAL_CHUNKS, Chunks, Columns, batches_of
from lsdt.ratings.reading.encoding import IdEncoder, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

BYTES_PER_RATING = 32.0  # per rating at the peak: as read, and put in order
INSTEAD = (
    "give lsdt.from_ratings a DuckDB relation or a Spark dataframe instead, which work on it where it is, or "
    "read fewer rows"
)


@dataclass(frozen=True, eq=False)
class Triples:
    """A user, an item and a rating per row; users and items are places in their ascending ids."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    ratings: NDArray[np.float64]
    user_ids: list[ArmId]
    item_ids: list[ArmId]
    row: Callable[[int], str]

    def place(self, at: int) -> str:
        """Return in words where a rating is."""
        return f"the rating in {self.row(at)}"


class _Room:
    """Three columns that grow in place."""

    def __init__(self, n_rows: int | None, chunks: Chunks) -> None:
        self.filled, self.size, self._most = 0, 0, chunks.most_rows
        self.columns: tuple[NDArray[Any], ...] = tuple(
            np.empty(0, kind) for kind in (np.int32, np.int32, np.float64)
        )
        self._grow(chunks.first_room if n_rows is None else n_rows)

    def _grow(self, size: int) -> None:
        if size > self._most:
            raise TooLarge(f"a log in memory holds at most {self._most:,} ratings; {INSTEAD}")
        require_memory(BYTES_PER_RATING * (size - self.size), f"a log of {size:,} ratings", INSTEAD)
        self._resize(size)

    def _resize(self, size: int) -> None:
        for column in self.columns:
            column.resize(size, refcheck=False)
        self.size = size

    def add(self, *batch: NDArray[Any]) -> None:
        more = len(batch[0])
        if self.filled + more > self.size:
            self._grow(max(self.filled + more, self.size + self.size // 2))
        for column, values in zip(self.columns, batch, strict=True):
            column[self.filled : self.filled + more] = values
        self.filled += more

    def finish(self) -> tuple[NDArray[Any], ...]:
        self._resize(self.filled)
        return self.columns


def read_triples(log: Any, user: str, item: str, rating: str, *, chunks: Chunks = USUAL_CHUNKS) -> Triples:
    """Read a path or a dataframe, in chunks that change nothing; see `lsdt.ratings.read_log`."""
    columns = Columns(user, item, rating).checked()
    source = batches_of(log, columns, chunks)
    encoders = [IdEncoder(name, source.from_text, chunks.most_dense) for name in (user, item)]
    room = _Room(source.n_rows, chunks)
    for batch in source.batches:
        before = room.filled

        def place(at: int, before: int = before) -> str:
            return source.row(before + at)

        codes = [encoder.codes(batch.column(at), place) for at, encoder in enumerate(encoders)]
        room.add(*codes, numbers_of(batch.column(2), rating, place))
    if room.filled == 0:
        raise InvalidInput(NO_ROWS)
    pa.default_memory_pool().release_unused()
    users, items, ratings = room.finish()
    ids = []
    for encoder, codes_of_all in zip(encoders, (users, items), strict=True):
        names, places = encoder.finish()
        np.take(places, codes_of_all, out=codes_of_all, mode="clip")  # in place: "raise" would copy
        ids.append(names)
    return Triples(users, items, ratings, ids[0], ids[1], source.row)
