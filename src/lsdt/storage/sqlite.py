"""A store in one SQLite file: one process writes, any number may read.

The database is in WAL mode, so readers never wait. A second file beside it, ``file.db-lock``, ensures that
only one process writes: it is an SQLite database in which the writer keeps an exclusive transaction open. The
operating system releases such a lock with the process, however it dies, and children do not inherit it.

Other programs (a backup, a person with a shell) may hold SQLite's own write lock for a while. The store waits
for it, up to its patience; `writing_at_once` tells an event loop whether it would have to wait.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import cache
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsdt._files import checked_path
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed, StoreLocked
from lsdt.storage.events import START, first_link, link_of, lost_events, now
from lsdt.storage.file_systems import network_file_system
from lsdt.storage.migrations import APPLICATION, SQLITE, missing_steps
from lsdt.storage.open_files import OpenFiles
from lsdt.storage.sql_store import Dialect, SqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lsdt.storage.events import Entry, Event
    from lsdt.storage.fail_stop import Connection
    from lsdt.storage.sql_store import NoteRow
    from lsdt.storage.store import Lease, LogCursor

_OPEN: dict[Path, SqliteStore] = {}
_OPEN_LOCK = RLock()
_SYNCHRONOUS = {"full": "FULL", "process": "NORMAL"}
_PATIENCE = 60.0  # seconds for another program to release the write lock, enough for most backups
_LONGEST_PAUSE = (
    0.05  # seconds between two attempts to take it: less would use more CPU, more would react later
)
_OPENING = 5.0  # seconds that SQLite itself waits while a store is opened or read; Python's default
_BESIDE = ("-wal", "-shm", "-lock")
_WIDTH = 10  # columns of an event
_MANY = 32  # rows per statement; one call per row would take half as long again
_NOTE = "INSERT INTO notes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


def open_sqlite(rest: str, durability: str, read_only: bool, patience: float | None = None) -> SqliteStore:
    """Return the store for the part of a URL after ``sqlite://``; a process has one object per file."""
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
            f"{str(path)!r} is on a network file system ({kind}), where SQLite can neither lock nor sync "
            "reliably; use a local disk, or postgresql://"
        )
    real = path.resolve()
    with _OPEN_LOCK:
        if read_only:
            return SqliteStore(real, durability, read_only, patience)
        store = _OPEN.get(real)
        if store is not None and store.has_failed:
            store.discard()
            store = None
        if store is None:
            store = _OPEN[real] = SqliteStore(real, durability, read_only, patience)
            return store
        if store.durability != durability:
            raise InvalidInput(f"{str(path)!r} is open in this process with durability={store.durability!r}")
        store.share()
        return store


