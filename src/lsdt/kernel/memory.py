"""How much memory there is, so that a request that cannot be met is refused before it starts."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lsdt.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASSUMED = 8 * 2**30  # where the operating system does not tell
_NEGLIGIBLE = 2**22  # asking costs more than it is worth

_limits: list[int] = []


@contextmanager
def memory_limit(limit: int) -> Iterator[None]:
    """Count with at most `limit` bytes inside a ``with`` block, in all threads."""
    _limits.append(limit)
    try:
        yield
    finally:
        _limits.pop()


def available_memory() -> int:
    """Return the bytes that can be taken without swapping, as far as the operating system tells."""
    return min(_limits) if _limits else _free_memory()


def fits_in_memory(needed: float, share: float) -> bool:
    """Return whether so many bytes take less than a share of what is available."""
    return (needed < _NEGLIGIBLE and not _limits) or needed < share * available_memory()


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) * 1024, _container_limit())
    except OSError:
        pass
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _ASSUMED


def _container_limit() -> int:
    """Return what the control group of this process may still take; very large when it sets no limit."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return int(limit) - int(used) if limit != "max" else sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def readable_bytes(count: float) -> str:
    """Return a byte count as people write it: ``'3.4 GiB'``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def require_memory(needed: float, what: str, instead: str) -> None:
    """Raise `TooLarge` when `what` needs more bytes than there are; `instead` says what to do."""
    if needed < _NEGLIGIBLE and not _limits:
        return
    available = available_memory()
    if needed > available:
        raise TooLarge(
            f"{what} would need about {readable_bytes(needed)} of memory and "
            f"{readable_bytes(available)} are available; {instead}"
        )
