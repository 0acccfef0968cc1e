"""Reading a request: its head, its body, and whether its caller may."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from lsdt.service.answers import Refused
from lsdt.service.keys import ROLES, RateLimit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import Receive, Scope

    from lsdt.service.keys import KeyRing

COOKIE = "lsdt_key"
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_FORWARDED = frozenset((b"forwarded", b"x-forwarded-for", b"x-real-ip"))


class Head(NamedTuple):
    """What of the headers matters."""

    key: str | None
    idempotency_key: str | None
    origin: str | None
    host: str
    length: int
    content_type: str
    accept: str
    is_forwarded: bool
    expects: bool


class Caller(NamedTuple):
    """Who calls: a role, for one experiment or (None) for all."""

    role: str
    experiment: str | None

    def may(self, role: str) -> bool:
        """Return whether the caller may do what a role may."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, name: str) -> bool:
        """Return whether an experiment is the caller's to look at."""
        return self.experiment is None or self.experiment == name


class ClientGone(Exception):
    """The caller went away in the middle of the request."""


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Return what of the headers, their names in lower case, matters."""
    return _head_of(tuple(headers))


@lru_cache(maxsize=256)
def _head_of(headers: tuple[tuple[bytes, bytes], ...]) -> Head:
    """Read the headers; those of most requests are those of many before."""
    found = dict(headers)  # of a header that comes twice, the last
    key = repeated = origin = None
    host, length, kind, accept = "", -1, "", ""
    if b"host" in found:
        host = found[b"host"].decode("latin-1").lower()
    if b"content-length" in found:
        value = found[b"content-length"]
        length = int(value) if value.isdigit() and len(value) < 19 else 2**63
    if b"content-type" in found:
        kind = found[b"content-type"].decode("latin-1").partition(";")[0].strip().lower()
    if b"accept" in found:
        accept = found[b"accept"].decode("latin-1").lower()
    if b"idempotency-key" in found:
        repeated = found[b"idempotency-key"].decode("latin-1")
    if b"origin" in found:
        origin = found[b"origin"].decode("latin-1").lower()
    if b"authorization" in found:
        scheme, _, text = found[b"authorization"].decode("latin-1").partition(" ")
        key = text.strip() if scheme.lower() == "bearer" else ""
    if not key and b"cookie" in found:
        key = _key_in_cookie(found[b"cookie"].decode("latin-1"))
    forwarded = not _FORWARDED.isdisjoint(found)
    return Head(key, repeated, origin, host, length, kind, accept, forwarded, b"expect" in found)


def _key_in_cookie(text: str) -> str | None:
    for part in text.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return None


async def read_body(receive: Receive, head: Head, limit: int) -> bytes:
    """Return the body, or refuse one that is too long before it is all here."""
    if head.length > limit:
        raise _too_long(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body"):
        if len(body) > limit:
            raise _too_long(limit)
        return body
    parts, size = [body], len(body)
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise _too_long(limit)
    if message["type"] != "http.request":
        raise ClientGone
    return b"".join(parts)


def _too_long(limit: int) -> Refused:
    return Refused(
        413, f"a body has at most {limit:,} bytes here; send less at once", {"connection": "close"}
    )


def decode(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Return what a body says, or what is wrong with it."""
    try:
        return decoder.decode(body or b"{}")
    except msgspec.ValidationError as error:
        raise Refused(422, f"the body is not what is asked for: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None


class Guard:
    """Decides who is let in.

    Without keys everything is allowed to callers of this machine, and nothing to others: not through a proxy,
    and not from a page of another site that a browser of this machine shows.

    Parameters
    ----------
    keys : KeyRing
        The keys.
    rate : float or None
        Most requests a second for a key that has no limit of its own.
    origins : sequence of str
        Other sites whose pages may call (CORS).
    """

    def __init__(self, keys: KeyRing, rate: float | None, origins: Sequence[str]) -> None:
        self._keys, self._rate, self.origins = keys, rate, tuple(origins)
        self._limit = RateLimit()

    @property
    def is_open(self) -> bool:
        """Whether there are no keys, so that this machine alone is served."""
        return not len(self._keys)

    def admit(self, scope: Scope, head: Head, role: str, experiment: str | None = None) -> Caller:
        """Return who calls, or refuse."""
        if head.origin is not None and head.origin not in self.origins:
            if urlsplit(head.origin).netloc != head.host:
                raise Refused(403, f"pages of {head.origin} may not call this service; start it with --cors")
        if self.is_open:
            _check_local(scope, head)
            return Caller("admin", None)
        key = None if head.key is None else self._keys.find(head.key)
        if key is None:
            what = "this service needs a key" if head.key is None else "this key is not known"
            raise Refused(
                401,
                f"{what}; send 'Authorization: Bearer KEY' (lsdt keys add makes one)",
                {"www-authenticate": "Bearer"},
            )
        caller = Caller(key.role, key.experiment)
        if not caller.may(role):
            raise Refused(403, f"this needs a key of role {role!r}; this one is {key.role!r}")
        if key.experiment is not None and experiment != key.experiment:
            if experiment is not None or role == "admin":
                raise Refused(403, f"this key is for the experiment {key.experiment!r} only")
        rate = key.rate or self._rate
        if rate is not None:
            wait = self._limit.seconds_to_wait(key.id, rate)
            if wait > 0.0:
                raise Refused(
                    429,
                    f"this key may make {rate:g} requests a second; come again in {wait:.2f} seconds",
                    {"retry-after": str(max(1, round(wait)))},
                )
        return caller


def _check_local(scope: Scope, head: Head) -> None:
    client = scope.get("client")
    if client is not None and not _is_loopback(client[0]):
        raise Refused(
            403, "without keys only this machine is served; make one with: lsdt keys add --role admin"
        )
    if head.is_forwarded or not _is_local_name(head.host):
        raise Refused(
            403,
            "without keys this service answers to localhost only, and not through a proxy; make a key with: "
            "lsdt keys add --role admin",
        )


@lru_cache(maxsize=1024)
def _is_local_name(host: str) -> bool:
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).strip("[]") in _LOCAL_NAMES


@lru_cache(maxsize=1024)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
