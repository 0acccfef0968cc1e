"""Endpoints: who is told what, with which secret."""

from __future__ import annotations

import json
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_list, checked_word
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.service.webhooks.addresses import check_allowed, checked_url
from lsdt.service.webhooks.conditions import EVENTS
from lsdt.service.webhooks.signing import checked_secrets, new_secret
from lsdt.storage import no_experiment, now

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lsdt.service.settings import Settings
    from lsdt.storage import Store

SCOPE = "webhooks"
MOST = 100  # endpoints of a service: each has a queue, and what was announced to it
_TOLD = "webhook told "  # and the id of an endpoint: what was announced to it


class Endpoint(NamedTuple):
    """Where events are sent.

    Attributes
    ----------
    id : str
        By which it is listed and removed.
    url : str
        Where it is; its path often holds a secret, and is not shown.
    tag : str
        Of the only experiment that it is told about; empty for the service and all experiments.
    events : tuple of str
        The types of events that it is sent; empty for all.
    secret : str
        What messages are signed with.
    created : int
        Microseconds since 1970; 0 if it comes from the command line.
    is_gone : bool
        Whether it answered 410, and is sent nothing more.
    """

    id: str
    url: str
    tag: str
    events: tuple[str, ...]
    secret: str
    created: int
    is_gone: bool = False

    @property
    def experiment(self) -> str | None:
        """The name of the only experiment that it is told about."""
        return self.tag.partition(" ")[2] or None

    @property
    def told_scope(self) -> str:
        """The scope of the notes about what was announced to it."""
        return _TOLD + self.id

    def takes(self, event: str, experiment: str | None) -> bool:
        """Return whether it is told of an event of an experiment, or (None) of the service."""
        return (not self.events or event in self.events) and self.experiment in (None, experiment)


def of_settings(settings: Settings) -> list[Endpoint]:
    """Return the endpoints of the command line."""
    if not settings.webhooks:
        return []
    if not settings.webhook_secret.split():
        raise InvalidInput(
            "webhooks are signed: put a secret into the environment variable LSDT_WEBHOOK_SECRET; make one "
            'with: echo "whsec_$(openssl rand -base64 32)"'
        )
    checked_secrets(settings.webhook_secret)
    found = []
    for url in dict.fromkeys(settings.webhooks):
        checked_url(url)
        number = sha256(url.encode()).hexdigest()[:12]
        found.append(Endpoint(number, url, "", (), settings.webhook_secret, 0))
    return found


def of_store(store: Store) -> list[Endpoint]:
    """Return the endpoints that were added over HTTP, the oldest first."""
    try:
        rows = [json.loads(note) for note in store.recall(SCOPE).values()]
        found = [Endpoint(**(row | {"events": tuple(row["events"])})) for row in rows]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidFile(f"the webhooks of {store.url} cannot be read: {error}") from None
    return sorted(found, key=lambda each: (each.created, each.id))


def add_endpoint(
    store: Store, origins: Collection[str], url: Any, experiment: Any, events: Any, n_before: int
) -> Endpoint:
    """Put a new endpoint into a store."""
    check_allowed(checked_url(url), origins)
    words = checked_list([] if events is None else events, "events", "types of events")
    for word in words:
        checked_word(word, "events", EVENTS)
    if n_before >= MOST:
        raise InvalidInput(f"a service has at most {MOST} webhooks; remove one first")
    tag = ""
    if experiment is not None:
        found = store.find(experiment) if isinstance(experiment, str) else None
        if found is None:
            raise no_experiment(str(experiment), [each.name for each in store.list()], store.url)
        tag = f"{found.created} {found.name}"
    made = Endpoint(secrets.token_hex(6), url, tag, tuple(dict.fromkeys(words)), new_secret(), now())
    with store.transaction():
        store.remember(SCOPE, made.id, _encoded(made))
    return made


def mark_gone(store: Store, endpoint: Endpoint) -> None:
    """Send an endpoint nothing more, also after a restart; one of the command line is tried again then."""
    if endpoint.created:
        gone = endpoint._replace(is_gone=True)
        with store.transaction():
            store.remember(SCOPE, endpoint.id, _encoded(gone), _encoded(endpoint))


def remove_endpoint(store: Store, number: str, from_settings: Sequence[Endpoint]) -> None:
    """Take an endpoint away."""
    if any(each.id == number for each in from_settings):
        raise InvalidInput(
            f"the webhook {number!r} comes from the command line of the service; start it without it"
        )
    known = store.recall(SCOPE)
    if number not in known or not store.forget(SCOPE, number):
        raise InvalidInput(f"there is no webhook {number!r}; there are: {', '.join(sorted(known)) or 'none'}")
    store.forget(_TOLD + number)


def remove_webhooks_of(store: Store, tag: str, from_settings: Sequence[Endpoint]) -> None:
    """Remove the endpoints of an experiment that was deleted, and what others were told about it."""
    for each in [*of_store(store), *from_settings]:
        if each.tag == tag:
            store.forget(SCOPE, each.id)
            store.forget(each.told_scope)
        else:
            store.forget(each.told_scope, tag)


def _encoded(endpoint: Endpoint) -> bytes:
    return json.dumps(endpoint._asdict()).encode()
