"""Units, such as users, that keep their arm.

A unit is assigned an arm when it first asks. The log says which decisions belong to the same unit: a later
decision names the number of the unit's first one. The unit's identity is in a separate table, as a keyed
hash, written in the same transaction as the ask; a primary key makes sure that a unit has one row. So a unit
can be erased without a change to the log, whose checksums stay valid.

An agent without a store has the table in memory (and in its snapshots), about 200 bytes a unit. With a store,
rows are read when they are needed, and only the last `MOST_CACHED` units are kept in memory.
"""

from __future__ import annotations

import json
import math
import struct
from collections import OrderedDict
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.errors import DamagedStore, InvalidInput
from lsdt.storage import units_scope

if TYPE_CHECKING:
    from lsdt.side_information import ArmId
    from lsdt.storage import Store

MOST_CACHED = 1 << 17  # units kept in memory for a store: some 40 MB
KEY_BYTES = 32
_TOKEN = 8  # bytes: with 10^6 units two have the same hash, and share an arm, with probability 3 * 10^-8
_LONGEST = 200  # characters of a unit's id: room for a UUID and a prefix
_ROW = struct.Struct("<qqd")
_KEY = "key"  # of the note that holds the secret


# Cached, because the arms in play are few and are asked for often.
@lru_cache(maxsize=1_024, typed=True)
def _encoded(arm_id: ArmId) -> bytes:
    return json.dumps(arm_id).encode()


_arm_id = lru_cache(maxsize=1_024)(json.loads)


class Assignment(NamedTuple):
    """The arm of a unit.

    Attributes
    ----------
    arm_id : str or int
        The arm, by its id: extensions may give it another number.
    number : int
        The number of the unit's first decision.
    time : int
        When it was assigned, in microseconds since the epoch.
    propensity : float or None
        The probability with which it was.
    """

    arm_id: ArmId
    number: int
    time: int
    propensity: float | None

    def to_bytes(self) -> bytes:
        """Return it as the value of a note."""
        return row_of(*self)


class UnitNote(NamedTuple):
    """A row to be written with an ask: the unit's hash, its value, the one it replaces, and the decision.

    A row that replaces itself is written only if the store still has it: it is not if another replica gave
    the unit another arm, or erased it.
    """

    token: bytes
    value: bytes
    instead: bytes | None
    number: int


def row_of(arm_id: ArmId, number: int, time: int, propensity: float | None) -> bytes:
    """Return an `Assignment` as the value of a note, without making one: this is done for every new unit."""
    return _ROW.pack(number, time, math.nan if propensity is None else propensity) + _encoded(arm_id)


def assignment_of(value: bytes) -> Assignment:
    """Read a row back."""
    try:
        number, time, share = _ROW.unpack_from(value)
        return Assignment(_arm_id(value[_ROW.size :]), number, time, None if share != share else share)
    except (struct.error, ValueError):
        raise DamagedStore("the arm of a unit cannot be read; restore the store from a backup") from None


def checked_unit(unit: Any) -> str:
    """Return the id of a unit, or say what is accepted."""
    if not isinstance(unit, str) or not 1 <= len(unit) <= _LONGEST:
        shown = f"{len(unit)} characters" if isinstance(unit, str) else repr(unit)
        raise InvalidInput(f"a unit is a text of 1 to {_LONGEST} characters, such as 'user-17'; got {shown}")
    return unit


