"""A disk that is full: one clear line, the old files as they were, nothing half written left behind.

Two kinds are tried: a small disk of memory (tmpfs) with more or less room, which needs a namespace with its
own mounts; and a limit on the size of files, which needs nothing.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attack.outcome import Outcome, joined
from attack.processes import apart, environment, forked
from attack.victims import MAKERS, NEW, Save, SaveOnce, last_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attack.victims import Victim

_MIB = 2**20
_DISK = 2 * _MIB
_MOST_ROOM = 200_000  # bytes; more, and all that the victims write fits
_NAMESPACES = (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"])
_CANDIDATES = [sys.executable, "-m", "lsdt.cli.main", "candidates", "--example", "partial"]


def attack(seed: int, seconds: float) -> Outcome:
    """Run everything that writes files on a full disk, and under a limit on the size of files."""
    limited = apart("full_disk", seed, seconds / 2, "limit")
    before = next((words for words in _NAMESPACES if _mounts(words)), None)
    if before is None:
        why = "a full tmpfs: this system lets us mount none; only the limit on the size of files was tried"
        return joined([limited, Outcome(0, 0, [], why)])
    return joined([limited, apart("full_disk", seed, seconds / 2, "tmpfs", before=before)])


def _mounts(before: list[str]) -> bool:
    """Whether a namespace lets us mount a small disk in it; the mount is gone with the namespace."""
    if shutil.which(before[0]) is None:
        return False
    with tempfile.TemporaryDirectory() as place:
        return subprocess.run([*before, *_mount(place)], capture_output=True).returncode == 0


def _mount(place: str | Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]


def inside(seed: int, seconds: float, kind: str) -> Outcome:
    """Run the attack in this process; for a small disk, it is alone in its namespace."""
    until = time.monotonic() + seconds
    tried, well, failures = 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        disk = place / "disk"
        disk.mkdir()
        if kind == "tmpfs":
            subprocess.run(_mount(disk), check=True, capture_output=True)
        try:
            for what, wrong in _cases(seed, kind, place, disk, long=seconds > 15):
                tried += 1
                well += not wrong
                if wrong:
                    failures.append(f"{what}, {kind}, case {tried - 1} of --seed {seed}: {wrong[0]}")
                if time.monotonic() > until:
                    break
        finally:
            if kind == "tmpfs":
                subprocess.run(["umount", "--lazy", disk], check=True, capture_output=True)
    return Outcome(tried, well, failures)


def _cases(seed: int, kind: str, place: Path, disk: Path, long: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield what was tried and what went wrong with it, for ever."""
    made: list[Victim] = []
    for turn in count():
        if long and turn == len(MAKERS):  # once: compiling takes a while
            yield "the cache of compiled code", _cache_case(kind, disk)
        if len(made) < len(MAKERS):
            victim = MAKERS[len(made)](place)
            made.append(SaveOnce(Path(victim.file).suffix) if isinstance(victim, Save) else victim)
        victim = made[turn % len(MAKERS)]
        rng = np.random.default_rng([seed, turn, kind == "tmpfs"])
        room = 0 if rng.random() < 0.2 else int(np.exp(rng.uniform(0.0, np.log(_MOST_ROOM))))
        yield victim.name, _full_once(victim, kind, disk / f"case {turn}", room)


def _full_once(victim: Victim, kind: str, folder: Path, room: int) -> list[str]:
    """Return what is wrong after a victim ran with so many bytes of room."""
    folder.mkdir()
    victim.begin(folder)
    work = victim.work(folder, NEW)
    filler = folder.parent / "filler"
    if kind == "tmpfs":
        _fill(filler, room)
    else:
        work = _limited(work, room)
    ended = forked(work)
    filler.unlink(missing_ok=True)
    wrong = _complaints(victim, folder, ended.code, ended.text)
    if not wrong:
        try:
            victim.run(folder, NEW)
        except RuntimeError as error:
            wrong.append(f"with room again, {error}")
    shutil.rmtree(folder)
    return [f"{what} (room for {room} bytes)" for what in wrong]


def _complaints(victim: Victim, folder: Path, code: int | None, text: str) -> list[str]:
    wrong = victim.complaints(folder)
    left = [path.name for path in folder.rglob(".*")]
    if left:
        wrong.append(f"{left[0]} was left behind")
    if code == 0:
        return wrong
    lines = text.strip().splitlines()
    if isinstance(victim, Save):  # a function: it raises, and the last line says what
        if not lines or not any(word in lines[-1] for word in ("OSError", "lsdt.errors")):
            wrong.append(f"it ended with code {code}: {last_line(text)}")
    elif len(lines) != 1 or not lines[0].startswith("lsdt: error: "):
        wrong.append(f"it ended with code {code} and {len(lines)} lines, the last: {last_line(text)}")
    gone = [name for name in victim.begun if name not in victim.versions(folder)]
    return [*wrong, *(f"{name} of the earlier run is gone" for name in gone)]


def _limited(work: Callable[..., int | None], room: int) -> Callable[..., int | None]:
    def limited(say: Callable[[str], None]) -> int | None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        return work(say)

    return limited


def _fill(filler: Path, room: int) -> None:
    """Write a file until so many bytes are free."""
    free = shutil.disk_usage(filler.parent).free
    with filler.open("wb") as stream:
        stream.write(bytes(max(0, free - room)))
        stream.flush()
        os.fsync(stream.fileno())


def _cache_case(kind: str, disk: Path) -> list[str]:
    """Compile into a cache that cannot be written: the answer is that of a run with a good cache."""
    expected = subprocess.run(_CANDIDATES, env=environment(), capture_output=True, text=True)
    cache = disk / "cache"
    cache.mkdir()
    filler = disk / "filler"
    if kind == "tmpfs":
        _fill(filler, 10_000)
    command = _CANDIDATES if kind == "tmpfs" else ["prlimit", "--fsize=10000", *_CANDIDATES]
    found = subprocess.run(
        command, env=environment(NUMBA_CACHE_DIR=str(cache)), capture_output=True, text=True
    )
    filler.unlink(missing_ok=True)
    again = subprocess.run(
        _CANDIDATES, env=environment(NUMBA_CACHE_DIR=str(cache)), capture_output=True, text=True
    )
    shutil.rmtree(cache)
    answers = (("full", found), ("that was full", again))
    return [
        f"with a cache {when}, it ends with code {run.returncode}: {last_line(run.stderr)}"
        for when, run in answers
        if run.returncode != 0
        or _untimed(run.stdout) != _untimed(expected.stdout)
        or "Traceback" in run.stderr
    ]


def _untimed(text: str) -> str:
    """Return an answer without the time it took."""
    return re.sub(r", [\d.]+ m?s$", "", text, flags=re.M)
