"""Safe output: text that cannot control a terminal, tables that a spreadsheet cannot execute."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from lsdt._files import replace_file

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    import pandas as pd

# Control characters, line separators, bidirectional marks, the byte order mark, surrogates, tags.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_FORMULA = ("=", "+", "-", "@")  # a spreadsheet takes text that begins with these for a formula


def escape(text: object) -> str:
    r"""Return text on one line, with characters that could control a terminal escaped.

    The escapes are those of JSON, so that JSON text keeps its meaning.

    Examples
    --------
    >>> from lsdt.cli.terminal import escape
    >>> print(escape("red \x1b[31m, and\ntwo lines"))
    red \u001b[31m, and\u000atwo lines
    """
    return _UNSAFE.sub(_escape_character, str(text))


def _escape_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_lines(text: str) -> str:
    """Return text escaped, except for its line breaks."""
    return "\n".join(map(escape, text.split("\n")))


_QUOTE = "'"
_PYTHON = re.compile(r"(?<![^\s(])([a-z_]+)=('[^']*'|\.\.\.|[-+\w.]+)")  # a Python keyword argument


def in_options(text: str, options: Container[str]) -> str:
    """Return a message with Python arguments spelled as command-line options, if the command has them.

    Examples
    --------
    >>> from lsdt.cli.terminal import in_options
    >>> in_options("say duplicates='last', or give side=...", {"duplicates"})
    'say --duplicates last, or give side=...'
    """

    def spelled(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in options:
            return found[0]
        option = name.replace("_", "-")
        if value in ("True", "False"):
            return f"--{'no-' if value == 'False' else ''}{option}"
        return f"--{option} {value if value == '...' else shlex.quote(value.strip(_QUOTE))}"

    return _PYTHON.sub(spelled, text)


class _EscapedStream:
    """A wrapper around standard output that escapes all text written to it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(escape_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def safe_output() -> Iterator[None]:
    """Escape all standard output inside the block, and show warnings as one line without a source path."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        complain(f"lsdt: warning: {message}")

    with redirect_stdout(_EscapedStream(sys.stdout)), warnings.catch_warnings():
        warnings.showwarning = show
        yield


def complain(text: str) -> None:
    """Print one escaped line to standard error.

    The stream itself is not wrapped: progress bars on it need control characters.
    """
    print(escape(" ".join(text.split("\n"))), file=sys.stderr, flush=True)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for people, as CSV or Parquet.

    In CSV, a text that a spreadsheet would take for a formula is prefixed with an apostrophe, and control
    characters are escaped, including tabs and carriage returns.
    """
    with replace_file(path) as written:
        if path.suffix.lower() == ".csv":
            frame.map(_harmless).to_csv(written, index=False)
        else:
            frame.to_parquet(written, index=False)


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    shown = escape_lines(cell)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
