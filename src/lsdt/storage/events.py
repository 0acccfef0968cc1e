"""The events of a log, and the checksums that chain them."""

from __future__ import annotations

import math
import struct
from enum import IntEnum
from functools import partial
from hashlib import blake2b
from os import urandom
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.errors import DamagedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

START = 0  # the position before the first event
_ROW = struct.Struct("<8sBqqqd")
_LINK = blake2b(digest_size=8)  # copied for each event, which is faster than creating a new one
_WRITER = struct.Struct("<q")


class Kind(IntEnum):
    """The kinds of events.

    ``ASK`` opens a decision. ``TELL``, ``CANCEL`` and ``EXPIRE`` close one. ``OBSERVE`` is a reward without a
    decision. ``EXTEND`` replaces the side information. ``RETIRE`` takes an arm out of play or, with a reward
    of 0, puts it back. ``SNAPSHOT`` marks where a snapshot was taken. ``MERGE`` adds what other agents
    learned. ``REPLACE`` corrects the reward of a decision that was told. ``ERASE`` says that the unit whose
    first decision has this number was erased. ``PAUSE``, ``STOP`` (with the arm that is answered from then
    on) and ``RESUME`` say whether decisions are made. ``TOLERANCE`` sets a tolerance as its reward, or takes
    it back. ``CREATE`` says who made the experiment.
    """

    ASK = 1
    TELL = 2
    OBSERVE = 3
    CANCEL = 4
    EXPIRE = 5
    EXTEND = 6
    RETIRE = 7
    SNAPSHOT = 8
    MERGE = 9
    REPLACE = 10
    ERASE = 11
    PAUSE = 12
    RESUME = 13
    STOP = 14
    TOLERANCE = 15
    CREATE = 16


CLOSING = (Kind.TELL, Kind.CANCEL, Kind.EXPIRE)


class Event(NamedTuple):
    """One event in the history of an agent.

    Attributes
    ----------
    kind : int
        A `Kind`.
    time : int
        Microseconds since 1970, UTC.
    number : int
        The number of the decision, or -1.
    arm : int
        The index of the arm in the side information at that time, or -1.
    reward : float or None
        What the arm paid. An ``EXPIRE`` without a reward teaches nothing.
    data : bytes or None
        Further content: the mask of an ask, the side information of an extension.
    """

    kind: int
    time: int
    number: int = -1
    arm: int = -1
    reward: float | None = None
    data: bytes | None = None


event_of: Callable[[tuple[Any, ...]], Event] = partial(tuple.__new__, Event)  # three times as fast as Event()


class Entry(NamedTuple):
    """An event in a log.

    Attributes
    ----------
    position : int
        Its place in the log. Positions increase in the order in which events apply, and may have gaps.
    writer : int
        The random number (`new_epoch`) of the lease that wrote it.
    link : bytes
        A checksum of the event and of the previous link of the same writer.
    kind, time, number, arm, reward, data
        The `Event`.
    """

    position: int
    writer: int
    link: bytes
    kind: int
    time: int
    number: int
    arm: int
    reward: float | None
    data: bytes | None


def now() -> int:
    """Return the current time in microseconds since 1970."""
    return time_ns() // 1000


def new_epoch() -> int:
    """Return 64 random bits that identify one opening of an agent or of a log.

    A counter would repeat its numbers after a backup is restored.
    """
    return int.from_bytes(urandom(8), "little", signed=True)


def first_link(writer: int) -> bytes:
    """Return the link that the first event of a writer is chained to."""
    return _WRITER.pack(writer)


def link_of(before: bytes, event: Event) -> bytes:
    """Return the checksum of an event, chained to the checksum `before` it."""
    kind, time, number, arm, reward, data = event
    content = _ROW.pack(before, kind, time, number, arm, math.nan if reward is None else reward)
    link = _LINK.copy()
    link.update(content + data if data else content)
    return link.digest()


def blob_checksum(position: int, blob: bytes) -> bytes:
    """Return the checksum of a snapshot and its position."""
    return blake2b(blob, digest_size=16, key=str(position).encode()).digest()


def row_checksum(fields: tuple[int | str, ...], content: bytes) -> bytes:
    """Return the checksum of a row: its short fields and one long value."""
    return blake2b(repr(fields).encode() + content, digest_size=8).digest()


def check_note(row: tuple[Any, ...], where: str) -> None:
    """Raise `DamagedStore` if a note (scope, key, time, value, checksum) does not match its checksum."""
    scope, key, time, value, checksum = row
    if not isinstance(value, bytes) or row_checksum((scope, key, time), value) != checksum:
        raise DamagedStore(
            f"a note in {where} is damaged: {key!r} of {scope!r} does not match its checksum; restore the "
            "store from a backup"
        )


def lost_events(position: int) -> DamagedStore:
    """Return the error for missing events."""
    return DamagedStore(
        f"the log is damaged: events around position {position} are missing; restore the store from a backup"
    )


def check_positions(entries: Sequence[Any], after: int) -> None:
    """Raise `DamagedStore` if positions are not consecutive: events are missing or were moved."""
    for expected, entry in enumerate(entries, after + 1):
        if entry[0] != expected:
            raise lost_events(expected)


def check_writers(entries: Sequence[Any], links: dict[int, bytes], known: Callable[[], set[int]]) -> None:
    """Raise `DamagedStore` if an event has a writer that never opened the log.

    `links` has the writers seen so far; `known` looks up all writers, and is called only for an unseen one.
    """
    others = {entry[1] for entry in entries} - links.keys()
    strangers = others - known() if others else others
    if strangers:
        at = next(entry[0] for entry in entries if entry[1] in strangers)
        raise DamagedStore(
            f"the log is damaged: the event at position {at} has a writer that never opened it; restore the "
            "store from a backup"
        )


def check_chain(entries: Iterable[Entry], links: dict[int, bytes]) -> None:
    """Raise `DamagedStore` if entries were changed, lost or swapped.

    `links` has the last link of each writer so far, and is updated. The first event of a writer that is not
    in `links` cannot be checked, and starts its chain.
    """
    pack, nan, new = _ROW.pack, math.nan, _LINK.copy
    for position, writer, link, kind, time, number, arm, reward, data in entries:
        before = links.get(writer)
        if before is not None:
            try:
                content = pack(before, kind, time, number, arm, nan if reward is None else reward)
                if data:
                    content += data
            except (struct.error, TypeError):  # a damaged value of the wrong type
                content = b""
            expected = new()
            expected.update(content)
            if expected.digest() != link:
                raise DamagedStore(
                    f"the log is damaged: the event at position {position} does not match its checksum; "
                    "restore the store from a backup"
                )
        links[writer] = link
