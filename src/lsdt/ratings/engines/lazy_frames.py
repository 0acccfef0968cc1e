"""Logs that stay in DuckDB, Spark or another engine, which compares the items itself.

A join of the log with itself by user, grouped by two items, gives the pairs of items. The engine adds up the
differences of ratings and their squares, and returns a row for every pair worth keeping. The same code as for
logs in memory then decides the relations. All queries are narwhals' lazy expressions, the same for every
engine.

The engine adds floats in any order. Sums of whole and half ratings are exact; others may differ in the last
digits from one run to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log2
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lsdt._validation import MOST_RATERS, checked_whole, checked_word
from lsdt.errors import counted
from lsdt.kernel import available_memory
from lsdt.ratings.card import engine_card
from lsdt.ratings.engines.row_checks import checked_log
from lsdt.ratings.engines.user_hash import UserCoins
from lsdt.ratings.log import DUPLICATES, RatingLog, read_log
from lsdt.ratings.reading.batches import narwhals_frame
from lsdt.ratings.reading.columns import LogColumns
from lsdt.ratings.reading.encoding import IdEncoder
from lsdt.ratings.reading.triples import BYTES_PER_RATING
from lsdt.ratings.rules.hubs import HubScreen
from lsdt.ratings.rules.relations import Screen
from lsdt.ratings.selection import ItemSelection
from lsdt.ratings.statistics.items import ItemStatistics, item_statistics
from lsdt.ratings.statistics.pairs import PairStatistics
from lsdt.side_information import collect, row_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.statistics.pairs import Keep
    from lsdt.side_information import ArmId, Lazy

_ROUNDING = 1e-9  # relative: far above the rounding of a sum of millions of ratings, far below any interval
# Longer logs are not read into memory. This many ratings take about a gigabyte, and comparing their items
# there is 12 times as fast as a join in DuckDB (docs/performance.md).
_READ_RATINGS = 20_000_000
# Sampled to fit item effects in memory: more would take longer to fetch, and hardly improve the effects.
_SAMPLED_RATINGS = 5_000_000


@dataclass(frozen=True, eq=False, repr=False)
class EngineLog:
    """A log of ratings that stays in its engine, for `lsdt.from_ratings`; `open_log` makes one.

    Attributes
    ----------
    scale : tuple of float
        The ends of the scale.
    item_ids : tuple of str or of int
        Names of the items, ascending.
    note : str
        Which items were left out when the log was opened, in words; empty if none were.
    """

    frame: Lazy  # user, item, rating
    scale: tuple[float, float]
    item_ids: tuple[ArmId, ...]
    _values: pa.Array  # the items as the engine calls them, ...
    _places: NDArray[np.int64]  # ... and where their ids are among `item_ids`
    note: str = ""

    def __repr__(self) -> str:  # without the number of ratings, which would be a query
        low, high = self.scale
        return f"EngineLog({counted(len(self.item_ids), 'item')}, ratings from {low:g} to {high:g})"

    def _repr_html_(self) -> str:
        return engine_card(self)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        query = self.frame.select(nw.len().alias("rows"), nw.col("user").n_unique().alias("users"))
        found = row_of(query)
        return int(found["rows"]), int(found["users"])

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return self._sizes[0]

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self._sizes[1]

    def items(self, most_sampled: int = _SAMPLED_RATINGS) -> ItemStatistics:
        """Return the statistics of every item; a large log estimates effects from a sample of users."""
        share = min(1.0, most_sampled / max(self.n_ratings, 1))
        fitted = item_statistics(self.sample(max(1, int(share * self.n_users)), seed=0))
        counts, means = self._counts_and_means
        return replace(fitted, ratings=counts, means=means)

    @cached_property
    def _counts_and_means(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        query = self.frame.group_by("item").agg(
            nw.len().alias("count"), nw.col("rating").mean().alias("mean")
        )
        table = collect(query)
        counts, means = np.zeros(len(self.item_ids), np.int64), np.full(len(self.item_ids), np.nan)
        at = self._indices(table.column("item"))
        counts[at], means[at] = np.asarray(table.column("count")), np.asarray(table.column("mean"))
        return counts, means

    def pairs(self, min_raters: int = 1, keep: Keep | None = None) -> PairStatistics:
        """Return the pairs with enough common raters that are worth keeping.

        The engine counts the pairs that a `Screen` leaves out, in one row, and does not return them.
        """
        min_raters = checked_whole(min_raters, "min_raters", 1, MOST_RATERS)
        table = collect(_compare(self.frame, self.scale, min_raters, keep))
        rest = np.asarray(pc.is_null(table.column("first")))
        n_compared = int(np.asarray(table.column("pairs"), np.int64).sum())
        statistics = self._statistics(table.filter(pa.array(~rest)), n_compared)
        if keep is None:
            return statistics
        if isinstance(keep, HubScreen):
            return keep.reduced(statistics)
        return statistics.select(keep(statistics.raters, statistics.difference, statistics.variance))

    def sample(self, n_users: int, seed: int) -> RatingLog:
        """Return the ratings of up to `n_users` random users: those with the lowest coins."""
        frame = self.frame
        if n_users < self.n_users:
            coins = UserCoins(self.n_users, seed)
            frame = self._with_coins(coins).filter(nw.col("coin") < coins.limit(n_users))
        table = collect(frame.select("user", "item", "rating"))
        if len(table) == 0:
            nothing = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
            return RatingLog._of(*nothing, self.item_ids, *self.scale)
        log = read_log(table, scale=self.scale)
        place = {name: at for at, name in enumerate(self.item_ids)}
        known = np.array([place[name] for name in log.item_ids], np.int32)
        return RatingLog._of(log.starts, known[log.items], log.ratings, self.item_ids, *self.scale)

    def halves(self, seed: int) -> tuple[EngineLog, EngineLog]:
        """Return two logs of the same items, with a random half of the users each."""
        coins = UserCoins(self.n_users, seed)
        dealt, limit = self._with_coins(coins), coins.limit((self.n_users + 1) // 2)
        low, high = dealt.filter(nw.col("coin") < limit), dealt.filter(nw.col("coin") >= limit)
        first, second = (half.select("user", "item", "rating") for half in (low, high))
        return replace(self, frame=first), replace(self, frame=second)

    def _select(self, selection: ItemSelection) -> EngineLog:
        """Return the log of some of its items."""
        counts, _ = self._counts_and_means
        kept = selection.kept(counts, self.item_ids)
        place = np.full(len(counts), -1, np.int64)
        place[kept] = np.arange(len(kept))
        mine = place[self._places] >= 0
        values = self._values.filter(pa.array(mine))
        return EngineLog(
            self.frame.filter(nw.col("item").is_in(values.to_pylist())),
            self.scale,
            tuple(self.item_ids[item] for item in kept),
            values,
            place[self._places[mine]],
            selection.note(counts, kept),
        )

    def _with_coins(self, coins: UserCoins) -> Lazy:
        """Add the coin of its user to every rating; users are numbered in the order of their ids."""
        users = self.frame.select("user").unique()
        users = users.with_columns(nw.col("user").rank("ordinal").cast(nw.Int64).alias("number"))
        return self.frame.join(users.select("user", coins.of(nw.col("number") - 1).alias("coin")), on="user")

    def _indices(self, items: pa.ChunkedArray) -> NDArray[np.int64]:
        """Return the indices of the items that the engine names."""
        found = pc.index_in(items.cast(self._values.type), value_set=self._values)
        places: NDArray[np.int64] = self._places[np.asarray(found)]
        return places

    def _statistics(self, table: pa.Table, n_compared: int) -> PairStatistics:
        """Return the engine's sums as statistics on the scale from 0 to 1, pairs ascending."""
        first, second = (self._indices(table.column(name)) for name in ("first", "second"))
        raters, sums, squares = (np.asarray(table.column(name), np.float64) for name in ("raters", "d", "q"))
        width = (self.scale[1] - self.scale[0]) / _unit(self.scale)
        means = sums / raters
        with np.errstate(invalid="ignore"):
            variance = np.where(raters > 1, (squares - sums * means) / (raters - 1.0), np.nan)
        turned = first > second
        low, high = np.where(turned, second, first), np.where(turned, first, second)
        order = np.lexsort((high, low))
        return PairStatistics(
            low[order].astype(np.int32),
            high[order].astype(np.int32),
            raters[order].astype(np.int32),
            (np.where(turned, -means, means) / width)[order],
            np.maximum(variance / width**2, 0.0)[order],
            self.item_ids,
            n_compared,
        )


