"""Delivers messages to endpoints, with retries, on a separate thread and event loop.

Every endpoint has its own line, so that a slow or dead one delays only its own messages; and nothing here is
on the event loop of decisions.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from itertools import count
from random import random
from threading import Lock, Thread
from time import time
from typing import TYPE_CHECKING, NamedTuple

from lsdt.errors import LsdtError
from lsdt.service.webhooks.addresses import checked_url, hidden
from lsdt.service.webhooks.delivery import Attempt, attempt
from lsdt.service.webhooks.signing import checked_secrets, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lsdt.service.webhooks.endpoints import Endpoint
    from lsdt.service.webhooks.outbox import Message

log = logging.getLogger("lsdt.service")
# Waits of 5 s, 20 s, 80 s, ... up to six hours: a deployment is over within the first ones, and a receiver
# that is mended the next morning still gets what happened at night.
_TIMES, _LONGEST = 4.0, 21_600.0
MOST_ATTEMPTS = 12  # over 16 to 32 hours
_OLDEST = 3 * 86_400.0  # seconds after which a message is given up, however often the service was restarted
MOST_QUEUED = 1_000  # messages of an endpoint: half a megabyte, and more than a person reads


class Schedule(NamedTuple):
    """Seconds to wait for an answer, and after the first failure; most attempts, and messages in a queue."""

    patience: float = 10.0
    first_wait: float = 5.0
    attempts: int = MOST_ATTEMPTS
    most_queued: int = MOST_QUEUED

    def wait(self, n_failed: int) -> float:
        """Return how long to wait after this many failures: half of it at random, so that messages spread."""
        return min(_LONGEST, self.first_wait * _TIMES ** (n_failed - 1)) * (0.5 + random() / 2.0)


class EndpointQueue:
    """The messages that wait for one endpoint, and how deliveries to it went."""

    def __init__(self) -> None:
        self.n_delivered = self.n_failed = self.n_given_up = 0
        self.last: Attempt | None = None
        self.last_time = self.delivered_time = 0.0
        self.is_gone = False
        self.waiting: list[tuple[float, int, int, Message]] = []  # when due, order, failures so far
        self.ids: set[str] = set()  # of messages that wait or are under way


class Courier:
    """Delivers messages.

    Parameters
    ----------
    schedule : Schedule
        How patient it is.
    remove : callable
        Called with a message that has arrived or was given up, in the courier's thread.
    gone : callable
        Called with an endpoint that answered 410.
    """

    def __init__(
        self,
        schedule: Schedule,
        remove: Callable[[Message], None],
        gone: Callable[[Endpoint], None],
    ) -> None:
        self._schedule, self._remove, self._gone = schedule, remove, gone
        self._lock, self._order = Lock(), count()
        self._endpoints: dict[str, Endpoint] = {}
        self._lines: dict[str, EndpointQueue] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._wake: dict[str, asyncio.Event] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="lsdt-webhook-courier", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    # ---------------------------------------------------------------- from other threads

    def line(self, endpoint: str) -> EndpointQueue:
        """Return how it stands with an endpoint."""
        with self._lock:
            return self._lines.setdefault(endpoint, EndpointQueue())

    def n_queued(self, endpoint: str) -> int:
        """Return how many messages wait for an endpoint or are under way."""
        return len(self.line(endpoint).ids)

    def serve(self, endpoints: Iterable[Endpoint]) -> None:
        """Deliver to these endpoints from now on, and to no others."""
        with self._lock:
            self._endpoints = {each.id: each for each in endpoints}
            for number in set(self._lines) - set(self._endpoints):
                self._lines[number].waiting.clear()
                self._lines[number].ids.clear()

    def put(self, messages: Iterable[Message]) -> None:
        """Deliver messages, which are known already if they wait or are under way."""
        for each in messages:
            line = self.line(each.endpoint)
            with self._lock:
                if each.endpoint not in self._endpoints or each.id in line.ids or line.is_gone:
                    continue
                line.ids.add(each.id)
                heapq.heappush(line.waiting, (time(), next(self._order), 0, each))
            self._loop.call_soon_threadsafe(self._start, each.endpoint)

    def clear(self) -> None:
        """Forget all messages: another service delivers them."""
        with self._lock:
            for line in self._lines.values():
                line.waiting.clear()
                line.ids.clear()

    def stop(self) -> None:
        """End the thread; what is under way is in the store, and is sent again after a restart."""

        async def end() -> None:
            workers = list(self._workers.values())
            for each in workers:
                each.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await asyncio.sleep(0)  # connections are closed in the next turn of the loop
            self._loop.stop()

        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(end(), self._loop)
            self._thread.join(2.0)

    # ---------------------------------------------------------------- in the courier's thread

    def _start(self, number: str) -> None:
        self._wake.setdefault(number, asyncio.Event()).set()
        worker = self._workers.get(number)
        if worker is None or worker.done():
            self._workers[number] = self._loop.create_task(self._work(number))

    async def _work(self, number: str) -> None:
        """Deliver the messages of one endpoint, one after the other, each when it is due."""
        line, wake = self.line(number), self._wake[number]
        while True:
            wake.clear()
            with self._lock:
                due = line.waiting[0][0] if line.waiting else None
                ready = heapq.heappop(line.waiting) if due is not None and due <= time() else None
                endpoint = self._endpoints.get(number)
            if due is None or endpoint is None:
                return
            if ready is None:
                try:
                    await asyncio.wait_for(wake.wait(), due - time())
                except TimeoutError:
                    continue
                continue
            _, _, n_failed, message = ready
            try:
                made = await send(endpoint, message, self._schedule.patience)
                self._done(endpoint, line, message, n_failed, made)
            except Exception:  # the next message may do better
                log.exception("a webhook cannot be delivered", extra={"webhook": number})
                self._drop(line, message)

    def _done(
        self, endpoint: Endpoint, line: EndpointQueue, message: Message, n_failed: int, made: Attempt
    ) -> None:
        line.last, line.last_time = made, time()
        if made.is_delivered:
            line.n_delivered += 1
            line.delivered_time = line.last_time
            self._drop(line, message)
            return
        line.n_failed += 1
        n_failed += 1
        about = {"webhook": endpoint.id, "url": hidden(endpoint.url), "message_id": message.id}
        if made.status == 410:
            line.is_gone = True
            log.error("a webhook is gone and is sent nothing more", extra=about)
            self._gone(endpoint)
            with self._lock:
                others = [each for *_, each in line.waiting]
                line.waiting.clear()
            for each in (message, *others):
                self._give_up(line, each)
            return
        wait = max(self._schedule.wait(n_failed), made.wait)
        if n_failed >= self._schedule.attempts or time() + wait - message.created / 1e6 > _OLDEST:
            log.error("a webhook was given up", extra=about | {"attempts": n_failed, "error": made.detail})
            self._give_up(line, message)
            return
        log.warning("a webhook failed", extra=about | {"error": made.detail, "wait": round(wait, 1)})
        with self._lock:
            if message.id in line.ids:
                heapq.heappush(line.waiting, (time() + wait, next(self._order), n_failed, message))

    def _give_up(self, line: EndpointQueue, message: Message) -> None:
        line.n_given_up += 1
        self._drop(line, message)

    def _drop(self, line: EndpointQueue, message: Message) -> None:
        try:
            self._remove(message)
        except LsdtError as error:  # it is sent again after a restart
            log.error("a message stays in the queue", extra={"message_id": message.id, "error": str(error)})
        with self._lock:
            line.ids.discard(message.id)


async def send(endpoint: Endpoint, message: Message, patience: float) -> Attempt:
    """Make one attempt, signed with the time of it: receivers refuse messages signed long ago."""
    at = int(time())
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(checked_secrets(endpoint.secret), message.id, at, message.body),
    }
    return await attempt(checked_url(endpoint.url), headers, message.body, patience)
