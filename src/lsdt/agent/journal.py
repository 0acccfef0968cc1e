"""Journals: where an agent's events are written, and when they are applied.

    Journal         nothing is kept: an agent in memory
    LocalJournal    one writer: events are queued in order and applied at once, and answered when durable
    SharedJournal   several writers: events are appended, and applied when they are read back from the log

An agent decides, hands the event to its journal, and answers when the journal has written it. Any failure to
write is final (fail-stop): what is in memory may then be ahead of the log.
"""

from __future__ import annotations

from collections import deque
from time import sleep
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent import snapshot
from lsdt.agent.decisions import first_of_moved
from lsdt.agent.extension import side_mark
from lsdt.agent.units import StoredUnits, UnitNote, UnitTable
from lsdt.errors import InvalidInput, StoreFailed, StoreLocked
from lsdt.storage import CLOSING, Event, Kind, new_epoch, now, units_scope

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from lsdt.agent.learner import Learner
    from lsdt.storage import Entry, Lease, LogCursor, Store

# Events between two snapshots in a store. An agent that was killed replays up to this many when it is opened,
# 0.6 s for ucb1 (docs/performance.md); more frequent snapshots would write more.
EVERY = 100_000
_PAUSE = 0.001  # seconds between two looks for events of our own that others hold up: about one transaction
_ASK = int(Kind.ASK)
_NONE: frozenset[int] = frozenset()


class PendingSnapshot(NamedTuple):
    """A snapshot to be written: its event, its bytes, and for a shared log the position it belongs to."""

    event: Event
    blob: bytes
    position: int | None


class Batch(NamedTuple):
    """What an agent hands over to be written: units first, then events, then a snapshot."""

    events: list[Event]
    snapshot: PendingSnapshot | None
    units: Sequence[UnitNote] = ()


class Journal:
    """The journal of an agent in memory, and what all journals have in common.

    Attributes
    ----------
    epoch : int
        64 random bits, which every decision made through this journal carries.
    lease : Lease or None
        The right to write to a log.
    is_shared : bool
        Whether others write to the log, and events are applied when they are read back.
    closing : set of int
        Decisions whose end is written but not read back; empty unless the log is shared.
    units : UnitTable
        The units that keep their arm.
    """

    is_shared = False
    lease: Lease | None = None
    closing: set[int] | frozenset[int] = _NONE
    units: UnitTable

    def __init__(self, units: UnitTable | None = None) -> None:
        self.epoch = new_epoch()
        self.units = UnitTable() if units is None else units

    def next_number(self, learner: Learner) -> int:
        """Return the number of the next decision."""
        return learner.next_number

    def reserve_numbers(self, n: int) -> None:
        """Make sure that numbers for `n` decisions are reserved."""

    def accept(self, learner: Learner, event: Event, after: Learner | None = None) -> Learner:
        """Accept an event, and return the learner after it (`after`, if already known)."""
        return learner.apply(event, self.epoch) if after is None else after

    def assign(self, token: bytes, value: bytes, instead: bytes | None, number: int) -> None:
        """Remember the arm of a unit, whose ask was accepted; see `UnitNote`."""
        self.units.put(token, value)

    def drain(self, learner: Learner) -> Batch:
        """Hand over everything queued; the caller must write it."""
        return Batch([], None)

    def write(self, learner: Learner) -> int:
        """Write what was accepted and wait until it is durable; return how many events were repeats."""
        return 0

    def take_snapshot(self, learner: Learner) -> bytes:
        """Return a snapshot; it is stored with the next write."""
        learner.apply(Event(int(Kind.SNAPSHOT), now()), self.epoch)
        return snapshot.to_bytes(learner, self.units)

    def close(self, learner: Learner | None) -> None:
        """Write the rest with a last snapshot, and release the store; without a learner only release it."""

    def _give_back(self, store: Store) -> None:
        """Release the lease and close the store; if that is interrupted, `close` can be called again."""
        try:
            if self.lease is not None:
                self.lease.release()
        except Exception:  # the store failed
            self.lease = None
            store.close()
            raise
        self.lease = None
        store.close()

    def _lease(self) -> Lease:
        if self.lease is None:
            raise StoreLocked("this agent has no right to write to its log")
        return self.lease


