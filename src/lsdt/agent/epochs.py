"""Which opening of an agent asked which decisions.

Every opening draws a random epoch, and a decision carries it beside its number. Numbers alone do not tell
decisions apart: after a backup or an old snapshot is restored, they are given a second time.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import InvalidFile

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Epochs:
    """The epoch of every decision that was asked for, pending or closed.

    An opening asks numbers one after the other (a replica, within each block that it reserved), so runs of
    numbers are kept and not single ones: a few for an agent, one in a thousand decisions for replicas.

    Examples
    --------
    >>> from lsdt.agent.epochs import Epochs
    >>> epochs = Epochs()
    >>> for number, epoch in [(0, 77), (1, 77), (2, -5), (9, 77)]:
    ...     epochs.add(number, epoch)
    >>> epochs.of(1), epochs.of(2), epochs.of(3)
    (77, -5, None)
    >>> epochs.to_array().tolist()
    [[0, 2, 77], [2, 3, -5], [9, 10, 77]]
    """

    __slots__ = ("_ends", "_epochs", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []
        self._epochs: list[int] = []

    def add(self, number: int, epoch: int) -> None:
        """Record the epoch of a number that has none yet."""
        ends = self._ends
        if ends and number == ends[-1] and epoch == self._epochs[-1]:
            ends[-1] = number + 1
            return
        at = bisect_right(self._firsts, number) - 1
        if at >= 0 and number == ends[at] and epoch == self._epochs[at]:
            ends[at] = number + 1
            return
        self._firsts.insert(at + 1, number)
        ends.insert(at + 1, number + 1)
        self._epochs.insert(at + 1, epoch)

    def of(self, number: int) -> int | None:
        """Return the epoch that asked a number; None if none did."""
        at = bisect_right(self._firsts, number) - 1
        return self._epochs[at] if at >= 0 and number < self._ends[at] else None

    def copy(self) -> Epochs:
        """Return an independent copy."""
        new = Epochs()
        new._firsts, new._ends, new._epochs = self._firsts.copy(), self._ends.copy(), self._epochs.copy()
        return new

    def to_array(self) -> NDArray[np.int64]:
        """Return a row per run: first number, one past the last, epoch."""
        return np.ascontiguousarray(np.array([self._firsts, self._ends, self._epochs], np.int64).T)


def epochs_of_array(rows: NDArray[np.int64], next_number: int) -> Epochs:
    """Read `to_array` back; refuse runs that overlap or end after the next number."""
    firsts, ends, epochs = rows.T
    last = np.concatenate([[0], ends])
    if not ((firsts >= last[:-1]) & (firsts < ends)).all() or last[-1] > next_number:
        raise InvalidFile("this snapshot has epochs of decisions that were never asked for")
    found = Epochs()
    found._firsts, found._ends, found._epochs = firsts.tolist(), ends.tolist(), epochs.tolist()
    return found
