"""A client of the decision service, with the methods of an agent; for plain and for asynchronous code."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import secrets
import tempfile
from pathlib import Path
from random import random
from time import sleep
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar, cast, overload
from urllib.parse import quote

from lsdt import errors
from lsdt._html import card, facts, fields_card
from lsdt.agent import Agent
from lsdt.agent.drift import Blocked
from lsdt.agent.extension import Extension
from lsdt.agent.recommendation import ArmEstimate, Recommendation
from lsdt.errors import InvalidInput, LostDecision, LsdtError, MissingDependency, StoreFailed, suggest
from lsdt.policies import Policy
from lsdt.problems.rewards import Rewards
from lsdt.service.decision_ids import parts
from lsdt.side_information import SideInformation

try:
    import httpx
except ModuleNotFoundError:
    raise MissingDependency(
        "a client needs httpx, which is not installed; pip install 'lsdt[client]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    import pandas as pd

    from lsdt.side_information.arms import ArmId

T = TypeVar("T")
_TIMEOUT = 30.0
_PATIENCE = 600.0  # for side information, of which candidates are found
_RETRIES = 5
_FIRST_WAIT = 0.05  # seconds; doubled from one try to the next
_BUSY = (429, 503)
_OPTIONS = (
    "policy", "epsilon", "rewards", "horizon", "seed", "prior", "prior_weight", "forget", "expiry",
)  # fmt: skip


class RemoteDecision(NamedTuple):
    """A decision of a service: what `lsdt.Decision` has, and the id under which its reward is told.

    Attributes
    ----------
    number : int
        Numbers count up from 0.
    arm : int
        The index of the arm.
    arm_id : str or int
        Its id.
    propensity : float or None
        The probability with which it was chosen, where it was asked for.
    id : str
        Text that any process may tell the reward under, and that may be shown to anybody.
    """

    number: int
    arm: int
    arm_id: ArmId
    propensity: float | None
    id: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class StoppingAnswer(NamedTuple):
    """Whether it is known which arm is the best, as a service says it; see `Agent.stopping`."""

    stop: bool
    arm_id: ArmId
    delta: float
    tolerance: float
    text: str
    evidence: float
    needed: float
    tries_to_go: int | None
    no_estimate: str
    pending: int

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return fields_card(self)


class _Call(NamedTuple, Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    headers: dict[str, str] = {}  # noqa: RUF012
    query: dict[str, str] = {}  # noqa: RUF012
    may_repeat: bool = True
    takes_long: bool = False


class _Calls:
    """What a client asks for, without the asking: shared by the plain and the asynchronous one."""

    def __init__(self, url: str, key: str | None, name: str | None) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInput(f"url must be the address of a service, http://HOST:PORT; got {url!r}")
        self.url, self.name = url.rstrip("/"), name
        self._headers = {} if key is None else {"authorization": f"Bearer {key}"}

    def __repr__(self) -> str:
        name = "" if self.name is None else f", {self.name!r}"
        return f"{type(self).__name__}({self.url!r}{name})"

    def _path(self, rest: str) -> str:
        if self.name is None:
            raise InvalidInput("say which experiment: Client(url, key, name='...')")
        return f"/v1/experiments/{quote(self.name, safe='')}{rest}"

    def _ask(self, n: int | None, allowed: Any, propensity: bool | int) -> _Call[list[RemoteDecision]]:
        chosen = None if allowed is None else [_plain(arm) for arm in allowed]
        body = {"n": _plain(n), "allowed": chosen, "propensity": _plain(propensity)}
        once = {"idempotency-key": secrets.token_hex(16)}
        return _json("POST", self._path("/ask"), _decisions, body, headers=once)

    def _tell(self, rewards: Iterable[tuple[RemoteDecision | str, float]]) -> _Call[tuple[int, int]]:
        rows = [{"decision": _id(decision), "reward": _plain(reward)} for decision, reward in rewards]
        return _json("POST", self._path("/tell"), _told, {"rewards": rows})

    def _observe(self, arm: ArmId, reward: float) -> _Call[None]:
        once = {"idempotency-key": secrets.token_hex(16)}
        body = {"arm": _plain(arm), "reward": _plain(reward)}
        return _json("POST", self._path("/observe"), _nothing, body, headers=once)

    def _cancel(self, **which: Any) -> _Call[int]:
        return _json("POST", self._path("/cancel"), _number("cancelled"), which, may_repeat=False)

    def _extend(self, side: SideInformation) -> _Call[Extension]:
        return _file("POST", self._path("/extend"), _extension, side, {})

    def _merge(self, others: bytes | list[str]) -> _Call[int]:
        """Return the request that merges the agent of a snapshot, or experiments of the same service."""
        path, read = self._path("/merge"), _number("learned")
        if isinstance(others, list):
            return _json("POST", path, read, {"experiments": others}, may_repeat=False, takes_long=True)
        kind = {"content-type": "application/octet-stream"}
        return _Call("POST", path, read, others, kind, may_repeat=False, takes_long=True)

    def _new(self, side: SideInformation, options: dict[str, Any]) -> _Call[dict[str, Any]]:
        self._path("")
        for key in options:
            if key not in _OPTIONS:
                near = suggest(key, _OPTIONS)
                raise InvalidInput(f"an experiment has the options {', '.join(_OPTIONS)}; got {key!r}{near}")
        given = {key: _word(key, value) for key, value in options.items() if value is not None}
        query = {"name": self.name or "", **given}
        return _file("POST", "/v1/experiments", _data, side, query)

    def _delete(self) -> _Call[None]:
        return _Call("DELETE", self._path(""), _nothing, may_repeat=False, takes_long=True)

    def _get(self, rest: str, read: Callable[[httpx.Response], T], **query: Any) -> _Call[T]:
        words = {key: str(value) for key, value in query.items() if value is not None}
        return _Call("GET", self._path(rest), read, query=words)

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self.name or "", facts({"service": self.url}))


def _json(method: str, path: str, read: Callable[[httpx.Response], T], body: Any, **more: Any) -> _Call[T]:
    try:
        content = json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"this cannot be sent: {error}") from None
    more["headers"] = {"content-type": "application/json", **more.get("headers", {})}
    return _Call(method, path, read, content, **more)


def _listed(what: str) -> _Call[list[dict[str, Any]]]:
    return _Call("GET", f"/v1/{what}", lambda got: cast("list[dict[str, Any]]", got.json()[what]))


def _new_key(role: str, experiment: str | None, rate: float | None) -> _Call[dict[str, Any]]:
    body = {"role": role, "experiment": experiment, "rate": rate}
    return _json("POST", "/v1/keys", _data, body, may_repeat=False)


def _no_key(number: str) -> _Call[None]:
    return _Call("DELETE", f"/v1/keys/{quote(number, safe='')}", _nothing, may_repeat=False)


def _file(
    method: str, path: str, read: Callable[[httpx.Response], T], side: SideInformation, query: dict[str, str]
) -> _Call[T]:
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "side.parquet"
        side.save(kept)
        content = kept.read_bytes()
    kind = {"content-type": "application/vnd.apache.parquet"}
    return _Call(method, path, read, content, kind, query, may_repeat=False, takes_long=True)


def _word(key: str, value: Any) -> str:
    """Return an option as text for the query: an object as JSON."""
    if isinstance(value, Policy):
        raise InvalidInput("policy goes over HTTP as text, such as 'ts@propagation' or 'ucb1:alpha=8'")
    if isinstance(value, Rewards):
        raise InvalidInput(
            "rewards go over HTTP as text, or as {'name': 'gaussian', 'parameters': {'sigma': 2}}"
        )
    if key == "prior" and isinstance(value, (tuple, list)) and len(value) == 2:
        arms, rewards = ([_plain(each) for each in part] for part in value)
        value = {"arms": arms, "rewards": rewards}
    return json.dumps(value) if isinstance(value, dict) else str(_plain(value))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _others(others: Any) -> tuple[list[str], list[Any]]:
    """Return whom to learn from: experiments of the same service by name, and agents or snapshots."""
    kinds = (str, bytes, bytearray, _Calls, Agent)
    listed = [others] if isinstance(others, kinds) else others
    try:
        given = list(listed)
    except TypeError:
        given = [listed]
    if not given:
        raise InvalidInput("merge takes at least one other; got none")
    for each in given:
        if not isinstance(each, kinds):
            raise InvalidInput(
                "merge takes names of experiments, clients, agents, or their snapshots; got "
                f"{type(each).__name__}"
            )
    names = [each for each in given if isinstance(each, str)]
    return names, [each for each in given if not isinstance(each, str)]


async def _snapshot(agent: Any) -> bytes:
    blob = agent.snapshot()
    snapshot: bytes = await blob if inspect.isawaitable(blob) else blob
    return snapshot


def _id(decision: Any) -> str:
    if isinstance(decision, RemoteDecision):
        return decision.id
    if isinstance(decision, str):
        return decision
    raise InvalidInput(f"a decision is what ask() returned, or its id; got {decision!r}")


# -------------------------------------------------------------------- reading answers


def _data(response: httpx.Response) -> Any:
    return response.json()


def _nothing(_: httpx.Response) -> None:
    return None


def _number(word: str) -> Callable[[httpx.Response], int]:
    return lambda response: int(response.json()[word])


def _decisions(response: httpx.Response) -> list[RemoteDecision]:
    return [
        RemoteDecision(*parts(each["id"])[:2], each["arm"], each.get("propensity"), each["id"])
        for each in response.json()["decisions"]
    ]


def _told(response: httpx.Response) -> tuple[int, int]:
    answer = response.json()
    return answer["learned"], answer["repeated"]


def _extension(response: httpx.Response) -> Extension:
    return Extension(**response.json())


def _frame(word: str) -> Callable[[httpx.Response], pd.DataFrame]:
    def read(response: httpx.Response) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(response.json()[word])

    return read


def _drift(response: httpx.Response) -> pd.DataFrame:
    import pandas as pd

    columns, answer = (
        ["arm", "evidence", "plays_before", "mean_before", "plays_after", "mean_after"],
        response.json(),
    )
    frame = pd.DataFrame(answer["arms"], columns=columns)
    frame.attrs["blocked"] = [Blocked(**each) for each in answer["blocked"]]
    return frame


def _arms(response: httpx.Response) -> pd.DataFrame:
    frame = _frame("arms")(response).astype({"mean": float, "score": float, "title": object})
    titles = frame.pop("title")
    if titles.notna().any():
        frame.insert(1, "title", titles.where(titles.notna(), None))
    return frame


def _best(response: httpx.Response) -> Recommendation:
    answer = response.json()
    others = [ArmEstimate(**_estimate(each)) for each in answer.pop("runners_up")]
    return Recommendation(**_estimate(answer), runners_up=others)


def _estimate(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an estimate in the words of Python; ends of intervals that are null are infinite."""
    ends = {"anytime_low": -math.inf, "anytime_high": math.inf}
    open_ends = {key: end for key, end in ends.items() if answer[key] is None}
    return {"arm_id": answer.pop("arm")} | answer | open_ends


