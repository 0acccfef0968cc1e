"""Scores that were paid for: kept in memory and in a file, so that a race goes on where it stopped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lsdt.errors import InvalidFile
from lsdt.identification.row_log import RowLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from lsdt.side_information import ArmId


class ScoreLog:
    """A CSV file with the columns ``arm``, ``example`` and ``score``, which is empty where there is none.

    An example is known by its text if it is text or a whole number that did not occur before, and else by its
    place: ``#0`` is the first one of the list.
    """

    def __init__(
        self, path: str | PathLike[str], check: Callable[[float | None, Any], float], arms: list[ArmId]
    ) -> None:
        self._rows = RowLog(path, ["arm", "example", "score"], "scores")
        self._scores: dict[tuple[str, str], float | None] = {}
        known = {str(arm): arm for arm in arms}
        for where, (arm, example, text) in self._rows.rows():
            try:
                score = float(text) if text else None
                if arm in known:
                    check(score, known[arm])
            except ValueError as error:
                raise InvalidFile(f"{where}: {error}") from None
            self._scores[arm, example] = score

    def check_writable(self) -> None:
        """Raise an error if the file cannot be written."""
        self._rows.check_writable()

    def has(self, arm: ArmId, example: str) -> bool:
        """Return whether the score of an arm on an example is known."""
        return (str(arm), example) in self._scores

    def get(self, arm: ArmId, example: str) -> float | None:
        """Return a score that is known; None if the arm cannot be tried on the example."""
        return self._scores[str(arm), example]

    def add(self, arm: ArmId, example: str, score: float | None) -> None:
        """Keep a score, on disk before the next evaluation is begun."""
        self._scores[str(arm), example] = score
        self._rows.add(arm, example, "" if score is None or math.isnan(score) else repr(float(score)))


def example_name(example: Any, place: int) -> str:
    """Return how an example is called in the file.

    Examples
    --------
    >>> example_name("2 + 2", 7), example_name({"question": "2 + 2"}, 7)
    ('2 + 2', '#7')
    """
    is_plain = isinstance(example, (str, int)) and not isinstance(example, bool)
    return str(example) if is_plain else f"#{place}"
