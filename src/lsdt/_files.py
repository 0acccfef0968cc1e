"""File helpers: atomic replacement, checksums, checks of paths that users give, and rows of CSV files."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FIELD = 131_072  # characters per field, in text files and in Parquet: the default of Python's csv module


def checked_path(path: Any, name: str = "path") -> Path:
    """Return a user's path as a `Path`; raise `InvalidInput` if it cannot name a file."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(path, bytes):
        raise InvalidInput(f"{name} must be a path, as text or pathlib.Path; got {path!r}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be a path, as text or pathlib.Path; got {path!r}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # half of a surrogate pair
        raise InvalidInput(f"{name} must be text that can name a file; got {text!r}") from None
    if not text or "\0" in text:
        raise InvalidInput(f"{name} must name a file, without a NUL character; got {text!r}")
    return Path(text)


def csv_rows(lines: Iterable[str], before: int = 0, **layout: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield, for every row, the number of its last line and its fields.

    `before` is the number of lines that were read before these; `layout` holds options of `csv.reader`.
    """
    reader = csv.reader(lines, **layout)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            why = f"cannot be read as CSV: {error}"
            if "field limit" in str(error):
                why = (
                    f"has a field of more than {MOST_FIELD:,} characters; no id, number or title is that long"
                )
            raise InvalidInput(f"line {before + reader.line_num} {why}") from None
        if row is None:
            return
        yield before + reader.line_num, row


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it replaces `target` atomically if the block succeeds."""
    written = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        real = target.resolve()  # a link stays a link
        if real.is_dir():
            raise InvalidFile(f"cannot write {str(target)!r}: it is a folder")
        written = real.with_name(f".{real.stem}.{os.getpid()}.part{real.suffix}")
        yield written
        _sync(written, os.O_RDWR)  # Windows syncs no handle that only reads
        if real.exists():  # after it was synced: the mode may forbid to write
            written.chmod(real.stat().st_mode)
        written.replace(real)
        with suppress(OSError):  # some file systems cannot sync a folder, and Windows opens none
            _sync(real.parent, os.O_RDONLY)
    except OSError as error:  # name the file that the user knows
        raise InvalidFile(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    finally:
        if written is not None:
            with suppress(OSError):
                written.unlink(missing_ok=True)


def file_checksum(path: Path) -> str:
    """Return a checksum of the bytes of a file; it guards against damage, not against forgery."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()[:32]


def record_checksum(record: dict[str, Any]) -> str:
    """Return a checksum of a JSON object without its own entry ``checksum``."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=16).hexdigest()


def _sync(path: Path, access: int) -> None:
    """Wait until a file's content, or a folder's list of entries, is on disk."""
    handle = os.open(path, access)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
