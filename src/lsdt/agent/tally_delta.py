"""Tallies of one agent for another to learn: checked, and stored in a log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import LARGEST_REWARD
from lsdt.agent.binary_format import encode_frame, own_errors, parse
from lsdt.errors import InvalidFile
from lsdt.policies import MOST_ROUNDS
from lsdt.side_information import exact_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.halt import Signature

MAGIC = b"LSDTMERG"
_FORMAT = 2  # the first did not say which decisions were open
_TALLIES = ("counts", "sums", "squares")


class TallyDelta(NamedTuple):
    """The rewards that agents were told, by arm.

    Attributes
    ----------
    tallies : list of three arrays
        Counts, sums and squares of every arm's rewards.
    left : list of three arrays
        What is left of them where rewards fade; else the same.
    n_told : int
        How many rewards.
    agents : tuple of str
        Who was told, by identity.
    open : array of int
        How many decisions of every arm had no final reward yet. What was told may be a biased sample without
        them.
    settled : pair of arrays, or None
        Count and sum of each arm's rewards that count for guarantees; None where all do.
    """

    tallies: list[NDArray[Any]]
    left: list[NDArray[np.float64]]
    n_told: int
    agents: tuple[str, ...]
    open: NDArray[np.int64]
    settled: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def renumber(self, places: NDArray[np.int64], n_arms: int) -> TallyDelta:
        """Return a copy with arms renumbered by `places`, among `n_arms`."""
        tallies, left = ([renumber_tally(part, places, n_arms) for part in parts] for parts in self[:2])
        settled = None
        if self.settled is not None:
            counts, sums = (renumber_tally(part, places, n_arms) for part in self.settled)
            settled = counts, sums
        still_open = renumber_tally(self.open, places, n_arms)
        return TallyDelta(tallies, left, self.n_told, self.agents, still_open, settled)

    def plus(self, other: TallyDelta) -> TallyDelta:
        """Return the sum of both."""
        tallies = [a + b for a, b in zip(self.tallies, other.tallies, strict=True)]
        left = [a + b for a, b in zip(self.left, other.left, strict=True)]
        agents, n_told = self.agents + other.agents, self.n_told + other.n_told
        settled = None
        if self.settled is not None or other.settled is not None:
            mine, theirs = (each.settled or (each.tallies[0], each.tallies[1]) for each in (self, other))
            settled = mine[0] + theirs[0], mine[1] + theirs[1]
        return TallyDelta(tallies, left, n_told, agents, self.open + other.open, settled)

    def to_bytes(self, signature: Signature) -> bytes:
        """Return the tallies as the data of an event; arms without any are left out."""
        arms = np.flatnonzero((self.tallies[0] > 0) | (self.left[0] > 0.0) | (self.open > 0))
        arrays: dict[str, NDArray[Any]] = {"arms": arms, "open": self.open[arms]}
        arrays |= {name: part[arms] for name, part in zip(_TALLIES, self.tallies, strict=True)}
        arrays |= {f"left_{name}": part[arms] for name, part in zip(_TALLIES, self.left, strict=True)}
        if self.settled is not None:
            arrays |= {"settled_counts": self.settled[0][arms], "settled_sums": self.settled[1][arms]}
        head = {"told": self.n_told, "agents": list(self.agents), **signature.known()}
        return encode_frame(MAGIC, _FORMAT, head, arrays)


def renumber_tally(tally: NDArray[Any], places: NDArray[np.int64], n_arms: int) -> NDArray[Any]:
    """Return a tally with arms renumbered by `places`, among `n_arms`."""
    new = np.zeros(n_arms, tally.dtype)
    new[places] = tally
    return new


def tally_delta_of_bytes(data: bytes | None, n_arms: int) -> TallyDelta:
    """Read tallies back from an event; refuse damaged ones."""
    if data is None:
        raise InvalidFile("the log has a merge without what was merged")
    head, arrays = parse(data, MAGIC, _FORMAT)
    with own_errors():
        arms = exact_array(arrays, "arms", np.int64, (None,))
        if not ((arms >= 0) & (arms < n_arms)).all() or len(np.unique(arms)) < len(arms):
            raise InvalidFile("the log merges rewards for unknown arms")
        parts: list[NDArray[Any]] = []
        names = (*_TALLIES, *(f"left_{name}" for name in _TALLIES), "open")
        if "settled_counts" in arrays:
            names += ("settled_counts", "settled_sums")
        for name in names:
            kind = np.int64 if name in ("counts", "open", "settled_counts") else np.float64
            values = exact_array(arrays, name, kind, (len(arms),))
            least = 0.0 if name.endswith(("counts", "open")) else -math.inf
            if not ((values >= least) & (np.abs(values) <= MOST_ROUNDS * LARGEST_REWARD**2)).all():
                raise InvalidFile("the log merges impossible rewards")
            parts.append(renumber_tally(values, arms, n_arms))
        n_told = head["told"]
        if isinstance(n_told, bool) or not isinstance(n_told, int) or not 0 <= n_told <= MOST_ROUNDS:
            raise InvalidFile(f"the log merges {n_told!r} rewards")
        settled = (parts[7], parts[8]) if len(parts) > 7 else None
        agents = tuple(map(str, head["agents"]))
        return TallyDelta(parts[:3], parts[3:6], n_told, agents, parts[6], settled)
