"""The two connections of a store in a database, and how it stops at the first failure.

One connection writes and the other reads, so that reading never waits for a commit. Any error while writing
ends the store: nothing is retried, and every later call raises until the store is opened again.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from lsdt.errors import InvalidFile, InvalidInput, LsdtError, StoreFailed
from lsdt.storage.forks import FORKED, watch_forks
from lsdt.storage.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from lsdt.storage.postgresql_connection import PatientConnection
    from lsdt.storage.store import Lease

    Connection = sqlite3.Connection | PatientConnection

_INTERRUPTED = "the store was interrupted while it wrote; open it again"


class FailStopStore(Store):
    """A store on two connections; subclasses open them.

    Parameters
    ----------
    url : str
        The URL, without a password.
    shown : str
        How messages name the store.
    durability : {'full', 'process'}
        Whether a commit waits for the disk.
    patience : float
        How many seconds the store waits for other programs, or for the server, before it fails.
    """

    _errors: ClassVar[tuple[type[Exception], ...]]  # what the driver raises
    _unreadable: ClassVar[type[LsdtError]]  # what is raised when reading fails
    _remedy: ClassVar[str]  # what users should make sure of after a failure
    _reads: Connection
    _writes: Connection | None = None  # None in a store that is open for reading only

    def __init__(self, url: str, shown: str, durability: str, patience: float) -> None:
        self.url, self._shown, self.durability, self._patience = url, shown, durability, patience
        self._failed, self._torn = "", False
        self._n_users = 1
        self._lock, self._read_lock = RLock(), RLock()
        self._leases: dict[int, Lease] = {}  # by writer
        watch_forks(self)

    @abstractmethod
    def _begin(self, writes: Connection) -> None:
        """Begin a transaction."""

    def _commit(self, writes: Connection) -> None:
        """Commit the transaction; raise if the commit must not be acknowledged."""
        writes.commit()

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Disconnect if the store cannot be opened; raise errors of the driver as `InvalidFile`."""
        try:
            yield
        except BaseException as error:
            self._disconnect()
            if isinstance(error, self._errors):
                raise InvalidFile(f"cannot open the store {self._shown}: {_said(error)}") from None
            raise

    def _check(self) -> None:
        if self._failed:
            raise StoreFailed(self._failed)

    @property
    def has_failed(self) -> bool:
        """Whether every call raises until the store is opened again."""
        with self._lock:  # `_torn` is also set while another thread writes, which is no failure
            return bool(self._failed) or self._torn

    @contextmanager
    def _writing(self, *, commit: bool = False) -> Iterator[Connection]:
        """Yield the writing connection, in a transaction; any exception inside ends the store."""
        with self._lock:
            self._check()
            if self._torn:
                raise StoreFailed(_INTERRUPTED)
            writes = self._writes
            if writes is None:
                raise InvalidInput(f"the store {self._shown} is open for reading only")
            self._torn = True  # checked by writers only, so that readers continue meanwhile
            try:
                if not writes.in_transaction:
                    self._begin(writes)
                yield writes
                if commit:
                    self._commit(writes)
            except BaseException as error:
                self._fail(writes, error)
                raise
            self._torn = False

    def _fail(self, writes: Connection, error: BaseException) -> None:
        """Remember a failure and roll back; raise errors of the driver as `StoreFailed`."""
        self._failed = str(error) if isinstance(error, StoreFailed) else _INTERRUPTED
        with suppress(*self._errors):
            writes.rollback()
        if isinstance(error, self._errors):
            self._failed = (
                f"the store {self._shown} failed: {_said(error)}; make sure that {self._remedy}, then "
                "open it again: everything that was answered is in it"
            )
            raise StoreFailed(self._failed) from error

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query finds in committed data."""
        with self._read_lock:
            self._check()
            try:
                rows: list[Any] = self._reads.execute(statement, values).fetchall()
            except self._errors as error:
                raise self._unreadable(f"the store {self._shown} cannot be read: {_said(error)}") from None
            return rows

    # ---------------------------------------------------------------- transactions

    def commit(self) -> None:
        """Wait until everything inserted is durable."""
        with self._lock:
            self._check()
            if self._writes is not None and self._writes.in_transaction:
                with self._writing(commit=True):
                    pass

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is inserted inside; an exception rolls it back and ends the store."""
        with self._lock:
            try:
                yield
            except BaseException as error:
                if not self._failed and self._writes is not None and self._writes.in_transaction:
                    self._fail(self._writes, error)
                raise
            self.commit()

    # ---------------------------------------------------------------- the end

    def share(self) -> None:
        """Increment the number of users."""
        with self._lock:
            self._n_users += 1

    def close(self) -> None:
        """Commit and disconnect, if no other user is left."""
        with self._lock:
            self._n_users -= 1
            if self._n_users > 0:
                return
            try:
                if not self.has_failed:
                    self.commit()
                    self.verify()
            finally:
                self._end("the store is closed; open it again")

    def discard(self) -> None:
        """Disconnect without a commit; locks are released with the connections."""
        self._end("the store was given up; open it again")

    def _end(self, reason: str) -> None:
        self._leases.clear()
        if self._failed != FORKED:  # the connections belong to the parent
            self._disconnect()
        self._failed = self._failed or reason

    def _disconnect(self) -> None:
        """Close those connections that were opened."""
        for name in ("_reads", "_writes"):
            connection = getattr(self, name, None)
            if connection is not None:
                with suppress(Exception):
                    connection.close()

    def forked(self) -> None:
        """Make every later call raise: this process is a child of the one that opened the store."""
        self._failed = FORKED
        self._lock, self._read_lock = RLock(), RLock()


def _said(error: BaseException) -> str:
    """Return the message of a driver's error; SQLite may quote bytes of a damaged file that do not decode."""
    return "the file is damaged" if isinstance(error, UnicodeDecodeError) else str(error).strip()
