"""Pairs in an engine with numbered arms, every pair once, and the arms and pairs left at the end.

Integer ids are the arms' numbers; text ids are numbered in sorted order. All statements about a pair are
joined as in memory: repeats count once, ranges are intersected, and a contradictory pair is refused by name.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from lsdt.errors import InvalidInput, counted
from lsdt.kernel import available_memory, require_memory
from lsdt.side_information.arms import ArmsAndPairs
from lsdt.side_information.engines.order_tables import OrderTables
from lsdt.side_information.engines.triangle_tables import TriangleTables
from lsdt.side_information.engines.workspace import Workspace, collect, row_of
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.side_information.engines.lazy_pairs import LazyPairs
    from lsdt.side_information.engines.workspace import Lazy

# Estimates of peak memory.
_BYTES_PER_ARM = 200.0  # a text id as a Python object, twice, and its index
_BYTES_PER_PAIR = 80.0  # while pairs become side information


@contextmanager
def open_tables(pairs: LazyPairs) -> Iterator[PairTables]:
    """Open pairs for queries; the tables in the engine are dropped at the end.

    Examples
    --------
    >>> import duckdb, lsdt
    >>> rows = "(1, 2, 'similar'), (2, 1, 'similar'), (2, 3, 'similar'), (1, 3, 'dissimilar')"
    >>> pairs = lsdt.from_lazy_frame(duckdb.sql(f"select * from (values {rows}) as t(a, b, relation)"))
    >>> with open_tables(pairs) as tables:
    ...     tables.n_arms, tables.n_pairs
    (3, 3)
    """
    with Workspace(pairs.rows) as work:
        yield PairTables(pairs, work)


class PairTables:
    """Tables of one `LazyPairs`; make them with `open_tables`.

    ``arms`` has the column ``arm``, for text also ``id``. ``kinds`` has a row per similar or dissimilar pair:
    ``lo < hi`` and ``near``, 1 or 0. ``ranges`` has ``lo``, ``hi``, the ends and whether they are strict.
    """

    def __init__(self, pairs: LazyPairs, work: Workspace) -> None:
        self._pairs, self._work = pairs, work
        self._out: list[Lazy] = []

    @cached_property
    def _arms(self) -> Lazy:
        rows = self._pairs.rows
        both = nw.concat([rows.select(nw.col(name).alias("arm")) for name in ("a", "b")])
        arms = both.filter(~nw.col("arm").is_null()).unique()
        if self._pairs.has_text:
            arms = arms.select(
                nw.col("arm").alias("id"), nw.col("arm").rank("ordinal").cast(nw.Int64).alias("arm")
            )
        return self._work.keep(arms)

    @property
    def _numbered(self) -> Lazy:
        """The rows with two arms, ``lo < hi``; `turned` says which had the larger one first."""
        rows = self._pairs.rows.filter(~nw.col("b").is_null())
        if self._pairs.has_text:
            for name in ("a", "b"):
                numbers = self._arms.select(nw.col("id").alias(name), nw.col("arm").alias(f"{name}_number"))
                rows = rows.join(numbers, on=name)
            rows = rows.select(
                nw.col("a_number").alias("a"), nw.col("b_number").alias("b"), "relation", "low", "high"
            )
        turned = nw.col("a") > nw.col("b")
        return rows.select(
            nw.when(turned).then(nw.col("b")).otherwise(nw.col("a")).alias("lo"),
            nw.when(turned).then(nw.col("a")).otherwise(nw.col("b")).alias("hi"),
            "relation",
            "low",
            "high",
            turned.alias("turned"),
        )

    @cached_property
    def _ranges(self) -> Lazy:
        """The better pairs and ranges, intersected for every pair; see `layouts.ranges`."""
        rows = self._numbered.filter(nw.col("relation").is_in(["better", "range"]))
        turned, better = nw.col("turned"), nw.col("relation") == "better"
        low = nw.when(better).then(nw.lit(0.0)).otherwise(nw.col("low"))
        rows = rows.with_columns(low.alias("low"))
        # Subtracting from 0 gives an ordinary 0, not -0.0.
        ends = rows.select(
            "lo",
            "hi",
            nw.when(turned).then(0.0 - nw.col("high")).otherwise(nw.col("low")).alias("low"),
            nw.when(turned).then(0.0 - nw.col("low")).otherwise(nw.col("high")).alias("high"),
            (better & ~turned).cast(nw.Int64).alias("strict_low"),
            (better & turned).cast(nw.Int64).alias("strict_high"),
        )
        said = ends.filter(~nw.col("low").is_null() | ~nw.col("high").is_null())
        joined = said.group_by("lo", "hi").agg(
            nw.col("low").max(),
            nw.col("high").min(),
            nw.col("strict_low").max(),
            nw.col("strict_high").max(),
        )
        # A better pair has its strict end at 0; a tighter end replaces it, and is not strict.
        kept = joined.with_columns(
            nw.when(nw.col(end) == 0.0)
            .then(nw.col(f"strict_{end}"))
            .otherwise(nw.lit(0))
            .alias(f"strict_{end}")
            for end in ("low", "high")
        )
        ranges = self._work.keep(kept)
        strict = (nw.col("strict_low") + nw.col("strict_high")) > 0
        low_, high_ = nw.col("low"), nw.col("high")
        self._refuse(
            ranges.filter((low_ > high_) | ((low_ == high_) & strict)),
            "the relations of {pairs} leave no possible difference of means, such as {example}: it would be "
            "from {low} to {high}; correct or drop one of the relations",
        )
        return ranges

    @cached_property
    def _kinds(self) -> Lazy:
        """The similar and dissimilar pairs, including those that ranges imply at the epsilon."""
        listed = self._numbered.filter(nw.col("relation").is_in(["similar", "dissimilar"]))
        rows = listed.select("lo", "hi", (nw.col("relation") == "similar").cast(nw.Int8).alias("near"))
        epsilon = self._pairs.epsilon
        if epsilon is not None and self._pairs.has_ranges:
            near = (nw.col("low") > -epsilon) & (nw.col("high") < epsilon)
            far = (nw.col("low") >= epsilon) | (nw.col("high") <= -epsilon)
            read = nw.concat(
                [
                    self._ranges.filter(when).select("lo", "hi", nw.lit(kind).cast(nw.Int8).alias("near"))
                    for kind, when in ((1, near), (0, far))
                ]
            )
            rows = nw.concat([rows, read])
        kept = self._work.keep(
            rows.group_by("lo", "hi").agg(
                nw.col("near").max().alias("near"), nw.col("near").min().alias("least")
            )
        )
        by_range = ", listed or by their range," if epsilon is not None and self._pairs.has_ranges else ""
        self._refuse(
            kept.filter(nw.col("least") < nw.col("near")),
            f"{{pairs}} {{are}} both similar and dissimilar{by_range} such as {{example}}; keep one of "
            "the two",
        )
        return kept.select("lo", "hi", "near")

    def _refuse(self, wrong: Lazy, text: str) -> None:
        """Raise an error with the number of wrong pairs and an example, if there are any."""
        number = int(row_of(wrong.select(nw.len().alias("pairs")))["pairs"])
        if number:
            (row,) = collect(wrong.head(1)).to_pylist()
            first, second = self._ids(pa.array([row["lo"], row["hi"]]))
            text = text.format(
                pairs=counted(number, "pair"),
                are="is" if number == 1 else "are",
                example=f"({first!r}, {second!r})",
                low=row.get("low"),
                high=row.get("high"),
            )
            raise InvalidInput(text)

    def _ids(self, arms: pa.Array) -> list[Any]:
        """Return the ids of a few arms."""
        if not self._pairs.has_text:
            return list(arms.to_pylist())
        numbers = arms.to_pylist()
        table = collect(self._arms.filter(nw.col("arm").is_in(numbers)))
        names = dict(zip(table.column("arm").to_pylist(), table.column("id").to_pylist(), strict=True))
        return [names[number] for number in numbers]

    @cached_property
    def n_arms(self) -> int:
        """Number of arms."""
        return int(row_of(self._arms.select(nw.len().alias("arms")))["arms"])

    @cached_property
    def n_pairs(self) -> int:
        """Number of similar and dissimilar pairs."""
        return int(row_of(self._kinds.select(nw.len().alias("pairs")))["pairs"])

    def check(self) -> None:
        """Refuse contradictory pairs."""
        _ = self._kinds
        if self._pairs.has_ranges:
            _ = self._ranges

    def triangles(self) -> TriangleTables:
        """Return the tables of the triangle rule, for the arms that are left."""
        return TriangleTables(self._work, self._kinds, self._out)

    def order(self) -> OrderTables:
        """Return the tables of the order rule."""
        near, far = (
            self._kinds.filter(nw.col("near") == is_near) if self._pairs.counts[word] else None
            for is_near, word in ((1, "similar"), (0, "dissimilar"))
        )
        return OrderTables(self._work, self._ranges, near, far, self._pairs.epsilon, self.n_arms, self._out)

    @cached_property
    def _left(self) -> Lazy:
        left = self._arms
        for out in self._out:
            left = left.join(out, on="arm", how="anti")
        return self._work.keep(left)

    def count_left(self) -> int:
        """Return how many arms are left."""
        return int(row_of(self._left.select(nw.len().alias("arms")))["arms"])

    def read_left(self) -> tuple[SideInformation, int]:
        """Read the arms that are left and the relations among them; also return how many did not fit.

        If the relations do not all fit in memory, none is read.
        """
        n_left = self.count_left()
        require_memory(n_left * _BYTES_PER_ARM, f"{counted(n_left, 'candidate')}", "use a larger machine")
        table = collect(self._left.sort("arm"))
        arms = np.asarray(table.column("arm"))
        ids = table.column("id" if self._pairs.has_text else "arm").to_pylist()
        kinds = self._among_left(self._kinds)
        ranges = self._among_left(self._ranges) if self._pairs.has_ranges else None
        n_rows = sum(
            int(row_of(rows.select(nw.len().alias("rows")))["rows"])
            for rows in (kinds, ranges)
            if rows is not None
        )
        if n_rows * _BYTES_PER_PAIR > available_memory():
            none = np.zeros((0, 2), np.int64)
            return SideInformation._from_indices(ArmsAndPairs(n_left, ids, none, none), False, None), n_rows
        known = collect(kinds)
        places, near = _places(arms, known), np.asarray(known.column("near")) > 0
        found = ArmsAndPairs(n_left, ids, places[near], places[~near])
        if ranges is not None:
            found = found._replace(ranges=_range_columns(arms, collect(ranges)))
        return SideInformation._from_indices(found, False, self._pairs.epsilon), 0

    def _among_left(self, rows: Lazy) -> Lazy:
        for name in ("lo", "hi"):
            rows = rows.join(self._left.select(nw.col("arm").alias(name)), on=name, how="semi")
        return rows


def _places(arms: NDArray[np.int64], table: pa.Table) -> NDArray[np.int64]:
    return np.searchsorted(arms, np.column_stack([np.asarray(table.column(name)) for name in ("lo", "hi")]))


def _range_columns(
    arms: NDArray[np.int64], table: pa.Table
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the better pairs, better arm first, then the pairs with a range, and its low and high ends."""
    pairs = _places(arms, table)
    low, high = (
        np.asarray(table.column(end).fill_null(if_open), np.float64)
        for end, if_open in (("low", -np.inf), ("high", np.inf))
    )
    strict_low, strict_high = (np.asarray(table.column(f"strict_{end}")) > 0 for end in ("low", "high"))
    better = np.concatenate([pairs[strict_low], pairs[strict_high][:, ::-1]])
    low, high = np.where(strict_low, -np.inf, low), np.where(strict_high, np.inf, high)
    has_range = np.isfinite(low) | np.isfinite(high)
    return better, pairs[has_range], low[has_range], high[has_range]
