"""Reading a request: its head, its body, and whether its caller may."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lsdt.service.answers import Refused
from lsdt.service.keys import RateLimit, is_at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import Receive, Scope

    from lsdt.service.hosting import HostedExperiment
    from lsdt.service.keys import Key, KeyRing
    from lsdt.service.sessions import Sessions

COOKIE = "lsdt_session"
# Over TLS the cookie has this in front: browsers then take it from this host alone, and not from a sibling.
_HOST_PREFIX = "__Host-"
_SAFE = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
_LOCAL = "-"  # who calls where there are no keys
_LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
_ONCE = (
    b"authorization", b"content-type", b"cookie", b"host", b"idempotency-key", b"origin", b"sec-fetch-site",
    b"x-lsdt-token",
)  # fmt: skip
# What only something between a client and a service writes: by RFC 7239, 9110 and 8586; the family of
# X-Forwarded-For; the address of the client, as proxies call it; and what platforms and CDNs add.
_PROXY_NAMES = frozenset((
    b"forwarded", b"via", b"cdn-loop", b"client-ip", b"true-client-ip", b"fastly-client-ip", b"x-client-ip",
    b"x-cluster-client-ip", b"x-originating-ip", b"x-real-ip", b"x-real-port", b"x-remote-addr",
    b"x-remote-ip", b"x-scheme", b"x-amzn-trace-id", b"x-cloud-trace-context", b"wl-proxy-client-ip",
))  # fmt: skip
_PROXY_PREFIXES = (
    b"x-forwarded", b"x-original-", b"x-proxy", b"proxy-", b"x-envoy-", b"x-arr-", b"x-azure-", b"x-amz-cf-",
    b"x-appengine-", b"x-vercel-", b"cf-", b"fly-",
)  # fmt: skip


class Head(NamedTuple):
    """The headers that matter; `proxy` names one that a proxy wrote, `wrong` says why the head is refused.

    `session` and `token` are what a browser that has signed in sends, `site` is its Sec-Fetch-Site.
    """

    key: str | None
    session: str
    token: str
    site: str
    is_secure: bool
    idempotency_key: str | None
    origin: str | None
    host: str
    length: int
    content_type: str
    accept: str
    proxy: str
    expects: bool
    wrong: str


class Caller(NamedTuple):
    """Who calls: a role, for one experiment or (None) for all; `id` and `name` are those of the key.

    An experiment is known by its name and by when it was made: a name may be given again.
    """

    role: str
    experiment: str | None = None
    experiment_created: int | None = None
    id: str = _LOCAL
    name: str = ""

    @property
    def signature(self) -> str:
        """How the log names the caller: by the name of the key, if it has one, and its id."""
        if self.id == _LOCAL:
            return "this machine, without a key"
        return f"{self.name} ({self.id})" if self.name else self.id

    def check_unscoped(self) -> None:
        """Refuse a key of one experiment."""
        if self.experiment is not None:
            raise Refused(403, f"this key is for the experiment {self.experiment!r} only")

    def may(self, role: str) -> bool:
        """Return whether the caller may do what a role may."""
        return is_at_least(self.role, role)

    def sees(self, hosted: HostedExperiment) -> bool:
        """Return whether the caller may look at an experiment."""
        if self.experiment is None:
            return True
        return (self.experiment, self.experiment_created) == (hosted.name, hosted.created)

    def check(self, hosted: HostedExperiment) -> None:
        """Refuse a key of an experiment that was deleted, for another one that was given its name."""
        if not self.sees(hosted):
            raise Refused(
                403,
                f"this key is for an experiment {self.experiment!r} that was deleted; the one that has its "
                "name now needs a key of its own",
            )


class ClientGone(Exception):
    """The caller went away in the middle of the request."""


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Return the headers that matter; names are in lower case."""
    return _head_of(tuple(headers))


@lru_cache(maxsize=256)
def _head_of(headers: tuple[tuple[bytes, bytes], ...]) -> Head:
    """Read the headers; cached, since most requests have the same ones as many before."""
    found = dict(headers)  # of a header that comes twice, the last
    key = repeated = origin = None
    wrong = ""
    if len(found) < len(headers):
        names = [name for name, _ in headers]
        twice = [name.decode() for name in _ONCE if names.count(name) > 1]
        wrong = f"the header {twice[0]!r} came more than once; send it once" if twice else ""
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
    session, is_secure = "", found.get(b"x-forwarded-proto", b"").lower() == b"https"
    if b"cookie" in found:
        session = _session_in(found[b"cookie"].decode("latin-1"), cookie_name(is_secure))
    token = found.get(b"x-lsdt-token", b"").decode("latin-1")
    site = found.get(b"sec-fetch-site", b"").decode("latin-1").lower()
    signs = [name for name in found if name in _PROXY_NAMES or name.startswith(_PROXY_PREFIXES)]
    proxy = signs[0].decode("latin-1") if signs else ""
    expects = b"expect" in found
    return Head(
        key,
        session,
        token,
        site,
        is_secure,
        repeated,
        origin,
        host,
        length,
        kind,
        accept,
        proxy,
        expects,
        wrong,
    )


