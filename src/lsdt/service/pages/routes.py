"""The handlers of the pages."""

from __future__ import annotations

import functools
import heapq
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lsdt import __version__
from lsdt.errors import LsdtError
from lsdt.service.answers import Refused
from lsdt.service.attention import free_space, of_service
from lsdt.service.event_log import as_row, entries
from lsdt.service.pages.live import Live
from lsdt.service.pages.view import arm_link
from lsdt.service.requests import COOKIE, is_same_site, read_body, read_head
from lsdt.service.routes import arm_rows, why_arm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from lsdt.service.hosting import Service
    from lsdt.service.routes import Routes
    from lsdt.side_information import SideInformation

    Handler = Callable[[Request], Awaitable[Response]]

_HERE = Path(__file__).parent
# Chosen by eye.
_PAGE = 100  # rows of a table
_SHOWN_MEANS = 10  # arms with the largest means


def page_routes(routes: Routes, service: Service) -> list[BaseRoute]:
    """Return the routes of the pages."""
    pages = Pages(routes, service)
    return [
        Route("/", pages.experiments),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/health", pages.health),
        Route("/experiments/{name}", pages.experiment),
        Route("/experiments/{name}/live", pages.live),
        Route("/experiments/{name}/arms", pages.arms),
        Route("/experiments/{name}/arms/{arm:path}", pages.arm),
        Route("/experiments/{name}/log", pages.log),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
    ]


def _for_people(handler: Callable[[Pages, Request], Awaitable[Response]]) -> Callable[..., Any]:
    """Send those without a key to the page that asks for one."""

    @functools.wraps(handler)
    async def handle(self: Pages, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Refused as refused:
            if refused.status == 401:
                return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
            return self.render("error.html", refused.status, detail=refused.detail)
        except LsdtError as error:
            return self.render("error.html", error.http_status, detail=str(error))

    return handle


class Pages:
    """The pages of one service."""

    def __init__(self, routes: Routes, service: Service) -> None:
        self._routes, self._service = routes, service
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals["arm_link"] = arm_link
        self._templates.filters["path"] = lambda text: quote(str(text), safe="")
        self._live = Live(service, self._templates)

    def render(self, template: str, status: int = 200, **shown: Any) -> Response:
        """Return a page."""
        context = {
            "name": None,
            "about": None,
            "version": __version__,
            "is_open": self._service.guard.is_open,
            "read_only": self._service.following is not None,
        }
        return HTMLResponse(self._templates.get_template(template).render(context | shown), status)

    @_for_people
    async def experiments(self, request: Request) -> Response:
        """All experiments, and how to begin one."""
        _, caller = self._routes.admit(request, "read")
        hosted = sorted(self._service.hosted.items())
        rows = [each.about() for _, each in hosted if caller.sees(each)]
        may_create = caller.may("operate") and caller.experiment is None and self._service.following is None
        return self.render("experiments.html", rows=rows, may_create=may_create)

    @_for_people
    async def experiment(self, request: Request) -> Response:
        """One experiment, live."""
        _, hosted = self._routes.hosted(request, "read")
        parts = await self._live.fragments(hosted)
        return self.render(
            "experiment.html", name=hosted.name, about=hosted.about(), parts=parts, span=hosted.span
        )

    async def live(self, request: Request) -> Response:
        """What changes on that page."""
        _, hosted = self._routes.hosted(request, "read")
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._live.pushes(hosted), media_type="text/event-stream", headers=headers)

    @_for_people
    async def arms(self, request: Request) -> Response:
        """All arms, by the page."""
        _, hosted = self._routes.hosted(request, "read")
        query = request.query_params
        search, order = query.get("search", ""), query.get("order", "-plays")
        text = query.get("offset", "0")
        offset = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        if order not in ("arm", "plays", "mean", "-arm", "-plays", "-mean"):
            order = "-plays"
        found = await run_in_threadpool(arm_rows, hosted, search, order, offset, _PAGE)
        return self.render(
            "arms.html",
            name=hosted.name,
            about=hosted.about(),
            found=found,
            search=search,
            order=order,
            offset=offset,
            page=_PAGE,
        )

    @_for_people
    async def arm(self, request: Request) -> Response:
        """One arm: what it paid, and why it is in play or out."""
        _, hosted = self._routes.hosted(request, "read")
        why = await run_in_threadpool(why_arm, hosted, request.path_params["arm"])
        frame = await run_in_threadpool(hosted.agent.to_frame)
        index = hosted.agent.side.index(why.arm)
        side = hosted.agent.side
        row, shown = frame.iloc[index], side.show(index)
        return self.render(
            "arm.html",
            name=hosted.name,
            about=hosted.about(),
            why=why,
            row=row,
            shown=shown,
            best_means=_largest(side, why.means),
        )

    @_for_people
    async def log(self, request: Request) -> Response:
        """The log, by the page."""
        _, hosted = self._routes.hosted(request, "read")
        text = request.query_params.get("after", "0")
        after = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
        side = hosted.agent.side

        def read() -> list[dict[str, Any]]:
            batches = entries(self._service.store, hosted.name, after, _PAGE)
            return [
                as_row(entry, side) | {"shown": side.show(entry.arm) if 0 <= entry.arm < side.n_arms else ""}
                for batch in batches
                for entry in batch
            ]

        rows = await run_in_threadpool(read)
        return self.render(
            "log_page.html", name=hosted.name, about=hosted.about(), rows=rows, after=after, page=_PAGE
        )

    @_for_people
    async def health(self, request: Request) -> Response:
        """How the service is, also when its store has failed."""
        service = self._service
        caller = service.guard.admit(request.scope, read_head(request.scope["headers"]), "read")
        if caller.experiment is not None:
            raise Refused(403, "this page is about the whole service, and this key is for one experiment")
        return self.render(
            "health.html",
            metrics=service.metrics,
            waiting=service.commits.n_waiting,
            store=service.store,
            free=await run_in_threadpool(free_space, service.store),
            attention=await run_in_threadpool(of_service, service),
            broken=service.broken,
        )

    async def login(self, request: Request) -> Response:
        """Take a key, for the time that the browser is open."""
        head = read_head(request.scope["headers"])
        target = request.query_params.get("next", "/")
        if not target.startswith("/") or target.startswith(("//", "/\\")):
            target = "/"
        if request.method == "GET":
            return self.render("login.html", target=target, wrong=False)
        if head.wrong or (head.origin is not None and not is_same_site(head)):
            raise Refused(403, "a key is entered on the page of the service itself")
        body = await read_body(request.receive, head, 10_000)
        key = parse_qs(body.decode("latin-1")).get("key", [""])[0].strip()
        if self._service.keys.find(key) is None:
            return self.render("login.html", 401, target=target, wrong=True)
        answer = RedirectResponse(target, 303)
        secure = request.headers.get("x-forwarded-proto") == "https" or request.url.scheme == "https"
        answer.set_cookie(COOKIE, key, httponly=True, samesite="strict", secure=secure)
        return answer


def _largest(side: SideInformation, means: list[float] | None) -> list[tuple[str, float]]:
    """Return the arms with the largest of these means, as people know them."""
    largest = heapq.nlargest(_SHOWN_MEANS, enumerate(means or ()), key=itemgetter(1))
    return [(side.show(arm), mean) for arm, mean in largest]
