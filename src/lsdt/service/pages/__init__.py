"""The pages of the service, for people: rendered here, kept up to date by one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

    from lsdt.service.hosting import Service
    from lsdt.service.routes import Routes


def page_routes(routes: Routes, service: Service) -> list[Route]:
    """Return the routes of the pages."""

    async def start(request: Request) -> Response:
        return HTMLResponse("<!doctype html><title>lsdt</title><h1>lsdt</h1>")

    return [Route("/", start)]
