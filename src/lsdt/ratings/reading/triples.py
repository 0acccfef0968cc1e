"""A log as it is read: user, item and rating, in the order of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lsdt._progress import track
from lsdt.errors import InvalidInput, TooLarge
from lsdt.kernel import require_memory
from lsdt.ratings.reading.batches import batches_of
from lsdt.ratings.reading.columns import AS_ITS_ENDING_SAYS, NO_ROWS, USUAL_CHUNKS
from lsdt.ratings.reading.encoding import IdEncoder, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lsdt.ratings.reading.columns import Chunks, LogColumns, TextLayout
    from lsdt.side_information import ArmId

# At the peak: 16 as read, 4 for the order by item, 12 as sorted. The process grew by 45 for each rating of a
# Parquet file with 9 million, buffers of the reader included.
BYTES_PER_RATING = 32.0
INSTEAD = (
    "give lsdt.from_ratings a DuckDB relation or a Spark dataframe instead, which work on it where it is, or "
    "read fewer rows"
)


@dataclass(frozen=True, eq=False)
class Triples:
    """A user, an item and a rating per row; users and items are places in their ascending ids.

    Without a column of users every row has its own.
    """

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    ratings: NDArray[np.float64]
    user_ids: Sequence[ArmId]
    item_ids: Sequence[ArmId]
    row: Callable[[int], str]
    propensities: NDArray[np.float64] | None = None
    times: NDArray[np.float64] | None = None

    def place(self, at: int) -> str:
        """Return in words where a rating is."""
        return f"the rating in {self.row(at)}"


class _Room:
    """Columns that grow in place."""

    def __init__(self, kinds: list[Any], n_rows: int | None, chunks: Chunks) -> None:
        self.filled, self.size, self._most = 0, 0, chunks.most_rows
        self.columns: tuple[NDArray[Any], ...] = tuple(np.empty(0, kind) for kind in kinds)
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


def read_triples(
    log: Any, columns: LogColumns, layout: TextLayout = AS_ITS_ENDING_SAYS, *, chunks: Chunks = USUAL_CHUNKS
) -> Triples:
    """Read a path or a dataframe; `chunks` do not affect the result. See `lsdt.ratings.read_log`."""
    source = batches_of(log, columns.checked(), layout.checked_for(log), chunks)
    names = source.names
    encoders = [IdEncoder(name, source.from_text, chunks.most_dense) for name in names.ids]
    roles = ("rating", "propensity", "time")
    numbers = {role: name for role in roles if (name := getattr(names, role)) is not None}
    room = _Room([np.int32] * len(encoders) + [np.float64] * len(numbers), source.n_rows, chunks)
    for batch in track(source.batches, "parts of the log"):
        before = room.filled

        def place(at: int, before: int = before) -> str:
            return source.row(before + at)

        codes = [encoder.codes(batch.column(at), place) for at, encoder in enumerate(encoders)]
        values = [
            numbers_of(batch.column(len(codes) + at), name, place, role)
            for at, (role, name) in enumerate(numbers.items())
        ]
        room.add(*codes, *values)
    if room.filled == 0:
        raise InvalidInput(NO_ROWS)
    pa.default_memory_pool().release_unused()
    read = room.finish()
    coded, ratings = list(read[: len(encoders)]), read[len(encoders)]
    ids: list[Sequence[ArmId]] = []
    for encoder, codes_of_all in zip(encoders, coded, strict=True):
        known, places = encoder.finish()
        np.take(places, codes_of_all, out=codes_of_all, mode="clip")  # in place; mode "raise" would copy
        ids.append(known)
    if names.user is None:
        coded.insert(0, np.arange(len(ratings), dtype=np.int32))
        ids.insert(0, range(len(ratings)))
    columns_of = dict(zip(numbers, read[len(encoders) :], strict=True))
    chances, times = columns_of.get("propensity"), columns_of.get("time")
    return Triples(coded[0], coded[1], ratings, ids[0], ids[1], source.row, chances, times)
