"""A file of answers about pairs of arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.errors import InvalidFile, InvalidInput
from lsdt.identification.row_log import RowLog

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from lsdt.identification.inquiry import Inquiry
    from lsdt.side_information import ArmId


class AnswerLog:
    """A CSV file with the columns ``a``, ``b`` (the arms, as they were shown) and ``answer``."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._rows = RowLog(path, ["a", "b", "answer"], "answers")

    @property
    def path(self) -> Path:
        """The file."""
        return self._rows.path

    def replay(self, inquiry: Inquiry) -> None:
        """Tell an inquiry all answers in the file that it accepts; none if the file does not exist."""
        for where, (a, b, answer) in self._rows.rows():
            pair = _arm(a, inquiry), _arm(b, inquiry)
            try:
                if inquiry._accepts(*pair):
                    inquiry.tell(*pair, answer)
            except InvalidInput as error:
                raise InvalidFile(f"{where}: {error}") from None

    def check_writable(self) -> None:
        """Raise an error if the file cannot be written."""
        self._rows.check_writable()

    def add(self, a: ArmId, b: ArmId, answer: object) -> None:
        """Append an answer, and wait until it is on disk."""
        self._rows.add(a, b, str(answer))


def _arm(text: str, inquiry: Inquiry) -> ArmId:
    ids = inquiry.side_before.arm_ids
    if (ids is None or isinstance(ids[0], int)) and text.lstrip("-").isdigit():
        return int(text)
    return text
