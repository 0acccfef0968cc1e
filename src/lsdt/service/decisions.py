"""Ask, tell and observe over HTTP, without a framework: the calls that come by the thousand.

There is one procedure for all of them, `DecisionPath.answer`, whatever the log: admit, decide, wait until it
is durable. The connection layer calls it with a whole request; other servers reach it through ASGI.
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from lsdt.errors import InvalidInput, LostDecision, LsdtError
from lsdt.service import messages
from lsdt.service.answers import JSON, PROBLEM, Refused, encode, problem, wrong_method
from lsdt.service.hosting import MOST_AT_ONCE, answers_of_unit
from lsdt.service.requests import ClientGone, decode, read_body, read_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from lsdt.agent import Agent
    from lsdt.service.hosting import CommitResult, GroupCommit, HostedExperiment, Note, Service
    from lsdt.service.requests import Caller, Head

log = logging.getLogger("lsdt.service")
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "ask": msgspec.json.Decoder(messages.AskRequest),
    "tell": msgspec.json.Decoder(messages.TellRequest),
    "observe": msgspec.json.Decoder(messages.ObserveRequest),
}
FIXED_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_REPLAYED = {"idempotent-replayed": "true"}
_LONGEST_KEY = 200  # characters: room for a UUID and a prefix; each is stored for a day
_CALL = re.compile(r"/v1/experiments/([^/]+)/(ask|tell|observe)")


class Answer(NamedTuple):
    """An answer: status, body, the type of the body, and more headers."""

    status: int
    body: bytes
    kind: str
    headers: dict[str, str]


class _Begun(NamedTuple):
    """A request that was decided: its answer and more headers, once it is durable; and what is to be kept."""

    finish: Callable[[CommitResult], tuple[bytes, dict[str, str]]]
    agent: Agent | None
    note: Note | None


def _name_of(what: str, agent: Agent, unit: Any, caller: Caller, key: str) -> str:
    """Return the name under which the answer to a request with an idempotency key is stored.

    Each caller has its own keys, and so has each unit.
    """
    if not 1 <= len(key) <= _LONGEST_KEY:
        raise Refused(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters; got {len(key)}")
    begin = f"{what} - " if unit is None else answers_of_unit(agent, unit)
    return f"{begin}{caller.id} {key}"


@lru_cache(maxsize=1024)
def decision_call(path: str) -> tuple[str, str] | None:
    """Return experiment and call if the path is that of ask, tell or observe, else None."""
    found = _CALL.fullmatch(path)
    return None if found is None else (found[1], found[2])


class DecisionPath:
    """Answers ask, tell and observe, when what is answered is durable."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._calls: dict[str, Callable[[HostedExperiment, Any], Any]] = {
            "ask": self._ask,
            "tell": self._tell,
            "observe": self._observe,
        }
        # Requests with an idempotency key whose unit has no settled arm yet, by experiment and key.
        self._settling: dict[tuple[str, str], asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send, name: str, what: str) -> None:
        """Answer one request that came through ASGI."""
        head = read_head(scope["headers"])
        try:
            if scope["method"] != "POST":
                raise wrong_method(scope["method"], scope["path"], {"allow": "POST"})
            made = await self.answer(scope, head, receive, name, what)
        except ClientGone:
            return
        except Refused as error:
            made = self._failed(error, what)
        await send_answer(send, *made)

    async def answer(self, scope: Scope, head: Head, body: bytes | Receive, name: str, what: str) -> Answer:
        """Return the answer to one request, whose body may still have to be read."""
        service, kept, settling = self._service, None, None
        try:
            caller = service.guard.admit(scope, head, "decide", name)
            if not isinstance(body, bytes):
                body = await read_body(body, head, service.settings.decision_limit)
            if name not in service.hosted:
                await service.look_for(name)
            hosted = service.find(name, caller)
            commits = self._open_commits()
            request = decode(body, _DECODERS[what])
            key = None if what == "tell" else head.idempotency_key  # telling twice is harmless as it is
            unit = getattr(request, "unit", None)
            kept = None if key is None else _name_of(what, hosted.agent, unit, caller, key)
            if what == "ask":
                n = min(request.n, MOST_AT_ONCE) if type(request.n) is int else 1
                if commits.lacks_numbers(hosted.agent, n):
                    await commits.numbers(hosted.agent, n)
                    commits = service.commits  # of another connection, where the first was lost meanwhile
                    commits.check()
            # The arm of a unit is settled by its commit: a retry under the same key waits for that.
            while kept is not None and (name, kept) in self._settling:
                await self._settling[name, kept].wait()
            if kept is not None and unit is not None:
                settling = self._settling[name, kept] = asyncio.Event()
            # Within one turn of the loop: no other request can answer the same key in between.
            try:
                ready = self._begin(hosted, what, request, kept, body)
            except LostDecision:
                if not await commits.catch_up():
                    raise
                ready = self._begin(hosted, what, request, kept, body)  # another replica made it meanwhile
            outcome = await commits.durable(ready.agent, ready.note)
            # Another replica gave the unit an arm, or closed the decision whose reward is to be replaced.
            while outcome.is_taken or (outcome.n_repeats and getattr(request, "repeat", "") == "replace"):
                hosted.answers.pop(kept or "", None)
                if commits.lacks_numbers(hosted.agent, 1):
                    await commits.numbers(hosted.agent, 1)
                ready = self._begin(hosted, what, request, kept, body)
                outcome = await commits.durable(ready.agent, ready.note)
            answer, headers = ready.finish(outcome)
        except ClientGone:
            raise
        except Exception as error:
            return self._failed(error, what)
        finally:
            if settling is not None and kept is not None:
                del self._settling[name, kept]
                settling.set()
        service.metrics.request(what, 200)
        return Answer(200, answer, JSON, headers)

    def _failed(self, error: Exception, what: str) -> Answer:
        if not isinstance(error, (LsdtError, Refused)):
            log.error("error while answering", extra={"what": what}, exc_info=error)
        status, answer, headers = problem(error)
        self._service.metrics.request(what, status)
        return Answer(status, answer, PROBLEM, headers)

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

    def _begin(
        self, hosted: HostedExperiment, what: str, request: Any, name: str | None, body: bytes
    ) -> _Begun:
        """Decide, or find the answer to a request that was sent before under the same name."""
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

        def finish(outcome: CommitResult) -> tuple[bytes, dict[str, str]]:
            if outcome.stored is None:
                return answer, {}
            return service.take_answer(hosted, name, body, outcome.stored), _REPLAYED

        return _Begun(finish, hosted.agent, note)

    def _ask(self, hosted: HostedExperiment, request: messages.AskRequest) -> messages.DecisionList:
        return hosted.ask(request)

    def _tell(self, hosted: HostedExperiment, request: messages.TellRequest) -> messages.TellResponse:
        if request.rewards is not UNSET:
            if request.decision is not UNSET or request.reward is not UNSET:
                raise InvalidInput("give decision and reward, or rewards; got both")
            return hosted.tell([(each.decision, each.reward) for each in request.rewards], request.repeat)
        if request.decision is UNSET or request.reward is UNSET:
            raise InvalidInput("give decision and reward, or rewards, a list of such pairs")
        return hosted.tell([(request.decision, request.reward)], request.repeat)

    def _observe(
        self, hosted: HostedExperiment, request: messages.ObserveRequest
    ) -> messages.ObserveResponse:
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
