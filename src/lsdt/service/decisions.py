"""Ask, tell and observe over HTTP, without a framework: the calls that come by the thousand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lsdt.errors import InvalidInput, LsdtError
from lsdt.service import messages
from lsdt.service.answers import JSON, PROBLEM, Refused, encode, problem
from lsdt.service.requests import ClientGone, decode, read_body, read_head

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from lsdt.service.hosting import Hosted, Service

log = logging.getLogger("lsdt.service")
_ASK = msgspec.json.Decoder(messages.Ask)
_TELL = msgspec.json.Decoder(messages.Tell)
_OBSERVE = msgspec.json.Decoder(messages.Observe)
_FIXED = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
PREFIX = "/v1/experiments/"


def decision_call(scope: Scope) -> tuple[str, str] | None:
    """Return experiment and call of a request that takes this path, else None."""
    path: str = scope["path"]
    if scope["method"] != "POST" or not path.startswith(PREFIX):
        return None
    name, _, what = path[len(PREFIX) :].partition("/")
    return (name, what) if what in ("ask", "tell", "observe") and name else None


class DecisionPath:
    """Answers ask, tell and observe; nobody is answered before what is answered is kept."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._calls = {"ask": self._ask, "tell": self._tell, "observe": self._observe}

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
        service, head = self._service, read_head(scope)
        caller = service.guard.admit(scope, head, "decide", name)
        body = await read_body(receive, head, service.settings.decision_limit)
        hosted = service.find(name, caller)
        commits = service.commits
        commits.check()
        if commits.is_full:
            raise Refused(
                429,
                f"{commits.n_waiting:,} requests wait for the store already; try again",
                {"retry-after": "1"},
            )
        key = head.idempotency_key
        if key is not None and what != "tell":  # telling twice is harmless as it is
            # Within one turn of the loop: nobody else can answer the same key in between.
            before = service.answer_before(hosted, f"{what} {key}", body)
            if before is not None:
                await commits.durable()
                return before, {"idempotent-replayed": "true"}
            answer = encode(self._calls[what](hosted, body))
            note = service.remember_answer(hosted, f"{what} {key}", body, answer)
            await commits.durable(hosted.agent, note)
            return answer, {}
        answer = encode(self._calls[what](hosted, body))
        await commits.durable(hosted.agent)
        return answer, {}

    def _ask(self, hosted: Hosted, body: bytes) -> messages.Decisions:
        return hosted.ask(decode(body, _ASK))

    def _tell(self, hosted: Hosted, body: bytes) -> messages.Told:
        request: messages.Tell = decode(body, _TELL)
        if request.rewards is not UNSET:
            if request.decision is not UNSET or request.reward is not UNSET:
                raise InvalidInput("give decision and reward, or rewards; got both")
            return hosted.tell([(each.decision, each.reward) for each in request.rewards])
        if request.decision is UNSET or request.reward is UNSET:
            raise InvalidInput("give decision and reward, or rewards, a list of such pairs")
        return hosted.tell([(request.decision, request.reward)])

    def _observe(self, hosted: Hosted, body: bytes) -> messages.Observed:
        request: messages.Observe = decode(body, _OBSERVE)
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
        *_FIXED,
    ]
    if headers:
        lines += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