def _stopping(response: httpx.Response) -> StoppingAnswer:
    answer = response.json()
    evidence = math.inf if answer["evidence"] is None else answer["evidence"]
    return StoppingAnswer(arm_id=answer.pop("arm"), **(answer | {"evidence": evidence}))


def _events(response: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in response.text.splitlines() if line]


def _raise(response: httpx.Response) -> NoReturn:
    """Raise what Python would have raised in the place of the service."""
    title, detail, answer = "", f"the service answered {response.status_code}", {}
    try:
        answer = response.json()
        title, detail = str(answer["title"]), str(answer["detail"])
    except (ValueError, KeyError, TypeError):
        pass
    if title == "LostDecision":
        raise LostDecision(detail, answer.get("decisions", ()))
    kind = getattr(errors, title, None)
    if isinstance(kind, type) and issubclass(kind, LsdtError):
        raise kind(detail)
    if response.status_code == 429 or response.status_code >= 500:
        raise StoreFailed(detail)
    raise InvalidInput(detail)


def _arguments(call: _Call[Any]) -> dict[str, Any]:
    """Return what httpx takes."""
    made: dict[str, Any] = {
        "method": call.method,
        "url": call.path,
        "content": call.content,
        "headers": call.headers,
        "params": call.query,
    }
    return made | {"timeout": _PATIENCE} if call.takes_long else made


