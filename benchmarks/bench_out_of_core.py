"""Candidates of pairs that stay in DuckDB, with less memory than the pairs need.

    python benchmarks/bench_out_of_core.py [arms] [pairs an arm] [memory limit in MB]

prints times with and without the limit, and CPU seconds and disk space for 10^6 pairs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import lsdt
from timing import Row, peak_mib

_ARMS, _PAIRS_EACH, _LIMIT = 100_000, 40, 64  # MB
_CHUNK = 1_000_000
_NEAR, _APART = 60, 40  # places in the order of means: how far relations reach, and epsilon


def write_pairs(path: Path, n_arms: int, pairs_each: int) -> int:
    """Write relations of arms near one another in the order of their means; return how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, words = np.random.default_rng(0), pa.array(["dissimilar", "similar"])
    names = rng.permutation(n_arms)
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("relation", kind)])
    left = n_pairs = n_arms * pairs_each
    with pq.ParquetWriter(path, schema) as writer:
        while left:
            size = min(left, _CHUNK)
            first = rng.integers(0, n_arms - _NEAR, size)
            apart = rng.integers(1, _NEAR + 1, size)
            codes = pa.DictionaryArray.from_arrays(pa.array((apart < _APART).astype(np.int8)), words)
            writer.write_table(pa.table([names[first], names[first + apart], codes], schema))
            left -= size
    return n_pairs


def in_memory(path: Path) -> list[int]:
    """Return the candidates of the same pairs in memory, by id."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    pairs = np.column_stack([np.asarray(table.column(name)) for name in ("a", "b")])
    near = np.asarray(table.column("relation").combine_chunks().indices) == 1
    side = lsdt.SideInformation(int(pairs.max()) + 1, pairs[near], pairs[~near])
    # Arms in no pair are not in the frame.
    return np.intersect1d(lsdt.candidate_set(side, "triangles").arms, pairs).tolist()


def in_duckdb(path: Path, limit: int, most_on_disk: list[int]) -> lsdt.candidates.CandidateSet:
    """Find the candidates in DuckDB; append how many MB its temporary files held at most."""
    import threading

    import duckdb

    spill, is_over = path.parent / "spill", threading.Event()
    most_on_disk.append(0)

    def watch() -> None:
        while not is_over.wait(0.2):
            held = (
                sum(file.stat().st_size for file in spill.glob("*") if file.exists()) if spill.exists() else 0
            )
            most_on_disk[-1] = max(most_on_disk[-1], held // 10**6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with duckdb.connect() as connection:
            connection.execute(f"set memory_limit='{limit}MB'; set temp_directory='{spill}'")
            return lsdt.candidate_set(connection.read_parquet(str(path)), "paper")
    finally:
        is_over.set()
        watcher.join()


def pairs_in_duckdb(n_arms: int = _ARMS, pairs_each: int = _PAIRS_EACH, limit: int = _LIMIT) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.parquet"
        n_pairs = write_pairs(path, n_arms, pairs_each)
        found: list[lsdt.candidates.CandidateSet] = []
        on_disk: list[int] = []
        started = process_time()
        peak = peak_mib(lambda: found.append(in_duckdb(path, limit, on_disk)))
        cpu = process_time() - started
        found.append(in_duckdb(path, 16_000, on_disk))
        started = perf_counter()
        here = in_memory(path)
        in_memory_seconds = perf_counter() - started
    limited, free = found
    same = limited.arm_ids == free.arm_ids == here
    return Row(
        f"triangles of {n_pairs / 1e6:.0f} M pairs ({n_pairs * 24 / 1e6:.0f} MB) of {n_arms:,} arms in "
        f"DuckDB with memory_limit {limit} MB",
        limited.seconds,
        f"without a limit; in memory {in_memory_seconds:.1f} s",
        free.seconds,
        f"{len(limited):,} candidates, {'as' if same else 'NOT as'} in memory; "
        f"{1e6 * cpu / n_pairs:.1f} CPU seconds, {on_disk[0] * 1e6 / n_pairs:.0f} MB of disk for 10^6 pairs",
        "completes with the same candidates",
        same,
        peak,
    )


WORKS = [pairs_in_duckdb]

if __name__ == "__main__":
    print(pairs_in_duckdb(*(int(word) for word in sys.argv[1:])))
