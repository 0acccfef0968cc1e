"""Many answers made durable by one commit, without a timer.

While one commit runs in its thread, decisions go on and their events gather; when it ends they are written,
all at once, and the next commit begins. A busy service thus makes large groups, an idle one commits at once.
Where this process is the only writer, inserting stays on the loop: in the thread it would take the
interpreter away from it. Where another program holds the lock of the store, the thread waits for it, and
requests go on gathering.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent.journal import Batch, insert_batch
from lsdt.errors import StoreFailed
from lsdt.storage.events import CLOSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.agent import Agent
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Event, Lease, Store


class Note(NamedTuple):
    """A note to be kept with the events that it belongs to."""

    scope: str
    key: str
    value: bytes


class Outcome(NamedTuple):
    """What became of a change that is durable now.

    Attributes
    ----------
    n_repeats : int
        How many of its events the log had already: others may have closed the same decisions.
    stored : bytes or None
        What is kept under the key of the note: then this is a repeat, and none of its events were written.
    """

    n_repeats: int = 0
    stored: bytes | None = None


class Unit(NamedTuple):
    """What one request has to be kept: all of it or nothing."""

    agent: Agent | None
    batch: Batch
    note: Note | None
    future: asyncio.Future[Outcome]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write: a repeat, which only waits for what others wrote."""
        return self.note is None and not any(self.batch)


_EMPTY = Batch([], None)
NOTHING_NEW = Outcome()
log = logging.getLogger("lsdt.service")


class GroupCommit:
    """Makes changes of agents durable, in groups; this process is the only one that writes.

    Parameters
    ----------
    store : Store
        Where the agents are.
    metrics : Metrics
        Counts commits.
    most_waiting : int
        How many requests may wait for their commit; more are to be refused (`is_full`).

    Attributes
    ----------
    failure : str
        Why nothing is durable any more; empty while all is well.
    """

    def __init__(self, store: Store, metrics: Metrics, most_waiting: int) -> None:
        self._store, self._metrics, self._most = store, metrics, most_waiting
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lsdt-commit")
        self._units: list[Unit] = []
        self._is_running = False
        self._began = 0.0
        self.failure = ""

    @property
    def n_waiting(self) -> int:
        """How many wait for a commit that has not begun."""
        return len(self._units)

    @property
    def is_full(self) -> bool:
        """Whether so many requests wait that no more should be taken."""
        return len(self._units) >= self._most

    def check(self) -> None:
        """Refuse to go on after a failure: what is in memory may be ahead of the log."""
        if self.failure:
            raise StoreFailed(self.failure)

    def durable(self, agent: Agent | None = None, note: Note | None = None) -> asyncio.Future[Outcome]:
        """Return a future that is done when everything that happened so far is durable.

        Parameters
        ----------
        agent : Agent, optional
            One whose events are to be written. Without it, as for a repeat, only what others did is waited
            for.
        note : Note, optional
            What to keep in the same transaction.
        """
        self.check()
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        batch = _EMPTY if agent is None else agent.drain()
        self._units.append(Unit(agent, batch, note, future))
        self._wake()
        return future

    # ---------------------------------------------------------------- what only shared logs need

    async def look(self) -> None:
        """Apply what others wrote: here nobody else writes."""

    async def catch_up(self) -> bool:
        """Apply all that others wrote so far, and return whether others write at all."""
        return False

    async def quiesce(self, agent: Agent) -> None:
        """Wait until nothing of an agent is to be written, so that a thread can change it for a while."""
        await self.durable(agent)

    def lacks_numbers(self, agent: Agent, n: int) -> bool:
        """Return whether `numbers` has to be awaited before an agent can make `n` decisions."""
        return False

    async def numbers(self, agent: Agent, n: int) -> None:
        """Wait until an agent has numbers for so many decisions."""

    # ---------------------------------------------------------------- groups

    def _wake(self) -> None:
        if not self._is_running:
            self._is_running = True
            # Requests that are answered in this turn of the loop join the group.
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        units, self._units = self._units, []
        if all(unit.is_empty for unit in units):  # repeats, and what they repeat is durable
            self._finish(units, [NOTHING_NEW] * len(units))
            return
        outcomes: list[Outcome] = []
        try:
            with self._store.writing_at_once() as can_write:
                if can_write:
                    outcomes = write_units(self._store, units)
                else:
                    self._units = units
        except Exception as error:
            self.fail(error, units)
            return
        loop = asyncio.get_running_loop()
        if can_write:
            self._began = perf_counter()
            job = loop.run_in_executor(self._thread, self._store.commit)
            job.add_done_callback(partial(self._committed, units, outcomes))
        else:
            job = loop.run_in_executor(self._thread, self._store.wait_to_write)
            job.add_done_callback(self._can_write)

    def _can_write(self, job: asyncio.Future[None]) -> None:
        error = job.exception()
        if error is not None:
            self.fail(error)
        elif not self.failure:
            self._begin()

    def _committed(self, units: list[Unit], outcomes: list[Outcome], job: asyncio.Future[None]) -> None:
        error = job.exception()
        if error is not None or self.failure:
            self.fail(error or StoreFailed(self.failure), units)
            return
        self._metrics.commit(perf_counter() - self._began, len(units))
        self._finish(units, outcomes)

    def fail(self, error: BaseException, units: Sequence[Unit] = ()) -> None:
        """Refuse everything from now on, with the first reason."""
        if not self.failure:
            self.failure = str(error) or type(error).__name__
            log.error("the store failed", extra={"error": self.failure})
        waiting, self._units = [*units, *self._units], []
        self._is_running = False
        for unit in waiting:
            if not unit.future.done():
                unit.future.set_exception(StoreFailed(self.failure))
                unit.future.exception()  # it may never be awaited

    def _finish(self, units: list[Unit], outcomes: list[Outcome]) -> None:
        for unit, outcome in zip(units, outcomes, strict=True):
            if not unit.future.done():  # else its client is gone
                unit.future.set_result(outcome)
        self._is_running = self._is_wanted()
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._begin)

    def _is_wanted(self) -> bool:
        """Return whether another group has to follow."""
        return bool(self._units)

    async def close(self) -> None:
        """Wait until everything is durable, and end the thread."""
        if not self.failure:
            await self.durable()
        self._thread.shutdown()


