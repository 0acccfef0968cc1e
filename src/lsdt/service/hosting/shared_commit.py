"""Groups of answers made durable in a log that other replicas write to as well.

As in `group_commit` there is no timer: while one group is written the next one gathers. All that talks to the
database is in one thread, since it waits for the network: the group is written in one transaction, then what
is new in the logs, from whomever, is read and, back on the loop, folded. Only then are those who wait
answered, so that whoever was answered finds what he did in what he asks next.

Which events and notes are new is for the unique indexes of the database to say. Two replicas never wait for
each other in a ring: notes come first and in the order of their keys, then experiments in the order of their
names, in each the ends of decisions in the order of their numbers.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent.replica import Replica
from lsdt.errors import StoreFailed
from lsdt.service.hosting.group_commit import GroupCommit, Note, Outcome, call
from lsdt.storage.events import CLOSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.agent import Agent
    from lsdt.agent.agent import Taken
    from lsdt.service.hosting.group_commit import Done
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Entry, Event, Lease, Store

_BATCH = 2_000  # events that are folded on the loop at once
_NOTHING = Outcome()


class _Unit(NamedTuple):
    """What one request has to be kept: all of it or nothing."""

    agent: Agent | None
    taken: Taken | None
    note: Note | None
    done: Done


class _Written(NamedTuple):
    """What became of a group."""

    outcomes: list[Outcome]
    grants: list[tuple[Replica, int, int]]
    news: Sequence[Sequence[Entry]]


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
        Returns the replicas whose logs are to be read.
    fold : callable
        Called on the loop with a replica and what is new in its log.
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        most_waiting: int,
        followed: Callable[[], list[Replica]],
        fold: Callable[[Replica, Sequence[Entry]], None],
    ) -> None:
        super().__init__(store, metrics, most_waiting)
        self._followed, self._fold = followed, fold
        self._units: list[_Unit] = []
        self._wanted: dict[int, int] = {}  # numbers that requests wait for, by the id of the replica
        self._is_look = False
        self._is_behind = False  # of a log, more was there than one look reads

    @property
    def n_waiting(self) -> int:
        """How many wait for a commit that has not begun."""
        return len(self._units)

    def when_durable(self, done: Done, agent: Agent | None = None, note: Note | None = None) -> None:
        """Call `done` when all that happened so far is kept, or cannot be; see `GroupCommit.durable`."""
        self.check()
        self._units.append(_Unit(agent, None if agent is None else agent.take(), note, done))
        self._wake()

    async def look(self) -> None:
        """Fold what is new in the logs."""
        self._is_look = True
        await self.durable()

    async def catch_up(self) -> None:
        """Fold all that is in the logs by now."""
        await self.look()
        while self._is_behind:
            await self.look()

    async def numbers(self, agent: Agent, n: int) -> None:
        """Wait until a replica has numbers for so many decisions."""
        while isinstance(agent, Replica) and not agent.is_follower and agent.n_numbers < n:
            self._wanted[id(agent)] = max(n, self._wanted.get(id(agent), 0))
            await self.look()

    def _begin(self) -> None:
        units, self._units = self._units, []
        is_look, self._is_look = self._is_look, False
        if not is_look and not any(unit.note or (unit.taken and any(unit.taken)) for unit in units):
            self._finish(units, [_NOTHING] * len(units))  # repeats only, and what they repeat is kept
            return
        replicas = self._followed()
        wanted, self._wanted = self._wanted, {}
        needs = [
            (replica, max(replica.n_block, wanted.get(id(replica), 0)))
            for replica in replicas
            if not replica.is_follower
            and replica.n_numbers < max(replica.n_block // 2, wanted.get(id(replica), 0))
        ]
        self._began = perf_counter()
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(self._thread, self._write, units, replicas, needs)
        job.add_done_callback(lambda job: self._written(units, replicas, job))

    # ---------------------------------------------------------------- in the thread

    def _write(
        self, units: list[_Unit], replicas: list[Replica], needs: list[tuple[Replica, int]]
    ) -> _Written:
        store, grants = self._store, []
        with store.transaction():
            stored = self._write_notes(units)
            by_lease: dict[Lease, list[int]] = defaultdict(list)
            for at, unit in enumerate(units):
                if unit.taken is not None and any(unit.taken) and at not in stored:
                    assert unit.agent is not None
                    by_lease[_lease(unit.agent)].append(at)
            new: dict[int, list[bool]] = {at: [] for at in range(len(units))}
            for lease in sorted(by_lease, key=lambda lease: lease.name):
                self._write_events(lease, units, by_lease[lease], new)
            for replica, n in needs:
                grants.append((replica, store.reserve_numbers(_lease(replica), n), n))
        outcomes = [Outcome(new[at], stored.get(at)) for at in range(len(units))]
        return _Written(outcomes, grants, store.read_new([replica.place for replica in replicas], _BATCH))

    def _write_notes(self, units: list[_Unit]) -> dict[int, bytes]:
        """Insert the notes of a group; return what is kept already, by the place of the unit."""
        noted = [(at, unit.note) for at, unit in enumerate(units) if unit.note is not None]
        fresh = self._store.remember_many([note for _, note in noted])
        stored = {}
        for (at, (scope, key, _)), new in zip(noted, fresh, strict=True):
            if not new:
                kept = self._store.recall(scope, key)
                if key not in kept:
                    raise StoreFailed(f"the answer under the key {key!r} was forgotten just now")
                stored[at] = kept[key]
        return stored

    def _write_events(
        self, lease: Lease, units: list[_Unit], places: list[int], new: dict[int, list[bool]]
    ) -> None:
        """Insert the events of one experiment, and its snapshots; say of each event whether it was new."""
        gathered: list[tuple[int, Event]] = []

        def insert() -> None:
            if not lease.exclusive:
                gathered.sort(key=_turn)
            for (at, _), fresh in zip(gathered, lease.insert([event for _, event in gathered]), strict=True):
                if lease.exclusive and not fresh:
                    raise StoreFailed(f"somebody else wrote to the log of {lease.name!r}")
                new[at].append(fresh)
            gathered.clear()

        for at in places:
            taken = units[at].taken
            assert taken is not None
            gathered += [(at, event) for event in taken.events]
            if taken.snapshot is not None:
                insert()
                self._store.snapshot(lease, *taken.snapshot)
        insert()

    # ---------------------------------------------------------------- on the loop

    def _written(self, units: list[_Unit], replicas: list[Replica], job: asyncio.Future[_Written]) -> None:
        error = job.exception()
        if error is None:
            written = job.result()
            if any(unit.taken and any(unit.taken) for unit in units):
                self._metrics.commit(perf_counter() - self._began, len(units))
            try:
                for replica, first, n in written.grants:
                    replica.grant(first, n)
                for unit, outcome in zip(units, written.outcomes, strict=True):
                    if outcome.stored is not None and isinstance(unit.agent, Replica):
                        assert unit.taken is not None
                        unit.agent.withdraw(unit.taken.events)
                self._is_behind = any(len(entries) == _BATCH for entries in written.news)
                self._is_look = self._is_look or self._is_behind
                for replica, entries in zip(replicas, written.news, strict=True):
                    if entries:
                        self._fold(replica, entries)
            except Exception as failed:
                error = failed
            else:
                self._finish(units, written.outcomes)
                return
        self.fail(error, units)

    def fail(self, error: BaseException, units: list[_Unit] | None = None) -> None:
        """Refuse everything from now on; the service logs it when it begins to recover."""
        self.failure = str(error) or type(error).__name__
        waiting, self._units = [*(units or []), *self._units], []
        self._is_running = False
        for unit in waiting:
            call(unit.done, _NOTHING, StoreFailed(self.failure))

    def _finish(self, units: list[_Unit], outcomes: list[Outcome]) -> None:
        for unit, outcome in zip(units, outcomes, strict=True):
            call(unit.done, outcome, None)
        self._is_running = bool(self._units) or self._is_look
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._begin)


def _lease(agent: Agent) -> Lease:
    lease = agent.lease
    if lease is None:
        raise StoreFailed("the agent was closed")
    return lease


def _turn(item: tuple[int, Event]) -> tuple[bool, int]:
    event = item[1]
    return (True, event.number) if event.kind in CLOSING else (False, 0)
