"""A store in one SQLite file: one process writes, any may read.

The log is written ahead (WAL mode), so readers never wait. That one process writes is seen to by a second
file beside it, ``file.db-lock``: an SQLite database in which the writer keeps an exclusive transaction open.
The system drops such a lock with the process, however it dies, and does not hand it to children.

Other programs (a backup, a person with a shell) may hold SQLite's own write lock for a while. The store waits
for it within its patience; `writing_at_once` lets an event loop find out that it would have to wait.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsdt._files import checked_path
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed, StoreLocked
from lsdt.storage.events import (
    START,
    Entry,
    Event,
    blob_checksum,
    check_chain,
    check_note,
    check_positions,
    check_writers,
    first_link,
    link_of,
    lost_events,
    now,
    row_checksum,
)
from lsdt.storage.file_systems import network_file_system
from lsdt.storage.forks import FORKED, watch_forks
from lsdt.storage.migrations import APPLICATION, SQLITE, missing_steps
from lsdt.storage.open_files import OpenFiles
from lsdt.storage.store import (
    ExperimentRecord,
    Lease,
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
    from pathlib import Path

    from lsdt.storage.store import LogCursor

_OPEN: dict[Path, SqliteStore] = {}
_OPEN_LOCK = RLock()
_SYNCHRONOUS = {"full": "FULL", "process": "NORMAL"}
# What SQLite says of a damaged file may quote bytes of it, which Python cannot read as text.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_INTERRUPTED = "the store was interrupted while it wrote; open it again"
_ENTRY = partial(tuple.__new__, Entry)  # three times as fast as Entry._make
_PATIENCE = 60.0  # seconds for another program to let go of the write lock: backups may take some
_LONGEST_PAUSE = 0.05  # seconds between two tries for it
_OPENING = 5.0  # seconds within which SQLite itself waits while a store is opened or read
_BESIDE = ("-wal", "-shm", "-lock")
_ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT = f"INSERT INTO events VALUES {_ROW} ON CONFLICT DO NOTHING"
_MANY = 32  # rows that one statement inserts
_INSERT_MANY = f"INSERT INTO events VALUES {', '.join([_ROW] * _MANY)} ON CONFLICT DO NOTHING"
_NOTE = "INSERT INTO notes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
# As bytes: a damaged name must not keep the others from being read.
_EXPERIMENTS = """SELECT CAST(name AS BLOB), created, CAST(about AS BLOB), compacted, id, reserved, checksum
    FROM experiments"""
_AT_ONCE = 5_000  # notes that are looked through in one transaction
_COLUMNS = "position, writer, link, kind, time, number, arm, reward, data"
_READ = f"""SELECT {_COLUMNS} FROM events
    WHERE experiment = ? AND position > ? ORDER BY position LIMIT ?"""
_LAST = f"""SELECT {_COLUMNS} FROM events
    WHERE experiment = ? AND position <= ? ORDER BY position DESC LIMIT ?"""
_END = 2**63 - 1  # a position behind all others


def _said(error: BaseException) -> str:
    return "the file is damaged" if isinstance(error, UnicodeDecodeError) else str(error)


def _is_locked(error: sqlite3.Error) -> bool:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_BUSY


def open_sqlite(rest: str, durability: str, read_only: bool, patience: float | None = None) -> SqliteStore:
    """Return the store of the part of a URL behind ``sqlite://``; in one process, one object per file."""
    patience = _PATIENCE if patience is None else patience
    text = unquote(rest)
    if not text.startswith("/") or text in ("/", "/:memory:"):
        raise InvalidInput(
            "a store in a file is sqlite:///file.db, with three slashes (four for a path from the root), and "
            f"one without a file is memory://; got 'sqlite://{rest}'"
        )
    path = checked_path(text[1:], "the path of a store").expanduser()
    kind = network_file_system(path.parent)
    if kind:
        raise InvalidFile(
            f"{str(path)!r} lies on a network file system ({kind}), where SQLite can neither lock nor sync "
            "reliably; use a local disk, or postgresql://"
        )
    with _OPEN_LOCK:
        real = path.resolve()
        if read_only:
            alone = SqliteStore(real, durability, read_only, patience)
            alone.share()
            return alone
        store = _OPEN.get(real)
        if store is not None and store.has_failed:
            store.discard()
            store = None
        if store is None:
            store = _OPEN[real] = SqliteStore(real, durability, read_only, patience)
        elif store.durability != durability:
            raise InvalidInput(f"{str(path)!r} is open in this process with durability={store.durability!r}")
        store.share()
        return store


