"""Ask, tell and observe over HTTP, without a framework: the calls that come by the thousand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from lsdt.errors import InvalidInput, LostDecision, LsdtError
from lsdt.service import messages
from lsdt.service.answers import JSON, PROBLEM, Refused, encode, problem, wrong_method
from lsdt.service.hosting import MOST_AT_ONCE
from lsdt.service.requests import ClientGone, decode, read_body, read_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from lsdt.agent import Agent
    from lsdt.errors import StoreFailed
    from lsdt.service.hosting import GroupCommit, Hosted, Note, Outcome, Service
    from lsdt.service.requests import Caller, Head

    Done = Callable[[int, bytes, str, dict[str, str]], None]  # status, body, its type, more headers

log = logging.getLogger("lsdt.service")
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "ask": msgspec.json.Decoder(messages.Ask),
    "tell": msgspec.json.Decoder(messages.Tell),
    "observe": msgspec.json.Decoder(messages.Observe),
}
FIXED_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_REPLAYED = {"idempotent-replayed": "true"}
_LONGEST_KEY = 200
PREFIX = "/v1/experiments/"


class _Begun(NamedTuple):
    """A request that was decided: its answer and more headers, once it is kept; and what there is to keep."""

    finish: Callable[[Outcome], tuple[bytes, dict[str, str]]]
    agent: Agent | None
    note: Note | None


def _name_of(what: str, caller: Caller, key: str) -> str:
    """Return what the answer to a request with an idempotency key is kept under: each caller has its own."""
    if not 1 <= len(key) <= _LONGEST_KEY:
        raise Refused(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters; got {len(key)}")
    return f"{what} {caller.id} {key}"


def decision_call(scope: Scope) -> tuple[str, str] | None:
    """Return experiment and call of a request that takes this path, else None."""
    path: str = scope["path"]
    if not path.startswith(PREFIX):
        return None
    name, _, what = path[len(PREFIX) :].partition("/")
    return (name, what) if what in ("ask", "tell", "observe") and name else None


class DecisionPath:
    """Answers ask, tell and observe; nobody is answered before what is answered is kept."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._calls: dict[str, Callable[[Hosted, Any], Any]] = {
            "ask": self._ask,
            "tell": self._tell,
            "observe": self._observe,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send, name: str, what: str) -> None:
        """Answer one request."""
        headers: dict[str, str] = {}
        try:
            status, answer, headers = 200, *await self._answer(scope, receive, name, what)
            kind = JSON
        except ClientGone:
            return
        except (LsdtError, Refused) as error:
            status, answer, headers = problem(error)
            kind = PROBLEM
        except Exception as error:
            log.exception("error while answering", extra={"what": what})
            status, answer, headers = problem(error)
            kind = PROBLEM
        self._service.metrics.request(what, status)
        await send_answer(send, status, answer, kind, headers)

    async def _answer(
        self, scope: Scope, receive: Receive, name: str, what: str
    ) -> tuple[bytes, dict[str, str]]:
        service, head = self._service, read_head(scope["headers"])
        if scope["method"] != "POST":
            raise wrong_method(scope["method"], scope["path"], {"allow": "POST"})
        caller = service.guard.admit(scope, head, "decide", name)
        body = await read_body(receive, head, service.settings.decision_limit)
        if name not in service.hosted:
            await service.look_for(name)
        hosted = service.find(name, caller)
        commits = self._open_commits()
        request, key = decode(body, _DECODERS[what]), head.idempotency_key
        if what == "ask" and hosted.is_replica:
            await commits.numbers(hosted.agent, min(request.n or 1, MOST_AT_ONCE))
        if what == "tell":  # telling twice is harmless as it is
            key = None
        kept = None if key is None else _name_of(what, caller, key)
        if kept is not None:
            await service.look_up(hosted, kept)
        commits = service.commits  # of another connection, where the first was lost meanwhile
        commits.check()  # nothing is decided that could not be written down
        # Within one turn of the loop: nobody else here can answer the same key in between.
        try:
            begun = self._begin(hosted, what, request, kept, body)
        except LostDecision:
            if not hosted.is_replica:
                raise
            await commits.catch_up()  # another replica may have made it just now
            begun = self._begin(hosted, what, request, kept, body)
        return begun.finish(await commits.durable(begun.agent, begun.note))

    def _open_commits(self) -> GroupCommit:
        """Return what makes decisions durable, if it can take one more."""
        commits = self._service.commits
        commits.check()
        if commits.is_full:
            raise Refused(
                429,
                f"{commits.n_waiting:,} requests wait for the store already; try again",
                {"retry-after": "1"},
            )
        return commits

    def start(self, scope: Scope, head: Head, body: bytes, name: str, what: str, done: Done) -> bool:
        """Decide at once, and call `done` with the answer when it is kept, or at once with what is wrong.

        Returns False, and has done nothing, where something else has to be waited for than the commit: then
        the request takes the other way.
        """
        service = self._service
        hosted, key = service.hosted.get(name), None if what == "tell" else head.idempotency_key
        if hosted is None or (what != "tell" and hosted.is_replica):
            return False
        if key is not None and service.store.is_shared:
            return False

        def finish(outcome: Outcome, error: StoreFailed | None) -> None:
            try:
                if error is not None:
                    raise error
                answer, headers = begun.finish(outcome)
            except Exception as error:
                self._fail(error, what, done)
                return
            service.metrics.request(what, 200)
            done(200, answer, JSON, headers)

        try:
            caller = service.guard.admit(scope, head, "decide", name)
            caller.check(hosted)
            commits = self._open_commits()
            kept = None if key is None else _name_of(what, caller, key)
            begun = self._begin(hosted, what, decode(body, _DECODERS[what]), kept, body)
            commits.when_durable(finish, begun.agent, begun.note)
        except LostDecision as error:
            if hosted.is_replica:  # the log may have it by now
                return False
            self._fail(error, what, done)
        except Exception as error:
            self._fail(error, what, done)
        return True

    def _fail(self, error: Exception, what: str, done: Done) -> None:
        if not isinstance(error, (LsdtError, Refused)):
            log.error("error while answering", extra={"what": what}, exc_info=error)
        status, answer, headers = problem(error)
        self._service.metrics.request(what, status)
        done(status, answer, PROBLEM, headers)

    def _begin(self, hosted: Hosted, what: str, request: Any, name: str | None, body: bytes) -> _Begun:
        """Decide; where answers are kept under a name, once."""
        call = self._calls[what]
        if name is None:
            made = call(hosted, request)
            return _Begun(lambda outcome: (encode(hosted.finish(made, outcome)), {}), hosted.agent, None)
        service = self._service
        before = service.answer_before(hosted, name, body)
        if before is not None:
            return _Begun(
                lambda _: (service.answer_before(hosted, name, body) or before, _REPLAYED), None, None
            )
        answer = encode(call(hosted, request))
        note = service.remember_answer(hosted, name, body, answer)

        def finish(outcome: Outcome) -> tuple[bytes, dict[str, str]]:
            if outcome.stored is None:
                return answer, {}
            return service.take_answer(hosted, name, body, outcome.stored), _REPLAYED

        return _Begun(finish, hosted.agent, note)

    def _ask(self, hosted: Hosted, request: messages.Ask) -> messages.DecisionList:
        return hosted.ask(request)

    def _tell(self, hosted: Hosted, request: messages.Tell) -> messages.Told:
        if request.rewards is not UNSET:
            if request.decision is not UNSET or request.reward is not UNSET:
                raise InvalidInput("give decision and reward, or rewards; got both")
            return hosted.tell([(each.decision, each.reward) for each in request.rewards])
        if request.decision is UNSET or request.reward is UNSET:
            raise InvalidInput("give decision and reward, or rewards, a list of such pairs")
        return hosted.tell([(request.decision, request.reward)])

    def _observe(self, hosted: Hosted, request: messages.Observe) -> messages.Observed:
        if request.rewards is not UNSET:
            if request.arm is not UNSET or request.reward is not UNSET:
                raise InvalidInput("give arm and reward, or rewards; got both")
            return hosted.observe([(each.arm, each.reward) for each in request.rewards])
        if request.arm is UNSET or request.reward is UNSET:
            raise InvalidInput("give arm and reward, or rewards, a list of such pairs")
        return hosted.observe([(request.arm, request.reward)])


async def send_answer(
    send: Send, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None
) -> None:
    """Send an answer whole."""
    lines: list[Any] = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        *FIXED_HEADERS,
    ]
    if headers:
        lines += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
