"""Sign-in from a browser: sessions that stand for a key for some hours.

A browser gets a random token in a cookie that scripts cannot read. It does not keep the key, and the store
keeps only a hash of the token. Requests that change something also carry a second token, derived from the
first, which our pages put into their forms: a page of another site knows neither.
"""

from __future__ import annotations

import json
import secrets
from hashlib import blake2b, sha256
from hmac import compare_digest
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from lsdt.errors import InvalidFile
from lsdt.storage import now

if TYPE_CHECKING:
    from lsdt.storage import Store

SCOPE = "sessions"
_EVERY = 0.1  # seconds: as often as replicas look into the logs
_MOST = 100  # sessions of a key: more than people have browsers; the oldest goes


class Session(NamedTuple):
    """The key that signed in, and when the session ends, in microseconds since 1970."""

    key: str
    expires: int


class Sessions:
    """The sessions of a store, as they were when it was last looked at.

    Parameters
    ----------
    store : Store
        Where they are kept, so that they survive a restart and are known to other services.
    secret : bytes
        What the tokens of forms are made with.
    seconds : float
        How long a session lasts.
    read_only : bool
        Whether they are kept in memory alone.

    Examples
    --------
    >>> from lsdt.service.sessions import Sessions
    >>> from lsdt.storage import open_store
    >>> with open_store("memory://") as store:
    ...     sessions = Sessions(store, bytes(32), 60.0)
    ...     token = sessions.begin("3f9c01ab77de")
    ...     found = sessions.find(token).key
    ...     sessions.end(token)
    >>> found, sessions.find(token)
    ('3f9c01ab77de', None)
    """

    def __init__(self, store: Store, secret: bytes, seconds: float, read_only: bool = False) -> None:
        self._store, self._secret, self._read_only = store, secret, read_only
        self.seconds = seconds
        self._known: dict[str, Session] = {}
        self._looked = 0.0
        self.reload()

    def reload(self) -> None:
        """Read the sessions from the store again."""
        self._looked = monotonic()
        if self._read_only:
            return
        try:
            notes = self._store.recall(SCOPE).items()
            self._known = {digest: Session(*json.loads(note)) for digest, note in notes}
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"the sessions of {self._store.url} cannot be read: {error}") from None

    def look_again(self) -> None:
        """Look again, unless that was done just now: anyone may send tokens that are unknown."""
        if monotonic() - self._looked > _EVERY:
            self.reload()

    def move(self, store: Store) -> None:
        """Use another store, which holds the same sessions, from now on."""
        self._store = store

    def begin(self, key: str) -> str:
        """Begin a session of a key, and return its token."""
        token = secrets.token_urlsafe(32)
        session = Session(key, now() + round(1e6 * self.seconds))
        own = [digest for digest, each in self._known.items() if each.key == key]
        gone = [digest for digest, each in list(self._known.items()) if each.expires <= now()]
        gone += sorted(set(own).difference(gone), key=lambda digest: self._known[digest].expires)[
            : max(0, len(own) + 1 - _MOST)
        ]
        if not self._read_only:
            with self._store.transaction():
                self._store.remember(SCOPE, _digest(token), json.dumps(session).encode())
        self._known[_digest(token)] = session
        for digest in gone:
            self._forget(digest)
        return token

    def find(self, token: str) -> Session | None:
        """Return the session of a token, or None; the lookup by hash says nothing of the token."""
        found = self._known.get(_digest(token))
        return None if found is None or found.expires <= now() else found

    def end(self, token: str) -> None:
        """End a session."""
        self._forget(_digest(token))

    def _forget(self, digest: str) -> None:
        self._known.pop(digest, None)
        if not self._read_only:
            self._store.forget(SCOPE, digest)

    def form_token(self, token: str) -> str:
        """Return the token that the forms of a session carry; without keys, of the empty session."""
        return blake2b(token.encode(errors="replace"), key=self._secret, digest_size=24).hexdigest()

    def is_form_token(self, given: str, token: str) -> bool:
        """Return whether a form has the token of its session; the time it takes says nothing of that."""
        return compare_digest(given.encode(errors="replace"), self.form_token(token).encode())


def _digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()
