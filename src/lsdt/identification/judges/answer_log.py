"""A file of answers: one line each, on disk before the next question."""

from __future__ import annotations

import csv
import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lsdt._files import csv_rows, replace_file
from lsdt.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsdt.identification.inquiry import Inquiry
    from lsdt.side_information import ArmId

_COLUMNS = ["a", "b", "answer"]


class AnswerLog:
    """A CSV file with the columns ``a``, ``b`` (the arms, as they were shown) and ``answer``."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def replay(self, inquiry: Inquiry) -> None:
        """Tell an inquiry all answers in the file; there are none if it does not exist."""
        for number, row in enumerate(self._rows(), start=2):
            try:
                inquiry.tell(_arm(row[0], inquiry), _arm(row[1], inquiry), row[2])
            except InvalidInput as error:
                raise InvalidFile(f"{str(self.path)!r}, line {number}: {error}") from None

    def _rows(self) -> Iterator[list[str]]:
        if not self.path.exists():
            return
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFile(f"cannot read {str(self.path)!r}: {error}") from None
        if not text.endswith("\n"):  # a truncated last line is not an answer
            text = text[: text.rfind("\n") + 1]
            with replace_file(self.path) as written:
                written.write_text(text, encoding="utf-8")
        try:
            rows = [row for _, row in csv_rows(text.splitlines())]
        except InvalidInput as error:
            raise InvalidFile(f"{str(self.path)!r}: {error}") from None
        if rows and rows[0] != _COLUMNS:
            raise InvalidFile(
                f"{str(self.path)!r} is not a log of answers: its first line must be {','.join(_COLUMNS)}"
            )
        for number, row in enumerate(rows[1:], start=2):
            if len(row) != len(_COLUMNS):
                raise InvalidFile(f"{str(self.path)!r}, line {number}: {len(row)} columns instead of 3")
            yield row

    def add(self, a: ArmId, b: ArmId, answer: object) -> None:
        """Append an answer, and wait until it is on disk."""
        try:
            is_new = not self.path.exists() or not self.path.stat().st_size
            with self.path.open("a", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                if is_new:
                    writer.writerow(_COLUMNS)
                writer.writerow([a, b, str(answer)])
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise InvalidFile(f"cannot write {str(self.path)!r}: {error.strerror or error}") from error


def _arm(text: str, inquiry: Inquiry) -> ArmId:
    ids = inquiry.side_before.arm_ids
    if (ids is None or isinstance(ids[0], int)) and text.lstrip("-").isdigit():
        return int(text)
    return text
