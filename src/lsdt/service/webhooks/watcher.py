"""A thread that looks for conditions to announce."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from threading import Event, Lock, Thread
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lsdt.errors import InvalidInput, LsdtError, StoreFailed
from lsdt.service import messages
from lsdt.service.webhooks import conditions
from lsdt.service.webhooks.addresses import check_allowed, checked_origin, checked_url, hidden
from lsdt.service.webhooks.courier import Courier, Schedule, send
from lsdt.service.webhooks.endpoints import (
    add_endpoint,
    mark_gone,
    of_settings,
    of_store,
    remove_endpoint,
    remove_webhooks_of,
)
from lsdt.service.webhooks.outbox import SERVICE, Told, new_message, queued, remove
from lsdt.storage import now

if TYPE_CHECKING:
    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.webhooks.conditions import Conditions
    from lsdt.service.webhooks.endpoints import Endpoint
    from lsdt.service.webhooks.outbox import Message

log = logging.getLogger("lsdt.service")
_EVERY = 1.0  # seconds between two looks
_MOST_SHARE = 0.05  # of a processor that looking may take, as for pages
_LONGEST = 60.0  # seconds after which an experiment is looked at although nothing was asked or told
_MOST_MISSED = 100  # messages that are sent although the store could not take them
# Seconds that one of several services may deliver without saying so again; another takes over after that.
_TURN, _RENEWED = 30.0, 10.0
_TURNS = "webhook turn"


class _Observation:
    """What was found about one experiment, in which state of it, and when."""

    __slots__ = ("at", "found", "seen")

    def __init__(self) -> None:
        self.at = 0.0
        self.seen: Any = None
        self.found: Conditions | None = None


class Webhooks:
    """The webhooks of a service. Nothing runs while there are no endpoints.

    Parameters
    ----------
    service : Service
        The service.
    schedule : Schedule, optional
        How patient it is with receivers; otherwise as the settings say.
    """

    def __init__(self, service: Service, schedule: Schedule | None = None) -> None:
        self._service = service
        settings = service.settings
        self.from_settings = of_settings(settings)
        self._origins = frozenset(checked_origin(each) for each in settings.webhook_origins)
        self._schedule = schedule or Schedule(first_wait=settings.webhook_wait)
        self._owner, self._until = secrets.token_hex(8), 0.0
        self._stopping, self._lock, self._looking = Event(), Lock(), Lock()
        self._thread: Thread | None = None
        self._courier: Courier | None = None
        self._is_loaded = False
        self._told: dict[tuple[str, str], Told] = {}
        self._looks: WeakKeyDictionary[HostedExperiment, _Observation] = WeakKeyDictionary()
        self._due = self._took = 0.0
        self.n_postponed = 0
        self.endpoints: list[Endpoint] = []
        if service.following is None:
            self.endpoints = [*self.from_settings, *of_store(service.store)]

    # ---------------------------------------------------------------- for the service

    def start(self) -> None:
        """Begin, if there is an endpoint."""
        with self._lock:
            if self._thread is None and self.endpoints and not self._stopping.is_set():
                self._thread = Thread(target=self._watch, name="lsdt-webhook-watch", daemon=True)
                self._thread.start()

    def reload(self) -> None:
        """Look for endpoints that another service added or removed."""
        if self._service.following is None:
            self.endpoints = [*self.from_settings, *of_store(self._service.store)]
            self.start()

    def stop(self) -> None:
        """End; what has not arrived is in the store."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5.0)
        if self._courier is not None:
            self._courier.stop()
        try:
            if self._until:
                self._service.store.forget(_TURNS, "turn")  # another one begins at once
        except LsdtError as error:
            log.warning("webhooks not handed over", extra={"error": str(error)})

    def forget(self, tag: str) -> None:
        """Forget an experiment that was deleted."""
        remove_webhooks_of(self._service.store, tag, self.from_settings)
        self.reload()

    # ---------------------------------------------------------------- for those who call

    def add(self, new: messages.NewWebhook) -> Endpoint:
        """Add an endpoint."""
        made = add_endpoint(
            self._service.store, self._origins, new.url, new.experiment, new.events, len(self.endpoints)
        )
        self.reload()
        return made

    def remove(self, number: str) -> None:
        """Remove an endpoint, with all that waits for it."""
        store = self._service.store
        remove_endpoint(store, number, self.from_settings)
        self.reload()
        for each in queued(store):
            if each.endpoint == number:
                remove(store, each)

    def test(self, number: str) -> messages.WebhookTest:
        """Send a message to an endpoint, once, and return how that went; this may take ten seconds."""
        endpoint = next((each for each in self.endpoints if each.id == number), None)
        if endpoint is None:
            known = ", ".join(each.id for each in self.endpoints) or "none"
            raise InvalidInput(f"there is no webhook {number!r}; there are: {known}")
        why = self._why_not(endpoint)
        if why:
            raise InvalidInput(why)
        data = {"experiment": endpoint.experiment, "text": "This is a test."}
        made = asyncio.run(
            send(endpoint, new_message(endpoint.id, conditions.TEST, data), self._schedule.patience)
        )
        return messages.WebhookTest(made.is_delivered, made.status or None, made.detail)

    def listed(self) -> list[messages.ListedWebhook]:
        """Return the endpoints, with the state of each."""
        return [self._listed(each) for each in self.endpoints]

    def _listed(self, endpoint: Endpoint) -> messages.ListedWebhook:
        line = None if self._courier is None else self._courier.line(endpoint.id)
        made = messages.ListedWebhook(
            endpoint.id,
            hidden(endpoint.url),
            endpoint.experiment,
            list(endpoint.events),
            endpoint.created / 1e6 if endpoint.created else None,
            self._why_not(endpoint),
        )
        if line is not None:
            made.queued, made.delivered = len(line.ids), line.n_delivered
            made.failed, made.given_up = line.n_failed, line.n_given_up
            if line.last is not None:
                made.last_attempt, made.last_status = line.last_time, line.last.status or None
                made.last_error = line.last.detail
            made.last_delivered = line.delivered_time or None
        return made

    def _why_not(self, endpoint: Endpoint) -> str:
        """Return why messages are not sent to an endpoint; empty if they are."""
        if endpoint.is_gone or (self._courier is not None and self._courier.line(endpoint.id).is_gone):
            return "it answered 410; remove it, or add it again"
        if endpoint.created:
            try:
                check_allowed(checked_url(endpoint.url), self._origins)
            except InvalidInput as error:
                return str(error)
        return ""

    # ---------------------------------------------------------------- in the thread

    def _watch(self) -> None:
        while not self._stopping.wait(_EVERY):
            try:
                self.look()
            except LsdtError as error:
                if not self._stopping.is_set():
                    log.error("webhooks: nothing can be announced", extra={"error": str(error)})
            except Exception:  # the next look may do better
                if not self._stopping.is_set():
                    log.exception("webhooks: nothing can be announced")

    def look(self) -> None:
        """Announce what is new."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        service = self._service
        if self._courier is None:
            self._courier = Courier(self._schedule, self._remove, self._mark_gone)
        courier = self._courier
        endpoints = [each for each in self.endpoints if not self._why_not(each)]
        if not self._has_turn():
            courier.clear()
            self._told.clear()
            self._is_loaded = False
            return
        courier.serve(endpoints)
        if not self._is_loaded and not service.commits.failure:
            self._load({each.id for each in self.endpoints})
        self._compare(endpoints, SERVICE, conditions.of_whole_service(service), {}, is_all=True)
        longest_ago = sorted(service.hosted.values(), key=lambda each: self._look_of(each).at)
        for hosted in longest_ago:
            if self._stopping.is_set():
                return
            known = self._found(hosted)
            found = conditions.at_once(hosted) | (known or {})
            at_end = conditions.at_its_end(hosted)
            self._compare(endpoints, hosted.tag, found, at_end, is_all=known is not None)

    def _load(self, known: set[str]) -> None:
        """Load what was queued before a restart, and drop what is for endpoints that are gone."""
        assert self._courier is not None
        for each in queued(self._service.store):
            if each.endpoint in known:
                self._courier.put([each])
            else:
                remove(self._service.store, each)
        self._is_loaded = True

    def _has_turn(self) -> bool:
        """Return whether it is this service, of several on one store, that announces."""
        store = self._service.store
        if not store.is_shared or self._service.commits.failure:
            return not store.is_shared or self._until > 0.0
        time = now() / 1e6
        if self._until - time > _TURN - _RENEWED:
            return True
        note = store.recall(_TURNS, "turn").get("turn")
        held: dict[str, Any] = {"owner": "", "until": 0.0} if note is None else json.loads(note)
        if held["owner"] != self._owner and held["until"] > time:
            self._until = 0.0
            return False
        mine = json.dumps({"owner": self._owner, "until": time + _TURN}).encode()
        with store.transaction():
            is_mine = store.remember(_TURNS, "turn", mine, note)
        self._until = time + _TURN if is_mine else 0.0
        return is_mine

    def _look_of(self, hosted: HostedExperiment) -> _Observation:
        return self._looks.setdefault(hosted, _Observation())

    def _found(self, hosted: HostedExperiment) -> Conditions | None:
        """Return the conditions of an experiment, looked up again when due; None before the first time."""
        look, agent = self._look_of(hosted), hosted.agent
        seen = agent.n_changes, agent.n_pending, id(agent.side), agent.tolerance
        is_due = look.seen != seen or monotonic() - look.at > _LONGEST
        if hosted.busy or not is_due or monotonic() < self._due:
            return look.found
        began = thread_time()
        try:
            findings = self._service.forecasts.compute(hosted)
            look.found = conditions.of_experiment(self._service, hosted, findings)
        finally:
            look.seen, look.at = seen, monotonic()
            took = thread_time() - began
            # One look that compiles takes as long as hundreds of others, and must not put off the next.
            self._due = monotonic() + min(took, self._took) / _MOST_SHARE
            self._took = took
        return look.found

    def _compare(
        self,
        endpoints: list[Endpoint],
        subject: str,
        found: Conditions,
        at_end: dict[str, dict[str, Any]],
        *,
        is_all: bool,
    ) -> None:
        """Put what changed into the queues of the endpoints that are told."""
        courier, service = self._courier, self._service
        assert courier is not None
        for endpoint in endpoints:
            told = self._told.get((endpoint.id, subject))
            if told is None:
                if service.commits.failure:
                    continue  # what was announced cannot be read
                told = self._told[endpoint.id, subject] = Told(endpoint, subject, service.store)
            made, known = told.changes(found, monotonic(), at_end, is_all=is_all)
            if known == told.known:
                continue
            n_queued = courier.n_queued(endpoint.id)
            if n_queued + len(made) > self._schedule.most_queued:
                self.n_postponed += 1
                continue
            try:
                if service.commits.failure:
                    raise StoreFailed(service.commits.failure)
                if told.write(service.store, made, known):
                    courier.put(made)
                else:  # another service was faster
                    del self._told[endpoint.id, subject]
            except StoreFailed:  # the receiver is to hear of that above all
                told.assume(known)
                courier.put(made[:_MOST_MISSED])

    # ---------------------------------------------------------------- in the courier's thread

    def _remove(self, message: Message) -> None:
        remove(self._service.store, message)

    def _mark_gone(self, endpoint: Endpoint) -> None:
        mark_gone(self._service.store, endpoint)