class UnitTable:
    """The units of an agent without a store.

    Parameters
    ----------
    key : bytes, optional
        The secret of the hashes; by default a new one.

    Attributes
    ----------
    rows : dict
        The row of every unit, as bytes, by its hash.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self.key = token_bytes(KEY_BYTES) if key is None else key
        self.rows: dict[bytes, bytes] = {}
        self._hasher: blake2b | None = None

    def token(self, unit: str) -> bytes:
        """Return the hash that stands for a unit."""
        if self._hasher is None:
            self._hasher = blake2b(digest_size=_TOKEN, key=self.key)
        hasher = self._hasher.copy()  # a third faster than one that takes in the key again
        hasher.update(unit.encode("utf-8", "surrogatepass"))
        return hasher.digest()

    def find(self, token: bytes) -> bytes | None:
        """Return the row of a unit; None if it is new."""
        return self.rows.get(token)

    def put(self, token: bytes, value: bytes) -> None:
        """Store the row of a unit."""
        self.rows[token] = value

    def erase(self, token: bytes) -> bytes | None:
        """Remove a unit; return its row."""
        return self.rows.pop(token, None)


class StoredUnits(UnitTable):
    """The units of an agent in a store, with a cache of those asked for last.

    Parameters
    ----------
    store : Store
        Where the units are.
    number : int
        The number of the experiment.
    most : int
        How many units are kept in memory.
    is_only_writer : bool
        Whether no other agent adds units. Then no query is needed while all units are in memory.
    """

    def __init__(
        self, store: Store, number: int, most: int = MOST_CACHED, *, is_only_writer: bool = False
    ) -> None:
        self._store, self.scope, self._most = store, units_scope(number), most
        self._key: bytes | None = None
        self._hasher = None
        self._is_only_writer, self._has_all = is_only_writer, False
        self.rows: OrderedDict[bytes, bytes] = OrderedDict()
        self._by_number: dict[int, bytes] = {}  # the units in memory, by their first decisions
        self.queued: dict[bytes, UnitNote] = {}  # assigned by the only writer and not written yet
        self.unsure: set[bytes] = set()  # units of a shared log that another replica may have assigned

    @property
    def key(self) -> bytes:  # type: ignore[override]
        """The secret of the hashes; the first agent that needs it makes it."""
        if self._key is None:
            kept = self._store.recall(self.scope, _KEY)
            if not kept:
                self._has_all = self._is_only_writer  # without a key there are no units yet
                self._store.remember(self.scope, _KEY, token_bytes(KEY_BYTES))
                self._store.commit()
                kept = self._store.recall(self.scope, _KEY)
            self._key = kept[_KEY]
        return self._key

    def find(self, token: bytes) -> bytes | None:
        """Return the row of a unit from the cache or the store."""
        known = self.rows.get(token)
        if known is not None:
            self.rows.move_to_end(token)
            return known
        if token in self.queued:
            return self.queued[token].value
        if self._has_all:
            return None
        known = self._store.recall(self.scope, token.hex()).get(token.hex())
        if known is not None:
            self.put(token, known)
        return known

    def put(self, token: bytes, value: bytes) -> None:
        """Cache the row of a unit; evict the one that was used longest ago."""
        self.drop(token)
        self.rows[token] = value
        self._by_number[_ROW.unpack_from(value)[0]] = token
        if len(self.rows) > self._most:
            self.drop(next(iter(self.rows)))
            self._has_all = False

    def erase(self, token: bytes) -> bytes | None:
        """Remove a unit from the store and the cache; return its row."""
        known = self.find(token)
        self.drop(token)
        self.queued.pop(token, None)
        if known is not None:
            self._store.forget(self.scope, token.hex())
        return known

    def drop(self, token: bytes) -> None:
        """Remove a unit from the cache."""
        value = self.rows.pop(token, None)
        if value is not None:
            self._by_number.pop(_ROW.unpack_from(value)[0], None)
        self.unsure.discard(token)

    def queue(self, note: UnitNote) -> None:
        """Keep a row until it is written; of several rows for a unit, only the last one is written."""
        before = self.queued.get(note.token)
        self.queued[note.token] = note if before is None else note._replace(instead=before.instead)

    def take_queued(self) -> list[UnitNote]:
        """Return the rows to be written, which from now on are the caller's to write."""
        notes, self.queued = list(self.queued.values()), {}
        return notes

    def drop_changed(self, number: int) -> None:
        """Remove the unit with this first decision from the cache: a replica moved or erased it."""
        token = self._by_number.get(number)
        if token is not None:
            self.drop(token)
