"""Many answers made durable by one commit, without a timer.

While one commit runs in its thread, decisions go on and their events gather; when it ends they are inserted,
all at once, and the next commit begins. A busy service thus makes large groups, an idle one commits at once.
Inserting stays on the loop: in the thread it would take the interpreter away from it. Where another program
holds the lock of the store, the thread waits for it, and requests go on gathering.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt.errors import StoreFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.agent import Agent
    from lsdt.service.metrics import Metrics
    from lsdt.storage import Store

    Done = Callable[["Outcome", StoreFailed | None], None]


class Note(NamedTuple):
    """A note to be kept with the events that it belongs to."""

    scope: str
    key: str
    value: bytes


class Outcome(NamedTuple):
    """What became of a change that is kept now.

    Attributes
    ----------
    new : sequence of bool
        Of a log that others write to: which of the events were new, in their order.
    stored : bytes or None
        What is kept under the key of the note: then this is a repeat, and none of its events were written.
    """

    new: Sequence[bool] = ()
    stored: bytes | None = None


_DONE = Outcome()
log = logging.getLogger("lsdt.service")


def call(done: Done, outcome: Outcome, error: StoreFailed | None) -> None:
    """Tell one who waits, whose mishaps are no concern of the others."""
    try:
        done(outcome, error)
    except Exception:
        log.exception("error while answering")


def _settle(future: asyncio.Future[Outcome], outcome: Outcome, error: StoreFailed | None) -> None:
    """Let whoever awaits go on."""
    if future.done():  # he went away
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)
        future.exception()  # nobody may be there to hear it


class GroupCommit:
    """Makes changes of agents durable, in groups.

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
        self._waiting: list[Done] = []
        self._agents: dict[int, Agent] = {}
        self._notes: list[Note] = []
        self._group: list[Done] = []
        self._is_running = False
        self._began = 0.0
        self.failure = ""

    @property
    def n_waiting(self) -> int:
        """How many wait for a commit that has not begun."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether so many wait that nobody should join."""
        return self.n_waiting >= self._most

    def check(self) -> None:
        """Refuse to go on after a failure: what is in memory may be ahead of the log."""
        if self.failure:
            raise StoreFailed(self.failure)

    def durable(self, agent: Agent | None = None, note: Note | None = None) -> asyncio.Future[Outcome]:
        """Return a future that is done when all that happened so far is kept.

        Parameters
        ----------
        agent : Agent, optional
            One that has gathered events. Without it, as for a repeat, only what others did is waited for.
        note : Note, optional
            What to keep in the same transaction.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.when_durable(partial(_settle, future), agent, note)
        return future

    def when_durable(self, done: Done, agent: Agent | None = None, note: Note | None = None) -> None:
        """Call `done` when all that happened so far is kept, or cannot be; see `durable`."""
        self.check()
        self._waiting.append(done)
        if agent is not None:
            self._agents[id(agent)] = agent
        if note is not None:
            self._notes.append(note)
        self._wake()

    def _wake(self) -> None:
        if not self._is_running:
            self._is_running = True
            # Those that are being answered in this turn of the loop come along.
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        if not self._agents and not self._notes:  # repeats, of what is kept: no commit is running
            self._group, self._waiting = self._waiting, []
            self._end()
            return
        try:
            with self._store.writing_at_once() as can_write:
                if can_write:
                    self._insert()
        except Exception as error:
            self.fail(error)
            return
        if can_write:
            self._began = perf_counter()
            self._run(self._store.commit, self._committed)
        else:
            self._run(self._store.wait_to_write, self._begin)

    def _insert(self) -> None:
        self._group, self._waiting = self._waiting, []
        agents, self._agents = self._agents, {}
        notes, self._notes = self._notes, []
        for agent in agents.values():
            agent.flush()
        for note in notes:
            self._store.remember(*note)

    def _run(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Run something in the thread, and then something on the loop."""

        def ended(job: asyncio.Future[None]) -> None:
            error = job.exception()
            if error is not None:
                self.fail(error)
            elif not self.failure:
                then()

        asyncio.get_running_loop().run_in_executor(self._thread, work).add_done_callback(ended)

    def _committed(self) -> None:
        self._metrics.commit(perf_counter() - self._began, len(self._group))
        self._end()

    def fail(self, error: BaseException) -> None:
        """Refuse everything from now on, with the first reason."""
        if not self.failure:
            self.failure = str(error) or type(error).__name__
            log.error("the store failed", extra={"error": self.failure})
        group, self._group, self._waiting = self._group + self._waiting, [], []
        self._is_running = False
        for done in group:
            call(done, _DONE, StoreFailed(self.failure))

    def _end(self) -> None:
        group, self._group = self._group, []
        for done in group:
            call(done, _DONE, None)
        self._is_running = bool(self._waiting)
        if self._is_running:
            asyncio.get_running_loop().call_soon(self._begin)

    async def look(self) -> None:
        """Do nothing: no other process writes to the log."""

    async def catch_up(self) -> None:
        """Do nothing: no other process writes to the log."""

    async def numbers(self, agent: Agent, n: int) -> None:
        """Do nothing: whoever decides alone counts alone."""

    async def close(self) -> None:
        """Wait until everything is kept, and end the thread."""
        if not self.failure:
            await self.durable()
        self._thread.shutdown()