def _wait(attempt: int, response: httpx.Response | None) -> float:
    """Return how long to wait before another try, a random part of it, so that many do not come at once."""
    asked = 0.0
    if response is not None:
        text = response.headers.get("retry-after", "")
        asked = min(float(text), 5.0) if text.isdigit() else 0.0
    return max(asked, _FIRST_WAIT * 2.0**attempt) * (0.5 + random() / 2.0)


def _again(call: _Call[Any], error: httpx.TransportError) -> bool:
    """Return whether a request may be sent again: it cannot have arrived, or twice is as good as once."""
    return call.may_repeat or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))


def _unreachable(url: str, error: httpx.TransportError) -> StoreFailed:
    return StoreFailed(f"the service at {url} cannot be reached: {error or type(error).__name__}")


class Client(_Calls):
    """An agent that lives in a service: the same methods, over HTTP.

    Requests are repeated when the service is busy or cannot be reached for a moment; nothing happens twice.
    Several threads may use one client.

    Parameters
    ----------
    url : str
        The address of the service, such as ``http://127.0.0.1:8900``.
    key : str, optional
        What ``lsdt keys add`` printed.
    name : str, optional
        The experiment that the methods of an agent are about.
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.service.server import in_background
    >>> side = lsdt.SideInformation(2, arm_ids=["tea", "juice"])
    >>> with in_background() as url:                               # elsewhere: lsdt serve
    ...     agent = lsdt.Client.open(url, "drinks", side=side, policy="ucb1")
    ...     decision = agent.ask()
    ...     agent.tell(decision, 1)
    ...     agent.close()
    >>> decision.arm_id
    'tea'
    """

    def __init__(
        self, url: str, key: str | None = None, name: str | None = None, *, timeout: float = _TIMEOUT
    ) -> None:
        super().__init__(url, key, name)
        self._http = httpx.Client(base_url=self.url, headers=self._headers, timeout=timeout)

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        side: SideInformation | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> Client:
        """Return the client of an experiment; where there is none, begin it with `side`.

        One that is there is taken as it is: `side` and options are for a new one, and are not compared.

        Parameters
        ----------
        url, name, key
            The service, the experiment, the key.
        side : SideInformation, optional
            What is known of the arms, for a new one.
        **options
            Those of `Agent` (policy and rewards as text; the prior as arms and rewards), and ``expiry``, as
            in ``expiry={"after": 3600, "reward": 0}``: close decisions that were not told after so many
            seconds (at most ten years), with this reward or, without one, as `cancel` does.
        """
        client = cls(url, key, name)
        try:
            if client._send(client._get("", _status))[0] == 404:
                if side is None:
                    raise InvalidInput(f"there is no experiment {name!r} at {url}; give side= to begin one")
                client._send(client._new(side, options))
        except BaseException:
            client.close()
            raise
        return client

    def _send(self, call: _Call[T]) -> T:
        attempt = 0
        while True:
            response = None
            try:
                response = self._http.request(**_arguments(call))
            except httpx.TransportError as error:
                if attempt >= _RETRIES or not _again(call, error):
                    raise _unreachable(self.url, error) from None
            if response is not None:
                if response.is_success or (call.read is _status and response.status_code == 404):
                    return call.read(response)
                if attempt >= _RETRIES or response.status_code not in _BUSY:
                    _raise(response)
            sleep(_wait(attempt, response))
            attempt += 1

    @overload
    def ask(
        self, n: None = None, *, allowed: Any = None, propensity: bool | int = False
    ) -> RemoteDecision: ...
    @overload
    def ask(self, n: int, *, allowed: Any = None, propensity: bool | int = False) -> list[RemoteDecision]: ...
    def ask(
        self, n: int | None = None, *, allowed: Any = None, propensity: bool | int = False
    ) -> RemoteDecision | list[RemoteDecision]:
        """Return the arm to play next, or `n` of them; see `Agent.ask`."""
        made = self._send(self._ask(n, allowed, propensity))
        return made[0] if n is None else made

    def tell(self, decision: RemoteDecision | str, reward: float) -> None:
        """Learn the reward of a decision (what `ask` returned, or its id); a repeat changes nothing."""
        self._send(self._tell([(decision, reward)]))

    def tell_many(self, rewards: Iterable[tuple[RemoteDecision | str, float]]) -> tuple[int, int]:
        """Learn many rewards, all checked before any is learned; return how many were new, and repeated."""
        return self._send(self._tell(rewards))

    def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for."""
        self._send(self._observe(arm, reward))

    def cancel(self, decision: RemoteDecision | str) -> None:
        """Give up waiting for the reward of a decision."""
        self._send(self._cancel(decision=_id(decision)))

    def cancel_many(self, decisions: Iterable[RemoteDecision | str]) -> int:
        """Give up waiting for many decisions, all checked before any is given up; return how many."""
        return self._send(self._cancel(decisions=[_id(each) for each in decisions]))

    def cancel_before(self, decision: RemoteDecision | str) -> int:
        """Give up waiting for all decisions before this one, and return how many there were."""
        return self._send(self._cancel(before=_id(decision)))

    def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information, the arms so far first and in their order; or without some."""
        return self._send(self._extend(side))

    def retire(self, arm: ArmId) -> None:
        """Never choose an arm again."""
        self._send(_json("POST", self._path("/retire"), _nothing, {"arm": _plain(arm)}))

    def reinstate(self, arm: ArmId) -> None:
        """Bring a retired arm back into play, with all that is known of it."""
        self._send(_json("POST", self._path("/reinstate"), _nothing, {"arm": _plain(arm)}))

    def merge(self, others: Any) -> int:
        """Learn what others were told of the same arms, and return how many rewards that were.

        As `Agent.merge` does: counts add up, decisions stay apart, nobody counts twice.

        Parameters
        ----------
        others : str, Client, Agent, bytes, or a list of these
            Names of experiments of the same service; agents here or in a service, or their snapshots. Names
            are merged together, before the others; of the others each by itself.
        """
        names, agents = _others(others)
        learned = self._send(self._merge(names)) if names else 0
        for each in agents:
            blob = each if isinstance(each, (bytes, bytearray)) else each.snapshot()
            learned += self._send(self._merge(bytes(blob)))
        return learned

    def pause(self, paused: bool = True) -> None:
        """Let the service hand out no more decisions, or go on."""
        self._send(_json("POST", self._path("/pause"), _nothing, {"paused": paused}))

    def snapshot(self) -> bytes:
        """Keep a snapshot in the store, and return it; `Agent.restore` takes it."""
        kind = {"accept": "application/octet-stream"}
        return self._send(_Call("POST", self._path("/snapshot"), lambda got: got.content, headers=kind))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm; see `Agent.to_frame`."""
        return self._send(self._get("/arms", _arms))

    def best(self, n_runners_up: int = 3) -> Recommendation:
        """Return the arm to recommend."""
        return self._send(self._get("/best", _best, n_runners_up=n_runners_up))

    def why(self, arm: ArmId) -> dict[str, Any]:
        """Return why an arm is played, or is not: status, reason, and the relations behind it."""
        return cast("dict[str, Any]", self._send(self._get(f"/why/{quote(str(arm), safe='')}", _data)))

    def stopping(self, delta: float = 0.05, tolerance: float | None = None) -> StoppingAnswer:
        """Return whether it is known which arm is the best."""
        return self._send(self._get("/stopping", _stopping, delta=delta, tolerance=tolerance))

    def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards contradict."""
        return self._send(self._get("/suspects", _frame("suspects"), risk=risk))

    def drift(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the arms whose mean has changed; see `Agent.drift`."""
        return self._send(self._get("/drift", _drift, risk=risk))

    def events(self, after: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the events of the log behind a position."""
        return self._send(self._get("/events", _events, after=after, limit=limit))

    def about(self) -> dict[str, Any]:
        """Return the experiment as it is: policy, numbers of decisions and rewards, whether it is paused."""
        return cast("dict[str, Any]", self._send(self._get("", _data)))

    def delete(self) -> None:
        """Remove the experiment with its log, for good."""
        self._send(self._delete())

    def experiments(self) -> list[dict[str, Any]]:
        """Return all experiments of the service."""
        return self._send(_listed("experiments"))

    def keys(self) -> list[dict[str, Any]]:
        """Return the keys of the service, without their secrets."""
        return self._send(_listed("keys"))

    def add_key(self, role: str, experiment: str | None = None, rate: float | None = None) -> dict[str, Any]:
        """Make a key; the answer is the only place where it stands."""
        return self._send(_new_key(role, experiment, rate))

    def remove_key(self, number: str) -> None:
        """Take a key away, by its id."""
        self._send(_no_key(number))

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _status(response: httpx.Response) -> tuple[int, Any]:
    return response.status_code, response.json()


class AsyncClient(_Calls):
    """`Client` for asynchronous code: the same methods, to be awaited.

    Parameters
    ----------
    url, key, name, timeout
        As `Client` takes them.

    Examples
    --------
    >>> import asyncio, lsdt
    >>> from lsdt.service.server import in_background
    >>> async def play(url):
    ...     async with await lsdt.AsyncClient.open(url, "drinks", side=lsdt.SideInformation(2)) as agent:
    ...         decisions = await agent.ask(2)
    ...         return await agent.tell_many((decision, 1) for decision in decisions)
    >>> with in_background() as url:
    ...     asyncio.run(play(url))
    (2, 0)
    """

    def __init__(
        self, url: str, key: str | None = None, name: str | None = None, *, timeout: float = _TIMEOUT
    ) -> None:
        super().__init__(url, key, name)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=timeout)

    @classmethod
    async def open(
        cls,
        url: str,
        name: str,
        side: SideInformation | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> AsyncClient:
        """Return the client of an experiment; where there is none, begin it with `side`: see `Client`."""
        client = cls(url, key, name)
        try:
            if (await client._send(client._get("", _status)))[0] == 404:
                if side is None:
                    raise InvalidInput(f"there is no experiment {name!r} at {url}; give side= to begin one")
                await client._send(client._new(side, options))
        except BaseException:
            await client.close()
            raise
        return client

    async def _send(self, call: _Call[T]) -> T:
        attempt = 0
        while True:
            response = None
            try:
                response = await self._http.request(**_arguments(call))
            except httpx.TransportError as error:
                if attempt >= _RETRIES or not _again(call, error):
                    raise _unreachable(self.url, error) from None
            if response is not None:
                if response.is_success or (call.read is _status and response.status_code == 404):
                    return call.read(response)
                if attempt >= _RETRIES or response.status_code not in _BUSY:
                    _raise(response)
            await asyncio.sleep(_wait(attempt, response))
            attempt += 1

    @overload
    async def ask(
        self, n: None = None, *, allowed: Any = None, propensity: bool | int = False
    ) -> RemoteDecision: ...
    @overload
    async def ask(
        self, n: int, *, allowed: Any = None, propensity: bool | int = False
    ) -> list[RemoteDecision]: ...
    async def ask(
        self, n: int | None = None, *, allowed: Any = None, propensity: bool | int = False
    ) -> RemoteDecision | list[RemoteDecision]:
        """Return the arm to play next, or `n` of them; see `Agent.ask`."""
        made = await self._send(self._ask(n, allowed, propensity))
        return made[0] if n is None else made

    async def tell(self, decision: RemoteDecision | str, reward: float) -> None:
        """Learn the reward of a decision; a repeat changes nothing."""
        await self._send(self._tell([(decision, reward)]))

    async def tell_many(self, rewards: Iterable[tuple[RemoteDecision | str, float]]) -> tuple[int, int]:
        """Learn many rewards, all checked before any is learned; return how many were new, and repeated."""
        return await self._send(self._tell(rewards))

    async def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for."""
        await self._send(self._observe(arm, reward))

    async def cancel(self, decision: RemoteDecision | str) -> None:
        """Give up waiting for the reward of a decision."""
        await self._send(self._cancel(decision=_id(decision)))

    async def cancel_many(self, decisions: Iterable[RemoteDecision | str]) -> int:
        """Give up waiting for many decisions, all checked before any is given up; return how many."""
        return await self._send(self._cancel(decisions=[_id(each) for each in decisions]))

    async def cancel_before(self, decision: RemoteDecision | str) -> int:
        """Give up waiting for all decisions before this one, and return how many there were."""
        return await self._send(self._cancel(before=_id(decision)))

    async def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information, the arms so far first and in their order; or without some."""
        return await self._send(self._extend(side))

    async def retire(self, arm: ArmId) -> None:
        """Never choose an arm again."""
        await self._send(_json("POST", self._path("/retire"), _nothing, {"arm": _plain(arm)}))

    async def reinstate(self, arm: ArmId) -> None:
        """Bring a retired arm back into play, with all that is known of it."""
        await self._send(_json("POST", self._path("/reinstate"), _nothing, {"arm": _plain(arm)}))

    async def merge(self, others: Any) -> int:
        """Learn what others were told of the same arms, and return how many rewards; see `Client.merge`."""
        names, agents = _others(others)
        learned = await self._send(self._merge(names)) if names else 0
        for each in agents:
            blob = each if isinstance(each, (bytes, bytearray)) else await _snapshot(each)
            learned += await self._send(self._merge(bytes(blob)))
        return learned

    async def pause(self, paused: bool = True) -> None:
        """Let the service hand out no more decisions, or go on."""
        await self._send(_json("POST", self._path("/pause"), _nothing, {"paused": paused}))

    async def snapshot(self) -> bytes:
        """Keep a snapshot in the store, and return it."""
        kind = {"accept": "application/octet-stream"}
        return await self._send(_Call("POST", self._path("/snapshot"), lambda got: got.content, headers=kind))

    async def to_frame(self) -> pd.DataFrame:
        """Return a row per arm."""
        return await self._send(self._get("/arms", _arms))

    async def best(self, n_runners_up: int = 3) -> Recommendation:
        """Return the arm to recommend."""
        return await self._send(self._get("/best", _best, n_runners_up=n_runners_up))

    async def why(self, arm: ArmId) -> dict[str, Any]:
        """Return why an arm is played, or is not."""
        return cast("dict[str, Any]", await self._send(self._get(f"/why/{quote(str(arm), safe='')}", _data)))

    async def stopping(self, delta: float = 0.05, tolerance: float | None = None) -> StoppingAnswer:
        """Return whether it is known which arm is the best."""
        return await self._send(self._get("/stopping", _stopping, delta=delta, tolerance=tolerance))

    async def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards contradict."""
        return await self._send(self._get("/suspects", _frame("suspects"), risk=risk))

    async def drift(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the arms whose mean has changed; see `Agent.drift`."""
        return await self._send(self._get("/drift", _drift, risk=risk))

    async def events(self, after: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the events of the log behind a position."""
        return await self._send(self._get("/events", _events, after=after, limit=limit))

    async def about(self) -> dict[str, Any]:
        """Return the experiment as it is: policy, numbers of decisions and rewards, whether it is paused."""
        return cast("dict[str, Any]", await self._send(self._get("", _data)))

    async def delete(self) -> None:
        """Remove the experiment with its log, for good."""
        await self._send(self._delete())

    async def experiments(self) -> list[dict[str, Any]]:
        """Return all experiments of the service."""
        return await self._send(_listed("experiments"))

    async def keys(self) -> list[dict[str, Any]]:
        """Return the keys of the service, without their secrets."""
        return await self._send(_listed("keys"))

    async def add_key(
        self, role: str, experiment: str | None = None, rate: float | None = None
    ) -> dict[str, Any]:
        """Make a key; the answer is the only place where it stands."""
        return await self._send(_new_key(role, experiment, rate))

    async def remove_key(self, number: str) -> None:
        """Take a key away, by its id."""
        await self._send(_no_key(number))

    async def close(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
