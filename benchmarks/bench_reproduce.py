"""The paper redone, all figures drawn: how long it takes with 100 runs each once everything is compiled."""

from __future__ import annotations

import tempfile

from lsdt.reproduce import Request, reproduce
from lsdt.reproduce.registry import IDS
from timing import Row, timed

_WITH_OSSB = ("fig-regret-csi-a", "table-time-csi")


def _took(work: str, parts: list[str], request: Request, most_seconds: float) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        reproduce(folder, parts, Request(replications=2, quick=True))  # compiles
        seconds = timed(lambda: reproduce(folder, parts, request))
    return Row(
        work,
        seconds,
        "",
        None,
        f"{seconds:.0f} s",
        f"<= {most_seconds:g} s",
        seconds <= most_seconds,
    )


def without_jester_and_ossb() -> Row:
    parts = [part for part in IDS if part != "fig-jester" and part not in _WITH_OSSB]
    return _took("the paper redone but for Jester and OSSB, 100 runs each", parts, Request(), 60)


def everything() -> Row:
    return _took("the whole paper redone, 100 runs each", list(IDS), Request(), 40)


def quickly() -> Row:
    return _took("a quick look at the whole paper", list(IDS), Request(replications=10, quick=True), 60)


WORKS = [without_jester_and_ossb, everything, quickly]
