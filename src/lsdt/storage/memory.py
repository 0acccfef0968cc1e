"""A store in memory: for tests, and for agents that need not survive the process."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput, StoreFailed, StoreLocked
from lsdt.storage.events import CLOSING, START, Entry, Event, Kind, check_chain, first_link, link_of, now
from lsdt.storage.forks import FORKED, watch_forks
from lsdt.storage.store import (
    ExperimentRecord,
    Lease,
    Snapshot,
    Store,
    another,
    checked_name,
    no_experiment,
    units_scope,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lsdt.storage.store import LogCursor

_NAMED: dict[str, MemoryStore] = {}


def open_memory(key: str, durability: str) -> MemoryStore:
    """Return a new store, or with a `key` the one of that name in this process."""
    if not key:
        return MemoryStore("memory://", durability)
    return _NAMED.setdefault(key, MemoryStore(f"memory://{key}", durability))


class _Log:
    """The data of one experiment; `entries` and `snapshots` hold only what is committed."""

    def __init__(self, experiment: ExperimentRecord, blob: bytes) -> None:
        self.experiment = experiment
        self.entries: list[Entry] = []
        self.snapshots = [Snapshot(START, experiment.created, blob)]
        self.opened: set[int] = set()
        self.closed: set[int] = set()
        self.last = START
        self.reserved = 0
        self.holders: dict[int, Lease] = {}


class MemoryStore(Store):
    """A store in dictionaries, which is lost when the process ends."""

    def __init__(self, url: str, durability: str) -> None:
        self.url, self.durability = url, durability
        self._lock = RLock()
        self._logs: dict[str, _Log] = {}
        self._notes: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._open: list[tuple[_Log, Entry | None, Snapshot | None]] = []
        self._open_notes: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._n_made = 0
        self._failed = ""
        watch_forks(self)

    def _log(self, name: str) -> _Log:
        self._check()
        if name not in self._logs:
            raise no_experiment(name, sorted(self._logs), self.url)
        return self._logs[name]

    def _check(self) -> None:
        if self._failed:
            raise StoreFailed(self._failed)

    def forked(self) -> None:
        """Make every later call raise: this process is a child of the one that opened the store."""
        self._failed = FORKED
        self._lock = RLock()

    def create(self, name: str, about: str, blob: bytes) -> None:
        """Create an experiment."""
        checked_name(name)
        with self._lock:
            self._check()
            if name in self._logs:
                raise InvalidInput(f"there is an experiment {name!r} in {self.url} already")
            self._n_made += 1
            self._logs[name] = _Log(ExperimentRecord(name, now(), about, START, self._n_made), bytes(blob))

    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments."""
        with self._lock:
            self._check()
            return tuple(self._logs[name].experiment for name in sorted(self._logs))

    def number(self, name: str) -> int:
        """Return the number of an experiment."""
        with self._lock:
            return self._log(name).experiment.number

    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment."""
        with self._lock:
            log = self._log(name)
            if number not in (None, log.experiment.number):
                raise another(name)
            if log.holders:
                raise StoreLocked(f"the experiment {name!r} is in use; close its agent first")
            self.forget(units_scope(log.experiment.number))
            del self._logs[name]

    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return a lease, the right to write to the log of an experiment."""
        with self._lock:
            log = self._log(name)
            if any(exclusive or held.exclusive for held in log.holders.values()):
                raise StoreLocked(f"the experiment {name!r} is open already, in this process; use that agent")
            lease = Lease(self, name, log.experiment.number, exclusive)
            log.holders[lease.writer] = lease
            return lease

    def release(self, lease: Lease) -> None:
        """Take a lease back."""
        with self._lock:
            if lease.name in self._logs:
                self._logs[lease.name].holders.pop(lease.writer, None)

    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction."""
        with self._lock:
            log = self._log(lease.name)
            if lease.writer not in log.holders:
                raise StoreFailed(f"the lease of {lease.name!r} was given back; open the experiment again")
            self._failed = "an insert was interrupted; open the store again"
            new = [self._insert(log, lease, event, None) for event in events]
            self._failed = ""
            return new

    def _insert(self, log: _Log, lease: Lease, event: Event, blob: bytes | None) -> bool:
        once = log.opened if event.kind == Kind.ASK else log.closed if event.kind in CLOSING else None
        if once is not None:
            if event.number in once:
                return False
            once.add(event.number)
        lease.link = link_of(lease.link, event)
        log.last += 1
        snapshot = None if blob is None else Snapshot(log.last, event.time, bytes(blob))
        self._open.append((log, Entry(log.last, lease.writer, lease.link, *event), snapshot))
        return True

    def commit(self) -> None:
        """Make what was inserted visible to readers."""
        with self._lock:
            self._check()
            self._failed = "a commit was interrupted; open the store again"
            for log, entry, snapshot in self._open:
                if entry is not None:
                    log.entries.append(entry)
                if snapshot is not None:
                    log.snapshots = sorted({*log.snapshots, snapshot})
            self._notes |= self._open_notes
            self._open, self._open_notes = [], {}
            self._failed = ""

    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of `n` consecutive decision numbers."""
        with self._lock:
            log = self._log(lease.name)
            first = max(log.reserved, max(log.opened, default=-1) + 1)
            log.reserved = first + n
            return first

    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events after a position."""
        links: dict[int, bytes] = {}
        with self._lock:
            entries = list(self._log(name).entries)
        if entries and entries[0].position == START + 1:
            links = {entry.writer: first_link(entry.writer) for entry in entries}
        first = next((at for at, entry in enumerate(entries) if entry.position > after), len(entries))
        check_chain(entries[:first], links)
        for start in range(first, len(entries), batch):
            part = entries[start : start + batch]
            check_chain(part, links)
            yield part

    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last events."""
        with self._lock:
            entries = self._log(name).entries
            end = len(entries) if upto is None else bisect_right(entries, upto, key=attrgetter("position"))
            found = entries[max(0, end - n) : end]
        check_chain(found, {})
        return found

    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the events after each cursor, and advance the cursors."""
        found: list[Sequence[Entry]] = []
        for cursor in cursors:
            with self._lock:
                self._check()
                log = self._logs.get(cursor.name)
                is_there = log is not None and log.experiment.number == cursor.number
                entries = next(self.read(cursor.name, cursor.position, batch=batch), ()) if is_there else ()
            if entries:
                cursor.position = entries[-1].position
            found.append(entries)
        return found

    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert a snapshot into the open transaction."""
        with self._lock:
            log = self._log(lease.name)
            if position is None:
                self._failed = "an insert was interrupted; open the store again"
                self._insert(log, lease, event, blob)
                self._failed = ""
            else:
                self._open.append((log, None, Snapshot(position, event.time, bytes(blob))))

    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest snapshot."""
        with self._lock:
            found = self._log(name).snapshots
            return next((each for each in reversed(found) if before is None or each.position < before), None)

    def compact(self, name: str) -> int:
        """Remove the events and snapshots before the second newest snapshot."""
        with self._lock:
            self.commit()
            log = self._log(name)
            log.snapshots = log.snapshots[-2:]
            first, n_before = log.snapshots[0].position, len(log.entries)
            log.entries = [entry for entry in log.entries if entry.position >= first]
            log.experiment = log.experiment._replace(compacted=first)
            return n_before - len(log.entries)

    def remember(self, scope: str, key: str, value: bytes, instead: bytes | None = None) -> bool:
        """Insert a note unless its key exists, or replace the one whose value is `instead`."""
        with self._lock:
            self._check()
            known = self._open_notes.get((scope, key), self._notes.get((scope, key)))
            if (None if known is None else known[1]) != instead:
                return False
            self._open_notes[scope, key] = (now(), bytes(value))
            return True

    def take_back(self, notes: Sequence[tuple[str, str]]) -> None:
        """Remove notes that the open transaction inserted."""
        with self._lock:
            self._check()
            for note in notes:
                del self._open_notes[note]

    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return committed notes."""
        with self._lock:
            self._check()
            if key is not None:
                note = self._notes.get((scope, key))
                return {} if note is None else {key: note[1]}
            return {name: value for (room, name), (_, value) in self._notes.items() if room == scope}

    def forget(self, scope: str, key: str | None = None, before: int | None = None, prefix: str = "") -> int:
        """Remove notes."""
        with self._lock:
            self.commit()
            gone = [
                (room, name)
                for (room, name), (time, _) in self._notes.items()
                if room == scope
                and key in (None, name)
                and name.startswith(prefix)
                and (before is None or time < before)
            ]
            for note in gone:
                del self._notes[note]
            return len(gone)

    def share(self) -> None:
        """Do nothing: a store in memory needs no closing."""

    def close(self) -> None:
        """Commit; a named store stays available in this process."""
        with self._lock:
            if not self._failed:
                self.commit()

    def discard(self) -> None:
        """Make every later call raise."""
        self._failed = self._failed or "the store was given up; open it again"
