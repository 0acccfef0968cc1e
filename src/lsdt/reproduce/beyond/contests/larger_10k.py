"""The contest with 10,000 arms and rounds, a tenth of the relations known: every quick policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.beyond.contests.contest import larger_setting, play_contest
from lsdt.reproduce.beyond.contests.contest_results import (
    BEYOND,
    contest_reading,
    draw_contest,
    lowest_claim,
    standings,
)
from lsdt.reproduce.framework.experiment import Experiment

if TYPE_CHECKING:
    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

_MOST_MICROSECONDS = 50.0  # a step
_WITHOUT = {"lsdt_watchful": "lays all arms out on a line before the first round, which takes minutes here"}


def _setting(request: Request) -> Setting:
    return larger_setting(request, 10_000, 0.1, _MOST_MICROSECONDS, _WITHOUT)


def _draw(tables: Tables) -> Figure:
    return draw_contest(tables, "10,000 arms, a tenth of the relations known, Bernoulli rewards")


def _claims(tables: Tables) -> list[Claim]:
    return [lowest_claim(tables, "closure-lowest-10k", "With 10,000 arms")]


EXPERIMENT = Experiment(
    id="beyond-larger-10k",
    title="Contest with 10,000 arms",
    paper=BEYOND,
    setting=_setting,
    compute=play_contest,
    table=standings,
    draw=_draw,
    claims=_claims,
    reading=contest_reading,
    seconds=100.0,
)
