"""Several services on one store: experiments that others begin and remove.

Decisions need none of this: they are written by `shared_commit`, and unique indexes keep them apart. Rare
changes are looked up once a second. If the database cannot be reached, all requests under way fail; the
service retries until it can be, and then starts again from the log.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent import Agent, SharedJournal
from lsdt.errors import LsdtError, StoreFailed, StoreLocked
from lsdt.service.hosting.activity import Activity
from lsdt.service.hosting.experiment import expiry_of, tag
from lsdt.service.hosting.shared_commit import SharedCommit
from lsdt.storage import Kind, another

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.storage import Entry, ExperimentRecord, Store

log = logging.getLogger("lsdt.service")
_LEAVING = "leaving"  # tags of experiments that are being deleted
# Seconds. Shorter ones would ask the database more often; longer ones would notice later what others did.
_EVERY = 1.0  # between two looks for experiments that others began or deleted
_POLL = 0.1  # between two looks into the logs, when nothing is written here
_PATIENCE = 20.0  # for others to let go of an experiment: longer than the 15 s that a server may be silent
_LONGEST_WAIT = 60.0  # between two tries to open an experiment that cannot be opened; doubled from `_EVERY`


class Reopened(NamedTuple):
    """An experiment of a store that was opened again: its agent, and what its page shows."""

    about: ExperimentRecord
    agent: Agent
    activity: Activity


class _StoreState(NamedTuple):
    """What the store says."""

    experiments: dict[str, ExperimentRecord]
    leaving: set[str]


class _Broken(NamedTuple):
    """An experiment that could not be opened or followed: which one, and when it is tried again."""

    tag: str
    due: float
    wait: float


def opened(store: Store, about: ExperimentRecord) -> Agent:
    """Return the agent of an experiment, one of several where the store is shared; not of a later one."""
    about.check()
    agent = Agent.open(store, about.name, shared=store.is_shared)
    if agent.lease is None or agent.lease.number != about.number:
        agent.close()
        raise another(about.name)
    return agent


class ReplicaCoordinator:
    """What a service has to do since it is not alone.

    Parameters
    ----------
    service : Service
        The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = asyncio.Lock()
        self._looked = self._polled = monotonic()
        self._said, self._has_waited = "", False  # of a failure that lasts
        self._broken: dict[str, _Broken] = {}
        self._given_up: list[HostedExperiment] = []  # to be closed, so that their leases go

    def commits(self) -> SharedCommit:
        """Return what writes to the store of the service."""
        service = self._service
        return SharedCommit(
            service.store, service.metrics, service.settings.most_waiting, self._followed, self._apply
        )

    # ---------------------------------------------------------------- the logs

    def _followed(self) -> list[Agent]:
        """Return the agents that may be changed just now."""
        return [each.agent for each in list(self._service.hosted.values()) if not each.busy]

    def _apply(self, agent: Agent, entries: Sequence[Entry]) -> None:
        assert isinstance(agent.journal, SharedJournal)
        hosted = self._service.hosted.get(agent.journal.cursor.name)
        if hosted is None or hosted.agent is not agent:
            return
        if any(entry.kind == Kind.EXTEND for entry in entries):  # may take long
            hosted.busy = "is being extended"
            hosted.applying = asyncio.create_task(self._apply_slowly(hosted, agent, entries))
            return
        try:
            agent.apply_entries(entries)
        except LsdtError as error:
            self._give_up(hosted, error)

    async def _apply_slowly(self, hosted: HostedExperiment, agent: Agent, entries: Sequence[Entry]) -> None:
        try:
            await asyncio.to_thread(agent.apply_entries, entries)
        except LsdtError as error:
            self._give_up(hosted, error)
        finally:
            hosted.busy, hosted.applying = "", None

    def _give_up(self, hosted: HostedExperiment, error: LsdtError) -> None:
        self._service.hosted.pop(hosted.name, None)
        self._service.broken[hosted.name] = str(error)
        self._given_up.append(hosted)
        log.error("experiment cannot be followed", extra={"experiment": hosted.name, "error": str(error)})

    # ---------------------------------------------------------------- time

    async def tick(self) -> None:
        """Do what is due."""
        service = self._service
        if service.commits.failure:
            await self._recover()
            return
        if monotonic() - self._polled > _POLL:
            self._polled = monotonic()
            await service.commits.look()
        if monotonic() - self._looked > _EVERY:
            await self.look()

    async def look(self, since: float | None = None) -> None:
        """Update the experiments, unless that was done after a given time."""
        async with self._lock:
            if since is not None and self._looked > since:
                return
            began = monotonic()
            seen = await asyncio.to_thread(self._see)
            self._looked = began  # if it failed, those who wait look again and get the error
            service, listed = self._service, seen.experiments
            for name, hosted in list(service.hosted.items()):
                kept = listed.get(name)
                is_there = kept is not None and tag(kept) == hosted.tag
                if (not is_there or hosted.tag in seen.leaving) and not hosted.busy:  # else at the next look
                    await service.let_go(hosted)
                    await asyncio.to_thread(_close, hosted)
                    service.going.discard(hosted.tag)
            for name in set(service.broken) - set(listed):
                del service.broken[name]
            while self._given_up:
                await asyncio.to_thread(_close, self._given_up.pop())
            for name, kept in listed.items():
                if tag(kept) in seen.leaving:
                    if name not in service.hosted:
                        await asyncio.to_thread(self._finish_leaving, name, tag(kept))
                elif tag(kept) not in service.going and self._is_to_open(kept):
                    await asyncio.to_thread(self._open, kept)

    def _is_to_open(self, kept: ExperimentRecord) -> bool:
        """Return whether to open an experiment: one that is new here, or could not be opened before.

        A failure may be temporary: another service was deleting the experiment, or its log could not be read
        for a moment. The name may also belong to another experiment by now.
        """
        if kept.name not in self._service.broken:
            return not self._service.knows(kept.name)
        known, time = self._broken.get(kept.name), monotonic()
        if known is None or known.tag != tag(kept):
            known = _Broken(tag(kept), time, _EVERY)
        if time < known.due:
            return False
        wait = min(2.0 * known.wait, _LONGEST_WAIT)
        self._broken[kept.name] = _Broken(known.tag, time + known.wait, wait)
        return True

    def _open(self, kept: ExperimentRecord) -> None:
        service = self._service
        service.open_at_start(kept)
        if kept.name in service.broken and is_gone(service.store, kept):  # while it was opened
            del service.broken[kept.name]

    def _see(self) -> _StoreState:
        store = self._service.store
        leaving = set(store.recall(_LEAVING))
        listed = {each.name: each for each in store.list()}
        return _StoreState(listed, leaving)

    # ---------------------------------------------------------------- removal

    def delete(self, hosted: HostedExperiment) -> bool:
        """Remove an experiment, which all others must have let go of; say whether they have."""
        store = self._service.store
        with store.transaction():
            store.remember(_LEAVING, hosted.tag, b"")
        _close(hosted)
        limit = monotonic() + _PATIENCE
        while not self._finish_leaving(hosted.name, hosted.tag):
            if monotonic() > limit:
                return False
            sleep(0.1)
        return True

    def _finish_leaving(self, name: str, its_tag: str) -> bool:
        store = self._service.store
        kept = store.find(name)
        if kept is not None and tag(kept) == its_tag:  # else another service was faster
            try:
                store.delete(name, kept.number)
            except StoreLocked:
                return False
            except LsdtError:
                if not is_gone(store, kept):
                    raise
        self._service.forget(its_tag)
        store.forget(_LEAVING, its_tag)
        return True

    # ---------------------------------------------------------------- a database that was lost

    async def _recover(self) -> None:
        """Start again on the store, once it can be reached."""
        service = self._service
        before = service.commits.failure
        if before != self._said:
            self._said = before
            log.error("the store failed", extra={"error": before})
            await asyncio.to_thread(service.store.discard)  # and let go of what it holds
        await asyncio.sleep(0.5)
        try:
            store, reopened, broken = await asyncio.to_thread(self._reopened)
        except (LsdtError, OSError) as error:
            if not self._has_waited:
                log.warning("the store is not there yet; it is tried again", extra={"error": str(error)})
            self._has_waited = True
            return
        service.store = store
        service.take_over(reopened, broken)
        self._said, self._has_waited = "", False
        log.info("the store is there again", extra={"experiments": len(reopened)})

    def _reopened(self) -> tuple[Store, dict[str, Reopened], dict[str, str]]:
        store = self._service.opened_store()
        reopened: dict[str, Reopened] = {}
        broken = {}
        try:
            for each in store.list():
                try:
                    agent = opened(store, each)
                    activity = Activity.read(store, each.name, agent, expiry_of(each.about))
                    reopened[each.name] = Reopened(each, agent, activity)
                except StoreFailed:
                    raise
                except LsdtError as error:
                    if not is_gone(store, each):
                        broken[each.name] = str(error)
        except BaseException:
            with suppress(Exception):
                store.close()
            raise
        return store, reopened, broken


def is_gone(store: Store, about: ExperimentRecord) -> bool:
    """Return whether an experiment was deleted, even where another one has its name now."""
    return all((each.name, each.number) != (about.name, about.number) for each in store.list())


def _close(hosted: HostedExperiment) -> None:
    """Close the agent of an experiment that was deleted."""
    with suppress(LsdtError):
        hosted.agent.close()
