"""A policy that has begun: compiled, and called one round at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel.random import Purpose
from lsdt.kernel.state import state_of

if TYPE_CHECKING:
    from lsdt.kernel.drivers import Entries
    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Packed


class Player:
    """A compiled policy in the midst of its work; arms are numbered as in its situation.

    Attributes
    ----------
    packed : Packed
        The whole state, key of the random streams included, in one buffer.
    round : int
        The number of the round at hand, from 0 on.
    """

    __slots__ = ("_state_class", "entries", "packed", "round")

    def __init__(self, entries: Entries, packed: Packed, state_class: type) -> None:
        self.entries = entries
        self.packed = packed
        self.round = 0
        self._state_class = state_class

    def select(self, allowed: Array | None = None) -> int:
        """Return the arm to play in this round, of all or of those that are flagged."""
        if allowed is None:
            return self.entries.select(*self.packed, self.round)
        return self.entries.select_allowed(*self.packed, self.round, allowed)

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of this round, and go on to the next."""
        rounds, arms, rewards = np.array([self.round]), np.array([arm]), np.array([reward], np.float64)
        self.entries.teach(*self.packed, rounds, int(Purpose.TOSS), arms, rewards)
        self.round += 1

    def copy(self) -> Player:
        """Return a player of its own that goes on from here."""
        player = Player(self.entries, self.packed.copy(), self._state_class)
        player.round = self.round
        return player

    @property
    def state(self) -> Any:
        """The state as views into the buffer, for looking at."""
        return state_of(self._state_class, *self.packed)
