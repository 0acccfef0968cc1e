"""Blocks of arms on all cores: compiled functions release the GIL, so plain threads scale."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Below this many arms starting threads costs more than it saves.
_WORTH_SHARING = 2_000
_BLOCKS_PER_WORKER = 16


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_blocks(
    work: Callable[[int, int], object],
    n_items: int,
    worth_sharing: int = _WORTH_SHARING,
    smallest: int = 1,
) -> None:
    """Call ``work(first, last)`` on consecutive blocks that cover ``range(n_items)``, in any order.

    Fewer than `worth_sharing` items are one block; no block but the last has fewer than `smallest` items.
    """
    workers = 1 if n_items < worth_sharing else available_cores()
    if workers == 1:
        work(0, n_items)
        return
    size = max(-(-n_items // (workers * _BLOCKS_PER_WORKER)), smallest)
    starts = range(0, n_items, size)
    pool = ThreadPoolExecutor(workers)
    try:
        for finished in [pool.submit(work, start, min(start + size, n_items)) for start in starts]:
            finished.result()
    finally:  # an error or Ctrl-C waits for the blocks under way, not for those that have not begun
        pool.shutdown(cancel_futures=True)