def is_same_site(head: Head) -> bool:
    """Return whether the page that a browser sends a request from is one of this service."""
    return head.origin is not None and head.host != "" and head.origin.partition("://")[2] == head.host


def cookie_name(is_secure: bool) -> str:
    """Return the name of the cookie that holds a session."""
    return _HOST_PREFIX + COOKIE if is_secure else COOKIE


def _session_in(text: str, wanted: str) -> str:
    """Return the value of a cookie; empty where there is none, or several, of which one was smuggled in."""
    pairs = (part.strip().partition("=") for part in text.split(";"))
    values = {value for name, _, value in pairs if name == wanted}
    return values.pop() if len(values) == 1 else ""


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

    Where no key was ever made, everything is allowed to callers of this machine, and nothing to others: not
    through a proxy, and not from a page of another site that a browser of this machine shows.

    Parameters
    ----------
    keys : KeyRing
        The keys.
    rate : float or None
        Most requests a second for a key that has no limit of its own.
    origins : sequence of str
        Other sites whose pages may call (CORS), with a key.
    sessions : Sessions
        Who signed in.
    """

    def __init__(self, keys: KeyRing, rate: float | None, origins: Sequence[str], sessions: Sessions) -> None:
        self._keys, self._rate, self.origins = keys, rate, tuple(origins)
        self._limit, self.sessions = RateLimit(), sessions

    @property
    def is_open(self) -> bool:
        """Whether this machine is served without keys."""
        return self._keys.is_open

    def check_head(self, head: Head) -> None:
        """Refuse malformed heads, and requests from pages of other sites."""
        if head.wrong:
            raise Refused(400, head.wrong)
        if head.origin is not None and head.origin not in self.origins and not is_same_site(head):
            raise Refused(403, "pages of other sites may not call this service; start it with --cors ORIGIN")

    def key_of(self, head: Head) -> Key | None:
        """Return the key of a request: the one that it sends, or the one that its session stands for."""
        if head.key is not None:
            return self._keys.find(head.key)
        session = self.sessions.find(head.session) if head.session else None
        return None if session is None else self._keys.get(session.key)

    def form_token(self, head: Head) -> str:
        """Return the token that forms on this caller's pages must carry."""
        return self.sessions.form_token("" if self.is_open else head.session)

    def check_form(self, head: Head, token: str) -> None:
        """Refuse a request that changes something, unless one of our own pages makes it for this caller."""
        same = head.site == "same-origin" if head.site else is_same_site(head)
        if not same:
            raise Refused(
                403, "this was not sent by a page of this service; open the page here, and try again"
            )
        if not self.sessions.is_form_token(token, "" if self.is_open else head.session):
            raise Refused(
                403, "the page that sent this is not of your session; go back, load it again, and try again"
            )

    def admit(
        self, scope: Scope, head: Head, role: str, experiment: str | None = None, *, is_form: bool = False
    ) -> Caller:
        """Return who calls, or refuse.

        Callers whose session a cookie names prove, to change something, that a page of ours sent it. Handlers
        of forms say `is_form`, and call `check_form` themselves.
        """
        self.check_head(head)
        if self.is_open:
            _check_local(scope, head)
            return Caller("admin")
        key = self.key_of(head)
        if key is None:
            what = "this key is not known" if head.key else "this service needs a key"
            raise Refused(
                401,
                f"{what}; send 'Authorization: Bearer KEY' (lsdt keys add makes one)",
                {"www-authenticate": "Bearer"},
            )
        # Without a method, it is one of the decisions of `connection`.
        if head.key is None and scope.get("method", "POST") not in _SAFE and not is_form:
            self.check_form(head, head.token)
        caller = Caller(key.role, key.experiment, key.experiment_created, key.id, key.name)
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
    sign = ""
    if head.proxy:
        sign = f"the header {head.proxy!r} was written by a proxy"
    elif not _LOCAL_HOST.fullmatch(head.host):
        sign = "the header 'host' is not localhost, 127.0.0.1 or [::1]"
    elif scope.get("http_version", "1.1") == "1.0":  # as nginx forwards where it is not told otherwise
        sign = "HTTP/1.0 is what proxies speak"
    if sign:
        raise Refused(
            403,
            f"without keys this service answers to localhost only, and not through a proxy ({sign}); make a "
            "key with: lsdt keys add --role admin",
        )


@lru_cache(maxsize=1024)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
