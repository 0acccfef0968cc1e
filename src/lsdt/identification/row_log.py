"""A CSV file that grows by rows, each on disk before work goes on, so that it can be resumed."""

from __future__ import annotations

import csv
import io
import os
from os import PathLike
from typing import TYPE_CHECKING, Any

from lsdt._files import checked_path, csv_rows, replace_file
from lsdt.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class RowLog:
    """A CSV file with given columns; `what` says in errors what it is a log of."""

    def __init__(self, path: str | PathLike[str], columns: Sequence[str], what: str) -> None:
        self.path, self.columns, self.what = checked_path(path, "log"), list(columns), what

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Yield where each row is, for errors, and its fields; nothing if the file does not exist.

        A last row that was not written completely is removed from the file.
        """
        if not self.path.exists():
            return
        try:
            with self.path.open(encoding="utf-8", newline="") as stream:
                text = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFile(f"cannot read {str(self.path)!r}: {error}") from None
        whole = _whole_rows(text)
        if whole != text:
            with replace_file(self.path) as written:
                written.write_text(whole, encoding="utf-8", newline="")
        try:
            rows = list(csv_rows(io.StringIO(whole, newline="")))
        except InvalidInput as error:
            raise InvalidFile(f"{str(self.path)!r}: {error}") from None
        if rows and rows[0][1] != self.columns:
            raise InvalidFile(
                f"{str(self.path)!r} is not a log of {self.what}: its first line must be "
                f"{','.join(self.columns)}"
            )
        for number, row in rows[1:]:
            where = f"{str(self.path)!r}, line {number}"
            if len(row) != len(self.columns):
                raise InvalidFile(f"{where}: {len(row)} columns instead of {len(self.columns)}")
            yield where, row

    def check_writable(self) -> None:
        """Raise an error if the file cannot be written, before the first row is paid for; it may be empty."""
        try:
            with self.path.open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise self._unwritable(error) from error

    def add(self, *fields: Any) -> None:
        """Append a row, and wait until it is on disk."""
        try:
            is_new = not self.path.exists() or not self.path.stat().st_size
            with self.path.open("a", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                if is_new:
                    writer.writerow(self.columns)
                writer.writerow(fields)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InvalidFile:
        return InvalidFile(f"cannot write {str(self.path)!r}: {error.strerror or error}")


def _whole_rows(text: str) -> str:
    r"""Return a CSV text up to its last whole row; a line break inside quotes ends no row.

    Examples
    --------
    >>> _whole_rows('a,b\n1,"x\ny"\n2,"p\nq')
    'a,b\n1,"x\ny"\n'
    """
    whole = text[: text.rfind("\n") + 1]
    while whole.count('"') % 2:
        whole = whole[: whole.rfind("\n", 0, -1) + 1]
    return whole
