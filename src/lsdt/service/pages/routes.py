"""The handlers of the pages."""

from __future__ import annotations

import heapq
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lsdt import __version__
from lsdt.agent import SIGNED
from lsdt.errors import InvalidInput, Unsupported
from lsdt.service.answers import Refused
from lsdt.service.attention import free_space, of_service
from lsdt.service.event_log import as_row, entries
from lsdt.service.keys import is_at_least
from lsdt.service.pages.forms import read_form
from lsdt.service.pages.live import Live
from lsdt.service.pages.operations import Operations, for_people
from lsdt.service.pages.view import arm_link
from lsdt.service.requests import cookie_name, is_same_site, read_head
from lsdt.service.routes import arm_rows, stopping, why_arm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from lsdt.service.hosting import Service
    from lsdt.service.routes import Routes
    from lsdt.side_information import SideInformation
    from lsdt.storage import Entry

_HERE = Path(__file__).parent
# Chosen by eye.
_PAGE = 100  # rows of a table
_SEARCHED = 100_000  # events that are searched for actions: about a second
_SHOWN_MEANS = 10  # arms with the largest means


def page_routes(routes: Routes, service: Service) -> list[BaseRoute]:
    """Return the routes of the pages."""
    pages = Pages(routes, service)
    operations = Operations(routes, service, pages.render)
    return [
        Route("/", pages.experiments),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/new", operations.new, methods=["GET", "POST"]),
        Route("/experiments/{name}/stopping", pages.stopping),
        Route("/experiments/{name}/manage", operations.manage),
        Route("/experiments/{name}/manage/{action}", operations.act, methods=["GET", "POST"]),
        Route("/health", pages.health),
        Route("/experiments/{name}", pages.experiment),
        Route("/experiments/{name}/live", pages.live),
        Route("/experiments/{name}/arms", pages.arms),
        Route("/experiments/{name}/arms/{arm:path}", pages.arm),
        Route("/experiments/{name}/log", pages.log),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
    ]


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
        self._templates.filters["moment"] = _moment
        self._live = Live(service, self._templates)

    def render(self, request: Request, template: str, status: int = 200, /, **shown: Any) -> Response:
        """Return a page."""
        service, head = self._service, read_head(request.scope["headers"])
        guard = service.guard
        key = None if guard.is_open else guard.key_of(head)
        role = "admin" if guard.is_open else "read" if key is None else key.role
        context = {
            "name": None,
            "about": None,
            "version": __version__,
            "is_open": guard.is_open,
            "read_only": service.following is not None,
            "key": key if head.session else None,
            "token": guard.form_token(head) if guard.is_open or key is not None else "",
            "may_operate": service.following is None and is_at_least(role, "operate"),
            "may_delete": service.following is None and is_at_least(role, "admin"),
        }
        return HTMLResponse(self._templates.get_template(template).render(context | shown), status)

    @for_people
    async def experiments(self, request: Request) -> Response:
        """All experiments, and how to begin one."""
        _, caller = self._routes.admit(request, "read")
        hosted = sorted(self._service.hosted.items())
        rows = [each.about() for _, each in hosted if caller.sees(each)]
        return self.render(request, "experiments.html", rows=rows, sees_all=caller.experiment is None)

    @for_people
    async def experiment(self, request: Request) -> Response:
        """One experiment, live."""
        _, hosted = self._routes.hosted(request, "read")
        parts = await self._live.fragments(hosted)
        return self.render(
            request, "experiment.html", name=hosted.name, about=hosted.about(), parts=parts, span=hosted.span
        )

    async def live(self, request: Request) -> Response:
        """What changes on that page."""
        head, hosted = self._routes.hosted(request, "read")
        headers, guard = {"x-accel-buffering": "no"}, self._service.guard

        def is_welcome() -> bool:  # a key may be removed, and a session may end, while the page is open
            return guard.is_open or guard.key_of(head) is not None

        pushes = self._live.pushes(hosted, is_welcome)
        return StreamingResponse(pushes, media_type="text/event-stream", headers=headers)

    @for_people
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
            request,
            "arms.html",
            name=hosted.name,
            about=hosted.about(),
            found=found,
            search=search,
            order=order,
            offset=offset,
            page=_PAGE,
        )

    @for_people
    async def arm(self, request: Request) -> Response:
        """One arm: what it paid, and why it is in play or out."""
        _, hosted = self._routes.hosted(request, "read")
        why = await run_in_threadpool(why_arm, hosted, request.path_params["arm"])
        frame = await run_in_threadpool(hosted.agent.to_frame)
        index = hosted.agent.side.index(why.arm)
        side = hosted.agent.side
        row, shown = frame.iloc[index], side.show(index)
        return self.render(
            request,
            "arm.html",
            name=hosted.name,
            about=hosted.about(),
            why=why,
            row=row,
            shown=shown,
            best_means=_largest(side, why.means),
        )

    @for_people
    async def log(self, request: Request) -> Response:
        """The log, by the page."""
        _, hosted = self._routes.hosted(request, "read")
        text = request.query_params.get("after", "0")
        after = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
        side = hosted.agent.side

        only_actions = request.query_params.get("show") == "actions"

        def read() -> list[dict[str, Any]]:
            store = self._service.store
            batches: Iterable[Sequence[Entry]] = entries(store, hosted.name, after, _PAGE)
            if only_actions:
                last = [each for each in store.last(hosted.name, _SEARCHED) if each.kind in SIGNED]
                batches = [last[: -_PAGE - 1 : -1]]
            return [
                as_row(entry, side) | {"shown": side.show(entry.arm) if 0 <= entry.arm < side.n_arms else ""}
                for batch in batches
                for entry in batch
            ]

        rows = await run_in_threadpool(read)
        return self.render(
            request,
            "log_page.html",
            name=hosted.name,
            about=hosted.about(),
            rows=rows,
            after=after,
            page=_PAGE,
            only_actions=only_actions,
            searched=_SEARCHED,
        )

    @for_people
    async def health(self, request: Request) -> Response:
        """How the service is, also when its store has failed."""
        service = self._service
        caller = service.guard.admit(request.scope, read_head(request.scope["headers"]), "read")
        if caller.experiment is not None:
            raise Refused(403, "this page is about the whole service, and this key is for one experiment")
        return self.render(
            request,
            "health.html",
            metrics=service.metrics,
            waiting=service.commits.n_waiting,
            store=service.store,
            free=await run_in_threadpool(free_space, service.store),
            attention=await run_in_threadpool(of_service, service),
            broken=service.broken,
        )

    @for_people
    async def stopping(self, request: Request) -> Response:
        """Whether the best arm is known, at a tolerance and a risk that the reader chooses."""
        _, hosted = self._routes.hosted(request, "read")
        query = request.query_params
        tolerance, delta = query.get("tolerance", "").strip(), query.get("delta", "").strip()
        found, wrong = None, ""
        try:
            given = _number(tolerance, "tolerance"), _number(delta, "delta")
            found = await run_in_threadpool(stopping, hosted, given[1] or 0.05, given[0])
        except (InvalidInput, Unsupported) as error:
            wrong = str(error)
        return self.render(
            request,
            "stopping.html",
            name=hosted.name,
            about=hosted.about(),
            found=found,
            wrong=wrong,
            tolerance=tolerance,
            delta=delta,
        )

    # ---------------------------------------------------------------- signing in and out

    @for_people
    async def login(self, request: Request) -> Response:
        """Take a key, and give the browser a session for it."""
        service, head = self._service, read_head(request.scope["headers"])
        target = request.query_params.get("next", "/")
        if not target.startswith("/") or target.startswith(("//", "/\\")):
            target = "/"
        if request.method == "GET":
            return self.render(request, "login.html", target=target, wrong=False)
        if (
            head.wrong
            or head.site not in ("", "same-origin")
            or not (head.origin is None or is_same_site(head))
        ):
            raise Refused(403, "a key is entered on the page of the service itself")
        form = await read_form(request, head)
        key = service.keys.find(form.get("key", "").strip())
        if key is None:
            return self.render(request, "login.html", 401, target=target, wrong=True)
        if head.session:  # a new session for every sign-in: one that was put there by others is worth nothing
            await run_in_threadpool(service.sessions.end, head.session)
        token = await run_in_threadpool(service.sessions.begin, key.id)
        answer = RedirectResponse(target, 303)
        answer.set_cookie(
            cookie_name(head.is_secure),
            token,
            max_age=round(service.sessions.seconds),
            httponly=True,
            samesite="strict",
            secure=head.is_secure,
        )
        return answer

    @for_people
    async def logout(self, request: Request) -> Response:
        """End the session of the browser."""
        service, head = self._service, read_head(request.scope["headers"])
        form = await read_form(request, head)
        service.guard.check_head(head)
        service.guard.check_form(head, form.get("token", ""))
        await run_in_threadpool(service.sessions.end, head.session)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(
            cookie_name(head.is_secure), httponly=True, samesite="strict", secure=head.is_secure
        )
        return answer


def _moment(seconds: float) -> str:
    """Return a time for people: UTC, which is the same for all who read a log."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _number(text: str, name: str) -> float | None:
    """Return a number that a reader entered, or None."""
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidInput(f"{name} must be a number; got {text[:50]!r}") from None


def _largest(side: SideInformation, means: list[float] | None) -> list[tuple[str, float]]:
    """Return the arms with the largest of these means, as people know them."""
    largest = heapq.nlargest(_SHOWN_MEANS, enumerate(means or ()), key=itemgetter(1))
    return [(side.show(arm), mean) for arm, mean in largest]
