"""Connections: ask, tell and observe without ASGI, with one write an answer; limits for all requests.

uvicorn makes an event and a cycle of every request, and writes head and body of its answer apart. That is
much of the work where a decision takes microseconds. So its protocol is told here how to answer decisions:
`DecisionPath.answer`, a coroutine, is run when the body is here, without a task, and what it returns is
written. A request that is unusual in any way goes through ASGI as all others do, to the same procedure.

uvicorn sets no limits; here all requests have them: the length of a head, the number of requests that wait
behind others on a connection, and the time a client may take to send. Every complete request is answered,
whatever follows it.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lsdt.service.answers import JSON
from lsdt.service.decisions import FIXED_HEADERS, decision_call
from lsdt.service.requests import read_head

if TYPE_CHECKING:
    import asyncio
    from collections import deque
    from collections.abc import Coroutine

    from lsdt.service.decisions import Answer, DecisionPath
    from lsdt.service.requests import Head

_FIXED = b"".join(b"%s: %s\r\n" % header for header in FIXED_HEADERS)
_LONGEST_HEAD = 2**16  # bytes, with the empty line that ends it: far above what proxies and browsers send
_HEAD_END = b"\r\n\r\n"
# Requests of one connection that wait for those before them. Without a limit, a client that did not wait for
# answers made memory grow by hundreds of MiB in seconds (docs/reliability.md).
_MOST_BEHIND = 100
_GO_ON = (b"upgrade", b"http2-settings")  # headers that ask for another protocol, which is not offered


def _length_of(headers: list[tuple[bytes, bytes]]) -> int:
    """Return how many bytes of body follow a head; -1 for a body in chunks. The parser has checked both."""
    length = 0
    for name, value in headers:
        if name == b"transfer-encoding":
            return -1
        if name == b"content-length":
            length = int(value)
    return length


def _call_of(url: bytes) -> tuple[str, str] | None:
    """Return experiment and call of a request, or None if it is not a decision or has to be decoded."""
    return decision_call(url.decode()) if url.isascii() and b"%" not in url and b"?" not in url else None


class _Nothing:
    """Stands in for the event that uvicorn sets for tasks that wait for a request; there are none here."""

    @staticmethod
    def set() -> None:
        """Do nothing."""


class _Exchange:
    """A request that is answered here, with the attributes that uvicorn's protocol expects."""

    __slots__ = ("disconnected", "keep_alive", "more_body", "name", "parts", "response_complete", "what")
    message_event, response_started = _Nothing, False

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what = name, what
        self.parts: list[bytes] = []  # of the body
        self.more_body, self.keep_alive = True, True
        self.disconnected, self.response_complete = False, False


class _Open:
    """A transport that drops what is written after its end, which uvicorn learns a moment later."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        """Write, unless the client is gone."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Flow(FlowControl):
    """Reads on only when no request that was read is still waiting."""

    def __init__(self, transport: asyncio.Transport, behind: deque[Any]) -> None:
        super().__init__(transport)
        self._behind = behind

    def resume_reading(self) -> None:
        """Read on, unless requests are waiting."""
        if not self._behind:
            super().resume_reading()


class _TooManyBehind(Exception):
    """Too many requests wait on one connection: it is read no further."""


