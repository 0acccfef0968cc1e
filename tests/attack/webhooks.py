"""URLs that want to lead elsewhere, addresses that no receiver has, receivers that answer anything.

Answered well is: a URL that is accepted goes to the one origin that is allowed, in one request line; a
forbidden address is refused however it is written, before a connection is made; and whatever bytes a receiver
answers, in whatever pieces, an attempt ends in time without an exception and counts as delivered only for a
status of 200 to 299.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from itertools import count

from lsdt.errors import InvalidInput
from lsdt.service.webhooks.addresses import check_allowed, checked_url, forbidden
from lsdt.service.webhooks.delivery import attempt

_ORIGIN = "https://hooks.example.com"
_PATIENCE = 0.2
_PIECES = (
    "https://", "http://", "HTTPS://", "//", "hooks.example.com", "HOOKS.EXAMPLE.COM", "evil.example",
    "127.0.0.1", "localhost", "169.254.169.254", "[::1]", "2130706433", "0x7f.1", ":443", ":80",
    ":0443", ":", "@", "%40", "/", "\\", "?", "#", ".", "..", "%2f", "%00", "\x00", "\r\n", "\n", "\t",
    " ", "Host: x", "é", "\u3002", "\uff0f", "x" * 50, "user:word", "[", "]", ";", "&", "=",
)  # fmt: skip
_ANSWERS = (
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 204\r\n", b"HTTP/1.0 299 x\n", b"HTTP/1.1 302 Found\r\n",
    b"HTTP/2 200\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 2000 OK\r\n",
    b"HTTP/1.1 -20 OK\r\n", b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n", b"Location: http://169.254.169.254/\r\n",
    b"Retry-After: 99999999999999999999\r\n", b"Retry-After: -1\r\n", b"Retry-After: \xb2\r\n",
    b"\r\n", b"\n", b"\r", b"", b" ", b"\x00", b"x" * 20_000, b"a: b\r\n" * 300, b"200 OK\r\n",
    b"SSH-2.0-x\r\n", b"\xff\xfe", b"HTTP/1.1 500 no\r\n", b"HTTP/1.1 410 gone\r\n",
)  # fmt: skip
_WELL = re.compile(
    rb"(?:HTTP/1\.\S*[^\S\n]+1\d\d(?:[^\S\n][^\n]*)?\n(?:[^\n]*\n)*?\r?\n)*HTTP/1\.\S*[^\S\n]+2\d\d\b"
)


def attack(seed: int, seconds: float) -> tuple[int, int, list[str]]:
    """Try cases until the time is over."""
    until = time.monotonic() + seconds
    failures, tried = [], 0
    for number in count():
        if tried and time.monotonic() > until:
            break
        rng = random.Random(f"{seed} {number}")
        wrong = _url(rng) or _address(rng) or (asyncio.run(_receiver(rng)) if number % 10 == 0 else "")
        tried += 1
        if wrong:
            failures.append(f"seed {seed}, case {number}: {wrong}")
    return tried, tried - len(failures), failures


def _url(rng: random.Random) -> str:
    """Try a URL of pieces: one that is accepted has the allowed origin for any reader."""
    url = "".join(rng.choices(_PIECES, k=rng.randint(1, 7)))
    if rng.random() < 0.5:
        url = _ORIGIN + url
    try:
        target = checked_url(url)
        check_allowed(target, {_ORIGIN})
    except InvalidInput:
        return ""
    if (target.scheme, target.host, target.port) != ("https", "hooks.example.com", 443):
        return f"{url!r} is sent to {target}"
    if not re.fullmatch(r"/[!-~]*", target.path) or not re.fullmatch(
        r"(?i)https://hooks\.example\.com(:0*443)?([/?].*)?", url, re.DOTALL
    ):
        return f"{url!r} is accepted as {target}"
    return ""


def _address(rng: random.Random) -> str:
    """Try one address in all the ways in which IPv6 can hold it."""
    inner = IPv4Address(rng.choice((0xA9FE0000, 0xE0000000)) + rng.getrandbits(16))
    number = int(inner)
    ways = [inner, IPv6Address(0xFFFF << 32 | number), IPv6Address((0x64FF9B << 96) | number)]
    ways += [IPv6Address(0x2002 << 112 | number << 80 | rng.getrandbits(64))]
    ways += [
        IPv6Address(0xFE80 << 112 | rng.getrandbits(64)),
        IPv6Address(0xFF02 << 112 | rng.getrandbits(64)),
    ]
    allowed = [str(each) for each in ways if not forbidden(str(each))]
    return f"{allowed} would be connected to" if allowed else ""


async def _receiver(rng: random.Random) -> str:
    """Try a receiver that answers pieces in pieces, or stops in the middle."""
    answer = b"".join(rng.choices(_ANSWERS, k=rng.randint(0, 6)))
    if rng.random() < 0.5:
        answer = b"HTTP/1.1 %d x\r\n" % rng.choice((200, 204, 100, 302, 404, 500)) + answer
    cut, ends = rng.randint(0, len(answer)), rng.random() < 0.8

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer[:cut])
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(answer[cut:])
            await writer.drain()
            if not ends:
                await asyncio.sleep(2 * _PATIENCE)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with asyncio.timeout(20.0):
            made = await attempt(checked_url(f"http://127.0.0.1:{port}/"), {}, b"{}", _PATIENCE)
    except Exception as error:
        return f"{answer!r} makes an attempt fail with {error!r}"
    finally:
        server.close()
    if made.is_delivered and not _WELL.match(answer):
        return f"{answer!r} counts as delivered: {made}"
    if made.wait > 3_600.0 or made.wait < 0.0:
        return f"{answer!r} is waited for for {made.wait} seconds"
    return ""