def open_log(
    log: Any,
    user: str | int = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    duplicates: str = "error",
    scale: tuple[float, float] | None = None,
    *,
    min_ratings: int | None = None,
    top: int | None = None,
) -> EngineLog:
    """Open a log that stays in its engine: a DuckDB relation, a Spark dataframe, a lazy frame.

    `lsdt.from_ratings` takes what this function returns, and leaves the comparison of items to the engine.
    Read a log that fits in memory with `read_log`, which is faster.

    Parameters
    ----------
    log : DuckDB relation, Spark dataframe, polars LazyFrame, ...
        Any dataframe that narwhals knows, a row per rating.
    user, item, rating, duplicates, scale, min_ratings, top
        As of `lsdt.ratings.read_log`; ``duplicates='last'`` needs an order, which engines lack.

    Examples
    --------
    >>> import duckdb, lsdt
    >>> rows = "('ann', 'tea', 4), ('ann', 'cocoa', 5), ('bob', 'tea', 1), ('bob', 'cocoa', 5)"
    >>> relation = duckdb.sql(f"select * from (values {rows}) as log(who, what, stars)")
    >>> log = lsdt.ratings.open_log(relation, "who", "what", "stars", scale=(1, 5))
    >>> log, log.item_ids, log.n_ratings
    (EngineLog(2 items, ratings from 1 to 5), ('cocoa', 'tea'), 4)
    >>> found = log.pairs()
    >>> found.raters.tolist(), found.difference.tolist(), found.variance.round(3).tolist()
    ([2], [0.625], [0.281])
    """
    checked_word(duplicates, "duplicates", DUPLICATES)
    selection, columns = (
        ItemSelection(min_ratings, top).checked(),
        LogColumns(user, item, rating).with_users(),
    )
    rows = checked_log(narwhals_frame(log).lazy(), columns, duplicates, scale)
    values = collect(rows.frame.select("item").unique()).column("item").combine_chunks()
    encoder = IdEncoder(str(item), from_text=False)
    codes = encoder.codes(values, lambda at: f"item {values[at].as_py()!r}")
    ids, places = encoder.finish()
    whole = EngineLog(rows.frame, (rows.low, rows.high), tuple(ids), values, places[codes].astype(np.int64))
    return whole if selection.keeps_all else whole._select(selection)


