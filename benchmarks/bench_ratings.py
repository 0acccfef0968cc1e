"""Pairs of items from a log of ratings, against SQL and a join; very many items in little memory."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lsdt
from lsdt.ratings import make_log, pair_statistics, read_log
from timing import Row, in_turns, peak_mib, timed

if TYPE_CHECKING:
    import pandas as pd

# Every two ratings by one user, the smaller item first; n, mean and variance of their differences.
_SQL = """
    SELECT a.item AS first, b.item AS second, count(*) AS raters,
           avg(a.unit - b.unit) AS difference, var_samp(a.unit - b.unit) AS variance
    FROM log a JOIN log b ON a.user = b.user AND a.item < b.item
    GROUP BY a.item, b.item ORDER BY a.item, b.item
"""


def _two_million() -> pd.DataFrame:
    """2 million ratings of 100 items: about 80 each by 25,000 users, on the scale from 0 to 1 as well."""
    frame = make_log(25_000, 100, 80).log
    return frame.assign(unit=(frame["rating"] - 1) / 4)


def _duckdb_pairs(frame: pd.DataFrame) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute('CREATE TABLE log AS SELECT "user", item, unit FROM frame')
    return lambda: connection.execute(_SQL).fetchnumpy()


def _polars_pairs(frame: pd.DataFrame) -> Any:
    import polars as pl

    log = pl.from_pandas(frame[["user", "item", "unit"]]).lazy()
    both = log.join(log, on="user", suffix="_b").filter(pl.col("item") < pl.col("item_b"))
    apart = pl.col("unit") - pl.col("unit_b")
    answer = both.group_by("item", "item_b").agg(
        pl.len().alias("raters"), apart.mean().alias("difference"), apart.var().alias("variance")
    )
    return lambda: answer.sort("item", "item_b").collect()


def _against(name: str, frame: pd.DataFrame, theirs: Any, columns: list[str], repeats: int) -> Row:
    """The log is read beforehand on either side: into a table, a dataframe, a `RatingLog`."""
    log = read_log(frame)
    found, answer = pair_statistics(log), theirs()
    for mine, column in zip((found.raters, found.difference, found.variance), columns, strict=True):
        assert np.allclose(mine, np.asarray(answer[column]))
    peak = peak_mib(lambda: pair_statistics(log))
    ours, other = in_turns(lambda: pair_statistics(log), theirs, repeats)
    return Row(
        f"pairs of {len(frame) / 1e6:.1f} M ratings x 100 items",
        ours,
        name,
        other,
        f"{other / ours:.0f} x",
        ">= 12 x",
        other >= 12 * ours,
        peak,
    )


def against_duckdb() -> Row:
    frame = _two_million()
    return _against("DuckDB SQL", frame, _duckdb_pairs(frame), ["raters", "difference", "variance"], 3)


def against_polars() -> Row:
    frame = _two_million()
    return _against("polars self-join", frame, _polars_pairs(frame), ["raters", "difference", "variance"], 2)


def _one_pass(path: Path) -> None:
    """Read the three columns of a file, and do nothing with them."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(columns=["user", "item", "rating"]):
        pass


def twenty_million() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        small, path = Path(folder) / "small.parquet", Path(folder) / "log.parquet"
        make_log(3_000, 400, 30, path=small)
        make_log(200_000, 10_000, 100, path=path)
        warnings.simplefilter("ignore", lsdt.ratings.RatingWarning)
        lsdt.from_ratings(small, guarantee="all")  # compiles
        seconds, found = [], []

        def whole() -> None:
            seconds.append(timed(lambda: found.append(lsdt.from_ratings(path, guarantee="all"))))

        peak = peak_mib(whole, whole_process=True)
        reading = min(timed(lambda: _one_pass(path)) for _ in range(3))
    side = found[0]
    return Row(
        f"from_ratings, {side.evidence.n_ratings / 1e6:.1f} M ratings x 10^4 items: "
        f"{len(side.evidence.words):,} ranges, {side.evidence.left_out:,} left out",
        seconds[0],
        "one pass of reading the file",
        reading,
        f"{seconds[0] / reading:.0f} passes, {peak / 1024:.2f} GiB",
        "<= 1.5 GiB",
        peak <= 1.5 * 1024,
        peak,
    )


WORKS = [against_duckdb, against_polars, twenty_million]