class DecisionConnection(HttpToolsProtocol):
    """uvicorn's protocol with limits, and a short path for decisions; `protocol_of` makes the class.

    `decisions` is None where something has to be done to every answer: then uvicorn sends them all.
    """

    decisions: DecisionPath | None
    longest: int
    patience: float
    cycle: Any
    scope: Any
    _request: Head
    _head: tuple[Any, bytes] = (None, b"")  # of good answers, and the headers it was made of

    # ---------------------------------------------------------------- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Prepare to read the first request, and start the timer that watches the client."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._n_head = 0  # bytes of a head so far, or between two parts of a body in chunks
        self._n_body = 0  # bytes that are left of a body; 0 in a head, -1 in chunks
        self._tail = b""  # the last bytes, where an empty line may have begun
        self._is_begun = False  # whether a request is here in part
        self._is_deaf = False  # whether what comes in is thrown away
        self._is_upgrade = False
        self._who = {"client": self.client}
        self._until = self.loop.time() + self.patience  # when our patience ends; never while we are awaited
        self._watch = self.loop.call_later(min(self.patience, self.timeout_keep_alive), self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer that watches the client."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close a connection whose client was silent for too long; else set the timer again.

        One timer for the life of a connection: to set one with every answer would cost more than the rest.
        """
        left, most = self._until - self.loop.time(), float(self.timeout_keep_alive)
        if left > 0.0 or self.flow.read_paused:
            self._watch = self.loop.call_later(min(left, most) if left > 0.0 else most, self._look)
        elif self._is_begun:
            self._refuse(408, "The request did not come in time.")
        elif not self.transport.is_closing():
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Parse what came in, a head at a time: the parser does not say how long a head was."""
        at = 0
        while at < len(data) and not self._is_deaf:
            end = self._next_end(data, at)
            if self._n_body < 0:
                end = min(end, at + _LONGEST_HEAD)  # so that what follows the last chunk is noticed
            if self._n_body <= 0:
                self._n_head += end - at
            if self._n_body == 0 and self._n_head > _LONGEST_HEAD:
                self._refuse_head()
                return
            try:
                self._feed(data if end - at == len(data) else data[at:end])
            except httptools.HttpParserError:
                self._refuse(400, "Invalid HTTP request received.")
                return
            if self._n_body < 0 and self._n_head > _LONGEST_HEAD:  # names behind chunks count as a head
                self._refuse_head()
            at = end
        if self._is_begun and self.cycle is not None and self.cycle.more_body:
            self._until = self.loop.time() + self.patience

    def _next_end(self, data: bytes, at: int) -> int:
        """Return how far to read before a head or a body may end; a head and chunks end in an empty line."""
        if self._n_body > 0:
            return min(len(data), at + self._n_body)
        before, self._tail = self._tail, b""
        if before:
            found = (before + data[at : at + 3]).find(_HEAD_END)
            if found >= 0:
                return at + found + 4 - len(before)
        found = data.find(_HEAD_END, at)
        if found >= 0:
            return found + 4
        self._tail = (before + data[max(at, len(data) - 3) :])[-3:]
        return len(data)

    def _feed(self, data: bytes) -> None:
        """Parse a part of what came in."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            if not self._is_upgrade:
                raise httptools.HttpParserError from None  # a tunnel
            self._feed(self._without_upgrade() + data[stopped.args[0] :])

    def _without_upgrade(self) -> bytes:
        """Return the head of a request without the headers that ask for another protocol, for a new parser.

        The old parser would read the rest as that protocol. Java's client asks for HTTP/2 in every request.
        """
        lines = [b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)]
        for name, value in self.headers:
            if name == b"connection":
                words = [word for word in value.split(b",") if word.strip().lower() not in _GO_ON]
                value = b",".join(words) or b"keep-alive"
            if name not in _GO_ON:
                lines.append(b"%s: %s" % (name, value))
        self.parser, self._is_upgrade = httptools.HttpRequestParser(self), False
        return b"\r\n".join(lines) + b"\r\n\r\n"

    @property
    def _is_awaited(self) -> bool:
        """Whether a client waits for the answer to a whole request, the last one that came."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer what was asked before a client closed its end, unless the answer, a stream, has begun."""
        if not self._is_awaited or self.cycle.response_started:
            return False
        self.cycle.keep_alive = False
        return True

    def _refuse(self, status: int, text: str) -> None:
        """Listen no more: answer what is whole, and else with an error; then close."""
        self._is_deaf = True
        if self._is_awaited:  # an error now would be taken for the answer
            self.cycle.keep_alive = False
            return
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            lines = [STATUS_LINE[status], *self._default_lines()]
            lines.append(b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(text))
            lines.append(b"connection: close\r\n\r\n" + text.encode())
            self.transport.write(b"".join(lines))
        self.transport.close()

    def _refuse_head(self) -> None:
        self._refuse(431, f"The head of a request has at most {_LONGEST_HEAD} bytes here.")

    def _default_lines(self) -> list[bytes]:
        return [b"%s: %s\r\n" % header for header in self.server_state.default_headers]

    # ---------------------------------------------------------------- a request

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._is_begun = True
        self._until = self.loop.time() + self.patience
        self.url, self.headers = b"", []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect the headers, but not those after a chunked body: the request was handed on by then."""
        if self._n_body == 0:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Keep a request for ourselves, or leave it to uvicorn."""
        parser, before = self.parser, self.cycle
        if parser.should_upgrade() and parser.get_method() != b"CONNECT":
            self._is_upgrade = True  # its head comes again
            return
        if len(self.pipeline) >= _MOST_BEHIND:
            raise _TooManyBehind
        self._n_head, self._n_body = 0, _length_of(self.headers)
        call = _call_of(self.url)
        if (
            call is None
            or self.decisions is None
            or parser.get_method() != b"POST"
            or not (before is None or before.response_complete)  # else it has to wait for its turn
            or self.flow.write_paused  # a client that does not read its answers gets no more of them
            or not parser.should_keep_alive()
            or self.root_path
        ):
            self._leave()
            return
        self._request = read_head(self.headers)
        if (
            not 0 <= self._request.length <= self.longest  # in chunks, too long, or none at all
            or self._request.expects
            or parser.get_http_version() != "1.1"
        ):
            self._leave()
            return
        self.cycle = _Exchange(*call)

    def _leave(self) -> None:
        """Leave a request to uvicorn: its head is here, and nothing of it was answered."""
        url, headers = self.url, self.headers
        super().on_message_begin()
        for header in headers:
            super().on_header(*header)
        self.url = url
        super().on_headers_complete()
        self.cycle.transport = _Open(self.transport)

    def on_body(self, body: bytes) -> None:
        """Gather the body."""
        if self._n_body > 0:
            self._n_body -= len(body)
        self._n_head = 0
        exchange = self.cycle
        if type(exchange) is _Exchange:
            exchange.parts.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Decide, once all of the request is here."""
        if self._is_upgrade:
            return
        self._is_begun, self._n_head, self._n_body, self._tail, self._until = False, 0, 0, b"", inf
        exchange = self.cycle
        if type(exchange) is not _Exchange:
            super().on_message_complete()
            if exchange.response_complete:  # before all of the request was here
                self._until = self.loop.time() + self.timeout_keep_alive
            return
        exchange.more_body = False
        assert self.decisions is not None
        body, call = b"".join(exchange.parts), (exchange.name, exchange.what)
        self._go_on(exchange, self.decisions.answer(self._who, self._request, body, *call))

    def _go_on(self, exchange: _Exchange, answer: Coroutine[Any, None, Answer], _: Any = None) -> None:
        """Run a coroutine until it has to wait, and on from there: a task would cost more than a decision."""
        try:
            waits_for = answer.send(None)
        except StopIteration as end:
            self._answer(exchange, *end.value)
            return
        waits_for.add_done_callback(partial(self._go_on, exchange, answer))

    # ---------------------------------------------------------------- its answer

    def _answer(
        self, exchange: _Exchange, status: int, body: bytes, kind: str, headers: dict[str, str]
    ) -> None:
        exchange.response_complete = True
        if exchange.disconnected or self.transport.is_closing():
            return
        if status == 200 and kind is JSON and exchange.keep_alive and not headers:  # as nearly always
            self.transport.write(b"%scontent-length: %d\r\n\r\n%s" % (self._good_head(), len(body), body))
            self.on_response_complete()
            return
        keep_alive = exchange.keep_alive and headers.get("connection") != "close"
        lines = [self._some_head(status, kind), b"content-length: %d\r\n" % len(body)]
        for name, value in headers.items():
            lines.append(f"{name}: {value}\r\n".encode("latin-1", "replace"))
        if not keep_alive and "connection" not in headers:
            lines.append(b"connection: close\r\n")
        lines += [b"\r\n", body]
        self.transport.write(b"".join(lines))
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _good_head(self) -> bytes:
        """Return the head of good answers, cached until uvicorn updates the `Date` header."""
        made_of, head = DecisionConnection._head
        if made_of is not self.server_state.default_headers:
            made_of, head = self.server_state.default_headers, self._some_head(200, JSON)
            DecisionConnection._head = made_of, head
        return head

    def _some_head(self, status: int, kind: str) -> bytes:
        kind_line = b"content-type: %s\r\n" % kind.encode()
        return b"".join([STATUS_LINE[status], *self._default_lines(), kind_line, _FIXED])

    def on_response_complete(self) -> None:
        """Go on with the next request, and read on."""
        if self.pipeline:
            super().on_response_complete()
            self._unset_keepalive_if_required()  # ours is the one timer
            self.flow.resume_reading()  # if that was the last that waited
            return
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if not self._is_begun:
            self._until = self.loop.time() + self.timeout_keep_alive


def protocol_of(path: DecisionPath | None, longest_body: int, patience: float) -> type[DecisionConnection]:
    """Return a protocol class with this path for decisions; `patience` is in seconds."""

    class Connection(DecisionConnection):
        decisions, longest = path, longest_body

    Connection.patience = patience
    return Connection