class LocalJournal(Journal):
    """The journal of the only agent that writes to a log.

    Parameters
    ----------
    lease : Lease
        The exclusive right to write.
    snapshot_every : int
        Take a snapshot after this many events; 0 for never.
    """

    def __init__(self, lease: Lease, snapshot_every: int) -> None:
        self.lease, self.epoch = lease, lease.writer
        self._every, self._n_since = snapshot_every, 0
        self._queue: list[Event] = []
        self.units: StoredUnits = StoredUnits(lease.store, lease.number, is_only_writer=True)
        self._taken: tuple[int, bytes] | None = None  # a snapshot, and how many events were queued then

    def accept(self, learner: Learner, event: Event, after: Learner | None = None) -> Learner:
        """Apply an event at once, and queue it."""
        self._queue.append(event)
        return learner.apply(event, self.epoch) if after is None else after

    def assign(self, token: bytes, value: bytes, instead: bytes | None, number: int) -> None:
        """Remember the arm of a unit, and queue it."""
        self.units.put(token, value)
        self.units.queue(UnitNote(token, value, instead, number))

    def drain(self, learner: Learner) -> Batch:
        """Return everything queued, with a snapshot if one is due."""
        events, taken, self._queue, self._taken = self._queue, self._taken, [], None
        units = self.units.take_queued() if self.units.queued else ()
        self._n_since += len(events)
        if taken is None and not 0 < self._every <= self._n_since:
            return Batch(events, None, units)
        self._n_since = 0
        blob = taken[1] if taken is not None and taken[0] == len(events) else snapshot.to_bytes(learner)
        event = Event(int(Kind.SNAPSHOT), now())
        learner.apply(event, self.epoch)
        return Batch(events, PendingSnapshot(event, blob, None), units)

    def write(self, learner: Learner) -> int:
        """Write everything queued. An event already in the log means that there is another writer."""
        lease = self._lease()
        insert_batch(lease, self.drain(learner))
        lease.store.commit()
        return 0

    def take_snapshot(self, learner: Learner) -> bytes:
        """Return a snapshot; the next write stores one of the state at that time."""
        blob = snapshot.to_bytes(learner)
        self._taken = len(self._queue), blob
        return blob

    def close(self, learner: Learner | None) -> None:
        """Insert the rest with a last snapshot, and release lease and store.

        The store commits when it is closed, or with what others write to it.
        """
        lease = self._lease()
        try:
            if learner is not None:
                if self._every and (self._n_since or self._queue):
                    self.take_snapshot(learner)
                insert_batch(lease, self.drain(learner))
        finally:
            self._give_back(lease.store)


