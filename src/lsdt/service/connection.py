"""Connections that answer ask, tell and observe themselves: without a task, and with one write an answer.

uvicorn makes a task, an event and a cycle of every request, and writes head and body of its answer apart.
That is most of the work where a decision takes microseconds. So its protocol is told here how to answer
decisions: the request is handed over when its body is here, and the answer written when the commit is done. A
request that is unusual in any way goes through ASGI as all others do, and is answered the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lsdt.service.decisions import FIXED_HEADERS

if TYPE_CHECKING:
    from lsdt.service.decisions import DecisionPath

_CALL = re.compile(rb"/v1/experiments/([\w.~-]+)/(ask|tell|observe)", re.ASCII)
_FIXED = b"".join(b"%s: %s\r\n" % header for header in FIXED_HEADERS)


class _Nothing:
    """What uvicorn sets when there is news of a request, for whoever waits: here nobody does."""

    @staticmethod
    def set() -> None:
        """Do nothing."""


class _Exchange:
    """A request that is answered here, with what uvicorn's protocol looks for in its own."""

    __slots__ = ("body", "disconnected", "keep_alive", "name", "response_complete", "what")
    message_event = _Nothing

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what, self.body = name, what, b""
        self.keep_alive, self.disconnected, self.response_complete = True, False, False


class DecisionConnection(HttpToolsProtocol):
    """uvicorn's protocol, but for requests of decisions; `protocol_of` makes a class that knows where to."""

    decisions: DecisionPath
    longest: int
    cycle: Any
    scope: Any

    def on_headers_complete(self) -> None:
        """Keep a request for ourselves, or leave it to uvicorn."""
        call = _CALL.fullmatch(self.url)
        before = self.cycle
        if (
            call is None
            or self.parser.get_method() != b"POST"
            or not (before is None or before.response_complete)  # else it has to wait for its turn
            or self.flow.write_paused  # whoever does not read his answers gets no more of them
            or self.expect_100_continue
            or self.root_path
            or not self._has_short_body()
            or not self.parser.should_keep_alive()
            or self.parser.should_upgrade()
        ):
            super().on_headers_complete()
            return
        self.cycle = _Exchange(call[1].decode(), call[2].decode())

    def _has_short_body(self) -> bool:
        for name, value in self.headers:
            if name == b"content-length":
                return len(value) < 10 and int(value) <= self.longest
        return False  # in chunks, or none at all

    def on_body(self, body: bytes) -> None:
        """Gather the body."""
        exchange = self.cycle
        if type(exchange) is _Exchange:
            exchange.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Decide, once all of the request is here."""
        exchange = self.cycle
        if type(exchange) is not _Exchange:
            super().on_message_complete()
            return

        def done(status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
            self._answer(exchange, status, body, kind, headers)

        if not self.decisions.start(self.scope, exchange.body, exchange.name, exchange.what, done):
            self._leave(exchange.body)

    def _leave(self, body: bytes) -> None:
        """Leave a request to uvicorn after all: something has to be waited for before it is decided."""
        self.cycle = None
        super().on_headers_complete()
        super().on_body(body)
        super().on_message_complete()

    def _answer(
        self, exchange: _Exchange, status: int, body: bytes, kind: str, headers: dict[str, str]
    ) -> None:
        exchange.response_complete = True
        if exchange.disconnected or self.transport.is_closing():
            return
        keep_alive = exchange.keep_alive and headers.get("connection") != "close"
        lines = [STATUS_LINE[status]]
        lines += [b"%s: %s\r\n" % header for header in self.server_state.default_headers]
        lines.append(b"content-type: %s\r\ncontent-length: %d\r\n%s" % (kind.encode(), len(body), _FIXED))
        for name, value in headers.items():
            lines.append(f"{name}: {value}\r\n".encode("latin-1", "replace"))
        if not keep_alive and "connection" not in headers:
            lines.append(b"connection: close\r\n")
        lines += [b"\r\n", body]
        self.transport.write(b"".join(lines))
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()


def protocol_of(path: DecisionPath, longest_body: int) -> type[DecisionConnection]:
    """Return the protocol of connections whose decisions take a path."""

    class Connection(DecisionConnection):
        decisions, longest = path, longest_body

    return Connection
