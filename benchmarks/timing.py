"""How benchmarks measure: ratios of two things timed in turns in one process, and peak memory."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Row:
    """One line of the table: a ratio (or a memory figure) beside what it should reach."""

    work: str
    seconds: float
    against: str
    against_seconds: float | None
    reached: str
    to_reach: str
    met: bool
    peak_mib: float | None = None


def in_turns(first: Callable[[], Any], second: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """Return the best time of each, run alternately after one warm-up of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for function, taken in zip((first, second), times, strict=True):
            started = time.perf_counter()
            function()
            if repeat > 0 or repeats == 0:
                taken.append(time.perf_counter() - started)
    return min(times[0]), min(times[1])


def timed(function: Callable[[], Any]) -> float:
    """Return the seconds of a single run."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"no {field} in /proc/self/status")


def peak_mib(function: Callable[[], Any], *, whole_process: bool = False) -> float:
    """Return the peak resident memory during a call in MiB: above what was there before, or all of it."""
    gc.collect()
    before = 0.0 if whole_process else _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to what is in use
    function()
    return _status("VmHWM") - before