class SharedJournal(Journal):
    """The journal of one of several agents that write to one log.

    The state is what the log says up to `cursor`, in the order that all agents share, so agents that have
    read the same log are equal. A decision is made on that state and on the agent's own decisions that are
    not read back yet. Numbers of decisions are reserved in blocks: no two agents use the same.

    Parameters
    ----------
    store : Store
        Where the log is; it is closed with the journal.
    cursor : LogCursor
        How far the log was read.
    snapshot_every : int
        Take a snapshot after this many events; 0 for never.
    lease : Lease, optional
        The right to write; without one, the log is only followed.
    """

    is_shared = True

    def __init__(
        self, store: Store, cursor: LogCursor, snapshot_every: int, lease: Lease | None = None
    ) -> None:
        self.epoch = new_epoch()
        self.store, self.cursor, self.lease = store, cursor, lease
        self.units: StoredUnits = StoredUnits(store, cursor.number)
        self._units: list[UnitNote] = []
        self.closing: set[int] = set()
        self.n_block = 1_000
        self.own_extension = 0  # the time of the last extension of ours that was read back,
        self.own_side_mark = 0  # and a mark of the side information after it
        self._every, self._n_since = snapshot_every, 0
        self._queue: list[Event] = []
        self._numbers: deque[int] = deque()
        self._snapshot: PendingSnapshot | None = None
        self._n_unread = 0  # events of ours that are in the log and not read back
        if lease is not None:
            self.epoch = lease.writer

    # ---------------------------------------------------------------- numbers

    @property
    def n_numbers(self) -> int:
        """The number of reserved numbers that are left."""
        return len(self._numbers)

    def add_numbers(self, first: int, n: int) -> None:
        """Take `n` numbers from `first` on, which the store reserved for this journal."""
        self._numbers.extend(range(first, first + n))

    def reserve_numbers(self, n: int) -> None:
        """Reserve numbers for at least `n` decisions."""
        if len(self._numbers) < n:
            block = max(n, self.n_block)
            self.add_numbers(self.store.reserve_numbers(self._lease(), block), block)

    def next_number(self, learner: Learner) -> int:
        """Return a reserved number."""
        if not self._numbers:
            raise InvalidInput("no numbers are left for decisions; reserve some first")
        return self._numbers.popleft()

    # ---------------------------------------------------------------- writing

    def accept(self, learner: Learner, event: Event, after: Learner | None = None) -> Learner:
        """Queue an event; until it is read back, only the next decisions take it into account."""
        if event.kind == _ASK:
            learner.reserve_pending(event)
        elif event.kind in CLOSING:
            self.closing.add(event.number)
        self._queue.append(event)
        return learner

    def assign(self, token: bytes, value: bytes, instead: bytes | None, number: int) -> None:
        """Queue the arm of a unit; another replica may be faster."""
        self.units.put(token, value)
        self.units.unsure.add(token)
        self._units.append(UnitNote(token, value, instead, number))

    def settle_unit(self, token: bytes, value: bytes) -> None:
        """Cache the stored row of a unit; an empty one means that the store has to be asked again."""
        if value:
            self.units.put(token, value)
        else:
            self.units.drop(token)

    def release(self, learner: Learner, events: Sequence[Event]) -> None:
        """Forget drained events that will not be written after all."""
        learner.release_pending(event.number for event in events if event.kind == _ASK)
        self.closing.difference_update(event.number for event in events if event.kind in CLOSING)

    def drain(self, learner: Learner) -> Batch:
        """Return what is queued, and a snapshot if one was taken."""
        batch = Batch(self._queue, self._snapshot, self._units)
        self._queue, self._snapshot, self._units = [], None, []
        return batch

    def write(self, learner: Learner) -> int:
        """Write everything queued; return how many events were in the log already."""
        lease, batch = self._lease(), self.drain(learner)
        with self.store.transaction():
            taken = insert_units(self.store, self.units.scope, batch.units)
            new = insert_batch(lease, batch, taken)
        for note in batch.units:
            self.settle_unit(note.token, taken.get(note.number, note.value))
        n_new = sum(new)
        self._n_unread += n_new
        return len(new) - n_new

    def take_snapshot(self, learner: Learner) -> bytes:
        """Return a snapshot of the state at the cursor, and write it next."""
        blob = snapshot.to_bytes(learner)
        if self.lease is not None:
            self._snapshot = PendingSnapshot(Event(int(Kind.SNAPSHOT), now()), blob, self.cursor.position)
        self._n_since = 0
        return blob

    # ---------------------------------------------------------------- reading back

    def read_back(self, learner: Learner, entries: Sequence[Entry]) -> Learner:
        """Apply events read from the log, and return the learner after them."""
        first = 0
        for at, entry in enumerate(entries):
            if self.closing and entry.kind in CLOSING:
                self.closing.discard(entry.number)
            if entry.kind == Kind.ERASE:
                self.units.drop_changed(entry.number)
            if entry.writer == self.epoch:
                self._n_unread = max(0, self._n_unread - 1)
                if entry.kind == Kind.EXTEND:  # others may have extended further by the next entries
                    learner, first = learner.apply_events(entries[first : at + 1]), at + 1
                    self.own_extension, self.own_side_mark = entry.time, side_mark(learner.side)
            # Else a unit that moved elsewhere would have its old arm here once that is reinstated.
            elif entry.kind == _ASK and (moved := first_of_moved(entry.data)) is not None:
                self.units.drop_changed(moved)
        learner = learner.apply_events(entries[first:] if first else entries)
        self._n_since += len(entries)
        if 0 < self._every <= self._n_since and self.lease is not None:
            self.take_snapshot(learner)
        return learner

    def read_new(self, *, wait: bool = False) -> Sequence[Entry]:
        """Return a batch of new events. With `wait`, it is empty only if all of ours were read."""
        while True:
            (entries,) = self.store.read_new([self.cursor])
            if entries or not wait or not self._n_unread:
                return entries
            sleep(_PAUSE)  # another writer's earlier transaction is still open

    def close(self, learner: Learner | None) -> None:
        """Write the rest with a last snapshot, and release lease and store."""
        try:
            if learner is not None and self.lease is not None:
                if self._every and self._n_since:
                    self.take_snapshot(learner)
                self.write(learner)
        finally:
            self._give_back(self.store)


def insert_batch(lease: Lease, batch: Batch, taken: Container[int] = ()) -> Sequence[bool]:
    """Insert a batch into the open transaction of its store; say which events were new.

    Of a shared log, units are inserted before; decisions in `taken` are those of units that another replica
    was faster with, and are not inserted.
    """
    if batch.units and lease.exclusive:
        taken = insert_units(lease.store, units_scope(lease.number), batch.units)
    events = batch.events
    if taken:
        events = [event for event in events if event.kind != _ASK or event.number not in taken]
    new = lease.insert(events) if events else ()
    if lease.exclusive and not (all(new) and len(new) == len(batch.events)):
        raise StoreFailed(
            f"the log of {lease.name!r} has one of these decisions already: somebody else wrote to it; open "
            "the agent again"
        )
    if batch.snapshot is not None:
        lease.store.snapshot(lease, *batch.snapshot)
    if len(events) == len(batch.events):
        return new
    rest = iter(new)
    return [(event.kind != _ASK or event.number not in taken) and next(rest) for event in batch.events]


def insert_units(store: Store, scope: str, notes: Sequence[UnitNote]) -> dict[int, bytes]:
    """Insert the arms of units into the open transaction.

    Returns the stored rows of units that another replica assigned first, by the number of our decision.
    """
    if not notes:
        return {}
    first = {note.token: note for note in reversed(notes)}
    rows = [(scope, each.token.hex(), each.value, each.instead) for each in first.values()]
    stored = {each.token: each.value for each in first.values()}
    for token, new in zip(first, store.remember_many(rows), strict=True):
        if not new:
            found = store.recall(scope, token.hex())
            stored[token] = found.get(token.hex(), b"")  # empty where it was erased just now
    return {note.number: stored[note.token] for note in notes if stored[note.token] != note.value}
