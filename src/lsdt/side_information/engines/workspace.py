"""Results of queries that stay in their engine, to be used by later queries.

Lazy frames are recipes: without this, a table that is used twice is computed twice. DuckDB keeps it as a
temporary table, which spills to its temporary directory when memory is short. Spark keeps it as a checkpoint
on its workers (in the checkpoint directory, if one is set). polars keeps it in memory.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw

from lsdt.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_VIEW = "lsdt_rows"
_numbers = count()

Lazy: TypeAlias = nw.LazyFrame[Any]


class Workspace:
    """Tables in the engine of a frame that are dropped at the end of a ``with`` block.

    Examples
    --------
    >>> import duckdb, narwhals as nw
    >>> frame = nw.from_native(duckdb.sql("select unnest([1, 2, 3]) as x"))
    >>> with Workspace(frame) as work:
    ...     kept = work.keep(frame)
    ...     collect(kept.select(nw.col("x").max())).to_pylist()
    [{'x': 3}]
    """

    def __init__(self, frame: Lazy) -> None:
        engine = frame.implementation
        if not (engine.is_duckdb() or engine.is_spark_like() or engine.is_polars()):
            raise Unsupported(
                f"pairs stay in DuckDB, Spark or lazy polars frames; got one of {engine.value}. Read it with "
                "lsdt.from_frame, or write it to Parquet files and open these with DuckDB"
            )
        self._engine = engine
        self._first: Any = frame.to_native()
        self._kept: dict[int, tuple[Lazy, Callable[[], Any]]] = {}  # how to drop each table

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop(*(frame for frame, _ in list(self._kept.values())))

    def keep(self, frame: Lazy) -> Lazy:
        """Run a query, and return its answer as a table in the engine."""
        native: Any = frame.to_native()
        if self._engine.is_duckdb():
            name = f"lsdt_{next(_numbers)}"
            native.query(_VIEW, f"create temp table {name} as select * from {_VIEW}")
            # Relations have no public connection; a query on the first one runs on it.
            kept: Lazy = nw.from_native(self._first.query(_VIEW, f"select * from {name}"))
            self._kept[id(kept)] = kept, lambda: self._first.query(_VIEW, f"drop table {name}")
        elif self._engine.is_spark_like():
            has_directory = native.sparkSession.sparkContext.getCheckpointDir() is not None
            stored = native.checkpoint() if has_directory else native.localCheckpoint()
            kept = nw.from_native(stored)
            self._kept[id(kept)] = kept, stored.unpersist
        else:
            kept = nw.from_native(frame.collect("polars").to_native().lazy())
        return kept

    def drop(self, *frames: Lazy) -> None:
        """Drop tables that no later query reads."""
        for frame in frames:
            if id(frame) in self._kept:
                self._kept.pop(id(frame))[1]()


def collect(frame: Lazy) -> pa.Table:
    """Run a query and return its answer as a table in memory."""
    return frame.collect("pyarrow").to_native()


def row_of(frame: Lazy) -> dict[str, Any]:
    """Run a query that answers with one row, and return it."""
    (row,) = collect(frame).to_pylist()
    return dict(row)
