"""Kill -9 at any moment: every file is the old one, the new one or not there; the work can be done again."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attack.outcome import Outcome
from attack.processes import apart, run_child
from attack.victims import MAKERS, NEW

if TYPE_CHECKING:
    from attack.victims import Victim

_KILLS_OF_A_LOOP = 10  # an endless victim is cheap: it is killed more often
_LOOP = 0.05  # seconds within which an endless victim is killed
_WAIT = 60.0  # seconds to wait for a victim's first file


def attack(seed: int, seconds: float) -> Outcome:
    """Kill everything that writes files, at random moments."""
    return apart("kills", seed, seconds)


def inside(seed: int, seconds: float) -> Outcome:
    """Run the attack in this process, which forks one for each kill."""
    until = time.monotonic() + seconds
    tried, well, failures = 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        made: list[tuple[Victim, float]] = []
        for turn in count():
            if tried and time.monotonic() > until:
                break
            if len(made) < len(MAKERS):
                victim = MAKERS[len(made)](place)
                made.append((victim, _duration(victim, place / "timed")))
            victim, duration = made[turn % len(MAKERS)]
            for _ in range(_KILLS_OF_A_LOOP if victim.endless else 1):
                folder = place / f"case {tried}"
                folder.mkdir()
                wrong = _killed_once(victim, duration, np.random.default_rng([seed, tried]), folder)
                failures += [f"{victim.name}, kill {tried} of --seed {seed}: {what}" for what in wrong[:1]]
                well += not wrong
                tried += 1
                shutil.rmtree(folder)
    return Outcome(tried, well, failures)


def _duration(victim: Victim, folder: Path) -> float:
    """Return how long a victim works when nobody disturbs it."""
    if victim.endless:
        return _LOOP
    folder.mkdir()
    started = time.monotonic()
    victim.run(folder, NEW)
    shutil.rmtree(folder)
    return time.monotonic() - started


def _killed_once(victim: Victim, duration: float, rng: np.random.Generator, folder: Path) -> list[str]:
    if rng.random() < 0.75:  # else there is nothing yet
        victim.begin(folder)
    pid = os.fork()
    if pid == 0:
        run_child(lambda: victim.work(folder, NEW)(lambda _: None))
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, duration))
    else:  # most work comes before the writing: wait for that, to hit it more often
        _await_change(folder, pid)
        time.sleep(rng.uniform(0.0, min(_LOOP, duration)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wrong = victim.complaints(folder)
    try:
        victim.run(folder, NEW)
    except RuntimeError as error:
        return [*wrong, f"after the kill, {error}"]
    after = victim.versions(folder)
    return [
        *wrong,
        *(f"{name} is not the new one after the next run" for name in after if NEW not in after[name]),
    ]


def _await_change(folder: Path, pid: int) -> None:
    """Wait until a process writes anything into a folder, or ends."""

    def state() -> list[tuple[str, int]]:
        return [(each, os.stat(each).st_mtime_ns) for each, _, _ in os.walk(folder)]

    before, until = state(), time.monotonic() + _WAIT
    while state() == before and time.monotonic() < until:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.0005)