def _forget_all() -> None:
    global _OPEN_LOCK
    _OPEN_LOCK = RLock()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class SqliteStore(SqlStore):
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
        How many seconds to wait for the write lock of the file while another program holds it.
    """

    _dialect = Dialect(
        columns="position",
        positioned=lambda rows: rows,
        position="position",
        parameter="?",
        values=lambda position: (position,),
        ascending="position",
        descending="position DESC",
        # Text as bytes: a damaged name must not prevent the others from being read.
        experiment="CAST(name AS BLOB), created, CAST(about AS BLOB), compacted, id, reserved, checksum",
        settled="",
        lock="",
        letters="key",
        end=2**63 - 1,
        has_gaps=False,
    )
    _errors = (sqlite3.Error, UnicodeDecodeError)
    _unreadable = InvalidFile
    _remedy = "the disk has room and no errors"
    _guard: sqlite3.Connection | None = None

    def __init__(self, path: Path, durability: str, read_only: bool, patience: float) -> None:
        super().__init__(f"sqlite:///{path}", repr(str(path)), durability, patience)
        self.path: Path = path
        with self._opening():
            before = OpenFiles(path) if path.is_file() else None
            if not read_only:
                self._begin_writing(durability)
            elif not path.is_file():
                raise InvalidFile(f"there is no store {self._shown}")
            self._reads = self._connect(read_only=True)
            version = self._reads.execute("PRAGMA user_version").fetchone()[0]
            missing_steps(version, SQLITE, self._shown)
            if read_only:
                self._check_ours(self._reads, version)
            self._files = OpenFiles(path, () if read_only else _BESIDE)
            if before is not None and (complaint := before.complaint()) is not None:
                raise InvalidFile(f"{complaint.text}ed; open it again")

    def _connect(self, *, read_only: bool) -> sqlite3.Connection:
        uri = self.path.as_uri() + ("?mode=ro" if read_only else "")
        return sqlite3.connect(uri, uri=True, timeout=_OPENING, isolation_level=None, check_same_thread=False)

    def _begin_writing(self, durability: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidFile(f"cannot create the folder of {self._shown}: {error}") from None
        if self.path.is_dir():
            raise InvalidFile(f"a store is a file, but {self._shown} is a folder")
        self._take_guard()
        self._writes = writes = self._connect(read_only=False)
        version = writes.execute("PRAGMA user_version").fetchone()[0]
        self._check_ours(writes, version)
        steps = missing_steps(version, SQLITE, self._shown)
        writes.execute("PRAGMA journal_mode = WAL")
        writes.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
        writes.execute("PRAGMA busy_timeout = 0")  # from here on `_begin` waits
        self._begin(writes)  # if a step fails, `_opening` disconnects, which rolls back
        for number, step in steps:
            for statement in step:
                writes.execute(statement)
            writes.execute(f"PRAGMA user_version = {number}")
        writes.execute(f"PRAGMA application_id = {APPLICATION}")
        holder = (os.getpid(), socket.gethostname(), now())
        writes.execute("INSERT OR REPLACE INTO holder VALUES (1, ?, ?, ?)", holder)
        writes.commit()

    def _check_ours(self, connection: Connection, version: int) -> None:
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
        n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not ours and (n_tables or version):
            raise InvalidFile(f"{self._shown} is an SQLite database of another program; name a new file")

    def _take_guard(self) -> None:
        """Take the lock that makes this process the only writer."""
        lock = self.path.with_name(self.path.name + "-lock")
        self._guard = sqlite3.connect(lock, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._guard.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if not _is_locked(error):
                raise
            raise StoreLocked(
                f"{self._shown} is being written by {self._holder()}; SQLite has one writer: end that "
                "one, use its service, or use postgresql://"
            ) from None

    def _holder(self) -> str:
        with suppress(*self._errors), closing(self._connect(read_only=True)) as connection:
            pid, host = connection.execute("SELECT pid, host FROM holder").fetchone()
            return f"process {pid} on {host}"
        return "another process"

    # ---------------------------------------------------------------- transactions

    def _begin(self, writes: Connection) -> None:
        """Begin a transaction as soon as no other program holds the write lock."""
        limit, pause = monotonic() + self._patience, 0.001
        while not _begins(writes):
            if monotonic() > limit:
                raise StoreFailed(
                    f"another program has held the write lock of {self._shown} for {self._patience:g} "
                    "s; end it (a backup, a shell with an open transaction), then open the store again: "
                    "everything that was answered is in it"
                )
            sleep(pause)
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _commit(self, writes: Connection) -> None:
        writes.commit()
        self._check_files(writes)

    def _check_files(self, writes: Connection | None) -> None:
        """Fail if the files of the store are not in place: the last commit must not be acknowledged."""
        complaint = self._files.complaint()
        if complaint is None:
            return
        if complaint.is_apart and writes is not None:
            # Checkpoint into the open file: if it was only renamed, it is then complete, and the log left
            # behind is empty, so that SQLite does not apply it to a backup that replaces the file.
            with suppress(sqlite3.Error):
                writes.rollback()
                writes.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raise StoreFailed(
            f"the store {self._shown} failed: {complaint.text}; nothing more is stored or answered. Put "
            "the file back, or a backup in its place, and open it again"
        )

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

    @contextmanager
    def writing_at_once(self) -> Iterator[bool]:
        """Yield whether `insert` can write without waiting; if so, no other thread writes inside."""
        if not self._lock.acquire(blocking=False):
            yield False
            return
        try:
            yield self._begins_at_once()
        finally:
            self._lock.release()

    def _begins_at_once(self) -> bool:
        if self._failed or self._torn or self._writes is None or self._writes.in_transaction:
            return True  # `insert` reports what is wrong
        try:
            return _begins(self._writes)
        except sqlite3.Error:
            return True

    def wait_to_write(self) -> None:
        """Wait until `insert` can write without waiting."""
        with self._writing():
            pass

    # ---------------------------------------------------------------- writing

    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return a lease, the right to write to the log of an experiment."""
        if not exclusive:
            raise InvalidInput("SQLite has one writer, with an exclusive lease; replicas need postgresql://")
        return super().lease(name)

    def _lock_log(self, writes: Connection, lease: Lease) -> str:
        # The file is already locked. The lease counts positions, starting at the end of the log.
        for table in ("events", "snapshots"):
            end = f"SELECT max(position) FROM {table} WHERE experiment = ?"
            found = writes.execute(end, (lease.number,)).fetchone()[0]
            lease.position = max(lease.position, found or START)
        return ""

    def _insert(self, writes: Connection, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Insert events with few statements, or one by one if some are not new."""
        if len(events) > 1:
            writes.execute("SAVEPOINT before_rows")
        link, position, n_new = lease.link, lease.position, 0
        for at in range(0, len(events), _MANY):
            values: list[Any] = []
            for event in events[at : at + _MANY]:
                link, position = link_of(link, event), position + 1
                values += (lease.number, position, lease.writer, link, *event)
            n_new += writes.execute(_insert_statement(len(values) // _WIDTH), values).rowcount
        is_all = n_new == len(events)
        if is_all:
            lease.link, lease.position = link, position
        if len(events) > 1:
            if not is_all:
                writes.execute("ROLLBACK TO before_rows")
            writes.execute("RELEASE before_rows")
            if not is_all:
                return [self._insert(writes, lease, [event])[0] for event in events]
        return [is_all] * len(events)

    def _last_position(self, writes: Connection, lease: Lease) -> int:
        return lease.position

    def _insert_notes(self, writes: Connection, rows: Sequence[NoteRow]) -> set[tuple[str, str]]:
        return {row[:2] for row in rows if writes.execute(_NOTE, row).rowcount == 1}

    # ---------------------------------------------------------------- reading

    def _start(self, number: int, after: int) -> tuple[int, dict[int, bytes], int] | None:
        # Looked up before the events: a writer may commit a snapshot in between.
        reaches = self._rows("SELECT max(position) FROM snapshots WHERE experiment = ?", (number,))[0][0]
        found = self._rows("SELECT compacted FROM experiments WHERE id = ?", (number,))
        if not found:
            return None
        links, compacted = self._anchors(number, after), found[0][0]
        is_compacted = START < after < compacted - 1
        is_lost = after >= max(compacted, START + 1) and not links
        if (is_compacted or is_lost) and self._is_there(number):
            raise lost_events(after)
        return max(after, compacted - 1), links, reaches or START  # the event at `compacted` stays

    def _anchors(self, number: int, after: int) -> dict[int, bytes]:
        """Return the links that the events after a position are chained to, as far as the log has them."""
        if after == START:
            first = "SELECT min(position) FROM events WHERE experiment = ? AND position > ?"
            links, is_whole = {}, self._rows(first, (number, START))[0][0] in (None, START + 1)
        else:
            links = self._link_at(number, after)
            is_whole = bool(links)
        if not is_whole:
            return {}
        # Only one writer is active at a time: all but the one at `after` have ended, or begin after it.
        return {writer: first_link(writer) for writer in self._writers(number)} | links

    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the events after each cursor, and advance the cursors."""
        found: list[Sequence[Entry]] = []
        for cursor in cursors:
            entries = next(self._read(cursor.number, cursor.position, False, batch), ())
            if entries:
                cursor.position = entries[-1].position
            found.append(entries)
        return found

    # ---------------------------------------------------------------- the end

    def close(self) -> None:
        """Close the file, if no other user in this process is left."""
        with _OPEN_LOCK:
            super().close()

    def _disconnect(self) -> None:
        """Close the connections, and the lock last."""
        if _OPEN.get(self.path) is self:
            del _OPEN[self.path]
        super()._disconnect()
        if self._guard is not None:
            with suppress(sqlite3.Error):
                self._guard.close()


@cache
def _insert_statement(n: int) -> str:
    """Return a statement that inserts `n` events, except those that exist already."""
    row = f"({', '.join('?' * _WIDTH)})"
    return f"INSERT INTO events VALUES {', '.join([row] * n)} ON CONFLICT DO NOTHING"


def _begins(writes: Connection) -> bool:
    """Begin a transaction, and return True; return False if another program holds the write lock."""
    try:
        writes.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if _is_locked(error):
            return False
        raise
    return True


def _is_locked(error: sqlite3.Error) -> bool:
    """Return whether a statement failed because another connection holds the lock."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_BUSY
