"""The queue of messages, which lies in the store until each has arrived, and what was announced before.

What was announced to an endpoint and the messages about it are written in one transaction: a service that is
killed announces a change after its restart, or has it in the queue already. A message is removed after it has
arrived, so one that arrived just before a crash is sent again, with the same id.

When the queue of an endpoint is full, a change is not noted as announced: it is found again, and announced,
when there is room.
"""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.service.webhooks.conditions import AT_ONCE
from lsdt.storage import now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsdt.service.webhooks.conditions import Conditions
    from lsdt.service.webhooks.endpoints import Endpoint
    from lsdt.storage import Store

QUEUE = "webhook queue"
SERVICE = "service"  # the key of what was announced of the whole service


class Message(NamedTuple):
    """A message for one endpoint."""

    id: str
    endpoint: str
    created: int
    body: bytes

    @property
    def key(self) -> str:
        """The key of its note: in order of time."""
        return f"{self.created:017d} {self.id} {self.endpoint}"


def new_message(endpoint: str, event: str, data: Mapping[str, Any], created: int | None = None) -> Message:
    """Return a message about an event."""
    time = now() if created is None else created
    number = f"msg_{secrets.token_hex(12)}"
    written = (
        datetime.fromtimestamp(time / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
    content = {"id": number, "type": event, "timestamp": written, "data": data}
    return Message(number, endpoint, time, json.dumps(content, allow_nan=False).encode())


def queued(store: Store) -> list[Message]:
    """Return the messages that have not arrived, the oldest first."""
    found = []
    for key, body in sorted(store.recall(QUEUE).items()):
        created, number, endpoint = key.split(" ")
        found.append(Message(number, endpoint, int(created), body))
    return found


def remove(store: Store, message: Message) -> None:
    """Forget a message that has arrived, or was given up."""
    store.forget(QUEUE, message.key)


class Told:
    """What one endpoint was told about one subject: each condition's mark, and the event that ends it."""

    def __init__(self, endpoint: Endpoint, subject: str, store: Store) -> None:
        note = store.recall(endpoint.told_scope, subject).get(subject)
        self._endpoint, self._subject, self._note = endpoint, subject, note
        self._known: dict[str, dict[str, Any]] = {} if note is None else json.loads(note)
        self._gone: dict[str, float] = {}  # when a condition was first found to be over

    def changes(
        self,
        conditions: Conditions,
        time: float,
        at_end: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        *,
        is_all: bool = True,
    ) -> tuple[list[Message], dict[str, Any]]:
        """Return messages about what began or ended, and what will then have been announced.

        `at_end` has more data for the end of a condition, by its key. Where `conditions` are not all
        (`is_all`), only those of `AT_ONCE` can be over.
        """
        endpoint, messages, known = self._endpoint, [], dict(self._known)
        for key, each in conditions.items():
            self._gone.pop(key, None)
            before = known.get(key)
            if before is not None and before["mark"] == each.mark:
                continue
            known[key] = {
                "mark": each.mark,
                "ends": each.ends,
                "grace": each.grace,
                "after": dict(each.after),
            }
            if endpoint.takes(each.type, each.data["experiment"]):
                messages.append(new_message(endpoint.id, each.type, each.data))
        for key in sorted(set(known) - set(conditions)):
            was = known[key]
            if was["grace"] is None or not (is_all or key in AT_ONCE):
                continue
            if time - self._gone.setdefault(key, time) < was["grace"]:
                continue
            del known[key], self._gone[key]
            if was["ends"] and endpoint.takes(was["ends"], was["after"]["experiment"]):
                data = {**was["after"], **at_end.get(key, {})}
                messages.append(new_message(endpoint.id, was["ends"], data))
        return messages, known

    def write(self, store: Store, messages: list[Message], known: dict[str, Any]) -> bool:
        """Keep messages and what they announce in one transaction; False if another service was faster."""
        note = json.dumps(known).encode()
        with store.transaction():
            is_first = store.remember(self._endpoint.told_scope, self._subject, note, self._note)
            if is_first:
                for each in messages:
                    store.remember(QUEUE, each.key, each.body)
        if is_first:
            self._note, self._known = note, known
        return is_first

    def assume(self, known: dict[str, Any]) -> None:
        """Take something for announced without writing it, while the store cannot be written to."""
        self._known = known

    @property
    def known(self) -> dict[str, Any]:
        """What was announced."""
        return self._known
