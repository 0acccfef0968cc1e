"""One attempt to deliver a message: one POST, in bounded time, to an address that was looked at.

By hand rather than by a library, since the connection must go to the address that was checked, the answer is
not wanted beyond its status, and redirects must not be followed.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from lsdt import __version__
from lsdt.service.webhooks.addresses import forbidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsdt.service.webhooks.addresses import Target

_MOST_LINE, _MOST_LINES = 2**14, 200  # bytes and number of the lines of an answer's head
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: |$)")  # RFC 9112, 4; nothing more lenient
_LONGEST_WAIT = 3_600.0  # seconds that a receiver may ask for


class Attempt(NamedTuple):
    """How an attempt went: the status (0 without an answer), what went wrong, when to come again at first."""

    status: int
    detail: str = ""
    wait: float = 0.0

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver accepted the message."""
        return 200 <= self.status < 300


async def attempt(target: Target, headers: Mapping[str, str], body: bytes, patience: float) -> Attempt:
    """Send a message once; give up after `patience` seconds, however the receiver spends them."""
    try:
        async with asyncio.timeout(patience):
            return await _post(target, headers, body)
    except TimeoutError:
        return Attempt(0, f"no answer within {patience:g} seconds")
    except ssl.SSLError as error:
        return Attempt(0, f"no secure connection: {getattr(error, 'verify_message', '') or error.reason}")
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return Attempt(0, _reason(error))
    except ValueError:
        return Attempt(0, "the answer is not HTTP")


def _reason(error: Exception) -> str:
    if isinstance(error, asyncio.IncompleteReadError):
        return "the connection was closed without an answer"
    return f"no connection: {getattr(error, 'strerror', None) or error or type(error).__name__}"


async def _post(target: Target, headers: Mapping[str, str], body: bytes) -> Attempt:
    reader, writer = await _connected(target)
    try:
        lines = {
            "host": target.origin.partition("://")[2],
            "user-agent": f"lsdt/{__version__}",
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"POST {target.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        await writer.drain()
        while True:
            status, wait = await _head(reader)
            if status >= 200:
                break
        if 300 <= status < 400:
            return Attempt(status, f"status {status}: redirects are not followed; give the final address")
        return Attempt(status, "" if status < 300 else f"status {status}", wait)
    finally:
        writer.transport.abort()  # the body of the answer is not wanted


async def _head(reader: asyncio.StreamReader) -> tuple[int, float]:
    """Return the status of an answer, and how long the receiver asks to be left alone."""
    first = await _line(reader)
    found = _STATUS_LINE.match(first)
    if found is None:
        raise ValueError(first)
    status, wait = int(found[1]), 0.0
    for _ in range(_MOST_LINES):
        line = await _line(reader)
        if not line:
            return status, wait
        name, _, value = line.partition(b":")
        if name.lower() == b"retry-after" and value.strip().isdigit():
            wait = min(float(value), _LONGEST_WAIT)
    raise ValueError("too many lines")


async def _line(reader: asyncio.StreamReader) -> bytes:
    return (await reader.readuntil(b"\n")).rstrip(b"\r\n")


async def _connected(target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address that answers; all are looked at before any is tried."""
    addresses = await _resolved(target.host, target.port)
    for address in addresses:
        why = forbidden(address)
        if why:
            raise OSError(None, f"{target.host} is at {address}, {why}, where no webhook goes")
    failure: OSError | None = None
    for address in addresses:
        secure = _tls() if target.scheme == "https" else None
        name = target.host if secure else None
        try:
            return await asyncio.open_connection(
                address, target.port, ssl=secure, server_hostname=name, limit=_MOST_LINE
            )
        except ssl.SSLError:
            raise
        except OSError as error:
            failure = error
    raise failure or OSError(None, f"{target.host} has no address")


async def _resolved(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host. Waiting for a dead name server does not delay the service's end."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], error: OSError | UnicodeError | None) -> None:
        if found.done():
            return
        if error is None:
            found.set_result(addresses)
        else:
            reason = getattr(error, "strerror", None) or error
            found.set_exception(OSError(None, f"the address of {host} is not known: {reason}"))

    def look() -> None:
        addresses, failure = [], None
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
        except (OSError, UnicodeError) as error:
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, addresses, failure)

    Thread(target=look, name="lsdt-webhook-address", daemon=True).start()
    return await found


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
