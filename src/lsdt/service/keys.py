"""Keys of callers: who may do what, and how often."""

from __future__ import annotations

import json
import secrets
from hashlib import sha256
from hmac import compare_digest
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_positive, checked_word
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.storage import checked_name, no_experiment, now

if TYPE_CHECKING:
    from lsdt.storage import Store

ROLES = ("read", "decide", "operate", "admin")  # each may do what those before it may
SCOPE = "keys"
_GUARD, _CLOSED = "guard", "closed"  # the note that a key was made once
_PREFIX = "lsdt"
_LONGEST = 100  # characters of a name, which has to fit into a column
_NOBODY = sha256(b"").hexdigest()


def is_at_least(role: str, other: str) -> bool:
    """Return whether a role may do what another may."""
    return ROLES.index(role) >= ROLES.index(other)


class Key(NamedTuple):
    """What a store knows of a key; the key itself it does not.

    Attributes
    ----------
    id : str
        The public part, by which it is listed and removed.
    role : {'read', 'decide', 'operate', 'admin'}
        What it may do.
    experiment : str or None
        The only experiment it is good for; None for all.
    experiment_created : int or None
        When that one was made: a later one that is given its name needs a key of its own.
    rate : float or None
        Most requests a second; None for the service's own limit.
    digest : str
        SHA-256 of the secret part, which has 256 random bits.
    created : int
        Microseconds since 1970.
    name : str
        Whose it is: what the log calls the one who acts with it. No two keys have the same.
    """

    id: str
    role: str
    experiment: str | None
    experiment_created: int | None
    rate: float | None
    digest: str
    created: int
    name: str = ""


def add_key(
    store: Store, role: Any, experiment: Any = None, rate: Any = None, name: Any = ""
) -> tuple[str, Key]:
    """Put a new key into a store; return the key, which cannot be shown again, and its record.

    From then on the store is served to callers with a key only, also when all keys are removed; `open_again`
    undoes that.

    Examples
    --------
    >>> from lsdt.service.keys import KeyRing, add_key
    >>> from lsdt.storage import open_store
    >>> with open_store("memory://") as store:
    ...     text, _ = add_key(store, "decide")
    ...     KeyRing(store).find(text).role
    'decide'
    """
    checked_word(role, "role", ROLES)
    only = created = None
    if experiment is not None:
        only = checked_name(experiment)
        found = store.find(only)
        if found is None:
            raise no_experiment(only, [each.name for each in store.list()], store.url)
        created = found.created
    most = None if rate is None else checked_positive(rate, "rate", ", requests a second")
    whose = _checked_whose(store, name)
    secret, number = secrets.token_urlsafe(32), secrets.token_hex(6)
    key = Key(number, role, only, created, most, sha256(secret.encode()).hexdigest(), now(), whose)
    with store.transaction():
        store.remember(_GUARD, _CLOSED, b"")
        store.remember(SCOPE, number, json.dumps(key._asdict()).encode())
    return f"{_PREFIX}_{number}_{secret}", key


def _checked_whose(store: Store, name: Any) -> str:
    """Return the name of a new key; that of another key would make the log ambiguous."""
    if not isinstance(name, str) or len(name) > _LONGEST or not name.isprintable() or name != name.strip():
        raise InvalidInput(
            f"the name of a key has at most {_LONGEST} printable characters, and no space at either end; got "
            f"{name!r}"
        )
    if name and name in (key.name for key in KeyRing(store).all()):
        raise InvalidInput(f"there is a key {name!r} already; choose another name, or remove that key first")
    return name


def remove_key(store: Store, number: str) -> None:
    """Take a key away, by the public part of it. Without the last one no caller is let in."""
    known = store.recall(SCOPE)
    # Looked for here: PostgreSQL takes no text with a NUL in it, which would count as a failure of the store.
    if number not in known or not store.forget(SCOPE, number):
        raise InvalidInput(f"there is no key {number!r}; there are: {', '.join(sorted(known)) or 'none'}")


def remove_keys_of(store: Store, tag: str) -> None:
    """Remove the keys of an experiment that was deleted."""
    for key in KeyRing(store).all():
        if f"{key.experiment_created} {key.experiment}" == tag:
            store.forget(SCOPE, key.id)


def open_again(store: Store) -> None:
    """Serve callers of the service's own machine without a key again, as before the first one was made."""
    known = store.recall(SCOPE)
    if known:
        raise InvalidInput(
            f"there are keys ({', '.join(sorted(known))}); remove them first, each with: lsdt keys remove ID"
        )
    store.forget(_GUARD, _CLOSED)


class KeyRing:
    """The keys of a store, as they were when it was last looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[str, Key] = {}
        self._is_closed = True
        self.reload()

    def reload(self) -> None:
        """Read the keys from the store again."""
        try:
            notes = self._store.recall(SCOPE)
            keys = {number: Key(**json.loads(note)) for number, note in notes.items()}
            # In this order: a first key that is made in between closes the store.
            is_closed = _CLOSED in self._store.recall(_GUARD)
            self._keys, self._is_closed = keys, is_closed
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"the keys of {self._store.url} cannot be read: {error}") from None

    def move(self, store: Store) -> None:
        """Use another store, which holds the same keys, from now on."""
        self._store = store

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def is_open(self) -> bool:
        """Whether no key was ever made (or `open_again` said so): then no caller needs one."""
        return not self._keys and not self._is_closed

    def all(self) -> list[Key]:
        """Return the keys, the oldest first."""
        return sorted(self._keys.values(), key=lambda key: key.created)

    def get(self, number: str) -> Key | None:
        """Return the key with an id, or None."""
        return self._keys.get(number)

    def find(self, text: str) -> Key | None:
        """Return the key of a text, or None; the time it takes says nothing of the secret."""
        _, _, rest = text.partition("_")
        number, _, secret = rest.partition("_")
        key = self._keys.get(number)
        digest = sha256(secret.encode(errors="replace")).hexdigest()
        fits = compare_digest(digest, _NOBODY if key is None else key.digest)
        return key if fits and key is not None else None


class RateLimit:
    """A limit of requests a second for each of many callers, with a burst of one second."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def seconds_to_wait(self, caller: str, rate: float) -> float:
        """Count a request; return 0, or after how many seconds to come again."""
        time = monotonic()
        most = max(rate, 1.0)
        left, before = self._left.get(caller, (most, time))
        left = min(most, left + (time - before) * rate)
        if left < 1.0:
            self._left[caller] = left, time
            return (1.0 - left) / rate
        self._left[caller] = left - 1.0, time
        return 0.0
