"""Pages that change something: making an experiment, pausing it, stopping it, and the like.

They work without scripts. Each action has a page that says what will happen, with a form that does it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from lsdt.errors import InvalidInput, LsdtError
from lsdt.service import actions
from lsdt.service.answers import Refused
from lsdt.service.pages.forms import FIELDS, new_experiment, read_form
from lsdt.service.requests import read_head
from lsdt.service.sources import side_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from lsdt.service import messages
    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.pages.forms import Form
    from lsdt.service.routes import Routes

_MOST_LISTED = 1_000  # arms that a field proposes: more make a slow page
_MOST_TRIED = 2_000  # arms up to which a review says which can be the best: a second or so
_SHOWN = 8  # arms of a review


class Action(NamedTuple):
    """What the page of an action says: what will happen, its button, what was done, and what is entered."""

    title: str
    text: str
    button: str
    done: str
    field: str = ""  # "arm", "tolerance" or "name"
    role: str = "operate"


ACTIONS = {
    "pause": Action(
        "Pause",
        "No decisions are made until it is resumed: every ask is refused, with the reason. Rewards of "
        "earlier decisions are still learned, and decisions expire.",
        "Pause it",
        "It is paused.",
    ),
    "resume": Action("Resume", "Decisions are made again, by the policy.", "Resume it", "It is resumed."),
    "stop": Action(
        "Stop",
        "From now on every ask is answered with this arm, also for units, floors and holdouts that had "
        "another. Rewards that are told are still learned. It can be resumed.",
        "Stop it with this arm",
        "It is stopped.",
        "arm",
    ),
    "retire": Action(
        "Retire an arm",
        "This arm is never chosen again. What it paid stays known, and it can be reinstated.",
        "Retire it",
        "The arm has retired.",
        "arm",
    ),
    "reinstate": Action(
        "Reinstate an arm", "This arm may be chosen again.", "Reinstate it", "The arm is back.", "arm"
    ),
    "tolerance": Action(
        "Set the tolerance",
        "How far below the best arm the one that is named in the end may lie, in rewards. Leave it empty "
        "for the epsilon of the side information. It can be changed at any time: the guarantee holds for all "
        "tolerances together.",
        "Set it",
        "The tolerance is set.",
        "tolerance",
    ),
    "delete": Action(
        "Delete",
        "The experiment goes with its log, its units and its keys. This cannot be undone.",
        "Delete it for good",
        "It is deleted.",
        "name",
        "admin",
    ),
}


def for_people(handler: Callable[[Any, Request], Awaitable[Response]]) -> Callable[..., Any]:
    """Send those without a key to the page that asks for one, and show errors as pages."""

    @functools.wraps(handler)
    async def handle(self: Any, request: Request) -> Response:
        try:
            try:
                return await handler(self, request)
            except Refused as refused:
                if refused.status != 401 or not await _has_signed_in_elsewhere(self._service, request):
                    raise
                return await handler(self, request)
        except Refused as refused:
            if refused.status == 401:
                return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
            status, detail = refused.status, refused.detail
        except LsdtError as error:
            status, detail = error.http_status, str(error)
        shown: Response = self.render(request, "error.html", status, detail=detail)
        return shown

    return handle


async def _has_signed_in_elsewhere(service: Service, request: Request) -> bool:
    """Return whether another replica began the session of a browser, just now."""
    token = read_head(request.scope["headers"]).session
    if not token or not service.store.is_shared or service.following is not None:
        return False
    await run_in_threadpool(service.sessions.look_again)
    return service.sessions.find(token) is not None


class Operations:
    """The pages of one service that change something.

    Parameters
    ----------
    routes : Routes
        Says who may do what.
    service : Service
        The service.
    render : callable
        Makes a page of a template.
    """

    def __init__(self, routes: Routes, service: Service, render: Callable[..., Response]) -> None:
        self._routes, self._service, self.render = routes, service, render

    # ---------------------------------------------------------------- one experiment

    @for_people
    async def manage(self, request: Request) -> Response:
        """What can be done to an experiment."""
        self._check_writable()
        _, _, hosted = self._routes.operated(request)
        done = request.query_params.get("done", "")
        return self.render(
            request,
            "manage.html",
            name=hosted.name,
            about=hosted.about(),
            done=ACTIONS[done].done if done in ACTIONS else "",
            arms=_listed(hosted),
            retired=_retired(hosted),
            status=hosted.agent.status,
        )

    @for_people
    async def act(self, request: Request) -> Response:
        """Say what an action will do, and do it."""
        self._check_writable()
        word = request.path_params["action"]
        action = ACTIONS.get(word)
        if action is None:
            raise Refused(404, f"there is no action {word!r}; there are: {', '.join(ACTIONS)}")
        head, caller, hosted = self._routes.operated(request, action.role, is_form=True)
        if request.method != "POST":
            return self._confirm(request, hosted, word, dict(request.query_params))
        form = await read_form(request, head)
        self._service.guard.check_form(head, form.get("token", ""))
        try:
            if word == "delete":
                if form.get("name", "").strip() != hosted.name:
                    raise InvalidInput(f"enter the name of the experiment, {hosted.name}, to delete it")
                await actions.delete(self._service, hosted, caller)
                return RedirectResponse("/", 303)
            name = "set_tolerance" if word == "tolerance" else word
            reason = " ".join(form.get("reason", "").split())
            await actions.act(self._service, hosted, caller, name, *_given(hosted, word, form), reason=reason)
        except InvalidInput as error:
            return self._confirm(request, hosted, word, form, str(error))
        return RedirectResponse(f"/experiments/{quote(hosted.name, safe='')}/manage?done={word}", 303)

    def _confirm(
        self, request: Request, hosted: HostedExperiment, word: str, form: Form, wrong: str = ""
    ) -> Response:
        """Return the page that asks whether to do it."""
        action, shown = ACTIONS[word], ""
        if action.field == "arm" and form.get("arm"):
            try:
                shown = hosted.agent.side.show(actions.find_arm(hosted.agent.side, form["arm"].strip()))
            except InvalidInput as error:
                wrong = wrong or str(error)
        return self.render(
            request,
            "confirm.html",
            422 if wrong and request.method == "POST" else 200,
            name=hosted.name,
            about=hosted.about(),
            word=word,
            action=action,
            form=form,
            shown=shown,
            wrong=wrong,
            arms=[] if shown else _retired(hosted) if word == "reinstate" else _listed(hosted),
        )

    def _check_writable(self) -> None:
        if self._service.following is not None:
            raise Refused(403, "this service is read-only: it shows what another one decides")

    # ---------------------------------------------------------------- a new one

    @for_people
    async def new(self, request: Request) -> Response:
        """Describe an experiment, look at what it will be, and begin it."""
        self._check_writable()
        head, caller = self._routes.admit(request, "operate", for_all=True, is_form=True)
        if request.method != "POST":
            return self._describe(request, {})
        form = await read_form(request, head)
        self._service.guard.check_form(head, form.get("token", ""))
        step = form.get("step", "review")
        if step == "change":
            return self._describe(request, form)
        try:
            if step == "example":
                new = new_experiment({"name": form.get("name", ""), "arms": "-"})
                new.arms, new.example = None, True
            else:
                new = await run_in_threadpool(new_experiment, form)
            if step == "review":
                review = await run_in_threadpool(self._review, new)
                return self.render(request, "review.html", form=_kept(form), review=review)
            hosted = await actions.make(self._service, caller, new, lambda: side_of(new))
        except Refused as refused:
            return self._describe(request, form, refused.detail, refused.status)
        except LsdtError as error:
            return self._describe(request, form, str(error), error.http_status)
        return RedirectResponse(f"/experiments/{quote(hosted.name, safe='')}", 303)

    def _describe(self, request: Request, form: Form, wrong: str = "", status: int = 200) -> Response:
        """Return the form that describes an experiment."""
        fields = dict.fromkeys(FIELDS, "") | {"policy": "auto", "expiry_reward": "0"} | _kept(form)
        return self.render(request, "new.html", status, form=fields, wrong=wrong)

    def _review(self, new: messages.NewExperiment) -> dict[str, Any]:
        """Return what an experiment will be; refuse one that cannot be made."""
        self._service.check_new(new.name)
        side = side_of(new)
        arms = [side.show(arm) for arm in range(min(side.n_arms, _SHOWN))]
        options = actions.options_of(new, side)
        agent = actions.tried(side, options) if side.n_arms <= _MOST_TRIED else None
        return {"new": new, "n_arms": side.n_arms, "arms": arms, "agent": agent, "side": side}


def _kept(form: Form) -> Form:
    """Return the fields that describe an experiment."""
    return {word: form[word] for word in FIELDS if word in form}


def _given(hosted: HostedExperiment, word: str, form: Form) -> list[Any]:
    """Return what an action takes: an arm, a tolerance, or nothing."""
    field, side = ACTIONS[word].field, hosted.agent.side
    text = form.get(field, "").strip() if field else ""
    if field == "arm":
        if not text:
            raise InvalidInput("say which arm")
        return [side.label(actions.find_arm(side, text))]
    if field == "tolerance":
        try:
            return [float(text) if text else None]
        except ValueError:
            raise InvalidInput(f"the tolerance must be a number; got {text[:50]!r}") from None
    return []


def _listed(hosted: HostedExperiment) -> list[tuple[Any, str]]:
    """Return the first arms that have not retired, with their names for people."""
    with hosted.agent.held() as learner:
        retired, side = learner.retired, learner.side
    arms = (arm for arm in range(side.n_arms) if retired is None or not retired[arm])
    return [(side.label(arm), side.show(arm)) for arm, _ in zip(arms, range(_MOST_LISTED), strict=False)]


def _retired(hosted: HostedExperiment) -> list[tuple[Any, str]]:
    """Return the first arms that have retired."""
    with hosted.agent.held() as learner:
        retired, side = learner.retired, learner.side
    arms = () if retired is None else retired.nonzero()[0][:_MOST_LISTED].tolist()
    return [(side.label(arm), side.show(arm)) for arm in arms]