def stays_in_engine(log: Any) -> bool:
    """Return whether a log should stay in its engine.

    On Spark it always does. Short logs in other engines are read, because the compiled sums are far faster
    than a join; the relations are the same.
    """
    try:
        frame = nw.from_native(log)
    except (TypeError, nw.exceptions.NarwhalsError):
        return False  # reading it will raise a better error
    return isinstance(frame, nw.LazyFrame) and (frame.implementation.is_spark_like() or not _is_short(frame))


def _is_short(frame: Lazy) -> bool:
    """Return whether a log is short enough to be read into memory, and fits there."""
    n_rows = row_of(frame.select(nw.len().alias("rows")))["rows"]
    return bool(n_rows <= _READ_RATINGS and n_rows * BYTES_PER_RATING <= available_memory())


def _compare(frame: Lazy, scale: tuple[float, float], min_raters: int, keep: Any) -> Lazy:
    """Return a query for the pairs worth keeping, and one more row, without items, that sums up the rest."""
    rating, unit = nw.col("rating") * (1.0 / _unit(scale)), _unit(scale)
    one = frame.select("user", nw.col("item").alias("first"), rating.alias("one"))
    two = frame.select("user", nw.col("item").alias("second"), rating.alias("two"))
    both = one.join(two, on="user").filter(nw.col("first") < nw.col("second"))
    both = both.with_columns((nw.col("one") - nw.col("two")).alias("d"))
    both = both.with_columns((nw.col("d") * nw.col("d")).alias("q"))
    sums = both.group_by("first", "second").agg(
        nw.len().alias("raters"), nw.col("d").sum(), nw.col("q").sum()
    )
    worth = nw.col("raters") >= min_raters
    if isinstance(keep, Screen):
        worth = worth & (nw.col("raters") > 1) & _may_pass(keep, (scale[1] - scale[0]) / unit)
    named = sums.with_columns(nw.when(worth).then(nw.col(name)).alias(name) for name in ("first", "second"))
    return named.group_by("first", "second").agg(
        nw.len().alias("pairs"), nw.col("raters").sum(), nw.col("d").sum(), nw.col("q").sum()
    )


def _unit(scale: tuple[float, float]) -> float:
    """Return the power of two nearest to the length of the scale: dividing by it is exact."""
    return 2.0 ** round(log2(scale[1] - scale[0]))


def _may_pass(screen: Screen, width: float) -> nw.Expr:
    """Return a condition, computable in every engine, that holds for every pair the screen keeps.

    Half an interval is at least a fixed number of standard errors, whatever the number of raters. The limits
    are widened a little for rounding.
    """
    raters, mean = nw.col("raters"), nw.col("d") / nw.col("raters")
    # Some engines fail on a division by zero or the root of a negative number even in rows left out.
    free = nw.when(raters > 1).then(raters - 1).otherwise(nw.lit(1))
    variance = (nw.col("q") - nw.col("d") * mean) / free
    error = (nw.when(variance > 0.0).then(variance).otherwise(nw.lit(0.0)) / raters).sqrt()
    apart, reach = mean.abs() / width, error * (screen.quantile * (1.0 - _ROUNDING) / width)
    near, far = screen.high * (1.0 + _ROUNDING), screen.low * (1.0 - _ROUNDING)
    return (apart + reach < near) | (apart - reach > far)