def _forget_all() -> None:
    global _OPEN_LOCK
    _OPEN_LOCK = RLock()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class SqliteStore(Store):
    """A store in a file; `open_store` makes it.

    Parameters
    ----------
    path : Path
        The file, with all links followed.
    durability : {'full', 'process'}
        Whether a commit waits for the disk.
    read_only : bool
        Whether nothing is ever written.
    patience : float
        How many seconds to wait for the write lock of the file, where another program holds it.
    """

    def __init__(self, path: Path, durability: str, read_only: bool, patience: float) -> None:
        self.url, self.durability, self._patience = f"sqlite:///{path}", durability, patience
        self.path: Path = path
        self.n_users = 0
        self._failed, self._torn = "", False
        self._lock, self._read_lock = RLock(), RLock()
        self._last: dict[str, int] = {}
        self._leases: dict[str, Lease] = {}
        self._guard: sqlite3.Connection | None = None
        self._writes: sqlite3.Connection | None = None
        with self._own_errors():
            before = OpenFiles(path) if path.is_file() else None
            if not read_only:
                self._begin_writing(durability)
            elif not path.is_file():
                raise InvalidFile(f"there is no store {str(path)!r}")
            self._reads = self._connect(read_only=True)
            version = self._reads.execute("PRAGMA user_version").fetchone()[0]
            missing_steps(version, SQLITE, repr(str(path)))
            if read_only:
                self._check_ours(self._reads, version)
            self._files = OpenFiles(path, () if read_only else _BESIDE)
            if before is not None and (complaint := before.complaint()) is not None:
                raise InvalidFile(f"{complaint.text}ed; open it again")
        watch_forks(self)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Let go of everything where a store cannot be opened, and say why in our words."""
        try:
            yield
        except BaseException as error:
            self._let_go()
            if isinstance(error, _ERRORS):
                raise InvalidFile(f"cannot open the store {str(self.path)!r}: {_said(error)}") from None
            raise

    def _connect(self, *, read_only: bool) -> sqlite3.Connection:
        uri = self.path.as_uri() + ("?mode=ro" if read_only else "")
        return sqlite3.connect(uri, uri=True, timeout=_OPENING, isolation_level=None, check_same_thread=False)

    def _begin_writing(self, durability: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidFile(f"cannot make the folder of {str(self.path)!r}: {error}") from None
        if self.path.is_dir():
            raise InvalidFile(f"a store is a file, and {str(self.path)!r} is a folder")
        self._take_lock()
        self._writes = writes = self._connect(read_only=False)
        version = writes.execute("PRAGMA user_version").fetchone()[0]
        self._check_ours(writes, version)
        steps = missing_steps(version, SQLITE, repr(str(self.path)))
        writes.execute("PRAGMA journal_mode = WAL")
        writes.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
        writes.execute("PRAGMA busy_timeout = 0")  # from here on we wait ourselves
        self._begin(writes)
        try:
            for number, step in steps:
                for statement in step:
                    writes.execute(statement)
                writes.execute(f"PRAGMA user_version = {number}")
            writes.execute(f"PRAGMA application_id = {APPLICATION}")
            holder = (os.getpid(), socket.gethostname(), now())
            writes.execute("INSERT OR REPLACE INTO holder VALUES (1, ?, ?, ?)", holder)
            writes.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                writes.execute("ROLLBACK")
            raise

    def _check_ours(self, connection: sqlite3.Connection, version: int) -> None:
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
        n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not ours and (n_tables or version):
            raise InvalidFile(f"{str(self.path)!r} is an SQLite database of another program; name a new file")

    def _take_lock(self) -> None:
        lock = self.path.with_name(self.path.name + "-lock")
        self._guard = sqlite3.connect(lock, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._guard.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise StoreLocked(
                f"{str(self.path)!r} is being written by {self._holder()}; SQLite has one writer: end that "
                "one, use its service, or use postgresql://"
            ) from None

    def _holder(self) -> str:
        with suppress(*_ERRORS), closing(self._connect(read_only=True)) as connection:
            pid, host = connection.execute("SELECT pid, host FROM holder").fetchone()
            return f"process {pid} on {host}"
        return "another process"

    # ---------------------------------------------------------------- failing

    def _check(self) -> None:
        if self._failed:
            raise StoreFailed(self._failed)

    @contextmanager
    def _writing(self, *, commit: bool = False) -> Iterator[sqlite3.Connection]:
        """Give the writing connection, in a transaction; whatever is raised inside ends the store."""
        with self._lock:
            self._check()
            if self._torn:
                raise StoreFailed(_INTERRUPTED)
            if self._writes is None:
                raise InvalidInput(f"the store {str(self.path)!r} is open for reading only")
            self._torn = True  # seen by writers only: readers go on while one writes
            try:
                if not self._writes.in_transaction:
                    self._begin(self._writes)
                yield self._writes
                if commit:
                    self._writes.execute("COMMIT")
                    self._check_files(self._writes)
            except BaseException as error:
                self._fail(error)
                raise
            self._torn = False

    def _begin(self, writes: sqlite3.Connection) -> None:
        """Open a transaction, as soon as no other program holds the write lock."""
        limit, pause = monotonic() + self._patience, 0.001
        while True:
            try:
                writes.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not _is_locked(error):
                    raise
            if monotonic() > limit:
                raise StoreFailed(
                    f"another program has held the write lock of {str(self.path)!r} for {self._patience:g} "
                    "s; end it (a backup, a shell with an open transaction), then open the store again: what "
                    "was answered is in there"
                )
            sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _check_files(self, writes: sqlite3.Connection | None) -> None:
        """Fail if the store is not in its files any more: what was committed just now is not answered."""
        complaint = self._files.complaint()
        if complaint is None:
            return
        if complaint.is_apart and writes is not None:
            # Into whatever file is open: one that was only renamed has everything then, and a log that was
            # left behind is empty, so that SQLite does not apply it to a backup that is put in its place.
            with suppress(sqlite3.Error):
                if writes.in_transaction:
                    writes.execute("ROLLBACK")
                writes.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raise StoreFailed(
            f"the store {str(self.path)!r} failed: {complaint.text}; nothing more is kept or answered. Put "
            "the file back, or a backup in its place, and open it again"
        )

    def _fail(self, error: BaseException) -> None:
        """Remember a failure, and take back what was not committed."""
        assert self._writes is not None
        self._failed = str(error) if isinstance(error, StoreFailed) else _INTERRUPTED
        with suppress(sqlite3.Error):
            self._writes.execute("ROLLBACK")
        if isinstance(error, _ERRORS):
            self._failed = (
                f"the store {str(self.path)!r} failed: {_said(error)}; make sure that the disk has room and "
                "is whole, then open it again: what was answered is in there"
            )
            raise StoreFailed(self._failed) from error

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._read_lock:
            self._check()
            try:
                return self._reads.execute(statement, values).fetchall()
            except _ERRORS as error:
                raise InvalidFile(f"the store {str(self.path)!r} cannot be read: {_said(error)}") from None

    def forked(self) -> None:
        """Refuse everything: this is the child of the process that opened the store."""
        self._failed = FORKED
        self._lock, self._read_lock = RLock(), RLock()

    # ---------------------------------------------------------------- names

    def create(self, name: str, about: str, blob: bytes) -> None:
        """Begin an experiment."""
        checked_name(name)
        with self._lock:
            if self._rows("SELECT 1 FROM experiments WHERE name = ?", (name,)):
                raise InvalidInput(f"there is an experiment {name!r} in {self.url} already")
            with self._writing(commit=True) as writes:
                made = "INSERT INTO experiments (name, created, about) VALUES (?, ?, ?) RETURNING id"
                number = writes.execute(made, (name, now(), about)).fetchone()[0]
                self._change(writes, number)
                row = (number, START, now(), blob, blob_checksum(START, blob))
                writes.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?)", row)

    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments."""
        return tuple(_experiment(row) for row in self._rows(f"{_EXPERIMENTS} ORDER BY name"))

    def _change(self, writes: sqlite3.Connection, number: int, **columns: int) -> None:
        """Change the row of an experiment, and its checksum."""
        row = writes.execute(f"{_EXPERIMENTS} WHERE id = ?", (number,)).fetchone()
        if row[-1]:  # it is not new
            _experiment(row).check()
        name, about = row[0].decode(), row[2].decode()
        compacted, reserved = columns.get("compacted", row[3]), columns.get("reserved", row[5])
        checksum = experiment_checksum(name, row[1], about, compacted, number, reserved)
        changed = "UPDATE experiments SET compacted = ?, reserved = ?, checksum = ? WHERE id = ?"
        writes.execute(changed, (compacted, reserved, checksum, number))

    def number(self, name: str) -> int:
        """Return the number of an experiment."""
        found = self._rows("SELECT id FROM experiments WHERE name = ?", (name,))
        if not found:
            raise no_experiment(name, [each.name for each in self.list()], self.url)
        return int(found[0][0])

    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment."""
        with self._lock:
            found = self.number(name)
            if number not in (None, found):
                raise another(name)
            if name in self._leases:
                raise StoreLocked(f"the experiment {name!r} is in use; close its agent first")
            with self._writing(commit=True) as writes:
                for table in ("events", "snapshots", "writers"):
                    writes.execute(f"DELETE FROM {table} WHERE experiment = ?", (found,))
                writes.execute("DELETE FROM experiments WHERE id = ?", (found,))

    # ---------------------------------------------------------------- writing

    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return the right to write."""
        if not exclusive:
            raise InvalidInput("SQLite has one writer, with an exclusive lease; replicas need postgresql://")
        with self._lock:
            number = self.number(name)
            if name in self._leases:
                raise StoreLocked(f"the experiment {name!r} is open already, in this process; use that agent")
            lease = Lease(self, name, number, exclusive)
            with self._writing(commit=True) as writes:
                who = (lease.writer, number, os.getpid(), socket.gethostname(), now())
                writes.execute("INSERT INTO writers VALUES (?, ?, ?, ?, ?)", who)
                last = "SELECT max(position) FROM events WHERE experiment = ?"
                snapshot = "SELECT max(position) FROM snapshots WHERE experiment = ?"
                found = [writes.execute(each, (number,)).fetchone()[0] or START for each in (last, snapshot)]
            self._last[name] = max(found)
            self._leases[name] = lease
            return lease

    def release(self, lease: Lease) -> None:
        """Take a lease back."""
        with self._lock:
            if self._leases.get(lease.name) is lease:
                del self._leases[lease.name]

    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction."""
        self._check_lease(lease)
        with self._writing() as writes:
            if len(events) > 1 and self._insert_new(writes, lease, events):
                return [True] * len(events)
            return [self._insert(writes, lease, event) for event in events]

    def _insert_new(self, writes: sqlite3.Connection, lease: Lease, events: Sequence[Event]) -> bool:
        """Insert events with one call, if all of them are new; else insert none."""
        link, position, rows = lease.link, self._last[lease.name], []
        for event in events:
            link, position = link_of(link, event), position + 1
            rows.append((lease.number, position, lease.writer, link, *event))
        writes.execute("SAVEPOINT before_rows")
        is_all = _insert_rows(writes, rows) == len(rows)
        if is_all:
            lease.link, self._last[lease.name] = link, position
        else:
            writes.execute("ROLLBACK TO before_rows")
        writes.execute("RELEASE before_rows")
        return is_all

    def _check_lease(self, lease: Lease) -> None:
        self._check()
        if self._leases.get(lease.name) is not lease:
            raise StoreFailed(f"the lease of {lease.name!r} was given back; open the experiment again")

    def _insert(self, writes: sqlite3.Connection, lease: Lease, event: Event) -> bool:
        name = lease.name
        position, link = self._last[name] + 1, link_of(lease.link, event)
        row = (lease.number, position, lease.writer, link, *event)
        if writes.execute(_INSERT, row).rowcount != 1:
            return False
        lease.link, self._last[name] = link, position
        return True

    @contextmanager
    def writing_at_once(self) -> Iterator[bool]:
        """Yield whether `insert` need not wait; if so, no other thread writes inside."""
        if not self._lock.acquire(blocking=False):
            yield False
            return
        try:
            yield self._begins_at_once()
        finally:
            self._lock.release()

    def _begins_at_once(self) -> bool:
        if self._failed or self._torn or self._writes is None or self._writes.in_transaction:
            return True  # `insert` says what is wrong
        try:
            self._writes.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            return not _is_locked(error)
        return True

    def wait_to_write(self) -> None:
        """Wait until `insert` need not."""
        with self._writing():
            pass

    def commit(self) -> None:
        """Wait until everything inserted is kept."""
        with self._lock:
            self._check()
            if self._writes is not None and self._writes.in_transaction:
                with self._writing(commit=True):
                    pass

    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of some new numbers."""
        self._check_lease(lease)
        number = lease.number
        with self._writing(commit=True) as writes:
            asked = "SELECT max(number) FROM events WHERE experiment = ? AND kind = 1"
            last = writes.execute(asked, (number,)).fetchone()[0]
            kept = "SELECT reserved FROM experiments WHERE id = ?"
            first = max(writes.execute(kept, (number,)).fetchone()[0], -1 if last is None else last + 1)
            self._change(writes, number, reserved=first + n)
        return int(first)

    # ---------------------------------------------------------------- reading

    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events behind a position."""
        return self._read(self.number(name), after, batch)

    def _read(self, number: int, after: int, batch: int) -> Iterator[Sequence[Entry]]:
        # Looked up before the events: a writer may commit a snapshot in between.
        covered = self._rows("SELECT max(position) FROM snapshots WHERE experiment = ?", (number,))[0][0]
        compacted = self._rows("SELECT compacted FROM experiments WHERE id = ?", (number,))
        if not compacted:
            return  # deleted
        links, first = self._anchors(number, after), compacted[0][0]
        is_behind = START < after < first - 1
        if is_behind or (after >= max(first, START + 1) and not links):
            self._miss(number, after)
        after = max(after, first - 1)  # the event at the oldest snapshot is kept
        while True:
            rows = self._rows(_READ, (number, after, batch))
            check_positions(rows, after)
            if len(rows) < batch and (rows[-1][0] if rows else after) < (covered or START):
                self._miss(number, covered)
            if not rows:
                return
            check_writers(rows, links, partial(self._writers, number))
            check_chain(rows, links)
            yield list(map(_ENTRY, rows))
            if len(rows) < batch:
                return
            after = rows[-1][0]

    def _miss(self, number: int, position: int) -> None:
        """Refuse a log that lacks events, unless the whole experiment was deleted meanwhile."""
        if self._rows("SELECT 1 FROM experiments WHERE id = ?", (number,)):
            raise lost_events(position)

    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last events."""
        rows = self._rows(_LAST, (self.number(name), _END if upto is None else upto, n))
        rows.reverse()
        if rows:
            check_positions(rows, rows[0][0] - 1)
        check_chain(rows, {})
        return list(map(_ENTRY, rows))

    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return what is new behind each cursor."""
        found: list[Sequence[Entry]] = []
        for cursor in cursors:
            entries = next(self._read(cursor.number, cursor.position, batch), ())
            if entries:
                cursor.position = entries[-1].position
            found.append(entries)
        return found

    def _anchors(self, number: int, after: int) -> dict[int, bytes]:
        """Return what the events behind a position are chained to, as far as that is in the log."""
        if after == START:
            first = self._rows(_READ, (number, START, 1))
            whole = not first or first[0][0] == START + 1
            return {writer: first_link(writer) for writer in self._writers(number)} if whole else {}
        before = "SELECT writer, link FROM events WHERE experiment = ? AND position = ?"
        links = dict(self._rows(before, (number, after)))
        if links:  # later writers begin chains of their own, and earlier ones have ended
            links = {writer: first_link(writer) for writer in self._writers(number)} | links
        return links

    def _writers(self, number: int) -> set[int]:
        return {row[0] for row in self._rows("SELECT id FROM writers WHERE experiment = ?", (number,))}

    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert a snapshot."""
        self._check_lease(lease)
        with self._writing() as writes:
            if position is None:
                self._insert(writes, lease, event)
                position = self._last[lease.name]
            row = (lease.number, position, event.time, blob, blob_checksum(position, blob))
            writes.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)

    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest snapshot."""
        newest = """SELECT position, time, blob, checksum FROM snapshots
            WHERE experiment = ? AND (? IS NULL OR position < ?) ORDER BY position DESC LIMIT 1"""
        number = self.number(name)
        while rows := self._rows(newest, (number, before, before)):
            position, time, blob, expected = rows[0]
            if blob_checksum(position, blob) == expected:
                return Snapshot(position, time, blob)
            before = position
        return None

    def compact(self, name: str) -> int:
        """Remove what the last two snapshots do not need."""
        number = self.number(name)
        with self._writing(commit=True) as writes:
            kept = "SELECT position FROM snapshots WHERE experiment = ? ORDER BY position DESC LIMIT 2"
            first = writes.execute(kept, (number,)).fetchall()[-1][0]
            gone = writes.execute("DELETE FROM events WHERE experiment = ? AND position < ?", (number, first))
            n_gone = gone.rowcount
            writes.execute("DELETE FROM snapshots WHERE experiment = ? AND position < ?", (number, first))
            self._change(writes, number, compacted=first)
        return n_gone

    # ---------------------------------------------------------------- notes

    def remember(self, scope: str, key: str, value: bytes) -> bool:
        """Keep a note, unless there is one."""
        time = now()
        row = (scope, key, time, value, row_checksum((scope, key, time), value))
        with self._writing() as writes:
            return writes.execute(_NOTE, row).rowcount == 1

    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return committed notes."""
        # One statement for both would not use the index, and read all answers for each that is looked for.
        found = "SELECT * FROM notes WHERE scope = ?"
        if key is None:
            rows = self._rows(found, (scope,))
        else:
            rows = self._rows(f"{found} AND key = ?", (scope, key))
        for row in rows:
            check_note(row, self.url)
        return {row[1]: row[3] for row in rows}

    def check_notes(self, but: str) -> None:
        """Refuse damaged notes."""
        # Not by the index, which cannot find a row whose scope was changed.
        for row in self._rows("SELECT * FROM notes WHERE substr(scope, 1, ?) <> ?", (len(but), but)):
            check_note(row, self.url)

    def forget(self, scope: str, key: str | None = None, before: int | None = None) -> int:
        """Remove notes."""
        if key is None and before is not None:
            return self._forget_old(scope, before)
        gone = "DELETE FROM notes WHERE scope = ?"
        values: list[Any] = [scope]
        for word, value in (("key =", key), ("time <", before)):
            if value is not None:
                gone, values = f"{gone} AND {word} ?", [*values, value]
        with self._writing(commit=True) as writes:
            return writes.execute(gone, values).rowcount

    def _forget_old(self, scope: str, before: int) -> int:
        """Remove old notes in steps, so that nobody who writes has to wait long."""
        after, n_gone = "", 0
        step = "SELECT key FROM notes WHERE scope = ? AND key > ? ORDER BY key LIMIT 1 OFFSET ?"
        gone = "DELETE FROM notes WHERE scope = ? AND key > ? AND (? IS NULL OR key <= ?) AND time < ?"
        while True:
            found = self._rows(step, (scope, after, _AT_ONCE))
            last = found[0][0] if found else None
            with self._writing(commit=True) as writes:
                n_gone += writes.execute(gone, (scope, after, last, last, before)).rowcount
            if last is None:
                return n_gone
            after = last

    # ---------------------------------------------------------------- the end

    def share(self) -> None:
        """Count one more who uses the store."""
        with self._lock:
            self.n_users += 1

    def close(self) -> None:
        """Let go, when all who opened the file in this process have."""
        with _OPEN_LOCK, self._lock:
            self.n_users -= 1
            if self.n_users > 0:
                return
            try:
                if not self.has_failed:
                    self.commit()
                    self.verify()
            finally:
                if _OPEN.get(self.path) is self:
                    del _OPEN[self.path]
                self._leases.clear()
                if self._failed != FORKED:
                    self._let_go()
                self._failed = self._failed or "the store is closed; open it again"

    def verify(self) -> None:
        """Fail if the files of the store were removed, renamed or replaced."""
        self._check()
        if self._files.complaint() is not None:
            with self._lock:
                try:
                    self._check_files(self._writes)
                except StoreFailed as error:
                    self._failed = self._failed or str(error)
                    raise

    @property
    def has_failed(self) -> bool:
        """Whether every call raises until the store is opened again."""
        with self._lock:  # another thread that writes is not a failure
            return bool(self._failed) or self._torn

    def discard(self) -> None:
        """Let a store go that has failed, whoever still has it."""
        _OPEN.pop(self.path, None)
        self._leases.clear()
        self._let_go()

    def _let_go(self) -> None:
        """Close the files, the lock last."""
        for name in ("_reads", "_writes", "_guard"):
            connection = getattr(self, name, None)
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()


def _experiment(row: tuple[Any, ...]) -> ExperimentRecord:
    name, created, about, *rest = row
    return experiment_of(name.decode(errors="replace"), created, about.decode(errors="replace"), *rest)


def _insert_rows(writes: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert rows, but for those that break a rule; return how many. A call for each would cost half more."""
    n_whole = len(rows) - len(rows) % _MANY
    n_new = 0
    for at in range(0, n_whole, _MANY):
        n_new += writes.execute(_INSERT_MANY, tuple(chain.from_iterable(rows[at : at + _MANY]))).rowcount
    if n_whole < len(rows):
        n_new += writes.executemany(_INSERT, rows[n_whole:]).rowcount
    return n_new
