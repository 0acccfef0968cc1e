"""What is pushed to open pages: once a second at most, computed once for all who watch."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool

from lsdt.service.answers import encode
from lsdt.service.attention import of_experiment
from lsdt.service.hosting import log_position
from lsdt.service.pages.view import overview

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from jinja2 import Environment

    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.stopping_forecast import Findings

FRAGMENTS = ("halt", "cards", "line", "best", "out", "suspects", "attention", "log")
_NOTHING: dict[str, str] = {}  # of a page that was opened just now
# Chosen by eye: seconds after which a page is made again although nothing was asked or told; seconds between
# two pushes; and the share of the time that making pages may take, while decisions wait.
_LONGEST = 10.0
_SHORTEST, _MOST_SHARE = 1.0, 0.05


class Live:
    """The parts of the pages that change, of all experiments."""

    def __init__(self, service: Service, templates: Environment) -> None:
        self._service, self._templates = service, templates
        self._made: WeakKeyDictionary[HostedExperiment, tuple[float, tuple[Any, ...], dict[str, str]]]
        self._locks: WeakKeyDictionary[HostedExperiment, asyncio.Lock]
        self._told: WeakKeyDictionary[
            HostedExperiment, tuple[dict[str, str], dict[str, str], float, float, bytes]
        ]
        self._made, self._locks, self._told = WeakKeyDictionary(), WeakKeyDictionary(), WeakKeyDictionary()

    async def fragments(self, hosted: HostedExperiment) -> dict[str, str]:
        """Return the HTML of every part, at most a second old where something changed."""
        lock = self._locks.setdefault(hosted, asyncio.Lock())
        async with lock:
            agent, findings = hosted.agent, self._service.forecasts.of(hosted)
            plan = self._service.plans.of(hosted)
            counts = agent.n_asked, agent.n_told, agent.n_pending, agent.side.n_arms
            mark = (
                agent.halt,
                agent.tolerance,
                *counts,
                findings,
                plan,
                self._service.commits.failure,
                monotonic() // _LONGEST,
            )
            until, before, parts = self._made.get(hosted, (0.0, (), {}))
            if parts and (before == mark or monotonic() < until):
                return parts
            began = monotonic()
            parts = await run_in_threadpool(self._render, hosted, findings, plan)
            took = monotonic() - began
            wait = max(_SHORTEST, took / _MOST_SHARE)  # decisions wait while an agent is looked at
            self._made[hosted] = monotonic() + wait, mark, parts
            return parts

    def _render(self, hosted: HostedExperiment, findings: Findings, plan: str) -> dict[str, str]:
        service = self._service
        shown = overview(hosted) | {
            "metrics": service.metrics,
            "position": None if service.following is None else log_position(hosted.agent),
            "forecast": findings.forecast,
            "plan": plan,
            "attention": of_experiment(service, hosted, findings),
        }
        return {name: self._templates.get_template(f"{name}.html").render(**shown) for name in FRAGMENTS}

    def _news(
        self,
        hosted: HostedExperiment,
        before: dict[str, str],
        parts: dict[str, str],
        since: float,
        newest: float,
    ) -> bytes:
        """Return the event for viewers who have seen `before`; cached, as most of them have."""
        told = self._told.get(hosted)
        if told and told[0] is before and told[1] is parts and told[2:4] == (since, newest):
            return told[4]
        changed = {name: part for name, part in parts.items() if before.get(name) != part}
        points = [point for point in hosted.activity.history() if point.time > since]
        made = b"data: " + encode({"parts": changed, "points": points}) + b"\n\n"
        self._told[hosted] = before, parts, since, newest, made
        return made

    async def pushes(self, hosted: HostedExperiment, is_welcome: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield events: the parts that changed, and the points of the curves since the last."""
        service, before, since = self._service, _NOTHING, 0.0
        hosted.n_watching += 1
        try:
            while not service.closing.is_set() and service.hosted.get(hosted.name) is hosted and is_welcome():
                parts = await self.fragments(hosted)
                newest = hosted.activity.newest
                if parts is not before or newest > since:
                    yield self._news(hosted, before, parts, since, newest)
                    before, since = parts, newest
                try:
                    await asyncio.wait_for(service.closing.wait(), 1.0)
                except TimeoutError:
                    continue
        finally:
            hosted.n_watching -= 1
