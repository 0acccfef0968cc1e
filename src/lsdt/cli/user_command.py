"""A command that a user names on the command line, and that is run for every question or evaluation."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from contextlib import suppress
from typing import Any

from lsdt.errors import InvalidInput


def add_timeout_option(parser: Any) -> None:
    """Add the option that limits how long one run of the command may take."""
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="stop a command that takes longer, which then counts as failed (default: wait)",
    )


class UserCommand:
    """A command with places such as {arm}, which are filled in for each run; it is run without a shell.

    Its standard input is empty: what `lsdt` reads is not meant for it, and several may run at a time.

    Examples
    --------
    >>> UserCommand("echo hello {arm}", "--evaluate").last_line({"{arm}": "a b"}, "on arm 'a b'")
    'hello a b'
    """

    def __init__(self, text: str, option: str, timeout: float | None = None) -> None:
        from lsdt._validation import checked_positive

        self.text, self.option = text, option
        self._timeout = None if timeout is None else checked_positive(timeout, "timeout", ", in seconds")
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise InvalidInput(f"{option} {text!r} cannot be read: {error}") from None

    def names(self, *places: str) -> bool:
        """Return whether there is a command in which one of the places occurs."""
        return any(place in word for word in self._words for place in places)

    def last_line(self, values: dict[str, str], about: str) -> str:
        """Run the command and return the last line that it prints; empty if it prints none."""
        # One pass, so that braces inside a value are left alone.
        places = "|".join(map(re.escape, values))
        filled = [re.sub(places, lambda found: values[found[0]], word) for word in self._words]
        try:
            done = _run(filled, self._timeout)
        except subprocess.TimeoutExpired:
            raise InvalidInput(
                f"{self.option} {about} took longer than {self._timeout:g} s and was stopped; --timeout "
                "allows more"
            ) from None
        except (OSError, ValueError) as error:  # ValueError: a value with a NUL character
            reason = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{self.option} cannot run {self._words[0]!r}: {reason}") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it printed no message"])[-1]
            raise InvalidInput(f"{self.option} {about} failed with exit code {done.returncode}: {last}")
        return (done.stdout.strip().splitlines() or [""])[-1].strip()


def _run(words: list[str], timeout: float | None) -> subprocess.CompletedProcess[str]:
    """Run a command; after the timeout, end it with the programs that it has started."""
    # A script mostly runs something else, and a session can be ended as a whole. Ctrl-C in a terminal does
    # not reach it, so commands without a timeout stay in ours.
    has_session = timeout is not None and hasattr(os, "killpg")
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=has_session,
    )
    with process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            if has_session:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)
