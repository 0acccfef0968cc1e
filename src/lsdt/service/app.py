"""The whole service as one ASGI application."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lsdt.errors import LsdtError
from lsdt.kernel import compile_apart
from lsdt.service.answers import PROBLEM, SECURITY_HEADERS, Refused, problem, wrong_method
from lsdt.service.decisions import DecisionPath, decision_call, send_answer
from lsdt.service.hosting import READ_ONLY
from lsdt.service.pages import page_routes
from lsdt.service.requests import ClientGone
from lsdt.service.routes import Routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lsdt.service.hosting import Service

log = logging.getLogger("lsdt.service")


def create_app(service: Service) -> ASGIApp:
    """Return the application of a service; its end closes the service.

    Decisions do not pass through Starlette: that would take them nearly twice as long.
    """
    routes = Routes(service)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        with compile_apart():
            await service.start()
            log.info("serving", extra={"store": service.store.url, "experiments": len(service.hosted)})
            yield
            await service.close()
        log.info("closed")

    framework = Starlette(
        routes=[*routes.list(), *page_routes(routes, service)],
        lifespan=lifespan,
        exception_handlers={
            LsdtError: _error,
            Refused: _error,
            HTTPException: _http_error,
            ClientGone: _gone,
            Exception: _error,
        },
    )
    framework.router.redirect_slashes = False  # to a host that the request names, before a key is asked for
    decisions = DecisionPath(service)
    origins = service.guard.origins

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await framework(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        if origins:
            send = _with_cors(scope, send, origins)
            if scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, send)
                return
        if service.following is not None and _changes(scope):
            refused = Refused(
                403,
                f"{READ_ONLY}: it shows what another one decides, and takes no {scope['method']}; send it to "
                "the service that decides",
            )
            status, body, headers = problem(refused)
            service.metrics.request(_what(scope["path"]), status)
            await send_answer(send, status, body, PROBLEM, headers)
            return
        call = decision_call(scope["path"])
        if call is not None:
            await decisions(scope, receive, send, *call)
            return
        if service.replication is not None:
            name = _experiment(scope["path"])
            try:
                if name:
                    await service.look_for(name)
            except LsdtError as error:
                status, body, headers = problem(error)
                service.metrics.request(_what(scope["path"]), status)
                await send_answer(send, status, body, PROBLEM, headers)
                return
        try:
            await framework(scope, receive, _counted(service, scope, send))
        except Exception:  # answered already, by the handler above
            log.exception("error while answering", extra={"what": _what(scope["path"])})

    return app


def _changes(scope: Scope) -> bool:
    """Return whether a request may change something: all but looking, and signing in or out."""
    return scope["method"] not in ("GET", "HEAD") and scope["path"] not in ("/login", "/logout")


def _counted(service: Service, scope: Scope, send: Send) -> Send:
    """Add the headers that every answer has, and count it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
            service.metrics.request(_what(scope["path"]), message["status"])
        await send(message)

    return sending


def _experiment(path: str) -> str:
    """Return the name of the experiment that a path is about, if any."""
    parts = path.removeprefix("/v1").split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "experiments" else ""


def _what(path: str) -> str:
    """Return the label under which metrics count a request; there are few, whatever paths are sent."""
    parts = path.split("/")
    if parts[1:3] == ["v1", "experiments"]:
        return parts[4] if len(parts) > 4 and parts[4] in _WORDS else "experiments"
    if parts[1:3] == ["v1", "webhooks"]:
        return "webhooks"
    return parts[1] if len(parts) == 2 and parts[1] in ("healthz", "readyz", "metrics") else "other"


_WORDS = (
    "cancel", "extend", "retire", "reinstate", "merge", "pause", "stop", "resume", "tolerance", "snapshot",
    "arms", "best", "why", "stopping", "suspects", "drift", "events", "stream",
)  # fmt: skip


def _with_cors(scope: Scope, send: Send, origins: tuple[str, ...]) -> Send:
    origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")
    if origin.lower() not in origins:
        return send

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["access-control-allow-origin"] = origin
            headers["access-control-allow-headers"] = "authorization, content-type, idempotency-key"
            headers["access-control-allow-methods"] = "GET, POST, DELETE"
            headers["access-control-expose-headers"] = "idempotent-replayed, retry-after"
            headers["access-control-max-age"] = "600"
            headers["cross-origin-resource-policy"] = "cross-origin"
            headers.add_vary_header("origin")
        await send(message)

    return sending


async def _error(_: Request, error: Exception) -> Response:
    status, body, headers = problem(error)
    return Response(body, status, headers, PROBLEM)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}"
    if error.status_code == 405:
        return await _error(request, wrong_method(request.method, request.url.path, error.headers))
    detail = f"there is no {what}; /openapi.json lists what there is" if error.status_code == 404 else what
    return await _error(request, Refused(error.status_code, detail, error.headers))


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=400)
