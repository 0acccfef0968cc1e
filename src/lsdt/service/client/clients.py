"""The two clients: the same methods, each written once."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
import time
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from lsdt._html import card, facts
from lsdt.agent import Agent
from lsdt.errors import InvalidInput, MissingDependency, StoreFailed, suggest
from lsdt.policies import Policy
from lsdt.problems import Rewards
from lsdt.service.client import calls
from lsdt.service.client.both import Both, BothAsk, BothBest, finish
from lsdt.service.client.results import RemoteDecision, StoppingAnswer
from lsdt.side_information import SideInformation

try:
    import httpx
except ModuleNotFoundError:
    raise MissingDependency(
        "a client needs httpx, which is not installed; pip install 'lsdt[client]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from lsdt.agent import Extension, Recommendation, TopRecommendation
    from lsdt.side_information import ArmId

T = TypeVar("T")
# Waits double from the first, and add up to about 1.2 s: enough for a short overload, not for a restart.
_RETRIES = 5
_FIRST_WAIT = 0.05  # seconds: a few commits of a busy service
_BUSY = (429, 503)  # the statuses that say "try again later"
_NOT_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout)


class BaseClient:
    """The methods of both clients, written once; a subclass sends the requests, blocking or awaited.

    Each method fills in a row of the table in `calls`.
    """

    _is_async: ClassVar[bool]
    _http_class: ClassVar[Any]
    _sleep: ClassVar[Any]

    def __init__(
        self, url: str, key: str | None = None, name: str | None = None, *, timeout: float = 30.0
    ) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInput(f"url must be the address of a service, http://HOST:PORT; got {url!r}")
        self.url, self.name = url.rstrip("/"), name
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = self._http_class(base_url=self.url, headers=headers, timeout=timeout)

    def __repr__(self) -> str:
        name = "" if self.name is None else f", {self.name!r}"
        return f"{type(self).__name__}({self.url!r}{name})"

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self.name or "", facts({"service": self.url}))

    # ---------------------------------------------------------------- sending

    async def _send(self, call: calls.Call[T], file: bytes | None = None, /, **values: Any) -> T:
        return call.result(await self._answer(call, file, **values))

    async def _answer(
        self, call: calls.Call[Any], file: bytes | None = None, /, **values: Any
    ) -> httpx.Response:
        """Make a call, again while the service is busy or cannot be reached, and return the answer."""
        if self.name is None and "{name}" in call.path:
            raise InvalidInput("say which experiment: Client(url, key, name='...')")
        request = call.request({"name": self.name, **values}, file)
        attempt = 0
        while True:
            wait = _FIRST_WAIT * 2.0**attempt
            try:
                response: httpx.Response = await _result(self._http.request(**request))
            except httpx.TransportError as error:
                may_repeat = call.repeat != "never" or isinstance(error, _NOT_ARRIVED)
                if attempt >= _RETRIES or not may_repeat:
                    why = error or type(error).__name__
                    raise StoreFailed(f"the service at {self.url} cannot be reached: {why}") from None
            else:
                if attempt >= _RETRIES or response.status_code not in _BUSY:
                    return response
                asked = response.headers.get("retry-after", "")
                wait = max(wait, min(float(asked), 5.0)) if asked.isdecimal() else wait
            # A random part of it, so that many clients do not come back at the same moment.
            await _result(self._sleep(wait * (0.5 + random() / 2.0)))
            attempt += 1

    async def _opened(self, side: SideInformation | None, options: dict[str, Any]) -> Self:
        """Return this client, after beginning its experiment if there is none."""
        try:
            given = _sendable(options)
            answer = await self._answer(calls.ABOUT)
            if answer.status_code != 404:
                _check_expiry(calls.ABOUT.result(answer), given)
            elif side is None:
                what = f"there is no experiment {self.name!r} at {self.url}"
                raise InvalidInput(f"{what}; give side= to begin one")
            else:
                await self._send(calls.CREATE, _parquet(side), **given)
        except BaseException:
            await self._disconnect()
            raise
        return self

    async def _disconnect(self) -> None:
        await _result(self._http.aclose() if self._is_async else self._http.close())

    # ---------------------------------------------------------------- decisions and rewards

    @BothAsk
    async def ask(
        self,
        n: int | None = None,
        *,
        allowed: Any = None,
        propensity: bool | int = False,
        distinct: bool = False,
        unit: str | None = None,
    ) -> RemoteDecision | list[RemoteDecision]:
        """Return the arm to play next, or `n` of them, or that of a unit; see `Agent.ask`."""
        arms = None if allowed is None else list(allowed)
        values = {"n": n, "allowed": arms, "propensity": propensity, "distinct": distinct, "unit": unit}
        made = await self._send(calls.ASK, **values)
        return made[0] if n is None else made

    @Both
    async def tell(self, decision: RemoteDecision | str, reward: float, *, repeat: str = "ignore") -> None:
        """Learn the reward of a decision (what `ask` returned, or its id).

        A repeat changes nothing, or with ``repeat="replace"`` corrects the reward; see `Agent.tell`.
        """
        await self._send(calls.TELL, rewards=_rewards([(decision, reward)]), repeat=repeat)

    @Both
    async def tell_many(
        self, rewards: Iterable[tuple[RemoteDecision | str, float]], *, repeat: str = "ignore"
    ) -> tuple[int, int]:
        """Learn many rewards, all checked before any is learned; return how many were new, and repeated.

        See `Agent.tell_many`.
        """
        return await self._send(calls.TELL, rewards=_rewards(rewards), repeat=repeat)

    @Both
    async def observe(self, arm: ArmId, reward: float) -> None:
        """Learn a reward that came without being asked for."""
        await self._send(calls.OBSERVE, arm=arm, reward=reward)

    @Both
    async def cancel(self, decision: RemoteDecision | str) -> None:
        """Give up waiting for the reward of a decision."""
        await self._send(calls.CANCEL, decision=_id(decision))

    @Both
    async def cancel_many(self, decisions: Iterable[RemoteDecision | str]) -> int:
        """Give up waiting for many decisions, all checked before any is given up; return how many."""
        return await self._send(calls.CANCEL, decisions=[_id(each) for each in decisions])

    @Both
    async def cancel_before(self, decision: RemoteDecision | str) -> int:
        """Give up waiting for all decisions before this one, and return how many there were."""
        return await self._send(calls.CANCEL, before=_id(decision))

    # ---------------------------------------------------------------- arms, and other agents

    @Both
    async def extend(self, side: SideInformation) -> Extension:
        """Go on with other side information, the arms so far first and in their order; or without some."""
        return await self._send(calls.EXTEND, _parquet(side))

    @Both
    async def retire(self, arm: ArmId, *, reason: str = "") -> None:
        """Never choose an arm again."""
        await self._send(calls.RETIRE, arm=arm, reason=reason)

    @Both
    async def reinstate(self, arm: ArmId, *, reason: str = "") -> None:
        """Bring a retired arm back into play, with all that is known about it."""
        await self._send(calls.REINSTATE, arm=arm, reason=reason)

    @Both
    async def pause(self, *, reason: str = "") -> None:
        """Make no decisions until `resume`: `ask` raises `lsdt.errors.Paused`; see `Agent.pause`."""
        await self._send(calls.PAUSE, reason=reason)

    @Both
    async def stop(self, arm: ArmId, *, reason: str = "") -> None:
        """Answer every ask with one arm from now on, until `resume`; see `Agent.stop`."""
        await self._send(calls.STOP, arm=arm, reason=reason)

    @Both
    async def resume(self, *, reason: str = "") -> None:
        """Make decisions again, after a pause or a stop."""
        await self._send(calls.RESUME, reason=reason)

    @Both
    async def set_tolerance(self, tolerance: float | None, *, reason: str = "") -> None:
        """Set the tolerance of `stopping` where none is given there; see `Agent.set_tolerance`."""
        await self._send(calls.SET_TOLERANCE, tolerance=tolerance, reason=reason)

    @Both
    async def erase_unit(self, unit: str) -> bool:
        """Forget who a unit is, and return whether it was known; see `Agent.erase_unit`."""
        return await self._send(calls.ERASE_UNIT, unit=unit)

    @Both
    async def merge(self, others: Any) -> int:
        """Learn the rewards that others were told for the same arms, and return their number.

        As `Agent.merge` does: counts add up, decisions stay apart, no reward counts twice.

        Parameters
        ----------
        others : str, Client, Agent, bytes, or a list of these
            Names of experiments of the same service; agents here or in a service, or their snapshots. Names
            are merged first, together; then the others, one by one.
        """
        names, agents = self._others(others)
        learned = await self._send(calls.MERGE, experiments=names) if names else 0
        for each in agents:
            blob = each if isinstance(each, (bytes, bytearray)) else await _result(each.snapshot())
            learned += await self._send(calls.MERGE, bytes(blob))
        return learned

    def _others(self, others: Any) -> tuple[list[str], list[Any]]:
        """Return what to merge: names of experiments of the same service, and agents or snapshots."""
        kinds = (str, bytes, bytearray, BaseClient, Agent)
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
            if isinstance(each, AsyncClient) and not self._is_async:
                raise InvalidInput("a Client cannot await an AsyncClient; merge its awaited snapshot()")
        names = [each for each in given if isinstance(each, str)]
        return names, [each for each in given if not isinstance(each, str)]

    # ---------------------------------------------------------------- what was learned

    @Both
    async def to_frame(self) -> pd.DataFrame:
        """Return a row per arm; see `Agent.to_frame`."""
        return await self._send(calls.ARMS)

    @BothBest
    async def best(
        self, n_runners_up: int = 3, *, top: int | None = None
    ) -> Recommendation | TopRecommendation:
        """Return the arm to recommend, or with `top` that many arms; see `Agent.best`."""
        if top is not None:
            return await self._send(calls.BEST_TOP, top=top)
        return await self._send(calls.BEST, n_runners_up=n_runners_up)

    @Both
    async def why(self, arm: ArmId) -> dict[str, Any]:
        """Return why an arm is played, or is not: status, reason, and the relations behind it."""
        return await self._send(calls.WHY, arm=arm)

    @Both
    async def stopping(
        self, delta: float = 0.05, tolerance: float | None = None, top: int | str = 1
    ) -> StoppingAnswer:
        """Return whether it is known which arm is the best, or which are the best `top` (or ``'all'``)."""
        return await self._send(calls.STOPPING, delta=delta, tolerance=tolerance, top=top)

    @Both
    async def lift(self, control: ArmId | None = None, risk: float = 0.05) -> pd.DataFrame:
        """Return how much better each arm is than a control; see `Agent.lift`."""
        return await self._send(calls.LIFT, control=control, risk=risk)

    @Both
    async def suspects(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the relations that the rewards contradict."""
        return await self._send(calls.SUSPECTS, risk=risk)

    @Both
    async def drift(self, risk: float = 0.05) -> pd.DataFrame:
        """Return the arms whose mean has changed; see `Agent.drift`."""
        return await self._send(calls.DRIFT, risk=risk)

    @Both
    async def events(self, after: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the events of the log after a position."""
        return await self._send(calls.EVENTS, after=after, limit=limit)

    # ---------------------------------------------------------------- experiments and keys

    @Both
    async def about(self) -> dict[str, Any]:
        """Return the experiment as it is: policy, numbers of decisions and rewards, status."""
        return await self._send(calls.ABOUT)

    @Both
    async def snapshot(self) -> bytes:
        """Keep a snapshot in the store, and return it; `Agent.restore` takes it."""
        return await self._send(calls.SNAPSHOT)

    @Both
    async def delete(self) -> None:
        """Remove the experiment with its log, for good."""
        await self._send(calls.DELETE)

    @Both
    async def experiments(self) -> list[dict[str, Any]]:
        """Return all experiments of the service."""
        return await self._send(calls.EXPERIMENTS)

    @Both
    async def keys(self) -> list[dict[str, Any]]:
        """Return the keys of the service, without their secrets."""
        return await self._send(calls.KEYS)

    @Both
    async def add_key(
        self, role: str, experiment: str | None = None, rate: float | None = None, name: str = ""
    ) -> dict[str, Any]:
        """Make a key. Its secret is shown in this answer and nowhere else."""
        return await self._send(calls.ADD_KEY, role=role, experiment=experiment, rate=rate, name=name)

    @Both
    async def remove_key(self, number: str) -> None:
        """Remove a key by its id."""
        await self._send(calls.REMOVE_KEY, number=number)

    @Both
    async def webhooks(self) -> list[dict[str, Any]]:
        """Return who is told of events, and how deliveries went."""
        return await self._send(calls.WEBHOOKS)

    @Both
    async def add_webhook(
        self, url: str, experiment: str | None = None, events: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Add a webhook; its secret is shown in this answer and nowhere else."""
        words = None if events is None else list(events)
        return await self._send(calls.ADD_WEBHOOK, url=url, experiment=experiment, events=words)

    @Both
    async def remove_webhook(self, number: str) -> None:
        """Remove a webhook by its id."""
        await self._send(calls.REMOVE_WEBHOOK, number=number)

    @Both
    async def test_webhook(self, number: str) -> dict[str, Any]:
        """Send a test message to a webhook, once, and return whether it was accepted."""
        return await self._send(calls.TEST_WEBHOOK, number=number)

    @Both
    async def close(self) -> None:
        """Close the connections."""
        await self._disconnect()


class Client(BaseClient):
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

    _is_async = False
    _http_class, _sleep = httpx.Client, staticmethod(time.sleep)

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        side: SideInformation | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> Self:
        """Return the client of an experiment; if there is none, begin it with `side`.

        An existing experiment is taken as it is: `side` and options are for a new one, and are not compared,
        except ``expiry``. It is refused if it differs, because other rewards would be learned than this
        program expects.

        Parameters
        ----------
        url, name, key
            The service, the experiment, the key.
        side : SideInformation, optional
            What is known of the arms, for a new one.
        **options
            Those of `Agent` (policy and rewards as text; the prior as arms and rewards), and ``expiry``, as
            in ``expiry={"after": 3600, "reward": 0}``: close decisions that were not told after this many
            seconds (at most ten years), with this reward or, without one, as `cancel` does.
        """
        return finish(cls(url, key, name)._opened(side, options))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(BaseClient):
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

    _is_async = True
    _http_class, _sleep = httpx.AsyncClient, staticmethod(asyncio.sleep)

    @classmethod
    async def open(
        cls,
        url: str,
        name: str,
        side: SideInformation | None = None,
        *,
        key: str | None = None,
        **options: Any,
    ) -> Self:
        """Return the client of an experiment; if there is none, begin it with `side`: see `Client.open`."""
        return await cls(url, key, name)._opened(side, options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _result(value: Any) -> Any:
    """Return a value, or the result of an awaitable."""
    return await value if inspect.isawaitable(value) else value


def _id(decision: Any) -> str:
    if isinstance(decision, RemoteDecision):
        return decision.id
    if isinstance(decision, str):
        return decision
    raise InvalidInput(f"a decision is what ask() returned, or its id; got {decision!r}")


def _rewards(pairs: Iterable[tuple[RemoteDecision | str, float]]) -> list[dict[str, Any]]:
    return [{"decision": _id(decision), "reward": reward} for decision, reward in pairs]


def _parquet(side: SideInformation) -> bytes:
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "side.parquet"
        side.save(path)
        return path.read_bytes()


def _check_expiry(about: dict[str, Any], options: dict[str, Any]) -> None:
    """Refuse an expiry other than that of an existing experiment."""
    if "expiry" not in options:
        return
    kept, given = about["expiry"], options["expiry"]
    if isinstance(given, dict):
        given = {word: given.get(word) for word in ("after", "reward")}
    if kept != given:
        raise InvalidInput(
            f"the experiment {about['name']!r} was made with another expiry: {kept}; got {given}. Leave it "
            "out, or choose another name"
        )


def _sendable(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a new experiment in the form in which they go into the query."""
    for key, value in options.items():
        if key not in calls.OPTIONS:
            accepted, near = ", ".join(calls.OPTIONS), suggest(key, calls.OPTIONS)
            raise InvalidInput(f"an experiment has the options {accepted}; got {key!r}{near}")
        if isinstance(value, Policy):
            raise InvalidInput("policy goes over HTTP as text, such as 'ts@propagation' or 'ucb1:alpha=8'")
        if isinstance(value, Rewards):
            raise InvalidInput(
                "rewards go over HTTP as text, or as {'name': 'gaussian', 'parameters': {'sigma': 2}}"
            )
    prior = options.get("prior")
    if isinstance(prior, (tuple, list)) and len(prior) == 2:
        return options | {"prior": {"arms": list(prior[0]), "rewards": list(prior[1])}}
    return options
