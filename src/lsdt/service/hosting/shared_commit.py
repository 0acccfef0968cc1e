"""Groups of answers made durable in a log that other replicas write to as well.

As in `group_commit` there is no timer: while one group is written the next one gathers. Everything that talks
to the database is in one thread, since it waits for the network: the group is written in one transaction,
then what is new in the logs, from whichever replica, is read and, back on the loop, applied. Only then are
requests answered, so that clients read their own writes.

Which events and notes are new is for the unique indexes of the database to say.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent.journal import SharedJournal
from lsdt.service.hosting.group_commit import NOTHING_NEW, GroupCommit, Outcome, Unit, write_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.agent import Agent
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Entry, Store

_BATCH = 2_000  # events that are applied on the loop at once


class _Written(NamedTuple):
    """What became of a group."""

    outcomes: list[Outcome]
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

    async def look(self) -> None:
        """Apply what is new in the logs."""
        self._is_look = True
        await self.durable()

    async def catch_up(self) -> bool:
        """Apply everything that is in the logs by now."""
        await self.look()
        while self._is_behind:
            await self.look()
        return True

    async def quiesce(self, agent: Agent) -> None:
        """Wait until what is being applied was; see `GroupCommit.quiesce`."""
        await self.look()

    def lacks_numbers(self, agent: Agent, n: int) -> bool:
        """Return whether an agent has too few numbers for `n` decisions."""
        return _journal(agent).n_numbers < n

    async def numbers(self, agent: Agent, n: int) -> None:
        """Wait until an agent has numbers for so many decisions."""
        while self.lacks_numbers(agent, n):
            journal = _journal(agent)
            self._wanted[journal] = max(n, self._wanted.get(journal, 0))
            await self.look()

    def _begin(self) -> None:
        units, self._units = self._units, []
        is_look, self._is_look = self._is_look, False
        if not is_look and all(unit.is_empty for unit in units):  # repeats, and what they repeat is durable
            self._finish(units, [NOTHING_NEW] * len(units))
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
        self, units: list[Unit], agents: list[Agent], needs: list[tuple[SharedJournal, int]]
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

    def _written(self, units: list[Unit], agents: list[Agent], job: asyncio.Future[_Written]) -> None:
        error = job.exception()
        if error is None:
            written = job.result()
            if any(any(unit.batch) for unit in units):
                self._metrics.commit(perf_counter() - self._began, len(units))
            try:
                self._take(written, units, agents)
            except Exception as failed:
                error = failed
            else:
                self._finish(units, written.outcomes)
                return
        self.fail(error, units)

    def _take(self, written: _Written, units: list[Unit], agents: list[Agent]) -> None:
        """Apply what was read, after decisions that another replica made already are released."""
        for journal, first, n in written.reserved:
            journal.add_numbers(first, n)
        for unit, outcome in zip(units, written.outcomes, strict=True):
            if outcome.stored is not None and unit.agent is not None:
                unit.agent.release(unit.batch.events)
        self._is_behind = any(len(entries) == _BATCH for entries in written.entries)
        self._is_look = self._is_look or self._is_behind
        for agent, entries in zip(agents, written.entries, strict=True):
            if entries:
                self._apply(agent, entries)

    def fail(self, error: BaseException, units: Sequence[Unit] = ()) -> None:
        """Refuse everything from now on; the service logs it when it begins to recover."""
        self.failure = str(error) or type(error).__name__
        super().fail(error, units)

    def _is_wanted(self) -> bool:
        return bool(self._units) or self._is_look


def _journal(agent: Agent) -> SharedJournal:
    assert isinstance(agent.journal, SharedJournal)
    return agent.journal
