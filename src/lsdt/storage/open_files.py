"""Check that the files of an SQLite store are still those that were opened.

A file that is removed, renamed or replaced while it is open still accepts writes, which are then lost. Opened
under a second name, a hard link, it gets a second log (``-wal``) beside that name, and the two logs overwrite
each other's changes. A backup copied over it, or ``> lsdt.db``, leaves the same file with other contents; it
is then mostly shorter, and a database without VACUUM never becomes shorter by itself. The check takes a
microsecond per file, so it is done after every commit, before requests are answered.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lsdt.errors import InvalidFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Complaint(NamedTuple):
    """What happened to an open file.

    Attributes
    ----------
    text : str
        A description.
    is_apart : bool
        Whether the database and its write-ahead log are no longer side by side, so that neither is complete.
    """

    text: str
    is_apart: bool


class OpenFiles:
    """The identities of the files of a store when it was opened.

    Parameters
    ----------
    path : Path
        The database; it must exist.
    endings : sequence of str
        Suffixes of the files beside it, which must exist too.
    """

    def __init__(self, path: Path, endings: Sequence[str] = ()) -> None:
        check_links(path)
        self._path = str(path)
        self._files = [(name, _identity(os.stat(name))) for name in map(self._path.__add__, ("", *endings))]
        self._size = os.stat(self._path).st_size  # when it was last looked at

    def complaint(self) -> Complaint | None:
        """Return what is wrong, if anything: a file is missing, replaced, shorter, or has a second name."""
        least = self._size  # before the look at the file, as other threads may look when it has grown
        for name, identity in self._files:
            is_apart = name == self._path or name.endswith("-wal")
            try:
                found = os.stat(name)
            except OSError:
                return Complaint(f"{name!r} was removed or renamed while it was open", is_apart)
            if _identity(found) != identity:
                return Complaint(f"{name!r} was replaced by another file while it was open", is_apart)
            if name != self._path:
                continue
            if found.st_nlink > 1:
                return Complaint(f"{name!r} was given a second name, a hard link, while it was open", False)
            if found.st_size < least:
                return Complaint(
                    f"{name!r} became shorter, as when a backup is copied over it, while it was open", False
                )
            self._size = found.st_size
        return None


def check_links(path: Path) -> None:
    """Raise `InvalidFile` if a database has several hard links: each name would have its own log and lock."""
    try:
        n_names = path.stat().st_nlink
    except FileNotFoundError:
        return
    if n_names > 1:
        raise InvalidFile(
            f"{str(path)!r} is one of {n_names} names of one file (hard links), and SQLite would keep a log "
            "beside each of them; remove the other names, or make a copy and open that"
        )


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
