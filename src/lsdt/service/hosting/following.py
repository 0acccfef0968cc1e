"""A service that only looks: it follows the logs that another process writes, and writes nothing."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent import Agent, SharedJournal
from lsdt.errors import LsdtError, StoreFailed
from lsdt.service.hosting.activity import Activity
from lsdt.service.hosting.experiment import expiry_of, tag
from lsdt.service.hosting.replication import is_gone

if TYPE_CHECKING:
    from lsdt.service.hosting import Service
    from lsdt.storage import ExperimentRecord, Store

log = logging.getLogger("lsdt.service")
_EVERY = 0.5  # seconds between two looks into the logs: pages look current, and an idle service rests
_BATCH = 10_000  # events applied at a time: some 60 ms (6 us an event, docs/performance.md)
READ_ONLY = "this service is read-only"


class _StoreReading(NamedTuple):
    """What a look found: the experiments, those opened, and how much was new in the logs of the others."""

    listed: dict[str, ExperimentRecord]
    opened: dict[str, tuple[Agent, Activity]]
    broken: dict[str, str]
    n_new: list[int]

    @property
    def is_all(self) -> bool:
        """Whether every log was read to its end."""
        return all(n < _BATCH for n in self.n_new)


def followed(store: Store, about: ExperimentRecord) -> tuple[Agent, Activity]:
    """Return an agent that never writes, and what its page shows."""
    agent = Agent.follow(store, about.name)
    return agent, Activity.read(store, about.name, agent, expiry_of(about.about))


class Following:
    """Keeps the experiments of a read-only service where their logs are.

    Parameters
    ----------
    service : Service
        The service.

    Attributes
    ----------
    failure : str
        Why the store cannot be read just now; empty while all is well. It is tried again.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._looked = monotonic()
        self._is_lost = False  # the store has to be opened again
        self._broken: dict[str, str] = {}  # tags of the experiments that cannot be opened
        self.failure = ""

    async def tick(self) -> None:
        """Look into the store if the last look was long enough ago; remember a failure."""
        if monotonic() - self._looked < _EVERY:
            return
        try:
            await self.look()
        except LsdtError as error:
            if not self.failure:
                log.error("the store cannot be read", extra={"error": str(error)})
            self.failure = str(error)
            self._is_lost = self._is_lost or isinstance(error, StoreFailed)
        self._looked = monotonic()

    async def look(self) -> None:
        """Update all experiments."""
        if self._is_lost:
            await asyncio.to_thread(self._open_again)
        while True:
            seen = await asyncio.to_thread(self._see)
            await self._show(seen)
            if seen.is_all:
                break
        if self.failure:
            log.info("the store can be read again")
        self.failure = ""

    def _open_again(self) -> None:
        service = self._service
        store = service.opened_store()
        before, service.store = service.store, store
        before.discard()
        service.keys.move(store)
        service.sessions.move(store)
        service.hosted.clear()  # opened again by the look that follows
        self._is_lost = False

    def _see(self) -> _StoreReading:
        service, store = self._service, self._service.store
        store.verify()  # else one that was replaced would be read for ever
        followed = list(service.hosted.values())
        cursors = [
            each.agent.journal.cursor for each in followed if isinstance(each.agent.journal, SharedJournal)
        ]
        before = {cursor.name: cursor.position for cursor in cursors}
        news = [store.read_new([cursor], _BATCH)[0] for cursor in cursors]
        # Listed after the logs were read: what was compacted meanwhile shows.
        listed = {each.name: each for each in store.list()}
        seen = _StoreReading(listed, {}, {}, [])
        for hosted, entries in zip(followed, news, strict=True):
            about = listed.get(hosted.name)
            if about is None or about.created != hosted.created or about.compacted > before[hosted.name]:
                continue  # gone, another one, or parts of its log are
            if entries:
                hosted.agent.apply_entries(entries)
                seen.n_new.append(len(entries))
        for name, about in listed.items():
            known = service.hosted.get(name)
            is_known = known is not None and known.created == about.created
            is_broken = name in service.broken and self._broken.get(name) == tag(about)
            if not is_broken and (not is_known or about.compacted > before.get(name, 0)):
                self._open(store, about, seen)
        return seen

    def _open(self, store: Store, about: ExperimentRecord, seen: _StoreReading) -> None:
        name = about.name
        try:
            about.check()
            seen.opened[name] = followed(store, about)
        except StoreFailed:
            raise
        except LsdtError as error:
            if is_gone(store, about):  # the next look finds what there is
                return
            seen.broken[name], self._broken[name] = str(error), tag(about)
            log.error("experiment cannot be opened", extra={"experiment": name, "error": str(error)})

    async def _show(self, seen: _StoreReading) -> None:
        service = self._service
        for name in set(service.broken) - set(seen.listed):
            del service.broken[name]
        service.broken |= seen.broken
        for name in seen.opened:
            service.broken.pop(name, None)
        gone = [hosted.agent for name, hosted in service.hosted.items() if name in seen.opened]
        for name in set(service.hosted) - set(seen.listed):
            gone.append(service.hosted.pop(name).agent)
        for name, (agent, activity) in seen.opened.items():
            service.show(seen.listed[name], agent, activity)
        for agent in gone:
            await asyncio.to_thread(agent.close)
