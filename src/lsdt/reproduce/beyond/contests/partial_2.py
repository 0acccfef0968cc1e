"""The contest when a fifth of the relations is known: every policy there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.beyond.contests.contest import contest_setting, play_contest
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


def _setting(request: Request) -> Setting:
    return contest_setting(request, revealed=0.2, rewards="bernoulli")


def _draw(tables: Tables) -> Figure:
    return draw_contest(tables, "100 arms, a fifth of the relations known, Bernoulli rewards")


def _claims(tables: Tables) -> list[Claim]:
    return [lowest_claim(tables, "closure-lowest-fifth", "When a fifth of the relations is known")]


EXPERIMENT = Experiment(
    id="beyond-partial-2",
    title="Contest when a fifth of the relations is known",
    paper=BEYOND,
    setting=_setting,
    compute=play_contest,
    table=standings,
    draw=_draw,
    claims=_claims,
    reading=contest_reading,
    seconds=20.0,
)
