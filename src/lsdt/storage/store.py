"""The interface of a store: logs of events by name, snapshots of their states, and leases to write to them.

The invariants, which the contract suite in ``tests/storage`` checks for every store:

1. *Acknowledged means durable.* When `Store.commit` (or `Lease.append`) returns, everything inserted before
   is in the log, and with ``durability="full"`` on the disk. No request is answered earlier.
2. *The log is the state.* A snapshot belongs to a position; applying the events after it, in the order of
   their positions, gives the state. Readers see committed events only.
3. *Once.* A decision is asked once and closed once (told, cancelled or expired). Unique indexes of the
   database enforce it: `insert` says for each event whether it was new, and skips those that were not.
4. *A repeat waits for the original.* A request whose event is already in the log is answered after the next
   `commit`, not before, as the original may be in the group that is being committed.
5. *Fail-stop.* If a commit or an insert fails for any reason other than (3), every call raises `StoreFailed`
   until the store is opened again. Nothing is retried, so nothing is half written. A commit has also failed
   if the file was removed or replaced, or if a server or another program blocked it for longer than the
   patience of the store.
6. *One writer per lease.* A name has at most one exclusive lease. An SQLite file has one writing process; a
   second is refused at once, with the process id of the first. The child of a fork is refused.
7. *Schemas go forward*, in one transaction; a program refuses a schema newer than itself.

Group commit needs no timer: call `insert` where decisions are made and `commit` in another thread, and gather
the next group while the commit runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_positive, checked_text, checked_word
from lsdt.errors import DamagedStore, InvalidInput, MissingDependency, suggest
from lsdt.storage.events import START, Event, first_link, new_epoch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lsdt.storage.events import Entry

    # Scope, key, value, and a value that it may replace.
    Note = tuple[str, str, bytes] | tuple[str, str, bytes, bytes | None]

DURABILITIES = ("full", "process")
UNITS = "units "  # scopes begin with it
_LONGEST_NAME = 200  # characters; chosen to keep names readable in URLs, pages and messages
_SCHEMES = ("memory", "sqlite", "postgresql")


def units_scope(number: int) -> str:
    """Return the scope of the notes about the units of an experiment."""
    return f"{UNITS}{number}"


class ExperimentRecord(NamedTuple):
    """An experiment as a store lists it.

    Attributes
    ----------
    name : str
        Unique in its store.
    created : int
        Microseconds since 1970.
    about : str
        The settings of the experiment, as text that the store does not interpret.
    compacted : int
        The position up to which events have been replaced by a snapshot.
    number : int
        Its number in the store. Numbers are never reused, unlike names.
    is_whole : bool
        Whether the record matches its checksum.
    """

    name: str
    created: int
    about: str
    compacted: int
    number: int
    is_whole: bool = True

    def check(self) -> None:
        """Raise `DamagedStore` if the record does not match its checksum."""
        if not self.is_whole:
            raise DamagedStore(
                f"the record of the experiment {self.name!r} does not match its checksum: its time of "
                "creation, its settings, or how far its log is compacted; restore the store from a backup"
            )


class Snapshot(NamedTuple):
    """The state after all events up to a position, as bytes that the store does not interpret."""

    position: int
    time: int
    blob: bytes


class LogCursor:
    """How far the log of experiment `number` has been read, and the last link of each writer up to there."""

    __slots__ = ("links", "name", "number", "position")

    def __init__(self, name: str, number: int, position: int, links: dict[int, bytes]) -> None:
        self.name, self.number, self.position, self.links = name, number, position, links


class Lease:
    """The right to write to the log of one experiment, and the end of its chain of checksums.

    Each lease draws a random `writer`, which its events carry. Replicas recognise their own events by it, and
    it tells decisions made before a backup was restored from those made after it. `number` is the number of
    the experiment, `link` the checksum of the last event of this writer, and `position` the last position of
    the log, in stores that count positions themselves.
    """

    __slots__ = ("exclusive", "link", "name", "number", "position", "store", "writer")

    def __init__(self, store: Store, name: str, number: int, exclusive: bool) -> None:
        self.store, self.name, self.number = store, name, number
        self.writer, self.exclusive = new_epoch(), exclusive
        self.link, self.position = first_link(self.writer), START

    def insert(self, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction; return for each whether it was new."""
        return self.store.insert(self, events)

    def append(self, events: Sequence[Event]) -> Sequence[bool]:
        """Insert events and commit."""
        new = self.store.insert(self, events)
        self.store.commit()
        return new

    def release(self) -> None:
        """Give up the right to write."""
        self.store.release(self)


