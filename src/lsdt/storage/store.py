"""What a store is: logs of events under names, snapshots beside them, and who may write.

The invariants, which the contract suite in ``tests/storage`` holds every store to:

1. *Answered means kept.* When `Store.commit` (or `Lease.append`) returns, everything inserted before is in
   the log, and with ``durability="full"`` on the disk. Nobody is answered before that.
2. *The log is the state.* A snapshot belongs to a position; folding what lies behind it, in the order of
   positions, gives the state. A reader never sees what is not committed.
3. *Once.* A decision is asked once and closed once (told, cancelled or expired). Unique indexes of the
   database see to it: `insert` says of every event whether it was new, and leaves out those that were not.
4. *A repeat waits for what it repeats.* Whoever finds that an event is in the log already answers after the
   next `commit`, not before: the first may lie in the same group.
5. *Fail-stop.* After a commit, or an insert, that failed for any reason but (3), every call raises
   `StoreFailed` until the store is opened again. Nothing is tried twice, so nothing is half there. A commit
   into a file that is no longer the one under its name has failed, too, and so has one that a server or
   another program held up for longer than the patience of the store.
6. *One writer per lease.* An exclusive lease of a name is held once. SQLite has one writing process at all;
   a second is refused at once, by the process id of the first. After a fork the child is refused.
7. *Schemas go forward*, in one transaction; a program refuses a schema newer than itself.

A group commit needs no timer: `insert` where the decisions are made, `commit` in another thread, and while it
runs gather the next group instead of inserting it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_positive, checked_text, checked_word
from lsdt.errors import DamagedStore, InvalidInput, suggest
from lsdt.storage.events import START, Event, first_link, new_epoch, row_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lsdt.storage.events import Entry

    Note = tuple[str, str, bytes]  # scope, key, value

DURABILITIES = ("full", "process")
_LONGEST_NAME = 200
_SCHEMES = ("memory", "sqlite", "postgresql")


class ExperimentRecord(NamedTuple):
    """A name in a store.

    Attributes
    ----------
    name : str
        Unique in its store.
    created : int
        When, in microseconds since 1970.
    about : str
        What its maker wrote down: text that the store does not look into.
    compacted : int
        Events up to here are no longer kept one by one; the snapshot there stands for them.
    number : int
        Of the experiment in its store. One that is made under the name of one that was deleted has another.
    is_whole : bool
        Whether all this fits its checksum.
    """

    name: str
    created: int
    about: str
    compacted: int
    number: int
    is_whole: bool = True

    def check(self) -> None:
        """Refuse an experiment whose row in the store was changed."""
        if not self.is_whole:
            raise DamagedStore(
                f"what the store says of the experiment {self.name!r} does not fit its checksum: when it was "
                "made, its settings, or how far its log is compacted; restore the store from a backup"
            )


class Snapshot(NamedTuple):
    """The state after all events up to a position, as bytes that the store does not look into."""

    position: int
    time: int
    blob: bytes


class LogCursor:
    """How far the log of the experiment `number` was read, and the last link of every writer up to there."""

    __slots__ = ("links", "name", "number", "position")

    def __init__(self, name: str, number: int, position: int, links: dict[int, bytes]) -> None:
        self.name, self.number, self.position, self.links = name, number, position, links


class Lease:
    """The right to write to the log of one name, and the chain of checksums of what is written.

    Every lease draws a random `writer`, which its events carry: replicas know their own by it, and decisions
    made before a backup was restored are told from those made after it. `number` is that of the experiment,
    `link` the checksum of the last event.
    """

    __slots__ = ("exclusive", "link", "name", "number", "store", "writer")

    def __init__(self, store: Store, name: str, number: int, exclusive: bool) -> None:
        self.store, self.name, self.number = store, name, number
        self.writer, self.exclusive = new_epoch(), exclusive
        self.link = first_link(self.writer)

    def insert(self, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction; say of each whether it was new."""
        return self.store.insert(self, events)

    def append(self, events: Sequence[Event]) -> Sequence[bool]:
        """Insert events and commit."""
        new = self.store.insert(self, events)
        self.store.commit()
        return new

    def release(self) -> None:
        """Give the right back."""
        self.store.release(self)


