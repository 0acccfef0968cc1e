"""What operators do to an experiment: pauses, stops, a tolerance; and who did it.

While an experiment is paused, `ask` is refused; after a stop it answers one arm. Both are events, so that
they survive restarts and reach every replica. Events of this kind are signed: their data say who acted, and
why.
"""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_number, is_legible
from lsdt.agent.binary_format import head_of
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.storage import Kind

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation

PAUSED, STOPPED = "paused", "stopped"
SIGNED = (
    Kind.PAUSE, Kind.RESUME, Kind.STOP, Kind.TOLERANCE, Kind.RETIRE, Kind.ERASE, Kind.CREATE, Kind.EXTEND,
    Kind.MERGE,
)  # fmt: skip
_LONGEST = 500  # characters: a sentence or two, readable in a table and in an error


class Signature(NamedTuple):
    """Who did something to an experiment, and why; both may be empty."""

    by: str = ""
    reason: str = ""

    def known(self) -> dict[str, str]:
        """Return what is known of it."""
        return {word: text for word, text in self._asdict().items() if text}

    def to_bytes(self) -> bytes | None:
        """Return it as the data of an event."""
        known = self.known()
        return json.dumps(known).encode() if known else None


def checked_signature(by: Any, reason: Any) -> Signature:
    """Return a signature whose texts are printable and short, or say what is accepted."""
    for word, text in (("by", by), ("reason", reason)):
        if not isinstance(text, str) or len(text) > _LONGEST or not is_legible(text):
            shown = (
                repr(text) if not isinstance(text, str) or len(text) < 100 else f"{len(text):,} characters"
            )
            raise InvalidInput(
                f"{word} must be text of at most {_LONGEST} printable characters on one line; got {shown}"
            )
    return Signature(by.strip(), reason.strip())


def checked_tolerance(value: Any) -> float | None:
    """Return a tolerance as a float; None stays None."""
    return None if value is None else checked_number(value, "tolerance", at_least=0.0)


def signature_of(data: bytes | None) -> Signature:
    """Return the signature in the data of an event; extensions and merges have it in the head of theirs."""
    if data is None:
        return Signature()
    try:
        known = json.loads(data) if data.startswith(b"{") else head_of(data)
        return Signature(str(known.get("by", "")), str(known.get("reason", "")))
    except (ValueError, AttributeError, struct.error):
        raise InvalidFile("the log has an action whose signature cannot be read") from None


class Halt(NamedTuple):
    """A pause or a stop.

    Attributes
    ----------
    name : {'paused', 'stopped'}
        Which of the two.
    time : int
        Since when, in microseconds since 1970.
    arm : int
        The index of the arm that a stopped experiment answers; -1 while it is paused.
    by, reason : str
        Who did it, and why, as far as they said.
    """

    name: str
    time: int
    arm: int = -1
    by: str = ""
    reason: str = ""

    def text(self, side: SideInformation) -> str:
        """Return it in words.

        Examples
        --------
        >>> import lsdt
        >>> from lsdt.agent import Halt
        >>> halt = Halt("paused", 1_790_000_000_000_000, by="alice", reason="wrong prices")
        >>> halt.text(lsdt.SideInformation(2))
        'paused since 2026-09-21 14:13 UTC by alice: wrong prices'
        """
        since = datetime.fromtimestamp(self.time / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")
        arm = f" with {side.show(self.arm)}" if self.arm >= 0 else ""
        by = f" by {self.by}" if self.by else ""
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.name}{arm} since {since}{by}{reason}"
