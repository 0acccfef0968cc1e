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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.agent import insert_batch
from lsdt.errors import StoreFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from lsdt.agent import Agent, Batch
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Lease, Store


class Note(NamedTuple):
    """A note to be kept with the events that it belongs to."""

    scope: str
    key: str
    value: bytes


class CommitResult(NamedTuple):
    """The outcome of a committed change.

    Attributes
    ----------
    n_repeats : int
        How many of its events were in the log already: others may have closed the same decisions.
    stored : bytes or None
        The answer stored under the request's idempotency key: this is a repeat, and its events were not
        written.
    is_taken : bool
        Whether another replica gave the unit of this ask an arm first. Then nothing was written, and the
        decision has to be made again.
    assigned : sequence of pairs
        The units that asked, as stored: the hash of each, and its row.
    """

    n_repeats: int = 0
    stored: bytes | None = None
    is_taken: bool = False
    assigned: Sequence[tuple[bytes, bytes]] = ()


class Commit:
    """What a request waits for: ``await commit`` returns the `CommitResult` when its changes are durable.

    A task waits for it as for a future. A coroutine that is run without a task (`lsdt.service.connection`)
    gets the commit itself, and adds a callback. That is called at once when the commit is done, not in a
    later turn of the loop, which saves a tenth of the processor time of a decision.
    """

    __slots__ = ("_callback", "_future", "error", "outcome")

    def __init__(self) -> None:
        self.outcome: CommitResult | None = None
        self.error: StoreFailed | None = None
        self._callback: Callable[[Commit], None] | None = None
        self._future: asyncio.Future[None] | None = None

    def __await__(self) -> Generator[Any, None, CommitResult]:
        if self.outcome is None and self.error is None:
            if asyncio.current_task() is None:
                yield self
            else:
                self._future = asyncio.get_running_loop().create_future()
                yield from self._future
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome

    def add_done_callback(self, callback: Callable[[Commit], None]) -> None:
        """Have a function called when the commit is done; one that is done calls none."""
        self._callback = callback

    def settle(self, outcome: CommitResult | None, error: StoreFailed | None = None) -> None:
        """Set the result or the error, and resume the request that waits for it."""
        self.outcome, self.error = outcome, error
        if self._callback is not None:
            try:
                self._callback(self)
            except Exception:  # of one request, which is no reason to stop the others
                log.exception("error while answering")
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class WaitingRequest(NamedTuple):
    """A request that waits for what it changed to be durable.

    `batch` has its events where they must be told from those of other requests, else None.
    """

    agent: Agent | None
    note: Note | None
    commit: Commit
    batch: Batch | None


_DONE = CommitResult()
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
        self._units: list[WaitingRequest] = []
        self._is_running = False
        self._began = 0.0
        self.failure = ""

    @property
    def n_waiting(self) -> int:
        """How many wait for a commit that has not begun."""
        return len(self._units)

    @property
    def is_full(self) -> bool:
        """Whether too many requests wait for another to be taken."""
        return len(self._units) >= self._most

    def check(self) -> None:
        """Refuse to go on after a failure: what is in memory may be ahead of the log."""
        if self.failure:
            raise StoreFailed(self.failure)

    def durable(self, agent: Agent | None = None, note: Note | None = None) -> Commit:
        """Return a commit to wait for: when it is done, everything that happened so far is durable.

        Parameters
        ----------
        agent : Agent, optional
            One whose events are to be written. Without it, as for a repeat, only what others did is waited
            for.
        note : Note, optional
            What to keep in the same transaction.
        """
        if self.failure:
            self.check()
        commit = Commit()
        self._units.append(
            WaitingRequest(agent, note, commit, None if agent is None else self._batch_of(agent))
        )
        if not self._is_running:
            self._is_running = True
            # Requests that are answered in this turn of the loop join the group.
            asyncio.get_running_loop().call_soon(self._begin)
        return commit

    def _batch_of(self, agent: Agent) -> Batch | None:
        """Return the events of one request, if they must be told from those of others: here they need not."""
        return None

    # ---------------------------------------------------------------- what only shared logs need

    async def look(self) -> None:
        """Apply what others wrote; there are no other writers here."""

    async def catch_up(self, patience: float = 0.0) -> bool:
        """Apply all that others wrote so far, and return whether others write at all.

        Wait up to `patience` seconds for older transactions, behind which what was written cannot be read.
        """
        return False

    async def quiesce(self, agent: Agent) -> None:
        """Wait until nothing of an agent is to be written, so that a thread can change it for a while."""
        await self.durable(agent)

    def lacks_numbers(self, agent: Agent, n: int) -> bool:
        """Return whether `numbers` has to be awaited before an agent can make `n` decisions."""
        return False

    async def numbers(self, agent: Agent, n: int) -> None:
        """Wait until an agent has numbers for this many decisions."""

    # ---------------------------------------------------------------- groups

    def _begin(self) -> None:
        units, self._units = self._units, []
        agents = {id(unit.agent): unit.agent for unit in units if unit.agent is not None}
        notes = [unit.note for unit in units if unit.note is not None]
        if not agents and not notes:  # repeats, and what they repeat is durable
            self._finish(units)
            return
        try:
            with ExitStack() as held:
                # Agents before the store: a thread that erases a unit takes these locks in the same order.
                for agent in agents.values():
                    held.enter_context(agent.held())
                can_write = held.enter_context(self._store.writing_at_once())
                if can_write:
                    for agent in agents.values():
                        insert_batch(lease_of(agent), agent.drain())
                    for note in notes:
                        self._store.remember(*note)
                else:
                    self._units = units
        except Exception as error:
            self.fail(error, units)
            return
        loop = asyncio.get_running_loop()
        if can_write:
            self._began = perf_counter()
            job = loop.run_in_executor(self._thread, self._store.commit)
            job.add_done_callback(partial(self._committed, units))
        else:
            job = loop.run_in_executor(self._thread, self._store.wait_to_write)
            job.add_done_callback(self._can_write)

    def _can_write(self, job: asyncio.Future[None]) -> None:
        error = job.exception()
        if error is not None:
            self.fail(error)
        elif not self.failure:
            self._begin()

    def _committed(self, units: list[WaitingRequest], job: asyncio.Future[None]) -> None:
        error = job.exception()
        if error is not None or self.failure:
            self.fail(error or StoreFailed(self.failure), units)
            return
        self._metrics.commit(perf_counter() - self._began, len(units))
        self._finish(units)

    def fail(self, error: BaseException, units: Sequence[WaitingRequest] = ()) -> None:
        """Refuse everything from now on, with the first reason."""
        if not self.failure:
            self.failure = str(error) or type(error).__name__
            log.error("the store failed", extra={"error": self.failure})
        waiting, self._units = [*units, *self._units], []
        self._is_running = False
        for unit in waiting:
            unit.commit.settle(None, StoreFailed(self.failure))

    def _finish(self, units: list[WaitingRequest], outcomes: Iterable[CommitResult] = repeat(_DONE)) -> None:
        for (_, _, commit, _), outcome in zip(units, outcomes, strict=False):
            commit.settle(outcome)
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


def lease_of(agent: Agent) -> Lease:
    """Return the right of an agent to write."""
    lease = agent.lease
    if lease is None:
        raise StoreFailed("the agent was closed")
    return lease