class Store(ABC):
    """Logs of events under names; see the module for what every store keeps to.

    Positions are whole numbers that ascend in the order of folding, the same for every reader; `START` lies
    before the first. Methods may be called from several threads.

    Attributes
    ----------
    url : str
        Where it is, without a password.
    durability : {'full', 'process'}
        Whether a commit waits for the disk (``'full'``), or only hands over to the operating system, so that
        the last commits survive the death of the process but not of the machine.
    is_shared : bool
        Whether several processes may write to one experiment, each with a lease that is not exclusive.
    path : Path or None
        The file it is in, where there is one.
    """

    url: str
    durability: str
    is_shared: bool = False
    path: Path | None = None

    # ---------------------------------------------------------------- names

    @abstractmethod
    def create(self, name: str, about: str, blob: bytes) -> None:
        """Begin an experiment: its name, what to write down of it, and its state before the first event.

        It is there, whole, when this returns. A name that exists is refused (`InvalidInput`).
        """

    @abstractmethod
    def list(self) -> tuple[ExperimentRecord, ...]:
        """Return all experiments, by name."""

    def find(self, name: str) -> ExperimentRecord | None:
        """Return one experiment, or None; one that is damaged is refused."""
        found = next((each for each in self.list() if each.name == name), None)
        if found is not None:
            found.check()
        return found

    @abstractmethod
    def number(self, name: str) -> int:
        """Return the number of an experiment: numbers are never given twice, names may be.

        Always looked up: another process may have deleted an experiment, and made one of its name.
        """

    @abstractmethod
    def delete(self, name: str, number: int | None = None) -> None:
        """Remove an experiment, its log and its snapshots. Nobody may hold a lease of it.

        With a `number`, that one or none (`InvalidInput`): not a later one that was given its name.
        """

    # ---------------------------------------------------------------- writing

    @abstractmethod
    def lease(self, name: str, *, exclusive: bool = True) -> Lease:
        """Return the right to write to a log.

        Parameters
        ----------
        name : str
            Of an experiment that exists.
        exclusive : bool
            Whether nobody else may have one: for agents, and for policies that one replica decides for.
            Stores that only one process writes to refuse leases that are not exclusive.
        """

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """Take a lease back; what was inserted and not committed stays in the open transaction."""

    @abstractmethod
    def insert(self, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Put events into the open transaction, in this order; say of each whether it was new.

        Not new is an ask of a number that was asked before, and the closing of a decision that is closed; the
        others are inserted all the same. Begins a transaction where none is open. Fast: it waits for no disk.
        """

    @abstractmethod
    def commit(self) -> None:
        """Make everything that was inserted durable; with nothing inserted, return at once.

        May be called in another thread than `insert`, but not at the same time.
        """

    @contextmanager
    def writing_at_once(self) -> Iterator[bool]:
        """Yield whether `insert` can write without waiting for another thread or program; then it can inside.

        For event loops, which must not wait: if it cannot, call `wait_to_write` in a thread and try again.
        """
        yield True

    def wait_to_write(self) -> None:
        """Wait until `insert` can write without waiting, within the patience of the store."""
        return

    def verify(self) -> None:
        """Raise `StoreFailed` if what is open is no longer what the URL leads to; a commit looks itself."""
        return

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is inserted inside at the end, all of it or nothing; other threads wait."""
        yield
        self.commit()

    @abstractmethod
    def reserve_numbers(self, lease: Lease, n: int) -> int:
        """Return the first of `n` consecutive numbers for decisions that nobody else gets.

        Durable when it returns: a number that was reserved and never asked is a gap, not a repeat.
        """

    # ---------------------------------------------------------------- reading

    @abstractmethod
    def read(
        self, name: str, after: int = START, *, settled: bool = False, batch: int = 10_000
    ) -> Iterator[Sequence[Entry]]:
        """Yield the committed events behind a position, in the order of folding, in batches.

        Checksums are compared; a damaged log is refused (`InvalidFile`).

        Parameters
        ----------
        name : str
            The experiment.
        after : int
            A position, such as that of a snapshot or of the last event that was read.
        settled : bool
            Leave out events that others, still being committed, may come before. Replicas that tail a log go
            by it; whoever holds an exclusive lease need not.
        batch : int
            At most so many events at once.
        """

    @abstractmethod
    def last(self, name: str, n: int, upto: int | None = None) -> Sequence[Entry]:
        """Return the last `n` committed events, the oldest first; of those up to a position, if one is given.

        Takes as long as `n` events do, however long the log. Checksums are compared.
        """

    def cursor(self, name: str, position: int) -> LogCursor:
        """Return a cursor to read on from with `read_new`."""
        return LogCursor(name, self.number(name), position, {})

    @abstractmethod
    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the settled events behind each cursor, at most `batch` of each, and move the cursors on.

        For those who follow logs that others write to: many logs, looked at again and again. Of an experiment
        that was deleted there is nothing new, whoever was given its name.
        """

    @abstractmethod
    def snapshot(self, lease: Lease, event: Event, blob: bytes, position: int | None = None) -> None:
        """Insert an event of kind ``SNAPSHOT``, and the state after it; `commit` makes both durable.

        `latest` then returns it. A replica, which has not folded all that comes before an event of its own,
        says instead up to which `position` it has; then no event is inserted.
        """

    @abstractmethod
    def latest(self, name: str, before: int | None = None) -> Snapshot | None:
        """Return the newest snapshot that is whole (of those before a position), or None.

        The state before the first event is a snapshot too, at `START`.
        """

    @abstractmethod
    def compact(self, name: str) -> int:
        """Remove the events and snapshots that the newest snapshot but one makes superfluous.

        One older snapshot stays, with all events from it on, in case the newest is damaged. Asks that are not
        closed stay. Returns how many events went. Commits.
        """

    # ---------------------------------------------------------------- notes

    @abstractmethod
    def remember(self, scope: str, key: str, value: bytes) -> bool:
        """Keep a note in the open transaction, unless there is one under this key; say whether it was new.

        For what must be as durable as the events it goes with: answers by idempotency key, keys, settings.
        """

    def remember_many(self, notes: Sequence[Note]) -> Sequence[bool]:
        """Keep many notes, as `remember` does; say of each whether it was new."""
        return [self.remember(*note) for note in notes]

    @abstractmethod
    def recall(self, scope: str, key: str | None = None) -> dict[str, bytes]:
        """Return the committed notes of a scope by key; with a key, that one or none."""

    def check_notes(self, but: str) -> None:  # noqa: B027
        """Refuse damaged notes, but those of scopes that begin with `but`, which may be very many.

        `recall` checks the notes that it returns. One whose scope was changed it does not find.
        """

    @abstractmethod
    def forget(self, scope: str, key: str | None = None, before: int | None = None) -> int:
        """Remove the notes of a scope: all, one key, or those older than a time. Commits; says how many."""

    # ---------------------------------------------------------------- the end

    @abstractmethod
    def share(self) -> None:
        """Count one more who will call `close`; the last call closes."""

    @abstractmethod
    def close(self) -> None:
        """Commit what is inserted and, with the last of those who share it, let the store go."""

    @abstractmethod
    def discard(self) -> None:
        """Let a store go that has failed, whoever still has it; nothing more is written."""

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
        ``memory://`` (a new one; ``memory://NAME`` the one of that name in this process),
        ``sqlite:///file.db`` (a path from here; ``sqlite:////var/file.db`` from the root), or
        ``postgresql://user@host/database``, which needs the extra ``lsdt[postgresql]``.
    durability : {'full', 'process'}
        Whether a commit waits for the disk.
    read_only : bool
        Only read: no lock is taken, and a writer may be at work.
    patience : float, optional
        How many seconds others may keep the store waiting before it fails: another program that holds the
        write lock of an SQLite file (60 by default), a PostgreSQL server that is silent (15).

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
    from lsdt.storage.postgresql import open_postgresql

    return open_postgresql(text, durability, read_only, patience)


def checked_name(name: Any) -> str:
    """Return the name of an experiment, or say what is accepted."""
    text = checked_text(name, "name", ", the name of an experiment")
    if len(text) > _LONGEST_NAME or not text.isprintable() or text != text.strip() or "/" in text:
        raise InvalidInput(
            f"name must be at most {_LONGEST_NAME} printable characters without a slash, and no space at "
            f"either end; got {name!r}"
        )
    return text


def experiment_checksum(
    name: str, created: int, about: str, compacted: int, number: int, reserved: int
) -> bytes:
    """Return the checksum of all that a store says of an experiment."""
    return row_checksum((name, created, compacted, number, reserved), about.encode())


def experiment_of(
    name: str, created: int, about: str, compacted: int, number: int, reserved: int, checksum: bytes
) -> ExperimentRecord:
    """Return an experiment as its row in a database has it."""
    fits = experiment_checksum(name, created, about, compacted, number, reserved) == checksum
    return ExperimentRecord(name, created, about, compacted, number, fits)


def no_experiment(name: str, names: Sequence[str], url: str) -> InvalidInput:
    """Return the error that says which experiments there are."""
    there = "there are none" if not names else "there are " + ", ".join(map(repr, names[:10]))
    return InvalidInput(f"there is no experiment {name!r} in {url}; {there}{suggest(name, names)}")


def another(name: str) -> InvalidInput:
    """Return the error for whoever means an experiment that was deleted, and whose name has another now."""
    return InvalidInput(f"the experiment {name!r} was deleted, and another one made under its name")
