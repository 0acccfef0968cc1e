"""The common part of stores in SQL databases: experiments, leases, logs, snapshots, notes, checksums.

`SqliteStore` and `PostgresqlStore` add what differs: how to connect, lock and commit, how to insert events,
and how the position of an event is written in SQL (`Dialect`). Statements mark parameters with ``?``.
"""

from __future__ import annotations

import os
import socket
from abc import abstractmethod
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from lsdt.errors import InvalidInput, StoreFailed, StoreLocked
from lsdt.storage.events import (
    START,
    Entry,
    blob_checksum,
    check_chain,
    check_note,
    check_positions,
    check_writers,
    lost_events,
    now,
    row_checksum,
)
from lsdt.storage.fail_stop import FailStopStore
from lsdt.storage.store import (
    ExperimentRecord,
    Lease,
    Snapshot,
    another,
    checked_name,
    no_experiment,
    units_scope,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lsdt.storage.events import Event
    from lsdt.storage.fail_stop import Connection
    from lsdt.storage.store import Note

    NoteRow = tuple[str, str, int, bytes, bytes]  # scope, key, time, value, checksum

_AT_ONCE = 5_000  # notes examined per transaction by `forget`: more would make other writers wait longer
EVENT_FIELDS = "writer, link, kind, time, number, arm, reward, data"
entry_of = partial(tuple.__new__, Entry)  # three times as fast as Entry._make


class Dialect(NamedTuple):
    """How a database writes positions in SQL, and other SQL that differs between databases."""

    columns: str  # the columns that hold the position of an event
    positioned: Callable[
        [list[Any]], list[Any]
    ]  # converts rows that begin with `columns` to rows like `Entry`
    position: str  # the position of an event, for comparison with `parameter`
    parameter: str  # the placeholder for a position
    values: Callable[[int], tuple[Any, ...]]  # converts a position to the values of `parameter`
    ascending: str  # the columns to order by; ordering by a pair, as in `position`, would not use the index
    descending: str
    experiment: str  # the columns of an experiment, in the order of `_ExperimentRow`
    settled: str  # a condition that excludes events that uncommitted ones may still precede
    lock: str  # a clause that locks the rows read until the transaction ends
    letters: str  # the key of a note, compared letter by letter
    end: int  # a position after all others
    has_gaps: bool  # whether positions may be missing in an undamaged log


class _ExperimentRow(NamedTuple):
    """A row of the table of experiments."""

    name: str
    created: int
    about: str
    compacted: int
    number: int
    reserved: int
    checksum: bytes = b""

    def expected_checksum(self) -> bytes:
        fields = (self.name, self.created, self.compacted, self.number, self.reserved)
        return row_checksum(fields, self.about.encode())

    def record(self) -> ExperimentRecord:
        is_whole = self.expected_checksum() == self.checksum
        return ExperimentRecord(self.name, self.created, self.about, self.compacted, self.number, is_whole)


class SqlStore(FailStopStore):
    """A store in an SQL database; `SqliteStore` and `PostgresqlStore` add what differs."""

    _dialect: ClassVar[Dialect]

    # ---------------------------------------------------------------- what a dialect adds

    @abstractmethod
    def _lock_log(self, writes: Connection, lease: Lease) -> str:
        """Take the lock of a log; return who holds it already, or an empty string."""

    def _unlock_log(self, lease: Lease) -> None:
        """Release the lock of a log."""

    @abstractmethod
    def _insert(self, writes: Connection, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Insert events; return for each whether it was new."""

    @abstractmethod
    def _last_position(self, writes: Connection, lease: Lease) -> int:
        """Return the position of the event that was inserted last."""

    @abstractmethod
    def _insert_notes(self, writes: Connection, rows: Sequence[NoteRow]) -> set[tuple[str, str]]:
        """Insert the notes whose keys do not exist; return their scopes and keys. All have the same time."""

    def _delete_rows(self, writes: Connection, table: str, which: str, values: Sequence[Any]) -> int:
        """Delete the rows of a table that satisfy a condition; return how many."""
        n_gone: int = writes.execute(f"DELETE FROM {table} WHERE {which}", values).rowcount
        return n_gone

    @abstractmethod
    def _start(self, number: int, after: int) -> tuple[int, dict[int, bytes], int] | None:
        """Return where to continue reading after a position, or None if the experiment was deleted.

        The result is the position to read from, the links of the writers there, and a position that the log
        must reach if it is undamaged.
        """

    # ---------------------------------------------------------------- names

    def create(self, name: str, about: str, blob: bytes) -> None:
        """Create an experiment."""
        checked_name(name)
        created = now()
        with self._writing(commit=True) as writes:
            insert = """INSERT INTO experiments (name, created, about) VALUES (?, ?, ?)
                ON CONFLICT DO NOTHING RETURNING id"""
            made = writes.execute(insert, (name, created, about)).fetchone()
            if made is not None:
                self._save_experiment(writes, _ExperimentRow(name, created, about, START, made[0], 0))
                self._save_snapshot(writes, made[0], Snapshot(START, created, blob))
        if made is None:
            raise InvalidInput(f"there is an experiment {name!r} in {self.url} already")

    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments."""
        rows = self._rows(f"SELECT {self._dialect.experiment} FROM experiments")
        return tuple(sorted((_experiment_row(row).record() for row in rows), key=attrgetter("name")))

    def number(self, name: str) -> int:
        """Return the number of an experiment."""
        found = self._rows("SELECT id FROM experiments WHERE name = ?", (name,))
        if not found:
            raise no_experiment(name, [each.name for each in self.list()], self.url)
        return int(found[0][0])

    def _is_there(self, number: int) -> bool:
        return bool(self._rows("SELECT 1 FROM experiments WHERE id = ?", (number,)))

    def _locked_experiment(self, writes: Connection, number: int) -> _ExperimentRow | None:
        """Return the row of an experiment, locked until the transaction ends; None if it was deleted."""
        query = f"SELECT {self._dialect.experiment} FROM experiments WHERE id = ? {self._dialect.lock}"
        found = writes.execute(query, (number,)).fetchone()
        if found is None:
            return None
        row = _experiment_row(found)
        row.record().check()
        return row

    def _save_experiment(self, writes: Connection, row: _ExperimentRow) -> None:
        changed = "UPDATE experiments SET compacted = ?, reserved = ?, checksum = ? WHERE id = ?"
        writes.execute(changed, (row.compacted, row.reserved, row.expected_checksum(), row.number))

    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment."""
        lease = self.lease(name)  # so that no other process writes to it
        try:
            if number not in (None, lease.number):
                raise another(name)
            with self._writing(commit=True) as writes:
                for table in ("events", "snapshots", "writers"):
                    self._delete_rows(writes, table, "experiment = ?", (lease.number,))
                self._delete_rows(writes, "notes", "scope = ?", (units_scope(lease.number),))
                writes.execute("DELETE FROM experiments WHERE id = ?", (lease.number,))
        finally:
            lease.release()

    # ---------------------------------------------------------------- writing

    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return a lease, the right to write to the log of an experiment."""
        with self._lock:
            number = self.number(name)
            if any(held.number == number for held in self._leases.values()):
                raise StoreLocked(
                    f"the experiment {name!r} is open already, in this process; use that agent, or close it"
                )
            lease = Lease(self, name, number, exclusive)
            with self._writing(commit=True) as writes:
                holder = self._lock_log(writes, lease)
                insert = """INSERT INTO writers (id, experiment, pid, host, time)
                    SELECT ?, id, ?, ?, ? FROM experiments WHERE id = ?"""
                who = (lease.writer, os.getpid(), socket.gethostname(), now(), number)
                is_there = not holder and writes.execute(insert, who).rowcount == 1
            if holder:
                raise StoreLocked(f"the experiment {name!r} is open already, by {holder}")
            if is_there:
                self._leases[lease.writer] = lease
                return lease
            self._unlock_log(lease)
            return self.lease(name, exclusive=exclusive)  # deleted just now; its name may be reused

    def release(self, lease: Lease) -> None:
        """Release a lease and its lock."""
        with self._lock:
            if self._leases.pop(lease.writer, None) is not None and not self._failed:
                self._unlock_log(lease)

    def _check_lease(self, lease: Lease) -> None:
        self._check()
        if lease.writer not in self._leases:
            raise StoreFailed(f"the lease of {lease.name!r} was given back; open the experiment again")

    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction."""
        self._check_lease(lease)
        with self._writing() as writes:
            return self._insert(writes, lease, events)

    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of `n` consecutive decision numbers."""
        self._check_lease(lease)
        with self._writing(commit=True) as writes:
            row = self._locked_experiment(writes, lease.number)
            assert row is not None, "a leased experiment is not deleted"
            unasked = "SELECT coalesce(max(number), -1) + 1 FROM events WHERE experiment = ? AND kind = 1"
            first: int = max(row.reserved, writes.execute(unasked, (lease.number,)).fetchone()[0])
            self._save_experiment(writes, row._replace(reserved=first + n))
        return first

    # ---------------------------------------------------------------- reading

    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events after a position."""
        return self._read(self.number(name), after, settled, batch)

    def _read(self, number: int, after: int, settled: bool, batch: int) -> Iterator[Sequence[Entry]]:
        sql, start = self._dialect, self._start(number, after)
        if start is None:
            return
        after, links, reaches = start
        query = f"""SELECT {sql.columns}, {EVENT_FIELDS} FROM events
            WHERE experiment = ? AND {sql.position} > {sql.parameter} {sql.settled if settled else ""}
            ORDER BY {sql.ascending} LIMIT ?"""
        while True:
            rows = sql.positioned(self._rows(query, (number, *sql.values(after), batch)))
            if not sql.has_gaps:
                check_positions(rows, after)
            after = rows[-1][0] if rows else after
            if len(rows) < batch and after < reaches and self._is_there(number):
                raise lost_events(reaches)
            if rows:
                self._check_rows(number, rows, links)
                yield list(map(entry_of, rows))
            if len(rows) < batch:
                return

    def _check_rows(self, number: int, rows: Sequence[Any], links: dict[int, bytes]) -> None:
        """Raise `DamagedStore` if events are damaged; advance `links` to the last of them."""
        check_writers(rows, links, partial(self._writers, number))
        check_chain(rows, links)

    def _writers(self, number: int) -> set[int]:
        return {row[0] for row in self._rows("SELECT id FROM writers WHERE experiment = ?", (number,))}

    def _link_at(self, number: int, position: int) -> dict[int, bytes]:
        """Return the writer of the event at a position, and its link; empty if there is no event."""
        sql = self._dialect
        query = f"SELECT writer, link FROM events WHERE experiment = ? AND {sql.position} = {sql.parameter}"
        return dict(self._rows(query, (number, *sql.values(position))))

    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last events."""
        sql = self._dialect
        query = f"""SELECT {sql.columns}, {EVENT_FIELDS} FROM events
            WHERE experiment = ? AND {sql.position} <= {sql.parameter} ORDER BY {sql.descending} LIMIT ?"""
        end = sql.values(sql.end if upto is None else upto)
        rows = sql.positioned(self._rows(query, (self.number(name), *end, n)))[::-1]
        if rows and not sql.has_gaps:
            check_positions(rows, rows[0][0] - 1)
        check_chain(rows, {})
        return list(map(entry_of, rows))

    # ---------------------------------------------------------------- snapshots

    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert a snapshot into the open transaction."""
        self._check_lease(lease)
        with self._writing() as writes:
            if position is None:
                self._insert(writes, lease, [event])
                position = self._last_position(writes, lease)
            self._save_snapshot(writes, lease.number, Snapshot(position, event.time, blob))

    def _save_snapshot(self, writes: Connection, number: int, snapshot: Snapshot) -> None:
        insert = "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        writes.execute(insert, (number, *snapshot, blob_checksum(snapshot.position, snapshot.blob)))

    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest snapshot that matches its checksum."""
        query = """SELECT position, time, blob, checksum FROM snapshots
            WHERE experiment = ? AND position < ? ORDER BY position DESC LIMIT 1"""
        number, limit = self.number(name), self._dialect.end if before is None else before
        while rows := self._rows(query, (number, limit)):
            *found, checksum = rows[0]
            snapshot = Snapshot(*found)
            is_bytes = isinstance(snapshot.blob, bytes)  # not in a damaged row
            if is_bytes and blob_checksum(snapshot.position, snapshot.blob) == checksum:
                return snapshot
            limit = snapshot.position
        return None

    def compact(self, name: str) -> int:
        """Remove the events and snapshots before the second newest snapshot."""
        number, sql = self.number(name), self._dialect
        with self._writing(commit=True) as writes:
            kept = "SELECT position FROM snapshots WHERE experiment = ? ORDER BY position DESC LIMIT 2"
            found = writes.execute(kept, (number,)).fetchall()
            if not found:  # deleted just now
                return 0
            first = found[-1][0]
            old = f"experiment = ? AND {sql.position} < {sql.parameter}"
            n_gone = self._delete_rows(writes, "events", old, (number, *sql.values(first)))
            writes.execute("DELETE FROM snapshots WHERE experiment = ? AND position < ?", (number, first))
            row = self._locked_experiment(writes, number)
            if row is not None:
                self._save_experiment(writes, row._replace(compacted=first))
        return n_gone

    # ---------------------------------------------------------------- notes

    def remember(self, scope: str, key: str, value: bytes, instead: bytes | None = None) -> bool:
        """Insert a note unless its key exists, or replace the one whose value is `instead`."""
        return self.remember_many([(scope, key, value, instead)])[0]

    def remember_many(self, notes: Sequence[Note]) -> Sequence[bool]:
        """Insert many notes, sorted by key: two replicas that insert the same keys never deadlock."""
        if not notes:
            return []
        time, in_order = now(), sorted(notes, key=lambda note: note[:2])  # of equal keys, the first is kept
        rows = [_note_row(scope, key, time, value) for scope, key, value, *_ in in_order]
        with self._writing() as writes:
            if all(len(note) == 3 or note[3] is None for note in in_order):
                new = self._insert_notes(writes, rows)
            else:  # one by one, so that rows are locked in the order of their keys
                new = set()
                for note, row in zip(in_order, rows, strict=True):
                    if len(note) == 4 and note[3] is not None:
                        gone = "DELETE FROM notes WHERE scope = ? AND key = ? AND value = ?"
                        if not writes.execute(gone, (note[0], note[1], note[3])).rowcount:
                            continue
                    new |= self._insert_notes(writes, [row])
        is_new = []
        for scope, key, *_ in notes:
            is_new.append((scope, key) in new)
            new.discard((scope, key))
        return is_new

    def take_back(self, notes: Sequence[tuple[str, str]]) -> None:
        """Remove notes that the open transaction inserted."""
        if notes:
            with self._writing() as writes:
                for scope, key in notes:
                    writes.execute("DELETE FROM notes WHERE scope = ? AND key = ?", (scope, key))

    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return committed notes."""
        # Two statements: a single one for both cases would not be planned to use the index.
        query = "SELECT scope, key, time, value, checksum FROM notes WHERE scope = ?"
        if key is None:
            rows = self._rows(query, (scope,))
        else:
            rows = self._rows(f"{query} AND key = ?", (scope, key))
        for row in rows:
            check_note(row, self.url)
        return {row[1]: row[3] for row in rows}

    def check_notes(self, but: Sequence[str]) -> None:
        """Raise `DamagedStore` if a note is damaged."""
        # A query by index would not find a row whose scope was changed.
        others = " AND ".join(["substr(scope, 1, ?) <> ?"] * len(but)) or "1 = 1"
        values = [value for start in but for value in (len(start), start)]
        for row in self._rows(f"SELECT scope, key, time, value, checksum FROM notes WHERE {others}", values):
            check_note(row, self.url)

    def forget(self, scope: str, key: str | None = None, before: int | None = None, prefix: str = "") -> int:
        """Remove notes; without a key in short transactions, so that other writers do not wait long."""
        old, limit = ("", ()) if before is None else (" AND time < ?", (before,))
        if key is not None:
            return self._forget(f"scope = ? AND key = ?{old}", (scope, key, *limit))
        if prefix:
            end, letters = prefix[:-1] + chr(ord(prefix[-1]) + 1), self._dialect.letters
            which = f"scope = ? AND {letters} >= ? AND {letters} < ?{old}"
            return self._forget(which, (scope, prefix, end, *limit))
        first, n_gone = "", 0
        step = "SELECT key FROM notes WHERE scope = ? AND key >= ? ORDER BY key LIMIT 1 OFFSET ?"
        while following := self._rows(step, (scope, first, _AT_ONCE)):
            end = following[0][0]
            n_gone += self._forget(f"scope = ? AND key >= ? AND key < ?{old}", (scope, first, end, *limit))
            first = end
        return n_gone + self._forget(f"scope = ? AND key >= ?{old}", (scope, first, *limit))

    def _forget(self, which: str, values: tuple[Any, ...]) -> int:
        with self._writing(commit=True) as writes:
            n_gone: int = writes.execute(f"DELETE FROM notes WHERE {which}", values).rowcount
        return n_gone


def _experiment_row(row: Sequence[Any]) -> _ExperimentRow:
    """Return a row with its texts decoded, if the dialect reads them as bytes; damaged ones may be NULL."""
    name, created, about, *rest = row
    return _ExperimentRow(_text(name), created, _text(about), *rest)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _note_row(scope: str, key: str, time: int, value: bytes) -> NoteRow:
    return scope, key, time, value, row_checksum((scope, key, time), value)
