"""A store in a PostgreSQL database: for more than one machine, and for replicas of one experiment.

One connection writes, another reads. An exclusive lease is an advisory lock of the writing session: the
server drops it with the connection, after the last transaction of that connection has ended.

Events of replicas are folded in the order of their transactions. Any number that a row gets when it is
inserted is older than its commit: a reader that went by a sequence would pass over a row that was numbered
early and committed late. So a row carries its transaction and its place in there, a position is the pair
(transaction, row) in one whole number, and readers that ask for what is settled stop before the oldest
transaction still running (``pg_snapshot_xmin``).
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any

from lsdt.errors import InvalidFile, InvalidInput, MissingDependency, StoreFailed, StoreLocked
from lsdt.storage.events import (
    CLOSING,
    START,
    Entry,
    Event,
    Kind,
    blob_checksum,
    check_chain,
    check_note,
    check_writers,
    first_link,
    link_of,
    now,
    row_checksum,
)
from lsdt.storage.forks import FORKED, watch_forks
from lsdt.storage.migrations import POSTGRESQL, missing_steps
from lsdt.storage.store import (
    ExperimentRecord,
    Lease,
    LogCursor,
    Snapshot,
    Store,
    another,
    checked_name,
    experiment_checksum,
    experiment_of,
    no_experiment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import psycopg

    from lsdt.storage.store import Note

_ROWS = 1 << 22  # a position is transaction * _ROWS + row: 64 bits do for 10^12 transactions
_INTERRUPTED = "the store was interrupted while it wrote; open it again"
_PATIENCE = 15.0  # seconds of silence in the middle of a call, after which the server is given up
# A server that is gone, and does not say so, is found out within seconds.
_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_AT_ONCE = 20_000  # rows that one statement deletes
_TRIES = 5  # a group that races with another replica's is looked up again
_ONCE = (Kind.ASK, *CLOSING)
_SPACE = 0x6C736474  # of advisory locks
_INSERT = """INSERT INTO lsdt.events (experiment, writer, row, link, kind, time, number, arm, reward, data)
    SELECT %s, %s, %s + turn, link, kind, time, number, arm, reward, data FROM unnest(
        %s::bytea[], %s::smallint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::float8[], %s::bytea[]
    ) WITH ORDINALITY AS event (link, kind, time, number, arm, reward, data, turn)
    ON CONFLICT DO NOTHING RETURNING kind, number"""
_COLUMNS = "transaction::text::bigint AS moment, row, writer, link, kind, time, number, arm, reward, data"
_READ = f"""SELECT {_COLUMNS}
    FROM lsdt.events WHERE experiment = %s AND (transaction, row) > (%s::text::xid8, %s) {{settled}}
    ORDER BY transaction, row LIMIT %s"""
_LAST = f"""SELECT {_COLUMNS}
    FROM lsdt.events WHERE experiment = %s AND (transaction, row) <= (%s::text::xid8, %s)
    ORDER BY transaction DESC, row DESC LIMIT %s"""
_LAST_TRANSACTION = 2**63 - 1  # behind all others
_NEWS = f"""SELECT at.turn, found.* FROM
    unnest(%s::integer[], %s::text[], %s::bigint[]) WITH ORDINALITY
        AS at (experiment, transaction, row, turn),
    LATERAL (
        SELECT {_COLUMNS} FROM lsdt.events
        WHERE experiment = at.experiment AND (transaction, row) > (at.transaction::xid8, at.row)
            AND transaction < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY transaction, row LIMIT %s
    ) AS found ORDER BY at.turn, found.moment, found.row"""
_EXPERIMENTS = "SELECT name, created, about, compacted, id, reserved, checksum FROM lsdt.experiments"
_SETTLED = "AND transaction < pg_snapshot_xmin(pg_current_snapshot())"


def open_postgresql(
    url: str, durability: str, read_only: bool, patience: float | None = None
) -> PostgresqlStore:
    """Return the store of a URL as libpq takes it."""
    try:
        import psycopg
    except ImportError:
        raise MissingDependency(
            "postgresql:// needs the driver psycopg: pip install 'lsdt[postgresql]'"
        ) from None
    try:
        return PostgresqlStore(url, durability, read_only, _PATIENCE if patience is None else patience)
    except psycopg.Error as error:
        raise InvalidFile(f"cannot open the store {_shown(url)}: {str(error).strip()}") from None


def _once(event: Event) -> tuple[bool, int] | None:
    """Return what of an event there may be once: the ask of a decision, and its end."""
    return (event.kind == Kind.ASK, event.number) if event.kind in _ONCE else None


def _first_of_each(events: Sequence[Event], seen: set[tuple[bool, int]]) -> list[bool]:
    """Say which events are not seen yet, neither before nor earlier in the group."""
    new = []
    for event in events:
        key = _once(event)
        new.append(key is None or key not in seen)
        if key is not None:
            seen.add(key)
    return new


def _delete(writes: psycopg.Connection[Any], table: str, which: str, values: Sequence[Any]) -> int:
    """Delete rows, so many a statement that the server is never silent for long; return how many."""
    n_gone = 0
    while True:
        gone = f"""DELETE FROM lsdt.{table} WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM lsdt.{table} WHERE {which} LIMIT {_AT_ONCE}))"""
        n = writes.execute(gone, values).rowcount
        n_gone += n
        if n < _AT_ONCE:
            return n_gone


def _shown(url: str) -> str:
    """Return a URL without its password."""
    scheme, _, rest = url.partition("://")
    who, at, where = rest.rpartition("@")
    return f"{scheme}://{who.partition(':')[0]}{at}{where}"


def _experiment(row: tuple[Any, ...]) -> ExperimentRecord:
    name, created, about, compacted, *rest = row
    return experiment_of(name, created, about, int(compacted), *rest)


class PostgresqlStore(Store):
    """A store in a database; `open_store` makes it.

    Parameters
    ----------
    url : str
        Where, as libpq takes it.
    durability : {'full', 'process'}
        Whether a commit waits for the server's disk.
    read_only : bool
        Whether nothing is ever written.
    patience : float
        How many seconds the server may be silent in the middle of a call before the store fails.
    """

    is_shared = True

    def __init__(self, url: str, durability: str, read_only: bool, patience: float) -> None:
        self.url, self.durability, self._patience = _shown(url), durability, patience
        self._target, self._read_only = url, read_only
        self._failed, self._torn = "", False
        self._n_users = 1
        self._lock, self._read_lock = RLock(), RLock()
        self._leases: dict[int, Lease] = {}
        self._n_rows = 0  # events inserted in the open transaction
        self._reads = self._connect(autocommit=True)
        try:
            self._writes = None if read_only else self._connect(autocommit=False)
            if self._writes is not None:
                self._migrate(self._writes)
                level = "on" if durability == "full" else "off"
                self._writes.execute(f"SET synchronous_commit = {level}")
                self._writes.commit()
                self._check_moment()
            else:
                missing_steps(self._version(self._reads), POSTGRESQL, self.url)
        except BaseException:
            self._let_go()
            raise
        watch_forks(self)

    def _connect(self, *, autocommit: bool) -> psycopg.Connection[Any]:
        from psycopg.conninfo import conninfo_to_dict

        from lsdt.storage.postgresql_connection import PatientConnection

        given = conninfo_to_dict(self._target)
        more: dict[str, Any] = {name: value for name, value in _TIMEOUTS.items() if name not in given}
        made = PatientConnection.connect(self._target, autocommit=autocommit, application_name="lsdt", **more)
        made.patience = self._patience
        return made

    def _version(self, connection: psycopg.Connection[Any]) -> int:
        there = connection.execute("SELECT to_regclass('lsdt.schema_version')").fetchone()
        if there is None or there[0] is None:
            return 0
        found = connection.execute("SELECT version FROM lsdt.schema_version").fetchone()
        return int(found[0]) if found else 0

    def _migrate(self, writes: psycopg.Connection[Any]) -> None:
        """Take the steps that are missing, in one transaction; of several programs at once, one."""
        writes.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_SPACE,))
        steps = missing_steps(self._version(writes), POSTGRESQL, self.url)
        for number, step in steps:
            for statement in step:
                writes.execute(statement)
            writes.execute("DELETE FROM lsdt.schema_version")
            writes.execute("INSERT INTO lsdt.schema_version VALUES (%s)", (number,))
        writes.commit()

    def _check_moment(self) -> None:
        """Refuse a log of another server, which counts transactions otherwise: the order would be lost."""
        late = """SELECT 1 FROM lsdt.experiments, LATERAL (
                SELECT transaction FROM lsdt.events WHERE experiment = id ORDER BY transaction DESC LIMIT 1
            ) AS newest WHERE transaction >= pg_snapshot_xmax(pg_current_snapshot())"""
        if self._rows(late):
            raise InvalidFile(
                f"the logs in {self.url} are ahead of their server, which counts fewer transactions: they "
                "come from a dump of another one; restore a physical backup (pg_basebackup) instead, or use "
                "the server they were written on"
            )

    # ---------------------------------------------------------------- failing

    def _check(self) -> None:
        if self._failed:
            raise StoreFailed(self._failed)

    @contextmanager
    def _writing(self, *, commit: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """Give the writing connection, in a transaction; whatever is raised inside ends the store."""
        import psycopg

        with self._lock:
            self._check()
            if self._torn:
                raise StoreFailed(_INTERRUPTED)
            if self._writes is None:
                raise InvalidInput(f"the store {self.url} is open for reading only")
            self._torn = True  # seen by writers only: readers go on while one writes
            if self._writes.info.transaction_status == 0:
                self._n_rows = 0
            try:
                yield self._writes
                if commit:
                    self._writes.commit()
            except BaseException as error:
                self._failed = _INTERRUPTED
                with suppress(psycopg.Error):
                    self._writes.rollback()
                if isinstance(error, psycopg.Error):
                    self._failed = (
                        f"the store {self.url} failed: {str(error).strip()}; make sure that the server is "
                        "there, then open it again: what was answered is in there"
                    )
                    raise StoreFailed(self._failed) from error
                raise
            self._torn = False

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        import psycopg

        with self._read_lock:
            self._check()
            try:
                rows: list[Any] = self._reads.execute(statement, values).fetchall()
                return rows
            except psycopg.Error as error:
                raise StoreFailed(f"the store {self.url} cannot be read: {str(error).strip()}") from None

    def forked(self) -> None:
        """Refuse everything: this is the child of the process that opened the store."""
        self._failed = FORKED
        self._lock, self._read_lock = RLock(), RLock()

    # ---------------------------------------------------------------- names

    def create(self, name: str, about: str, blob: bytes) -> None:
        """Begin an experiment."""
        checked_name(name)
        with self._writing(commit=True) as writes:
            made = """INSERT INTO lsdt.experiments (name, created, about) VALUES (%s, %s, %s)
                ON CONFLICT DO NOTHING RETURNING id"""
            found = writes.execute(made, (name, now(), about)).fetchone()
            if found is not None:
                self._change(writes, found[0])
                kept = "INSERT INTO lsdt.snapshots VALUES (%s, %s, %s, %s, %s)"
                writes.execute(kept, (found[0], START, now(), blob, blob_checksum(START, blob)))
        if found is None:
            raise InvalidInput(f"there is an experiment {name!r} in {self.url} already")

    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments."""
        rows = self._rows(f'{_EXPERIMENTS} ORDER BY name COLLATE "C"')
        return tuple(_experiment(row) for row in rows)

    def _change(self, writes: psycopg.Connection[Any], number: int, **columns: int) -> None:
        """Change the row of an experiment, and its checksum."""
        row = writes.execute(f"{_EXPERIMENTS} WHERE id = %s FOR NO KEY UPDATE", (number,)).fetchone()
        assert row is not None
        if row[-1]:  # it is not new
            _experiment(row).check()
        compacted, reserved = columns.get("compacted", int(row[3])), columns.get("reserved", row[5])
        checksum = experiment_checksum(row[0], row[1], row[2], compacted, number, reserved)
        changed = "UPDATE lsdt.experiments SET compacted = %s, reserved = %s, checksum = %s WHERE id = %s"
        writes.execute(changed, (compacted, reserved, checksum, number))

    def number(self, name: str) -> int:
        """Return the number of an experiment."""
        found = self._rows("SELECT id FROM lsdt.experiments WHERE name = %s", (name,))
        if not found:
            raise no_experiment(name, [each.name for each in self.list()], self.url)
        return int(found[0][0])

    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment."""
        lease = self.lease(name)
        if number not in (None, lease.number):
            lease.release()
            raise another(name)
        with self._writing(commit=True) as writes:
            for table in ("events", "snapshots", "writers"):
                _delete(writes, table, "experiment = %s", (lease.number,))
            writes.execute("DELETE FROM lsdt.experiments WHERE id = %s", (lease.number,))
        lease.release()

    # ---------------------------------------------------------------- writing

    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return the right to write; replicas share one that is not exclusive."""
        number = self.number(name)
        with self._lock:
            if any(held.number == number for held in self._leases.values()):
                raise self._in_use(name, "in this process; use that agent")
            with self._writing(commit=True) as writes:
                lock = "pg_try_advisory_lock" if exclusive else "pg_try_advisory_lock_shared"
                taken = writes.execute(f"SELECT {lock}(%s, %s)", (_SPACE, number)).fetchone()
                if taken is not None and taken[0]:
                    lease = Lease(self, name, number, exclusive)
                    made = """INSERT INTO lsdt.writers (id, experiment, pid, host, time)
                        SELECT %s, id, %s, %s, %s FROM lsdt.experiments WHERE id = %s"""
                    who = (lease.writer, os.getpid(), socket.gethostname(), now(), number)
                    if writes.execute(made, who).rowcount:
                        self._leases[lease.writer] = lease
                        return lease
                    unlock = lock.replace("try_advisory_lock", "advisory_unlock")
                    writes.execute(f"SELECT {unlock}(%s, %s)", (_SPACE, number))
            if taken is not None and taken[0]:  # it was deleted just now, and there may be another
                return self.lease(name, exclusive=exclusive)
            raise self._in_use(name, self._holder(number))

    def _in_use(self, name: str, where: str) -> StoreLocked:
        return StoreLocked(f"the experiment {name!r} is open already, {where}")

    def _holder(self, number: int) -> str:
        rows = self._rows(
            "SELECT pid, host FROM lsdt.writers WHERE experiment = %s ORDER BY time DESC LIMIT 1", (number,)
        )
        return f"by process {rows[0][0]} on {rows[0][1]}" if rows else "by another process"

    def release(self, lease: Lease) -> None:
        """Take a lease back."""
        with self._lock:
            if self._leases.pop(lease.writer, None) is None or self._failed:
                return
            with self._writing(commit=True) as writes:
                unlock = "pg_advisory_unlock" if lease.exclusive else "pg_advisory_unlock_shared"
                writes.execute(f"SELECT {unlock}(%s, %s)", (_SPACE, lease.number))

    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction.

        The unique indexes leave out what is in the log already. Rows are chained, so where one was left out
        they are taken back, and inserted again without it.
        """
        self._check_lease(lease)
        seen: set[tuple[bool, int]] = set()
        with self._writing() as writes:
            for turn in count():
                new = _first_of_each(events, set(seen))
                rows = [event for event, fresh in zip(events, new, strict=True) if fresh]
                may_be_there = any(event.kind in _ONCE for event in rows)
                if may_be_there:
                    writes.execute("SAVEPOINT before_rows")
                link, inserted = self._insert_rows(writes, lease, rows)
                if len(inserted) == len(rows):
                    lease.link = link
                    if may_be_there:
                        writes.execute("RELEASE before_rows")
                    return new
                if turn == _TRIES:
                    raise StoreFailed(f"the log of {lease.name!r} changes faster than it can be written to")
                writes.execute("ROLLBACK TO before_rows")
                there = {(kind == Kind.ASK, number) for kind, number in inserted}
                seen |= {key for event in rows if (key := _once(event)) is not None and key not in there}
        raise AssertionError

    def _check_lease(self, lease: Lease) -> None:
        self._check()
        if lease.writer not in self._leases:
            raise StoreFailed(f"the lease of {lease.name!r} was given back; open the experiment again")

    def _insert_rows(
        self, writes: psycopg.Connection[Any], lease: Lease, events: Sequence[Event]
    ) -> tuple[bytes, Sequence[tuple[int, int]]]:
        """Insert rows; return the link of the last, and kind and number of those that were new."""
        link, links = lease.link, []
        for event in events:
            link = link_of(link, event)
            links.append(link)
        if not events:
            return link, []
        columns = [list(column) for column in zip(*events, strict=True)]
        columns[0] = [int(kind) for kind in columns[0]]
        if self._n_rows + len(events) >= _ROWS:
            raise StoreFailed(f"one commit keeps at most {_ROWS:,} events; commit more often")
        whose = (lease.number, lease.writer, self._n_rows)
        made = writes.execute(_INSERT, (*whose, links, *columns)).fetchall()
        self._n_rows += len(events)
        return link, made

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is inserted inside; nobody else's commit comes in between."""
        with self._lock:
            try:
                yield
            except BaseException:
                if not self._failed:
                    with self._writing():
                        raise
                raise
            self.commit()

    def commit(self) -> None:
        """Wait until everything inserted is kept."""
        with self._lock:
            self._check()
            if self._writes is not None and self._writes.info.transaction_status != 0:
                with self._writing(commit=True):
                    pass

    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of some new numbers."""
        self._check_lease(lease)
        number = lease.number
        with self._writing(commit=True) as writes:
            next_one = """SELECT greatest(reserved, (
                    SELECT coalesce(max(number), -1) + 1 FROM lsdt.events WHERE experiment = %s AND kind = 1
                )) FROM lsdt.experiments WHERE id = %s FOR NO KEY UPDATE"""
            found = writes.execute(next_one, (number, number)).fetchone()
            assert found is not None
            first = int(found[0])
            self._change(writes, number, reserved=first + n)
        return first

    # ---------------------------------------------------------------- reading

    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events behind a position."""
        number = self.number(name)
        links = self._anchors(number, after)
        statement = _READ.format(settled=_SETTLED if settled else "")
        while True:
            transaction, row = divmod(after, _ROWS)
            rows = self._rows(statement, (number, str(transaction), row, batch))
            entries = _entries(rows)
            if not entries:
                return
            check_writers(entries, links, partial(self._writers, number))
            check_chain(entries, links)
            yield entries
            if len(entries) < batch:
                return
            after = entries[-1].position

    def _writers(self, number: int) -> set[int]:
        return {row[0] for row in self._rows("SELECT id FROM lsdt.writers WHERE experiment = %s", (number,))}

    def _anchors(self, number: int, after: int) -> dict[int, bytes]:
        """Return what the events behind a position are chained to, as far as that is easily found."""
        transaction, row = divmod(after, _ROWS)
        if after > START:
            at = """SELECT writer, link FROM lsdt.events
                WHERE experiment = %s AND (transaction, row) = (%s::text::xid8, %s)"""
            return dict(self._rows(at, (number, str(transaction), row)))
        whole = """SELECT writers.id FROM lsdt.writers JOIN lsdt.experiments ON experiments.id = experiment
            WHERE experiment = %s AND compacted = 0"""
        return {writer: first_link(writer) for (writer,) in self._rows(whole, (number,))}

    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last events."""
        transaction, row = (_LAST_TRANSACTION, 0) if upto is None else divmod(upto, _ROWS)
        rows = self._rows(_LAST, (self.number(name), str(transaction), row, n))
        entries = _entries(rows[::-1])
        check_chain(entries, {})
        return entries

    def cursor(self, name: str, position: int) -> LogCursor:
        """Return a cursor to read on from."""
        number = self.number(name)
        return LogCursor(name, number, position, self._anchors(number, position))

    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the settled events behind each cursor, with one query for all."""
        found: list[list[Entry]] = [[] for _ in cursors]
        if not cursors:
            return found
        split = [divmod(cursor.position, _ROWS) for cursor in cursors]
        values = (
            [cursor.number for cursor in cursors],
            [str(at) for at, _ in split],
            [at for _, at in split],
        )
        for turn, moment, row, *rest in self._rows(_NEWS, (*values, batch)):
            found[turn - 1].append(Entry(moment * _ROWS + row, *rest))
        for cursor, entries in zip(cursors, found, strict=True):
            if entries:
                check_writers(entries, cursor.links, partial(self._writers, cursor.number))
                check_chain(entries, cursor.links)
                cursor.position = entries[-1].position
        return found

    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert a snapshot."""
        self._check_lease(lease)
        with self._writing() as writes:
            if position is None:
                lease.link, _ = self._insert_rows(writes, lease, [event])
                found = writes.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
                assert found is not None
                position = found[0] * _ROWS + self._n_rows
            kept = "INSERT INTO lsdt.snapshots VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
            checksum = blob_checksum(position, blob)
            writes.execute(kept, (lease.number, position, event.time, blob, checksum))

    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest snapshot."""
        newest = """SELECT position, time, blob, checksum FROM lsdt.snapshots WHERE experiment = %s
            AND (%s::numeric IS NULL OR position < %s::numeric) ORDER BY position DESC LIMIT 1"""
        number = self.number(name)
        while rows := self._rows(newest, (number, before, before)):
            position, time, blob, expected = rows[0]
            if blob_checksum(int(position), blob) == expected:
                return Snapshot(int(position), time, blob)
            before = int(position)
        return None

    def compact(self, name: str) -> int:
        """Remove what the last two snapshots do not need."""
        number = self.number(name)
        with self._writing(commit=True) as writes:
            kept = "SELECT position FROM lsdt.snapshots WHERE experiment = %s ORDER BY position DESC LIMIT 2"
            found = writes.execute(kept, (number,)).fetchall()
            if not found:  # it was deleted just now
                return 0
            first = int(found[-1][0])
            transaction, row = divmod(first, _ROWS)
            old = "experiment = %s AND (transaction, row) < (%s::text::xid8, %s)"
            n_gone = _delete(writes, "events", old, (number, str(transaction), row))
            old = "DELETE FROM lsdt.snapshots WHERE experiment = %s AND position < %s"
            writes.execute(old, (number, first))
            self._change(writes, number, compacted=first)
        return n_gone

    # ---------------------------------------------------------------- notes

    def remember(self, scope: str, key: str, value: bytes) -> bool:
        """Keep a note, unless there is one."""
        return self.remember_many([(scope, key, value)])[0]

    def remember_many(self, notes: Sequence[Note]) -> Sequence[bool]:
        """Keep many notes, in the order of their keys: two replicas never wait for each other in a ring."""
        if not notes:
            return []
        time = now()
        scopes, keys, values = (list(part) for part in zip(*sorted(notes), strict=True))
        checksums = [row_checksum((scope, key, time), value) for scope, key, value in sorted(notes)]
        kept = """INSERT INTO lsdt.notes SELECT scope, key, %s, value, checksum
            FROM unnest(%s::text[], %s::text[], %s::bytea[], %s::bytea[])
                AS note (scope, key, value, checksum)
            ON CONFLICT DO NOTHING RETURNING scope, key"""
        with self._writing() as writes:
            new = set(writes.execute(kept, (time, scopes, keys, values, checksums)).fetchall())
        return [(scope, key) in new for scope, key, _ in notes]

    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return committed notes."""
        # One statement for both would be planned for all notes once it is prepared.
        found = "SELECT * FROM lsdt.notes WHERE scope = %s"
        if key is None:
            rows = self._rows(found, (scope,))
        else:
            rows = self._rows(f"{found} AND key = %s", (scope, key))
        for row in rows:
            check_note(row, self.url)
        return {row[1]: row[3] for row in rows}

    def check_notes(self, but: str) -> None:
        """Refuse damaged notes."""
        # Not by the index, which cannot find a row whose scope was changed.
        for row in self._rows("SELECT * FROM lsdt.notes WHERE left(scope, %s) <> %s", (len(but), but)):
            check_note(row, self.url)

    def forget(self, scope: str, key: str | None = None, before: int | None = None) -> int:
        """Remove notes."""
        which, values = "scope = %s", list[Any]([scope])
        for word, value in (("key =", key), ("time <", before)):
            if value is not None:
                which, values = f"{which} AND {word} %s", [*values, value]
        with self._writing(commit=True) as writes:
            return _delete(writes, "notes", which, values)

    # ---------------------------------------------------------------- the end

    def share(self) -> None:
        """Count one more who uses the store."""
        with self._lock:
            self._n_users += 1

    def close(self) -> None:
        """Let go, when all who share the store have."""
        with self._lock:
            self._n_users -= 1
            if self._n_users > 0:
                return
            try:
                if not self._failed and not self._torn:
                    self.commit()
            finally:
                self._leases.clear()
                if self._failed != FORKED:
                    self._let_go()
                self._failed = self._failed or "the store is closed; open it again"

    def discard(self) -> None:
        """Let a store go that has failed; with the connections go its locks."""
        self._failed = self._failed or "the store was given up; open it again"
        self._leases.clear()
        self._let_go()

    def _let_go(self) -> None:
        for name in ("_reads", "_writes"):
            connection = getattr(self, name, None)
            if connection is not None:
                with suppress(Exception):
                    connection.close()


def _entries(rows: Sequence[Any]) -> list[Entry]:
    """Return rows as entries; transaction and row make a position."""
    return [Entry(int(moment) * _ROWS + row, *rest) for moment, row, *rest in rows]
