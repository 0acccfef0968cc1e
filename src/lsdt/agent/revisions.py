"""Rewards that may still be replaced, and the rewards that count for guarantees.

A reward that was told, or given by an expiry, may be replaced for a stated time. The policy learns it at once
and is corrected when it is replaced. Whatever is claimed at a level (stopping, anytime intervals, lift,
drift) waits until it is final: until then its decision counts as pending, because which rewards are replaced
may depend on what they are.

When a reward becomes final depends on the times of events alone. A log that is applied again therefore gives
the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class RevisableReward(NamedTuple):
    """A reward that may be replaced: arm, reward, when it was told, and whether it counts once final.

    The reward of a unit's later decision never counts for guarantees.
    """

    arm: int
    reward: float
    time: int
    counts: bool


class Revisions:
    """The rewards that may still be replaced, in the order told.

    Parameters
    ----------
    within : int
        For how many microseconds after it was told a reward may be replaced.

    Examples
    --------
    >>> from lsdt.agent.revisions import Revisions, RevisableReward
    >>> revisions = Revisions(within=10)
    >>> revisions.entries[3] = RevisableReward(arm=0, reward=1.0, time=100, counts=True)
    >>> [number for number, _ in revisions.due(109)], [number for number, _ in revisions.due(110)]
    ([], [3])
    """

    __slots__ = ("entries", "within")

    def __init__(self, within: int) -> None:
        self.within = within
        self.entries: dict[int, RevisableReward] = {}

    def due(self, time: int) -> Iterator[tuple[int, RevisableReward]]:
        """Yield rewards that are final at a time, in the order told, up to the first that is not."""
        for number, entry in self.entries.items():
            if entry.time + self.within > time:
                return
            yield number, entry

    def take_due(self, time: int) -> list[tuple[int, RevisableReward]]:
        """Remove and return the rewards that are final at a time."""
        found = list(self.due(time))
        for number, _ in found:
            del self.entries[number]
        return found

    def renumber(self, places: NDArray[np.int64]) -> Revisions:
        """Return a copy with arms renumbered by `places`."""
        new = Revisions(self.within)
        new.entries = {
            number: entry._replace(arm=int(places[entry.arm])) for number, entry in self.entries.items()
        }
        return new


class SettledTallies:
    """Count and sum of each arm's rewards that count for guarantees: final, and one for a unit.

    Parameters
    ----------
    counts, sums : array
        How many there are of every arm, and their sum.
    """

    __slots__ = ("counts", "sums")

    def __init__(self, counts: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
        self.counts, self.sums = counts, sums

    def add(self, arm: int, reward: float) -> None:
        """Count a reward."""
        self.counts[arm] += 1
        self.sums[arm] += reward

    def copy(self) -> SettledTallies:
        """Return an independent copy."""
        return SettledTallies(self.counts.copy(), self.sums.copy())

    def plus(self, counts: NDArray[np.int64], sums: NDArray[np.float64]) -> SettledTallies:
        """Return the sum of both."""
        return SettledTallies(self.counts + counts, self.sums + sums)

    def renumber(self, places: NDArray[np.int64], n_arms: int) -> SettledTallies:
        """Return a copy with arms renumbered by `places`, among `n_arms`."""
        new = SettledTallies(np.zeros(n_arms, np.int64), np.zeros(n_arms))
        new.counts[places], new.sums[places] = self.counts, self.sums
        return new
