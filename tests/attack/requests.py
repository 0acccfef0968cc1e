"""Requests that no client of ours sends, in plain sockets, to a service without keys and to one with keys.

Answered well is an answer of HTTP that is no error 500, or a closed connection, with nothing in the log of
the service. Beyond that:

- a request with a sign of a proxy, a foreign host or a foreign page gets nothing from a service without keys;
- a key of one experiment reads nothing of another one, and no caller gets anything without a key;
- a browser that has signed in changes nothing without a page of ours: a missing or foreign token, another
  origin, the session of a reader, one that has ended, two sessions at once, a form of megabytes;
- a head of 65,536 bytes is answered, and one of one byte more refused, however the bytes come;
- files that stand for gigabytes, or hold a field without end, are refused.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import re
import socket
import time
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lsdt
from lsdt.service.keys import add_key
from lsdt.service.server import in_background
from lsdt.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS = 20.0  # for an answer; less than the patience of a service with its clients
_MOST_HEAD = 2**16
_HIDDEN = "unseen"  # the name of an experiment that no key is for
_ODD = (
    "", " ", "0", "-1", "1e308", "nan", "\t", "%", "%00", "%zz", "%ff%fe", "%2e%2e%2f", "..", "a%0d%0ab: c",
    "\x7f", "é", "ÿ", "[", "]", "[x]", "//", "http://[x]", "http://[", "x" * 3_000, "9" * 30,
    "bytes=0-0," * 500, "{}", "null", "*/*;q=" * 200, "gzip;q=x", "chunked, chunked", "identity",
    "100-continue", "lsdt_session=", "Bearer", "Bearer ", "Bearer lsdt__", "Bearer lsdt_0_é", "Basic x",
    "W/\"", "Thu, 01 Jan", "127.0.0.1:99999999", "[::1]:8900]",
)  # fmt: skip
_HEADERS = (
    "Host", "Origin", "Authorization", "Cookie", "Content-Type", "Content-Length", "Transfer-Encoding",
    "Range", "Accept", "Accept-Encoding", "Idempotency-Key", "Expect", "Connection", "Upgrade", "If-Range",
    "If-None-Match", "If-Modified-Since", "TE", "Trailer", "Referer", "X-Forwarded-Proto", "Sec-Fetch-Site",
)  # fmt: skip
_SIGNS = (
    "Forwarded: for=10.0.0.7", "Via: 1.1 proxy", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: localhost",
    "X-Real-IP: 127.0.0.1", "CF-Connecting-IP: 127.0.0.1", "True-Client-IP: 127.0.0.1", "CDN-Loop: x",
    "Host: localhost", "Origin: http://evil.example", "Origin: null", "Origin: http://[x]",
)  # fmt: skip
_CALLS = (
    "ask", "tell", "observe", "cancel", "extend", "retire", "reinstate", "merge", "pause", "resume", "stop",
    "tolerance", "snapshot", "erase-unit",
)  # fmt: skip
_LOOKS = (
    "", "/arms", "/best", "/why/tea", "/stopping", "/suspects", "/drift", "/lift", "/lift?control=x",
    "/best?top=2", "/stopping?tolerance=.1&top=2", "/stopping?tolerance=.1&top=all", "/events", "/stream",
)  # fmt: skip
_PAGES = (
    "/", "/login", "/health", "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/keys", "/v1/keys/x",
    "/v1/webhooks", "/v1/webhooks/x", "/v1/webhooks/x/test",
    "/v1/experiments", "/static/style.css", "/static/../keys.py", "/nothing", "*", "",
)  # fmt: skip
_BODIES = (
    b"", b"{}", b"[]", b"null", b'"', b"{", b"[" * 5_000, b'{"n": 1e999}', b'{"n": -1}', b'{"n": 10001}',
    b"\xff\xfe", b'{"decision": "\\ud800", "reward": 1}', b'{"arm": "tea", "reward": "x"}',
    b'{"arm": {}, "reward": []}', b'{"rewards": [{}]}', b'{"before": "x"}', b'{"experiments": ["mine", 3]}',
    b'{"arms": ["\\u0000"]}', b'{"role": "admin"}', b'{"name": "a/b", "n_arms": 2}',
    b'{"url": "http://169.254.169.254/"}', b'{"url": "https://x", "events": ["\\ud800"]}', b'{"url": 7}',
    b'{"unit": "u"}', b'{"unit": ""}', b'{"unit": "\\ud800", "n": 1}', b'{"unit": [], "allowed": ["tea"]}',
    b'{"unit": "u", "allowed": ["water"]}', b'{"rewards": [], "repeat": "replace"}', b'{"repeat": 3}',
    b'{"name": "x", "n_arms": 2, "floor": {"0": 2}}',
    b'{"name": "x", "n_arms": 2, "holdout": {"\\u0000": 0.1}}',
    b'{"name": "x", "n_arms": 2, "sticky": "1e99 days"}', b'{"name": "x", "n_arms": 2, "replace_within": -1}',
    b'{"reason": "x", "tolerance": -1}', b'{"arm": "tea", "reason": "\\u0000"}', b'{"reason": 3}',
    b'{"name": "x", "n_arms": -1}', b'{"name": "x", "arms": ["a", "a"]}',
    b'{"name": "x", "n_arms": 3, "ranges": [[0, 1, 2, 1]]}',
    b'{"name": "x", "n_arms": 3, "similar": [[0, 5]]}', b'{"name": "x", "file": "a,b"}', b"key=x",
    b"x" * 20_000,
)  # fmt: skip


class Case(NamedTuple):
    """Bytes to send, and what an answer to them must not be."""

    service: str  # "open" or "guarded"
    data: bytes
    forbidden: Callable[[bytes], bool]
    what: str


def attack(seed: int, seconds: float) -> tuple[int, int, list[str]]:
    """Send requests until the time is over: how many, how many were answered well, and the failures."""
    until = time.monotonic() + seconds
    failures, tried = [], 0
    with _services() as (urls, keys, errors):
        for number in count():
            if tried and time.monotonic() > until:
                break
            rng = random.Random(f"{seed} {number}")
            case = rng.choice(_MAKERS)(rng, keys)
            tried += 1
            wrong = _wrong(case, _sent(urls[case.service], case.data, rng), errors)
            if wrong:
                failures.append(f"seed {seed}, case {number}, {case.what}: {wrong}; sent {case.data[:300]!r}")
    return tried, tried - len(failures), failures


@contextlib.contextmanager
def _services() -> Iterator[tuple[dict[str, str], dict[str, str], list[str]]]:
    """Run both services in this process; give their addresses, the keys, and a list of what they log."""
    side = lsdt.SideInformation(3, arm_ids=["tea", "juice", "water"])
    handler = _Errors()
    log = logging.getLogger("lsdt.service")
    log.addHandler(handler)
    before, log.propagate = log.propagate, False
    guarded = f"memory://attack-{time.monotonic_ns()}"
    try:
        with in_background() as first, open_store(guarded) as store, in_background(guarded) as second:
            for url, name in ((first, "mine"), (second, "mine"), (second, _HIDDEN)):
                more = {"floor": {"tea": 0.1}, "replace_within": 60}
                with lsdt.Client.open(url, name, side=side, policy="ucb1", **more) as agent:
                    agent.ask()
            full = add_key(store, "admin")[0]
            with lsdt.Client(second, full) as client:  # the service looks for keys now
                keys = {role: client.add_key(role, "mine")["key"] for role in ("read", "decide", "admin")}
            _sign_in(second, {**keys, "other": full, "ended": full})
            handler.errors.clear()
            yield {"open": first, "guarded": second}, keys, handler.errors
    finally:
        log.removeHandler(handler)
        log.propagate = before


_SESSIONS: dict[str, tuple[str, str]] = {}  # of the guarded service: cookies, and the tokens of their forms


def _sign_in(url: str, keys: dict[str, str]) -> None:
    """Sign in from a browser with each key, and out again with the last."""
    for name, key in keys.items():
        with httpx.Client(base_url=url, headers={"origin": url}) as http:
            entered = http.post("/login", data={"key": key})
            found = re.search(r'name="token" value="(\w+)"', http.get("/experiments/mine").text)
            assert entered.status_code == 303
            assert found
            _SESSIONS[name] = http.cookies["lsdt_session"], found[1]
            if name == "ended":
                assert http.post("/logout", data={"token": found[1]}).status_code == 303


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.errors.append(self.format(record))


def _sent(url: str, data: bytes, rng: random.Random) -> bytes | None:
    """Send bytes in some pieces and end; return everything that comes back, None if that has no end."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    pieces = [data] if rng.random() < 0.5 else _cut(data, rng)
    with socket.create_connection((host, int(port)), timeout=_SECONDS) as line:
        with contextlib.suppress(OSError):  # closed before it has read everything
            for piece in pieces:
                line.sendall(piece)
            line.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while b"text/event-stream" not in answer[:2_000] and (more := line.recv(2**16)):
                answer += more  # a stream goes on for as long as it is read
        except TimeoutError:
            return None
        except OSError:
            pass
    return answer


