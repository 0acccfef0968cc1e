"""Everything but decisions: experiments, what was learned, logs, keys, health."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from lsdt.agent import TopStopping
from lsdt.errors import InvalidInput, suggest
from lsdt.service import event_log, messages
from lsdt.service.actions import act, delete, find_arm, make
from lsdt.service.answers import JSON, Refused, encode
from lsdt.service.hosting import MOST_CLOSED
from lsdt.service.keys import add_key, remove_key
from lsdt.service.metrics import CONTENT_TYPE, metrics_text
from lsdt.service.openapi import OF_A_FILE, PARQUET, SNAPSHOT, description
from lsdt.service.requests import decode, read_body, read_head
from lsdt.service.sources import check_order, extended, from_file, from_log, side_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.requests import Caller, Head
    from lsdt.side_information import SideInformation

T = TypeVar("T")
_ENDINGS = {
    "text/csv": ".csv",
    PARQUET: ".parquet",
    "application/x-parquet": ".parquet",
    SNAPSHOT: ".parquet",  # any bytes
}
_MOST_ARMS = 10_000_000  # without a limit: more than any agent has, so all
_KEEP_ALIVE = 15.0  # seconds without news before a stream sends a comment; nginx closes it after 60


class Routes:
    """The handlers of one service; each says which role it takes."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def list(self) -> list[Route]:
        """Return all routes of the API."""
        one = "/v1/experiments/{name}"
        return [
            Route("/v1/experiments", self.experiments, methods=["GET"]),
            Route("/v1/experiments", self.create, methods=["POST"]),
            Route(one, self.about, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/cancel", self.cancel, methods=["POST"]),
            Route(f"{one}/extend", self.extend, methods=["POST"]),
            Route(f"{one}/retire", self.retire, methods=["POST"]),
            Route(f"{one}/reinstate", self.reinstate, methods=["POST"]),
            Route(f"{one}/erase-unit", self.erase_unit, methods=["POST"]),
            Route(f"{one}/merge", self.merge, methods=["POST"]),
            Route(f"{one}/pause", self.pause, methods=["POST"]),
            Route(f"{one}/stop", self.stop, methods=["POST"]),
            Route(f"{one}/resume", self.resume, methods=["POST"]),
            Route(f"{one}/tolerance", self.tolerance, methods=["POST"]),
            Route(f"{one}/snapshot", self.snapshot, methods=["POST"]),
            Route(f"{one}/arms", self.arms, methods=["GET"]),
            Route(f"{one}/best", self.best, methods=["GET"]),
            Route(one + "/why/{arm:path}", self.why, methods=["GET"]),
            Route(f"{one}/stopping", self.stopping, methods=["GET"]),
            Route(f"{one}/lift", self.lift, methods=["GET"]),
            Route(f"{one}/suspects", self.suspects, methods=["GET"]),
            Route(f"{one}/drift", self.drift, methods=["GET"]),
            Route(f"{one}/events", self.events, methods=["GET"]),
            Route(f"{one}/stream", self.stream, methods=["GET"]),
            Route("/v1/keys", self.list_keys, methods=["GET"]),
            Route("/v1/keys", self.add_key, methods=["POST"]),
            Route("/v1/keys/{number}", self.remove_key, methods=["DELETE"]),
            Route("/v1/webhooks", self.list_webhooks, methods=["GET"]),
            Route("/v1/webhooks", self.add_webhook, methods=["POST"]),
            Route("/v1/webhooks/{number}", self.remove_webhook, methods=["DELETE"]),
            Route("/v1/webhooks/{number}/test", self.test_webhook, methods=["POST"]),
            Route("/healthz", self.healthz, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
        ]

    # ---------------------------------------------------------------- who, and what

    def admit(
        self,
        request: Request,
        role: str,
        experiment: str | None = None,
        *,
        for_all: bool = False,
        is_form: bool = False,
    ) -> tuple[Head, Caller]:
        """Return head and caller of a request, or refuse it; with `for_all`, also keys of one experiment."""
        head = read_head(request.scope["headers"])
        caller = self._service.guard.admit(request.scope, head, role, experiment, is_form=is_form)
        if for_all:
            caller.check_unscoped()
        self._service.commits.check()
        return head, caller

    def hosted(self, request: Request, role: str) -> tuple[Head, HostedExperiment]:
        """Return the experiment that a request is about."""
        name = request.path_params["name"]
        head, caller = self.admit(request, role, name)
        return head, self._service.find(name, caller)

    def operated(
        self, request: Request, role: str = "operate", *, is_form: bool = False
    ) -> tuple[Head, Caller, HostedExperiment]:
        """Return head, caller and experiment of a request that changes the experiment."""
        name = request.path_params["name"]
        head, caller = self.admit(request, role, name, is_form=is_form)
        return head, caller, self._service.find(name, caller)

    async def _body(self, request: Request, head: Head, kind: type[T]) -> T:
        body = await read_body(request.receive, head, self._service.settings.body_limit)
        decoded: T = decode(body, msgspec.json.Decoder(kind))
        return decoded

    # ---------------------------------------------------------------- experiments

    async def experiments(self, request: Request) -> Response:
        """List the experiments."""
        _, caller = self.admit(request, "read")
        hosted = sorted(self._service.hosted.items())
        return answer(messages.ExperimentList([each.about() for _, each in hosted if caller.sees(each)]))

    async def about(self, request: Request) -> Response:
        """Describe an experiment."""
        return answer(self.hosted(request, "read")[1].about())

    async def create(self, request: Request) -> Response:
        """Begin an experiment: from JSON, or from a file with the rest in the query."""
        head, caller = self.admit(request, "operate", for_all=True)
        body = await read_body(request.receive, head, self._service.settings.body_limit)
        if head.content_type in _ENDINGS:
            new = _from_query(request)
            is_log = request.query_params.get("log", "false") == "true"
            ending = _ENDINGS[head.content_type]

            def side() -> SideInformation:
                return from_log(body, ending, new.epsilon) if is_log else from_file(body, ending)
        else:
            new = decode(body, msgspec.json.Decoder(messages.NewExperiment))

            def side() -> SideInformation:
                return side_of(new)

        agent = (hosted := await make(self._service, caller, new, side)).agent
        made = messages.CreateResponse(
            hosted.name, agent.policy.label, agent.policy_reason, agent.arms_in_play
        )
        return answer(made, 201, {"location": f"/v1/experiments/{hosted.name}".encode().decode("latin-1")})

    async def delete(self, request: Request) -> Response:
        """Remove an experiment with its log."""
        _, caller, hosted = self.operated(request, "admin")
        await delete(self._service, hosted, caller)
        return answer(messages.DoneResponse())

    async def cancel(self, request: Request) -> Response:
        """Give decisions up."""
        head, hosted = self.hosted(request, "decide")
        wanted = await self._body(request, head, messages.CancelRequest)
        n_cancelled = 0
        while True:  # what was given up is kept before more is, and others are answered in between
            made = hosted.cancel(wanted)
            is_last = wanted.before is None or made.cancelled < MOST_CLOSED
            outcome = await self._service.commits.durable(hosted.agent)
            n_cancelled += hosted.finish(made, outcome).cancelled
            if is_last:
                return answer(messages.CancelResponse(n_cancelled))

    async def extend(self, request: Request) -> Response:
        """Go on with more arms or relations: JSON says what is new, a file holds everything."""
        head, caller, hosted = self.operated(request, "admin")
        before = hosted.agent.side
        body = await read_body(request.receive, head, self._service.settings.body_limit)
        hosted.check_idle()
        if head.content_type in _ENDINGS:
            side = await run_in_threadpool(from_file, body, _ENDINGS[head.content_type])
            check_order(before, side)
        else:
            more = decode(body, msgspec.json.Decoder(messages.ExtendRequest))
            side = await run_in_threadpool(extended, before, more)
        hosted.check_idle()
        agent, commits = hosted.agent, self._service.commits
        hosted.busy = "is being extended"
        try:
            await commits.quiesce(agent)
            proposal = await run_in_threadpool(agent.propose_extension, side, by=caller.signature)
        finally:
            hosted.busy = ""
        await commits.durable(agent)
        while (made := agent.extension_outcome(proposal)) is None:  # not read back yet
            if self._service.hosted.get(hosted.name) is not hosted:  # its log is not read any more
                raise Refused(
                    404,
                    f"the experiment {hosted.name!r} was deleted, or can no longer be read, while it was "
                    "being extended",
                )
            if hosted.applying is not None:
                await asyncio.wait([hosted.applying])
            else:
                await asyncio.sleep(0.02)
                await commits.look()
        return answer(messages.ExtendResponse(*made))

    async def retire(self, request: Request) -> Response:
        """Never choose an arm again."""
        return await self._act(request, "retire", messages.RetireRequest)

    async def reinstate(self, request: Request) -> Response:
        """Bring a retired arm back."""
        return await self._act(request, "reinstate", messages.RetireRequest)

    async def pause(self, request: Request) -> Response:
        """Make no decisions until it goes on."""
        return await self._act(request, "pause", messages.PauseRequest)

    async def stop(self, request: Request) -> Response:
        """Answer every ask with one arm."""
        return await self._act(request, "stop", messages.StopRequest)

    async def resume(self, request: Request) -> Response:
        """Go on after a pause or a stop."""
        return await self._act(request, "resume", messages.PauseRequest)

    async def tolerance(self, request: Request) -> Response:
        """Set the tolerance of stopping."""
        return await self._act(request, "set_tolerance", messages.ToleranceRequest)

    async def _act(self, request: Request, action: str, kind: type[Any]) -> Response:
        """Take an action on an experiment; the body names the arm or the tolerance, if it needs one."""
        head, caller, hosted = self.operated(request)
        wanted = await self._body(request, head, kind)
        given = [getattr(wanted, word) for word in ("arm", "tolerance") if hasattr(wanted, word)]
        await act(self._service, hosted, caller, action, *given, reason=wanted.reason)
        return answer(messages.DoneResponse())

    async def erase_unit(self, request: Request) -> Response:
        """Forget who a unit is. Its id comes in the body: paths end up in the logs of proxies."""
        head, caller, hosted = self.operated(request, "admin")
        unit = (await self._body(request, head, messages.EraseRequest)).unit
        return answer(messages.EraseResponse(await self._service.erase_unit(hosted, unit, caller.signature)))

    async def merge(self, request: Request) -> Response:
        """Learn what others were told: experiments of this service by name, or the agent of a snapshot."""
        name = request.path_params["name"]
        head, caller = self.admit(request, "admin", name)
        hosted, commits = self._service.find(name, caller), self._service.commits
        if head.content_type == SNAPSHOT:
            others: Any = await read_body(request.receive, head, self._service.settings.body_limit)
        else:
            wanted = await self._body(request, head, messages.MergeRequest)
            found = [self._seen(each, caller) for each in wanted.experiments]
            for each in found:  # what is learned here must not be lost there
                await commits.durable(each.agent)
            others = [each.agent for each in found]
        hosted.check_idle()
        hosted.busy = "learns what others were told"
        try:
            await commits.quiesce(hosted.agent)
            learned = await run_in_threadpool(hosted.agent.merge, others, by=caller.signature)
        finally:
            hosted.busy = ""
        await commits.durable(hosted.agent)
        return answer(messages.MergeResponse(learned))

    def _seen(self, name: str, caller: Caller) -> HostedExperiment:
        """Return another experiment, if it is the caller's to look at."""
        if caller.experiment not in (None, name):
            raise Refused(403, f"this key is for {caller.experiment!r} alone, and cannot read {name!r}")
        return self._service.find(name, caller)

    async def snapshot(self, request: Request) -> Response:
        """Keep a snapshot in the store; return it to those who accept bytes."""
        head, hosted = self.hosted(request, "admin")
        hosted.check_idle()
        await self._service.commits.durable(hosted.agent)
        blob = hosted.agent.snapshot()
        await self._service.commits.durable(hosted.agent)
        if SNAPSHOT in head.accept:
            return Response(blob, media_type=SNAPSHOT)
        return answer(messages.SnapshotResponse(len(blob)))

    # ---------------------------------------------------------------- what was learned

    async def arms(self, request: Request) -> Response:
        """Return a row per arm; search, order and a page of them on request."""
        _, hosted = self.hosted(request, "read")
        query = _query(request, "search", "order", "offset", "limit")
        search, order = query.get("search", ""), query.get("order", "")
        offset, limit = (
            _whole(query.get("offset"), 0, "offset"),
            _whole(query.get("limit"), _MOST_ARMS, "limit"),
        )
        return answer(await run_in_threadpool(arm_rows, hosted, search, order, offset, limit))

    async def best(self, request: Request) -> Response:
        """Return the arm or the arms to recommend."""
        _, hosted = self.hosted(request, "read")
        query = _query(request, "n_runners_up", "top")
        if "top" in query:
            return answer(await run_in_threadpool(best_arms, hosted, _whole(query["top"], 1, "top")))
        n_runners_up = _whole(query.get("n_runners_up"), 3, "n_runners_up")
        return answer(await run_in_threadpool(best_arm, hosted, n_runners_up))

    async def why(self, request: Request) -> Response:
        """Return why an arm is played, or is not."""
        _, hosted = self.hosted(request, "read")
        return answer(await run_in_threadpool(why_arm, hosted, request.path_params["arm"]))

    async def stopping(self, request: Request) -> Response:
        """Return whether it is known which arm is the best, or which are the best several."""
        _, hosted = self.hosted(request, "read")
        query = _query(request, "delta", "tolerance", "top")
        delta = _number(query.get("delta"), 0.05, "delta")
        tolerance = None if "tolerance" not in query else _number(query["tolerance"], 0.0, "tolerance")
        top = query.get("top", "1")
        which = int(top) if _is_whole(top) else top  # the agent says which words it takes
        return answer(await run_in_threadpool(stopping, hosted, delta, tolerance, which))

    async def lift(self, request: Request) -> Response:
        """Return how much better each arm is than a control."""
        _, hosted = self.hosted(request, "read")
        query = _query(request, "control", "risk")
        risk = _number(query.get("risk"), 0.05, "risk")
        return answer(await run_in_threadpool(lift, hosted, query.get("control"), risk))

    async def suspects(self, request: Request) -> Response:
        """Return the relations that the rewards contradict."""
        _, hosted = self.hosted(request, "read")
        risk = _number(_query(request, "risk").get("risk"), 0.05, "risk")
        frame = await run_in_threadpool(hosted.agent.suspects, risk)
        rows = [{key: _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]
        return answer(messages.SuspectList(rows))

    async def drift(self, request: Request) -> Response:
        """Return the arms whose mean has changed, and those that an open decision blocks."""
        _, hosted = self.hosted(request, "read")
        risk = _number(_query(request, "risk").get("risk"), 0.05, "risk")
        frame = await run_in_threadpool(hosted.agent.drift, risk)
        rows = zip(*(frame[name].tolist() for name in messages.ChangedArm.__struct_fields__), strict=True)
        blocked = [messages.BlockedArm(*each) for each in frame.attrs["blocked"]]
        return answer(messages.Drift([messages.ChangedArm(*row) for row in rows], blocked))

    async def events(self, request: Request) -> Response:
        """Return the log behind a position, as JSON lines or Parquet."""
        head, hosted = self.hosted(request, "read")
        query = _query(request, "after", "limit", "format")
        after = _whole(query.get("after"), 0, "after")
        limit = None if "limit" not in query else _whole(query["limit"], 0, "limit")
        kind = query.get("format", "parquet" if "parquet" in head.accept else "jsonl")
        if kind not in messages.FORMATS:
            raise InvalidInput(f"format must be jsonl or parquet; got {kind!r}")
        side, store = hosted.agent.side, self._service.store
        found = event_log.entries(store, hosted.name, after, limit)
        if kind == "parquet":
            content = await run_in_threadpool(event_log.parquet, found, side)
            return Response(content, media_type=PARQUET)

        def lines() -> Iterator[bytes]:
            for batch in found:
                yield event_log.json_lines(batch, side)

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def stream(self, request: Request) -> Response:
        """Push what changed, at most once a second, as server-sent events."""
        _, hosted = self.hosted(request, "read")
        return StreamingResponse(
            self._pushes(hosted), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _pushes(self, hosted: HostedExperiment) -> AsyncIterator[bytes]:
        service, before, far, quiet = self._service, b"", b"", 0.0
        hosted.n_watching += 1
        try:
            while not service.closing.is_set() and hosted.name in service.hosted:
                news, forecast = encode(hosted.about()), encode(service.forecasts.of(hosted).forecast)
                if news != before or forecast != far:
                    if news != before:
                        yield b"event: state\ndata: " + news + b"\n\n"
                    if forecast != far:
                        yield b"event: stopping\ndata: " + forecast + b"\n\n"
                    before, far, quiet = news, forecast, 0.0
                elif quiet >= _KEEP_ALIVE:
                    yield b": nothing new\n\n"
                    quiet = 0.0
                try:
                    await asyncio.wait_for(service.closing.wait(), 1.0)
                except TimeoutError:
                    quiet += 1.0
        finally:
            hosted.n_watching -= 1

    # ---------------------------------------------------------------- keys

    async def list_keys(self, request: Request) -> Response:
        """List the keys, without their secrets."""
        self.admit(request, "admin")
        rows = [
            messages.ListedKey(key.id, key.role, key.experiment, key.rate, key.created / 1e6, key.name)
            for key in self._service.keys.all()
        ]
        return answer(messages.KeyList(rows))

    async def add_key(self, request: Request) -> Response:
        """Make a key."""
        head, _ = self.admit(request, "admin")
        new = await self._body(request, head, messages.NewKey)
        service = self._service
        given = new.role, new.experiment, new.rate, new.name
        text, key = await run_in_threadpool(add_key, service.store, *given)
        await run_in_threadpool(service.keys.reload)
        return answer(messages.AddedKey(key.id, text, key.role, key.experiment, key.name), 201)

    async def remove_key(self, request: Request) -> Response:
        """Take a key away."""
        self.admit(request, "admin")
        await run_in_threadpool(remove_key, self._service.store, request.path_params["number"])
        await run_in_threadpool(self._service.keys.reload)
        return answer(messages.DoneResponse())

    # ---------------------------------------------------------------- webhooks

    async def list_webhooks(self, request: Request) -> Response:
        """List the webhooks, and how deliveries went."""
        self.admit(request, "admin")
        return answer(messages.WebhookList(self._service.webhooks.listed()))

    async def add_webhook(self, request: Request) -> Response:
        """Add a webhook, at an origin that the operator allows."""
        head, _ = self.admit(request, "admin")
        new = await self._body(request, head, messages.NewWebhook)
        made = await run_in_threadpool(self._service.webhooks.add, new)
        shown = messages.AddedWebhook(made.id, made.secret, made.url, made.experiment, list(made.events))
        return answer(shown, 201)

    async def remove_webhook(self, request: Request) -> Response:
        """Remove a webhook."""
        self.admit(request, "admin")
        await run_in_threadpool(self._service.webhooks.remove, request.path_params["number"])
        return answer(messages.DoneResponse())

    async def test_webhook(self, request: Request) -> Response:
        """Send a test message; a failure of the receiver is an answer, not an error."""
        self.admit(request, "admin")
        return answer(await run_in_threadpool(self._service.webhooks.test, request.path_params["number"]))

    # ---------------------------------------------------------------- health

    async def healthz(self, request: Request) -> Response:
        """Say that the process answers."""
        return answer(messages.Health("ok"))

    async def readyz(self, request: Request) -> Response:
        """Say whether decisions can be kept; why not, to callers who see all experiments."""
        health, status = self._readiness()
        try:
            caller = self._service.guard.admit(request.scope, read_head(request.scope["headers"]), "read")
        except Refused:
            caller = None
        if caller is None or caller.experiment is not None:
            health = messages.Health("ok" if status == 200 else "failed")
        return answer(health, status)

    def _readiness(self) -> tuple[messages.Health, int]:
        service = self._service
        if service.commits.failure:
            what = "restart the service" if service.replication is None else "it is tried again"
            return messages.Health("failed", f"the store failed; {what}"), 503
        if service.closing.is_set():
            return messages.Health("closing"), 503
        if service.following is not None and service.following.failure:
            return messages.Health("failed", "the store cannot be read; it is tried again"), 503
        if service.broken:
            names = ", ".join(sorted(service.broken))
            return messages.Health("degraded", f"cannot be opened: {names}"), 200
        return messages.Health("ok"), 200

    async def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus; a key of one experiment gets only those of that experiment."""
        head = read_head(request.scope["headers"])
        caller = self._service.guard.admit(request.scope, head, "read")
        text = await run_in_threadpool(metrics_text, self._service, caller)
        return Response(text, media_type=CONTENT_TYPE)

    async def openapi(self, request: Request) -> Response:
        """Return the description of this API."""
        return Response(encode(description()), media_type=JSON)


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    return Response(encode(value), status, headers, JSON)


def _query(request: Request, *names: str) -> QueryParams:
    """Return the query of a call that takes these names, and refuse others: they may be misspelt."""
    for word in request.query_params:
        if word not in names:
            raise InvalidInput(
                f"in the query this call takes {', '.join(names)}; got {word!r}{suggest(word, names)}"
            )
    return request.query_params


def _from_query(request: Request) -> messages.NewExperiment:
    """Return what the query says about an experiment that is made from a file."""
    given: dict[str, Any] = {}
    for word, text in request.query_params.items():
        if word not in OF_A_FILE:
            raise Refused(
                422,
                f"an experiment of a file has the options {', '.join(OF_A_FILE)}, in the query; got {word!r}"
                f"{suggest(word, OF_A_FILE)}",
            )
        if word != "log":
            given[word] = _option(word, text)
    try:
        return msgspec.convert(given, messages.NewExperiment, strict=False)
    except msgspec.ValidationError as error:
        raise Refused(422, f"the query is not what is asked for: {error}") from None


def _option(word: str, text: str) -> Any:
    """Return the value of an option: a number, an object that is written as JSON, or a word."""
    if OF_A_FILE[word] == "number":
        return _number(text, 0.0, word)
    if text.startswith("{"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"{word} is not JSON: {error}; got {text!r}") from None
    return text


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _whole(text: str | None, default: int, name: str) -> int:
    if text is None:
        return default
    if not _is_whole(text):
        raise InvalidInput(f"{name} must be a whole number of at least 0; got {text!r}")
    return int(text)


def _number(text: str | None, default: float, name: str) -> float:
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{name} must be a number; got {text!r}") from None


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; what is not finite becomes null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def arm_rows(hosted: HostedExperiment, search: str, order: str, offset: int, limit: int) -> messages.ArmPage:
    """Return arms as rows: those whose id or title has a text in it, in an order, a page of them."""
    frame = hosted.agent.to_frame()
    if "title" not in frame:
        frame = frame.assign(title=None)
    if search:
        wanted = search.casefold()
        names = zip(frame["arm"], frame["title"], strict=True)
        frame = frame[[wanted in f"{arm}\n{title or ''}".casefold() for arm, title in names]]
    if order:
        column = order.removeprefix("-")
        if column not in messages.ORDERS:
            raise InvalidInput(f"order must be arm, plays, mean or score, with - for downward; got {order!r}")
        frame = frame.sort_values(column, ascending=order == column, kind="stable", na_position="last")
    total = len(frame)
    frame = frame.iloc[offset : offset + limit]
    columns = [frame[name].tolist() for name in messages.ListedArm.__struct_fields__]
    rows = [messages.ListedArm(*map(_plain, row)) for row in zip(*columns, strict=True)]
    return messages.ArmPage(rows, total)


def best_arm(hosted: HostedExperiment, n_runners_up: int = 3) -> messages.BestResponse:
    """Return the arm to recommend."""
    found = hosted.agent.best(n_runners_up)
    others = [messages.ArmEstimateResponse(*map(_plain, each)) for each in found.runners_up]
    low, high = _plain(found.anytime_low), _plain(found.anytime_high)
    return messages.BestResponse(*found[:5], low, high, found.certainty, others, found.text)


def best_arms(hosted: HostedExperiment, top: int) -> messages.BestResponse:
    """Return the best `top` arms to recommend."""
    found = hosted.agent.best(top=top)
    first, *rest = found.arms
    others = [messages.ArmEstimateResponse(*map(_plain, each)) for each in rest]
    low, high = _plain(first.anytime_low), _plain(first.anytime_high)
    return messages.BestResponse(*first[:5], low, high, found.certainty, others, found.text)


def stopping(
    hosted: HostedExperiment, delta: float, tolerance: float | None, top: int | str = 1
) -> messages.StoppingResponse:
    """Return whether it is known which arm is the best, or which are the best several."""
    found = hosted.agent.stopping(delta, tolerance, top=top)
    if isinstance(found, TopStopping):
        return messages.StoppingResponse(
            found.stop,
            found.arm_ids[0] if found.arm_ids else None,
            found.delta,
            found.risk,
            found.tolerance,
            found.text,
            _plain(found.evidence),
            found.needed,
            None,
            "how many tries are missing is estimated for one arm only",
            found.pending,
            found.arm_ids,
            found.top,
        )
    return messages.StoppingResponse(
        bool(found.stop),
        found.arm_id,
        float(found.delta),
        found.risk,
        float(found.tolerance),
        found.text,
        _plain(found.evidence),
        found.needed,
        found.tries_to_go,
        found.no_estimate,
        found.pending,
        [found.arm_id],
        1,
    )


def lift(hosted: HostedExperiment, control: str | None = None, risk: float = 0.05) -> messages.Lift:
    """Return how much better each arm is than a control: one that a URL names, or the one with a floor."""
    agent = hosted.agent
    arm = None if control is None else agent.side.label(find_arm(agent.side, control))
    frame = agent.lift(arm, risk)
    columns = [frame[name].tolist() for name in messages.LiftedArm.__struct_fields__]
    rows = [messages.LiftedArm(*map(_plain, row)) for row in zip(*columns, strict=True)]
    return messages.Lift(messages.ControlArm(**_plain(frame.attrs["control"])), rows)


def why_arm(hosted: HostedExperiment, text: str) -> messages.WhyResponse:
    """Return why an arm is played, or is not, with the relations that the argument rests on."""
    agent = hosted.agent
    index = find_arm(agent.side, text)
    status = str(agent.to_frame()["status"].iloc[index])
    arm = agent.side.label(index)
    why = agent.why(arm)
    told = {key: _plain(value) for key, value in why.to_dict().items()}
    relations, steps, means = told["relations"], told["steps"], told["means"]
    return messages.WhyResponse(arm, status, why.is_candidate, why.text, relations, steps, means)
