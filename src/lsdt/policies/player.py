"""A policy that has begun: compiled, and called one round at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt.kernel.state import state_of

if TYPE_CHECKING:
    from lsdt.kernel.drivers import Entries
    from lsdt.kernel.state import Packed


class Player:
    """A compiled policy in the midst of its work; arms are numbered as in its situation.

    Attributes
    ----------
    packed : Packed
        The whole state, random stream included, in one buffer.
    """

    __slots__ = ("_state_class", "entries", "packed")

    def __init__(self, entries: Entries, packed: Packed, state_class: type) -> None:
        self.entries = entries
        self.packed = packed
        self._state_class = state_class

    def select(self) -> int:
        """Return the arm to play next."""
        return self.entries.select(*self.packed)

    def update(self, arm: int, reward: float) -> None:
        """Learn a reward."""
        self.entries.update(*self.packed, arm, reward)

    @property
    def state(self) -> Any:
        """The state as views into the buffer, for looking at."""
        return state_of(self._state_class, *self.packed)
