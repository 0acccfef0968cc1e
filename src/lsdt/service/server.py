"""Running the service: the server, its log, its end."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING, Any

from lsdt._validation import checked_whole
from lsdt.errors import InvalidInput, MissingDependency

try:
    import uvicorn

    from lsdt.service.app import create_app
    from lsdt.service.decisions import DecisionPath
    from lsdt.service.hosting import Service
    from lsdt.service.settings import Settings
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] == "lsdt":
        raise
    raise MissingDependency(
        f"the service needs {error.name}, which is not installed; pip install 'lsdt[service]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_PATIENCE = 10  # seconds for open requests to end: what container runtimes allow before they kill a process
# New objects, beyond those freed, between two garbage collections. By default 700: a few decisions in flight.
_OBJECTS = 20_000
# How long a thread may keep Python's lock while another waits for it; by default 5 ms, several times in a
# request. Measured beside a thread that interprets a kernel: others woke 2 ms late on average instead of 5,
# and 15 ms late at most instead of 135.
_SWITCH_SECONDS = 0.0005
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """A record of the log as one line of JSON. Nothing of a request's headers is ever in there."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_log(level: str = "info") -> None:
    """Write the log of the service to standard error, one JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("lsdt.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper() if name == "lsdt.service" else logging.WARNING)


class _Server(uvicorn.Server):
    """A server that tells the service of its end, so that streams end too."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)  # a Ctrl-C that comes when it is to end already does not wait
        self.stop()

    def stop(self) -> None:
        """Ask the server to shut down, and return at once."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._service.closing.set)


def _protocol(service: Service) -> Any:
    """Return the protocol of connections; decisions bypass ASGI, except with CORS or when following a log."""
    try:
        from lsdt.service.connection import protocol_of
    except ModuleNotFoundError:  # httptools, which not every system has
        return "auto"
    settings = service.settings
    path = None if service.guard.origins or service.following is not None else DecisionPath(service)
    return protocol_of(path, settings.decision_limit, settings.patience)


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(service),
        http=_protocol(service),
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_PATIENCE,
        backlog=2048,
    )


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why it cannot."""
    checked_whole(port, "port", 0)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR lets two servers have the same port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # a server may begin while connections of the one before linger
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"cannot listen on {host}, port {port}: {reason}; choose another --port") from None
    return made


def serve(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 8900,
    *,
    ready: Callable[[str, Service], None] | None = None,
) -> None:
    """Serve until told to end: by SIGTERM or Ctrl-C, after which everything is kept and snapshots are taken.

    Parameters
    ----------
    settings : Settings
        How the service behaves.
    host, port
        Where it listens; port 0 is any that is free.
    ready : callable, optional
        Called with the URL and the service before the first request.
    """
    listening = bound_socket(host, port)
    try:
        service = Service(settings)
    except BaseException:
        listening.close()
        raise
    server = _Server(_config(service), service)

    def end(*_: object) -> None:
        """End a server that has not started yet; uvicorn also raises its signal again when it is done."""
        server.should_exit = True

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        if ready is not None:
            ready(_url(listening), service)
        _rest_collector()
        sys.setswitchinterval(_SWITCH_SECONDS)
        server.run([listening])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _rest_collector() -> None:
    """Leave what is loaded out of all later collections of garbage, and collect less often.

    A decision makes some dozens of small objects, which go when it is answered, and no cycles. By its
    defaults Python would look through those of all requests in flight every few decisions.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 20)


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def in_background(store: str = "memory://", **settings: Any) -> Iterator[str]:
    """Serve in a thread of this process, for tests and trials; gives the URL.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from lsdt.service.server import in_background
    >>> with in_background() as url:
    ...     urlopen(f"{url}/healthz").read()
    b'{"status":"ok","detail":""}'
    """
    service = Service(Settings(store, **settings))
    listening = bound_socket("127.0.0.1", 0)
    server = _Server(_config(service), service)
    thread = threading.Thread(target=server.run, args=([listening],), name="lsdt-service")
    thread.start()
    try:
        limit = time() + 60.0
        while not server.started and thread.is_alive() and time() < limit:
            threading.Event().wait(0.01)
        yield _url(listening)
    finally:
        server.stop()
        thread.join()
        listening.close()