def _cut(data: bytes, rng: random.Random) -> list[bytes]:
    places = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 6)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def _wrong(case: Case, answer: bytes | None, errors: list[str]) -> str:
    if errors:
        told, errors[:] = errors[0][-300:], []
        return f"an error in the log: {told}"
    if answer is None:
        return "neither answered nor closed"
    if answer and not answer.startswith(b"HTTP/1.1 "):
        return f"no answer of HTTP: {answer[:80]!r}"
    if any(b" 500 " in line[:14] for line in answer.split(b"HTTP/1.1")):
        return f"an error 500: {answer[-300:]!r}"
    if case.forbidden(answer):
        return f"answered {answer[:40]!r}...{answer[-200:]!r}"
    return ""


# ---------------------------------------------------------------------- what is sent


def _request(method: str, path: str, lines: list[str], body: bytes, version: str = "1.1") -> bytes:
    head = "\r\n".join([f"{method} {path} HTTP/{version}", *lines])
    return head.encode("latin-1", "replace") + b"\r\n\r\n" + body


def _path(rng: random.Random, name: str) -> tuple[str, str]:
    """Return a method that a path takes, mostly, and the path."""
    draw = rng.random()
    if draw < 0.4:
        method, path = "POST", f"/v1/experiments/{name}/{rng.choice(_CALLS)}"
    elif draw < 0.7:
        method, path = "GET", f"/v1/experiments/{name}{rng.choice(_LOOKS)}"
    elif draw < 0.8:
        method, path = "GET", f"/experiments/{name}{rng.choice(('', '/arms', '/arms/tea', '/log', '/live'))}"
    else:
        method, path = rng.choice(("GET", "POST")), rng.choice(_PAGES)
    if rng.random() < 0.3:
        path += rng.choice(
            ("?", "/", "%00", "?limit=", "?after=", "?delta=", "?order=", "?risk=")
        ) + rng.choice(_ODD)
    if rng.random() < 0.1:
        method = rng.choice(("PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "CONNECT", "X", "é"))
    return method, path.replace(" ", "%20").replace("\t", "%09")


def _nonsense(rng: random.Random, keys: dict[str, str]) -> Case:
    """Anything in any header and body; a local caller, or one with a key of one experiment."""
    guarded = rng.random() < 0.6
    method, path = _path(rng, "mine")
    body = rng.choice(_BODIES)
    given = {"Host": "localhost", "Content-Length": str(len(body))}
    if guarded and rng.random() < 0.8:
        given["Authorization"] = f"Bearer {keys[rng.choice(list(keys))]}"
    if method == "DELETE" or path.startswith("/v1/keys") or path.endswith("/pause"):
        method = "GET"  # or there would soon be nothing to attack, and no service without keys
    for _ in range(rng.randrange(4)):
        given[rng.choice(_HEADERS)] = rng.choice(_ODD)
    data = _request(method, path, [f"{name}: {value}" for name, value in given.items()], body)
    if rng.random() < 0.2:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + rng.randrange(3) :]
    if rng.random() < 0.1:
        data *= 3
    return Case("guarded" if guarded else "open", data, lambda answer: _HIDDEN.encode() in answer, "nonsense")


def _foreign(rng: random.Random, keys: dict[str, str]) -> Case:
    """A request from elsewhere that looks local: nothing is decided or shown."""
    method, path = rng.choice(
        [
            ("POST", "/v1/experiments/mine/ask"),
            ("GET", "/v1/experiments"),
            ("GET", "/metrics"),
            ("GET", "/v1/keys"),
        ]
    )
    lines, version = ["Host: localhost:8900"], "1.1"
    kind = rng.randrange(3)
    if kind == 0:
        lines.append(rng.choice(_SIGNS))
    elif kind == 1:
        lines = [
            f"Host: {rng.choice(('evil.example', 'localhost.evil.example', 'localhost@evil', '[::1]x', ''))}"
        ]
    else:
        version = "1.0"
    rng.shuffle(lines)
    lines.append("Content-Length: 2")
    return Case(
        "open",
        _request(method, path, lines, b"{}", version),
        lambda answer: b" 200 " in answer[:14],
        "from elsewhere",
    )


def _trespass(rng: random.Random, keys: dict[str, str]) -> Case:
    """A key of one experiment, a wrong one or none, for what is not theirs."""
    method, path = _path(rng, _HIDDEN)
    while _HIDDEN not in path or method not in ("GET", "POST"):
        method, path = _path(rng, _HIDDEN)
    key = rng.choice([*keys.values(), "", "x", "lsdt_0_0"])
    body = rng.choice(_BODIES)
    lines = ["Host: localhost", f"Content-Length: {len(body)}"]
    if key:
        lines.append(f"{rng.choice(('Authorization: Bearer ', 'Cookie: lsdt_session='))}{key}")

    def forbidden(answer: bytes) -> bool:
        return answer[9:12] not in (b"401", b"403", b"303", b"400", b"404", b"405", b"")

    return Case("guarded", _request(method, path, lines, body), forbidden, "trespass")


def _long_head(rng: random.Random, keys: dict[str, str]) -> Case:
    """A head of exactly the limit, or longer, alone or behind others."""
    size = rng.choice((_MOST_HEAD, _MOST_HEAD + 1, 66_000, 250_000))
    before = _request("GET", "/healthz", ["Host: x"], b"") * rng.randrange(3)
    empty = _request("GET", "/healthz", ["Host: x", "x: "], b"")
    data = empty.replace(b"x: \r", b"x: " + b"a" * (size - len(empty)) + b"\r")

    def forbidden(answer: bytes) -> bool:
        # Answers to those before it may go out first, and the connection is closed behind them.
        n_good = answer.count(b"HTTP/1.1 200")
        return n_good > before.count(b"GET") + (size <= _MOST_HEAD) or (
            size <= _MOST_HEAD and b" 431 " in answer
        )

    return Case("open", before + data, forbidden, f"a head of {size:,} bytes")


def _large_file(rng: random.Random, keys: dict[str, str]) -> Case:
    """A file that is small and would become large."""
    is_log = rng.random() < 0.5
    words = (
        {"user": "u", "item": "i", "rating": "3"} if is_log else {"a": "p", "b": "q", "relation": "similar"}
    )
    place = rng.choice(list(words))
    if rng.random() < 0.5:
        n_rows, length = rng.choice(((2_200, 10**6), (10**5, 10**5), (10**6, 131_072)))
        codes = np.zeros(n_rows, np.int32)
        words[place] = "x" * length
        columns = {name: pa.DictionaryArray.from_arrays(codes, [word]) for name, word in words.items()}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink, compression="zstd", store_schema=False)
        body, kind = sink.getvalue(), "application/vnd.apache.parquet"
    else:
        words[place] = "x" * 131_073
        body = "\n".join([",".join(words), ",".join(words.values()), "1"]).encode()
        kind = "text/csv"
    query = f"?name=large&log={json.dumps(is_log)}"
    lines = ["Host: localhost", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    data = _request("POST", f"/v1/experiments{query}", lines, body)
    return Case(
        "open", data, lambda answer: answer[9:12] not in (b"413", b"422"), f"a large file in {place!r}"
    )


_FORMS = (
    *(f"/experiments/mine/manage/{word}" for word in (
        "pause", "resume", "stop", "retire", "reinstate", "tolerance", "delete",
    )),
    "/new", "/v1/experiments", "/v1/experiments/mine/pause", "/v1/experiments/mine/stop",
    "/v1/experiments/mine/ask",
)  # fmt: skip
_EVIL = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"


def _forged(rng: random.Random, keys: dict[str, str]) -> Case:
    """A request with a session that none of our pages sent, or that its key does not allow."""
    session, token = _SESSIONS["admin"]
    site, path = rng.choice(("Origin: http://localhost", "Sec-Fetch-Site: same-origin")), rng.choice(_FORMS)
    kind = rng.choice(("role", "site", "ended", "two", "long", "token"))
    if kind == "role":  # a page of ours has sent it
        session, token = _SESSIONS["read"]
    elif kind == "site":
        signs = ("Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "X: y")
        site = rng.choice((*signs, "Sec-Fetch-Site: same-site"))
    elif kind == "ended":
        session, token = _SESSIONS["ended"]
    elif kind == "two":
        session += f"; lsdt_session={_SESSIONS['other'][0]}"
    elif kind == "token":
        token = rng.choice(("", "x", token[:-1], _SESSIONS["other"][1], rng.choice(_ODD)))
    body = f"token={token}&arm={rng.choice(('tea', _EVIL))}&name=mine&step=make&arms=a%0Ab&reason={_EVIL}"
    body += "&x=" + "x" * 5_000_000 if kind == "long" else ""
    sent = body.encode("utf-8", "replace")
    lines = ["Host: localhost", site, f"Cookie: lsdt_session={session}", f"Content-Length: {len(sent)}"]
    lines += ["Content-Type: application/x-www-form-urlencoded"]
    if token.isalnum() and token.isascii():
        lines.append(f"X-Lsdt-Token: {token}")

    def forbidden(answer: bytes) -> bool:
        to_login = b" 303 " in answer[:14] and b"location: /login" in answer.lower()
        is_json = kind == "long" and path.startswith("/v1")  # which it is not
        refused = answer[9:12] in (b"400", b"401", b"403", b"413", b"")
        return not (refused or to_login or (is_json and b" 422 " in answer[:14])) or b"<script>al" in answer

    return Case("guarded", _request("POST", path, lines, sent), forbidden, f"forged: {kind}")


_MAKERS = (_nonsense,) * 6 + (_foreign, _trespass, _trespass, _long_head, _large_file, _forged, _forged)