def write_units(store: Store, units: Sequence[Unit]) -> list[Outcome]:
    """Insert what requests have to be kept into the open transaction, and say what was new.

    Two replicas never wait for each other in a ring: notes come first and in the order of their keys, then
    experiments in the order of their names, in each the ends of decisions in the order of their numbers.
    """
    stored = _write_notes(store, units)
    n_repeats = [0] * len(units)
    by_lease: dict[Lease, list[int]] = defaultdict(list)
    for at, unit in enumerate(units):
        if any(unit.batch) and at not in stored:
            assert unit.agent is not None
            by_lease[_lease(unit.agent)].append(at)
    for lease in sorted(by_lease, key=lambda lease: lease.name):
        _write_events(lease, units, by_lease[lease], n_repeats)
    return [Outcome(n_repeats[at], stored.get(at)) for at in range(len(units))]


def _write_notes(store: Store, units: Sequence[Unit]) -> dict[int, bytes]:
    """Insert the notes of a group; return what is kept already, by the place of the unit."""
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


def _write_events(lease: Lease, units: Sequence[Unit], places: list[int], n_repeats: list[int]) -> None:
    """Insert the events of one experiment, and its snapshots; count the repeats of each unit."""
    gathered: list[tuple[int, Event]] = []

    def insert(batch: Batch) -> None:
        for (at, _), fresh in zip(gathered, insert_batch(lease, batch), strict=True):
            n_repeats[at] += not fresh
        gathered.clear()

    for at in places:
        batch = units[at].batch
        gathered += [(at, event) for event in batch.events]
        if batch.snapshot is not None:
            insert(Batch(_in_turn(lease, gathered), batch.snapshot))
    insert(Batch(_in_turn(lease, gathered), None))


def _in_turn(lease: Lease, gathered: list[tuple[int, Event]]) -> list[Event]:
    """Return the gathered events in the order of writing; of a shared log, ends by number."""
    if not lease.exclusive:
        gathered.sort(key=_turn)
    return [event for _, event in gathered]


def _turn(item: tuple[int, Event]) -> tuple[bool, int]:
    event = item[1]
    return (True, event.number) if event.kind in CLOSING else (False, 0)


def _lease(agent: Agent) -> Lease:
    lease = agent.lease
    if lease is None:
        raise StoreFailed("the agent was closed")
    return lease