class Store(ABC):
    """Logs of events by name; the docstring of this module lists what every store guarantees.

    Positions are integers that increase in the order in which events are applied, the same for every reader;
    `START` is the position before the first event. Methods may be called from several threads.

    Attributes
    ----------
    url : str
        The URL, without a password.
    durability : {'full', 'process'}
        Whether a commit waits for the disk (``'full'``), or only passes data to the operating system, so that
        the last commits survive a crash of the process but not of the machine.
    is_shared : bool
        Whether several processes may write to one experiment, each with a lease that is not exclusive.
    path : Path or None
        The file of the store, if it has one.
    """

    url: str
    durability: str
    is_shared: bool = False
    path: Path | None = None

    # ---------------------------------------------------------------- names

    @abstractmethod
    def create(self, name: str, about: str, blob: bytes) -> None:
        """Create an experiment with its settings and its state before the first event.

        It is durable when this returns. Raises `InvalidInput` if the name exists.
        """

    @abstractmethod
    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments, sorted by name."""

    def find(self, name: str) -> ExperimentRecord | None:
        """Return one experiment, or None; raise `DamagedStore` if it does not match its checksum."""
        found = next((each for each in self.list() if each.name == name), None)
        if found is not None:
            found.check()
        return found

    @abstractmethod
    def number(self, name: str) -> int:
        """Return the number of an experiment: numbers are never reused, names may be.

        Never cached: another process may have deleted the experiment and created one of the same name.
        """

    @abstractmethod
    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment, its log, snapshots and units; raise `StoreLocked` while a lease is held.

        With a `number`, raise `InvalidInput` if the experiment of this name has another number.
        """

    # ---------------------------------------------------------------- writing

    @abstractmethod
    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return a lease, the right to write to the log of an experiment.

        Parameters
        ----------
        name : str
            An existing experiment.
        exclusive : bool
            Whether no other lease may exist at the same time: for agents, and for policies that only one
            replica decides for. Stores with a single writing process refuse leases that are not exclusive.
        """

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """Release a lease; events inserted and not committed stay in the open transaction."""

    @abstractmethod
    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction, in this order; return for each whether it was new.

        An event is not new if it asks a number that was asked before, or closes a decision that is closed;
        it is skipped and the others are inserted. Begins a transaction if none is open. Does not wait for
        the disk.
        """

    @abstractmethod
    def commit(self) -> None:
        """Make everything inserted so far durable; return at once if nothing was inserted.

        May be called in another thread than `insert`, but not at the same time.
        """

    @contextmanager
    def writing_at_once(self) -> Iterator[bool]:
        """Yield whether `insert` can write inside the block without waiting for another thread or program.

        For event loops, which must not block: if False, call `wait_to_write` in a thread and try again.
        """
        yield True

    def wait_to_write(self) -> None:
        """Wait until `insert` can write without waiting, up to the patience of the store."""
        return

    def verify(self) -> None:
        """Raise `StoreFailed` if the open files are no longer those of the URL; `commit` checks this too."""
        return

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is inserted inside at the end, all or nothing; other threads wait."""
        yield
        self.commit()

    def open_transactions(self) -> tuple[int, int]:
        """Return the oldest transaction that runs, and the next one: readers see what is before the oldest.

        Where nobody else writes there is nothing to wait for.
        """
        return 0, 0

    @abstractmethod
    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of `n` consecutive decision numbers that no other caller gets.

        The reservation is durable when this returns: a number reserved but never asked is a gap, and is not
        given out again.
        """

    # ---------------------------------------------------------------- reading

    @abstractmethod
    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events after a position, in the order in which they apply, in batches.

        Checksums are verified; a damaged log raises `DamagedStore`.

        Parameters
        ----------
        name : str
            The experiment.
        after : int
            A position, such as that of a snapshot or of the last event read.
        settled : bool
            Stop before events that one still being committed may precede. Replicas that follow a log need
            this; the holder of an exclusive lease does not.
        batch : int
            The maximum size of a batch.
        """

    @abstractmethod
    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last `n` committed events (up to a position, if one is given), the oldest first.

        Takes time in proportion to `n`, however long the log is. Checksums are verified.
        """

    def cursor(self, name: str, position: int) -> LogCursor:
        """Return a cursor at a position, for `read_new`."""
        return LogCursor(name, self.number(name), position, {})

    @abstractmethod
    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the settled events after each cursor, at most `batch` for each, and advance the cursors.

        It is for following many logs that other processes write to. A deleted experiment has no new events,
        even if its name was reused.
        """

    @abstractmethod
    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert an event of kind ``SNAPSHOT`` and the state after it; `commit` makes both durable.

        `latest` then returns it. A replica, which may not have applied everything before its own event, gives
        the `position` up to which it has applied the log; then no event is inserted.
        """

    @abstractmethod
    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest undamaged snapshot (before a position, if one is given), or None.

        The state before the first event is a snapshot too, at `START`.
        """

    @abstractmethod
    def compact(self, name: str) -> int:
        """Remove the events and snapshots before the second newest snapshot; return the number of events.

        That snapshot and all events from it on stay, in case the newest is damaged. Commits.
        """

    # ---------------------------------------------------------------- notes

    @abstractmethod
    def remember(self, scope: str, key: str, value: bytes, instead: bytes | None = None) -> bool:
        """Insert a note into the open transaction unless its key exists; return whether it was new.

        With `instead`, replace the note that has this value; do nothing if there is none.

        Notes hold what must be as durable as the events it belongs to: answers by idempotency key, access
        keys, settings.
        """

    def remember_many(self, notes: Sequence[Note]) -> Sequence[bool]:
        """Insert many notes, as `remember` does; return for each whether it was new."""
        return [self.remember(*note) for note in notes]

    @abstractmethod
    def take_back(self, notes: Sequence[tuple[str, str]]) -> None:
        """Remove notes, by scope and key, that the open transaction inserted; commit nothing."""

    @abstractmethod
    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return the committed notes of a scope by key; with a key, at most that one."""

    def check_notes(self, but: Sequence[str]) -> None:  # noqa: B027
        """Raise `DamagedStore` if a note is damaged; skip scopes that begin with one of `but`, often huge.

        `recall` checks only the notes it returns, and does not find a note whose scope was changed.
        """

    @abstractmethod
    def forget(self, scope: str, key: str | None = None, before: int | None = None, prefix: str = "") -> int:
        """Remove notes of a scope and commit; return how many.

        All of them, or one key, those older than `before`, those whose key begins with `prefix`.
        """

    # ---------------------------------------------------------------- the end

    @abstractmethod
    def share(self) -> None:
        """Increment the number of users; the store closes when each has called `close`."""

    @abstractmethod
    def close(self) -> None:
        """Commit what is inserted; close the store if no other user is left."""

    @abstractmethod
    def discard(self) -> None:
        """Close a store that has failed, even if it has other users; nothing more is written."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def open_store(
    url: Any, *, durability: str = "full", read_only: bool = False, patience: float | None = None
) -> Store:
    """Return the store of a URL.

    Parameters
    ----------
    url : str
        ``memory://`` (a new store; ``memory://NAME`` is shared by name within this process),
        ``sqlite:///file.db`` (a relative path; ``sqlite:////var/file.db`` is absolute), or
        ``postgresql://user@host/database``, which needs the extra ``lsdt[postgresql]``.
    durability : {'full', 'process'}
        Whether a commit waits for the disk.
    read_only : bool
        Whether the store is only read: no lock is taken, and another process may be writing.
    patience : float, optional
        How many seconds the store waits before it fails: for another program that holds the write lock of an
        SQLite file (60 by default), or for a silent PostgreSQL server (15).

    Examples
    --------
    >>> from lsdt.storage import open_store
    >>> with open_store("memory://") as store:
    ...     store.create("drinks", "an example", b"state")
    ...     store.list()[0].name
    'drinks'
    """
    text = checked_text(url, "url", ", such as 'sqlite:///lsdt.db'")
    checked_word(durability, "durability", DURABILITIES)
    if patience is not None:
        patience = checked_positive(patience, "patience", ", in seconds")
    scheme, found, rest = text.partition("://")
    if not found or scheme not in (*_SCHEMES, "postgres"):
        raise InvalidInput(
            "a store is memory://, sqlite:///file.db or postgresql://user@host/database; got "
            f"{text!r}{suggest(scheme, _SCHEMES)}"
        )
    if scheme == "memory":
        from lsdt.storage.memory import open_memory

        return open_memory(rest, durability)
    if scheme == "sqlite":
        from lsdt.storage.sqlite import open_sqlite

        return open_sqlite(rest, durability, read_only, patience)
    try:
        from lsdt.storage.postgresql import PostgresqlStore
    except ImportError:
        raise MissingDependency(
            "postgresql:// needs the driver psycopg: pip install 'lsdt[postgresql]'"
        ) from None
    return PostgresqlStore(text, durability, read_only, patience)


def checked_name(name: Any) -> str:
    """Return a valid name of an experiment, or raise `InvalidInput`."""
    text = checked_text(name, "name", ", the name of an experiment")
    if len(text) > _LONGEST_NAME or not text.isprintable() or text != text.strip() or "/" in text:
        raise InvalidInput(
            f"name must be at most {_LONGEST_NAME} printable characters without a slash, and no space at "
            f"either end; got {name!r}"
        )
    return text


def no_experiment(name: str, names: Sequence[str], url: str) -> InvalidInput:
    """Return the error for an unknown name; it lists the experiments of the store."""
    there = "there are none" if not names else "there are " + ", ".join(map(repr, names[:10]))
    return InvalidInput(f"there is no experiment {name!r} in {url}; {there}{suggest(name, names)}")


def another(name: str) -> InvalidInput:
    """Return the error for an experiment that was deleted and its name reused."""
    return InvalidInput(f"the experiment {name!r} was deleted, and another one was created under its name")
