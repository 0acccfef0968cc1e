"""Processes that an attack may crash or kill without harm to the one that counts.

An attack runs in a fresh interpreter (`apart`), which imports the package once and then forks a child for
every case (`forked`): a fork takes milliseconds where a new interpreter takes seconds.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import lsdt
from attack.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TESTS = Path(__file__).parent.parent
SOURCES = Path(lsdt.__file__).parent.parent
LONGEST = 120.0  # seconds that a case may take before it counts as hung


class Ended(NamedTuple):
    """How a child ended.

    Attributes
    ----------
    code : int or None
        Its exit code; minus the signal that ended it; None when it hung and was killed.
    text : str
        What it said.
    """

    code: int | None
    text: str


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a fresh interpreter that finds this package and these tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(TESTS)]), **more}


def apart(attack: str, seed: int, seconds: float, *words: str, before: Sequence[str] = ()) -> Outcome:
    """Run the function `inside` of an attack's module in a fresh interpreter.

    `before` are words that go before the command, such as those of ``unshare``.
    """
    command = [sys.executable, "-m", "attack.processes", attack, str(seed), str(seconds), *words]
    done = subprocess.run([*before, *command], env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
        return Outcome(1, 0, [f"the attack itself ended with code {done.returncode}: {last[0]}"])
    return Outcome(*json.loads(done.stdout.splitlines()[-1]))


def forked(work: Callable[[Callable[[str], None]], int | None], longest: float = LONGEST) -> Ended:
    """Run `work` in a fork; it gets a function by which it may say things, and returns an exit code."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        run_child(lambda: work(lambda text: _write(writing, text)), writing)
    os.close(writing)
    said, until = bytearray(), time.monotonic() + longest
    hung = False
    while not hung:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        hung = not ready
        chunk = os.read(reading, 65536) if ready else b""
        said += chunk
        if ready and not chunk:
            break
    os.close(reading)
    if hung:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Ended(None if hung else code, said.decode(errors="replace"))


def run_child(work: Callable[[], int | None], writing: int | None = None) -> None:
    """Be the child of a fork: do the work, say what went wrong, and end without returning."""
    code: int | None = 99
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        code = work()
    except BaseException:
        if writing is not None:
            with contextlib.suppress(OSError):
                _write(writing, traceback.format_exc())
    finally:
        os._exit(code or 0)


def _write(descriptor: int, text: str) -> None:
    data = text.encode(errors="replace")
    while data:
        data = data[os.write(descriptor, data) :]


def command(*words: object) -> Callable[[Callable[[str], None]], int]:
    """Return the work of a child that runs the command ``lsdt`` and says what it writes to standard error."""

    def work(say: Callable[[str], None]) -> int:
        from lsdt.cli.main import main

        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = main([str(word) for word in words])
        say(errors.getvalue())
        return code

    return work


def main(words: Sequence[str]) -> None:
    """Run an attack inside this interpreter and print its outcome."""
    name, seed, seconds, *more = words
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    module = importlib.import_module(f"attack.{name}")
    found = module.inside(int(seed), float(seconds), *more)
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
