"""Groups of answers made durable in a log that other replicas write to as well.

As in `group_commit` there is no timer: while one group is written the next one gathers. Everything that talks
to the database is in one thread, since it waits for the network: the group is written in one transaction,
then what is new in the logs, from whichever replica, is read and, back on the loop, applied. Only then are
requests answered, so that clients read their own writes.

Which events and notes are new is for the unique indexes of the database to say.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent import Batch, SharedJournal, insert_batch, insert_units
from lsdt.errors import StoreFailed
from lsdt.service.hosting.group_commit import CommitResult, GroupCommit, WaitingRequest, lease_of
from lsdt.storage import CLOSING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from lsdt.agent import Agent, UnitNote
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Entry, Event, Lease, Store

_PAUSE = 0.01  # seconds between two looks at transactions that are still open: about one of them
_BATCH = 2_000  # events applied on the loop at once: some 12 ms, in which no request is read


class _Written(NamedTuple):
    """What became of a group."""

    outcomes: list[CommitResult]
    reserved: list[tuple[SharedJournal, int, int]]
    entries: Sequence[Sequence[Entry]]


class SharedCommit(GroupCommit):
    """Makes changes of replicas durable, in groups, and tells replicas of the changes of others.

    Parameters
    ----------
    store : Store
        One that several may write to.
    metrics : Metrics
        Counts commits.
    most_waiting : int
        How many requests may wait for their commit.
    followed : callable
        Returns the agents whose logs are to be read.
    apply : callable
        Called on the loop with an agent and what is new in its log.
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        most_waiting: int,
        followed: Callable[[], list[Agent]],
        apply: Callable[[Agent, Sequence[Entry]], None],
    ) -> None:
        super().__init__(store, metrics, most_waiting)
        self._followed, self._apply = followed, apply
        self._wanted: dict[SharedJournal, int] = {}  # numbers that requests wait for
        self._is_look = False
        self._is_behind = False  # whether a log had more than one look reads

    def _batch_of(self, agent: Agent) -> Batch:
        """Return the events of one request; the log says for each whether it was new."""
        return agent.drain()

    async def look(self) -> None:
        """Apply what is new in the logs."""
        self._is_look = True
        await self.durable()

    async def catch_up(self, patience: float = 0.0) -> bool:
        """Apply everything that is in the logs by now; wait for older transactions, but not for long."""
        if patience:
            limit, (_, newest) = monotonic() + patience, await self._open_transactions()
            while (await self._open_transactions())[0] < newest and monotonic() < limit:
                await asyncio.sleep(_PAUSE)
        await self.look()
        while self._is_behind:
            await self.look()
        return True

    async def _open_transactions(self) -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._store.open_transactions)

    async def quiesce(self, agent: Agent) -> None:
        """Wait until what is being applied was; see `GroupCommit.quiesce`."""
        await self.look()

    def lacks_numbers(self, agent: Agent, n: int) -> bool:
        """Return whether an agent has too few numbers for `n` decisions."""
        return _journal(agent).n_numbers < n

    async def numbers(self, agent: Agent, n: int) -> None:
        """Wait until an agent has numbers for this many decisions."""
        while self.lacks_numbers(agent, n):
            journal = _journal(agent)
            self._wanted[journal] = max(n, self._wanted.get(journal, 0))
            await self.look()

    def _begin(self) -> None:
        units, self._units = self._units, []
        is_look, self._is_look = self._is_look, False
        if not is_look and not any(unit.note or has_events(unit) for unit in units):
            self._finish(units)  # repeats, and what they repeat is durable
            return
        agents = self._followed()
        wanted, self._wanted = self._wanted, {}
        needs = []
        for journal in map(_journal, agents):
            n = wanted.get(journal, 0)
            if journal.n_numbers < max(journal.n_block // 2, n):
                needs.append((journal, max(journal.n_block, n)))
        self._began = perf_counter()
        job = asyncio.get_running_loop().run_in_executor(self._thread, self._write, units, agents, needs)
        job.add_done_callback(partial(self._written, units, agents))

    def _write(
        self, units: list[WaitingRequest], agents: list[Agent], needs: list[tuple[SharedJournal, int]]
    ) -> _Written:
        """Write a group, and read what is new; runs in the thread."""
        store, reserved = self._store, []
        with store.transaction():
            outcomes = write_units(store, units)
            for journal, n in needs:
                if journal.lease is not None:
                    reserved.append((journal, store.reserve_numbers(journal.lease, n), n))
        return _Written(
            outcomes, reserved, store.read_new([_journal(agent).cursor for agent in agents], _BATCH)
        )

    def _written(
        self, units: list[WaitingRequest], agents: list[Agent], job: asyncio.Future[_Written]
    ) -> None:
        error = job.exception()
        if error is None:
            written = job.result()
            if any(map(has_events, units)):
                self._metrics.commit(perf_counter() - self._began, len(units))
            try:
                self._take(written, units, agents)
            except Exception as failed:
                error = failed
            else:
                self._finish(units, written.outcomes)
                return
        self.fail(error, units)

    def _take(self, written: _Written, units: list[WaitingRequest], agents: list[Agent]) -> None:
        """Apply what was read, after decisions that another replica made already are released."""
        for journal, first, n in written.reserved:
            journal.add_numbers(first, n)
        for unit, outcome in zip(units, written.outcomes, strict=True):
            for token, value in outcome.assigned:
                assert unit.agent is not None
                _journal(unit.agent).settle_unit(token, value)
            is_written = outcome.stored is None and not outcome.is_taken
            if not is_written and unit.agent is not None and unit.batch is not None:
                unit.agent.release(unit.batch.events)
        self._is_behind = any(len(entries) == _BATCH for entries in written.entries)
        self._is_look = self._is_look or self._is_behind
        for agent, entries in zip(agents, written.entries, strict=True):
            if entries:
                self._apply(agent, entries)

    def fail(self, error: BaseException, units: Sequence[WaitingRequest] = ()) -> None:
        """Refuse everything from now on; the service logs it when it begins to recover."""
        self.failure = str(error) or type(error).__name__
        super().fail(error, units)

    def _is_wanted(self) -> bool:
        return bool(self._units) or self._is_look


def _journal(agent: Agent) -> SharedJournal:
    assert isinstance(agent.journal, SharedJournal)
    return agent.journal


def has_events(unit: WaitingRequest) -> bool:
    """Return whether a request has events or a snapshot to write."""
    return unit.batch is not None and any(unit.batch)


def write_units(store: Store, units: Sequence[WaitingRequest]) -> list[CommitResult]:
    """Insert what requests have to be kept into the open transaction, and say what was new.

    Two replicas never wait for each other in a ring: notes come first, then units, each in the order of their
    keys; then experiments in the order of their names, in each the ends of decisions in the order of their
    numbers. Notes are first because a repeat must not give its unit an arm: its ask is not written, so no
    other replica would hear of it.
    """
    stored = _write_notes(store, units)
    assigned, taken = _write_assignments(store, units, stored)
    store.take_back([note[:2] for at in taken if (note := units[at].note) is not None])
    n_repeats = [0] * len(units)
    by_lease: dict[Lease, list[int]] = defaultdict(list)
    for at, unit in enumerate(units):
        if unit.agent is not None and has_events(unit) and at not in stored and at not in taken:
            by_lease[lease_of(unit.agent)].append(at)
    for lease in sorted(by_lease, key=lambda lease: lease.name):
        _write_events(lease, units, by_lease[lease], n_repeats)
    return [
        CommitResult(n_repeats[at], stored.get(at), at in taken, assigned.get(at, ()))
        for at in range(len(units))
    ]


def _write_assignments(
    store: Store, units: Sequence[WaitingRequest], stored: Container[int]
) -> tuple[dict[int, list[tuple[bytes, bytes]]], set[int]]:
    """Insert the arms of units that asked, and return what the store has of them, by place of the request.

    Of repeats, which are in `stored`, nothing is inserted; that their units are to be looked up says an empty
    row. The second answer has the requests that are to ask again, as another replica was faster.
    """
    gathered: dict[SharedJournal, list[tuple[int, UnitNote]]] = defaultdict(list)
    assigned: dict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
    taken: set[int] = set()
    for at, unit in enumerate(units):
        if unit.agent is None or unit.batch is None or not unit.batch.units:
            continue
        if at in stored:
            assigned[at] = [(note.token, b"") for note in unit.batch.units]
        else:
            gathered[_journal(unit.agent)] += [(at, note) for note in unit.batch.units]
    for journal in sorted(gathered, key=lambda journal: journal.units.scope):
        notes = gathered[journal]
        found = insert_units(store, journal.units.scope, [note for _, note in notes])
        for at, note in notes:
            assigned[at].append((note.token, found.get(note.number, note.value)))
            if note.number in found:
                taken.add(at)
    return assigned, taken


def _write_notes(store: Store, units: Sequence[WaitingRequest]) -> dict[int, bytes]:
    """Insert the notes of a group; return what is kept already, by the place of the request."""
    noted = [(at, unit.note) for at, unit in enumerate(units) if unit.note is not None]
    if not noted:
        return {}
    stored = {}
    fresh = store.remember_many([note for _, note in noted])
    for (at, (scope, key, _)), new in zip(noted, fresh, strict=True):
        if not new:
            kept = store.recall(scope, key)
            if key not in kept:
                raise StoreFailed(f"the answer under the key {key!r} was forgotten just now")
            stored[at] = kept[key]
    return stored


def _write_events(
    lease: Lease, units: Sequence[WaitingRequest], places: list[int], n_repeats: list[int]
) -> None:
    """Insert the events of one experiment, and its snapshots; count the repeats of each unit."""
    gathered: list[tuple[int, Event]] = []

    def insert(batch: Batch) -> None:
        for (at, _), fresh in zip(gathered, insert_batch(lease, batch), strict=True):
            n_repeats[at] += not fresh
        gathered.clear()

    for at in places:
        batch = units[at].batch
        assert batch is not None
        gathered += [(at, event) for event in batch.events]
        if batch.snapshot is not None:
            insert(Batch(_in_turn(lease, gathered), batch.snapshot))
    insert(Batch(_in_turn(lease, gathered), None))


def _in_turn(lease: Lease, gathered: list[tuple[int, Event]]) -> list[Event]:
    """Return the gathered events as they are written; in a shared log, closing events are last, by number."""
    if not lease.exclusive:
        gathered.sort(key=_turn)
    return [event for _, event in gathered]


def _turn(item: tuple[int, Event]) -> tuple[bool, int]:
    event = item[1]
    return (True, event.number) if event.kind in CLOSING else (False, 0)
