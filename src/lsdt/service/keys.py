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
from lsdt.storage import now
from lsdt.storage.store import checked_name

if TYPE_CHECKING:
    from lsdt.storage import Store

ROLES = ("read", "decide", "admin")  # each may do what those before it may
SCOPE = "keys"
_PREFIX = "lsdt"
_NOBODY = sha256(b"").hexdigest()


class Key(NamedTuple):
    """What a store knows of a key; the key itself it does not.

    Attributes
    ----------
    id : str
        The public part, by which it is listed and removed.
    role : {'read', 'decide', 'admin'}
        What it may do.
    experiment : str or None
        The only experiment it is good for; None for all.
    rate : float or None
        Most requests a second; None for the service's own limit.
    digest : str
        SHA-256 of the secret part, which has 256 random bits.
    created : int
        Microseconds since 1970.
    """

    id: str
    role: str
    experiment: str | None
    rate: float | None
    digest: str
    created: int


def add_key(store: Store, role: Any, experiment: Any = None, rate: Any = None) -> tuple[str, Key]:
    """Put a new key into a store; return the key, which nobody can show again, and what is known of it.

    Examples
    --------
    >>> from lsdt.service.keys import KeyRing, add_key
    >>> from lsdt.storage import open_store
    >>> with open_store("memory://") as store:
    ...     text, _ = add_key(store, "decide", "drinks")
    ...     KeyRing(store).find(text).role
    'decide'
    """
    checked_word(role, "role", ROLES)
    name = None if experiment is None else checked_name(experiment)
    most = None if rate is None else checked_positive(rate, "rate", ", requests a second")
    secret, number = secrets.token_urlsafe(32), secrets.token_hex(6)
    key = Key(number, role, name, most, sha256(secret.encode()).hexdigest(), now())
    with store.transaction():
        store.remember(SCOPE, number, json.dumps(key._asdict()).encode())
    return f"{_PREFIX}_{number}_{secret}", key


def remove_key(store: Store, number: str) -> None:
    """Take a key away, by the public part of it."""
    if not store.forget(SCOPE, number):
        known = ", ".join(sorted(store.recall(SCOPE))) or "none"
        raise InvalidInput(f"there is no key {number!r}; there are: {known}")


class KeyRing:
    """The keys of a store, as they were when it was last looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[str, Key] = {}
        self.reload()

    def reload(self) -> None:
        """Look again."""
        try:
            notes = self._store.recall(SCOPE)
            self._keys = {number: Key(**json.loads(note)) for number, note in notes.items()}
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"the keys of {self._store.url} cannot be read: {error}") from None

    def move(self, store: Store) -> None:
        """Look into another store from now on, which has the same keys."""
        self._store = store

    def __len__(self) -> int:
        return len(self._keys)

    def all(self) -> list[Key]:
        """Return the keys, the oldest first."""
        return sorted(self._keys.values(), key=lambda key: key.created)

    def find(self, text: str) -> Key | None:
        """Return the key of a text, or None; the time it takes says nothing of the secret."""
        _, _, rest = text.partition("_")
        number, _, secret = rest.partition("_")
        key = self._keys.get(number)
        digest = sha256(secret.encode(errors="replace")).hexdigest()
        fits = compare_digest(digest, _NOBODY if key is None else key.digest)
        return key if fits and key is not None else None


class RateLimit:
    """At most so many requests a second for each of many callers, with a burst of one second."""

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
