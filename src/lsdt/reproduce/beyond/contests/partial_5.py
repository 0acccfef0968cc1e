"""The contest when half of the relations are known: the paper's own setting, every policy there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.beyond.contests.contest import contest_setting, play_contest
from lsdt.reproduce.beyond.contests.contest_results import (
    BEYOND,
    contest_reading,
    draw_contest,
    lowest_claim,
    ratio_claim,
    standings,
)
from lsdt.reproduce.framework.experiment import Experiment

if TYPE_CHECKING:
    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

_SHARE = 1 / 8  # of LSDT-PSI's regret


def _setting(request: Request) -> Setting:
    return contest_setting(request, revealed=0.5, rewards="bernoulli")


def _draw(tables: Tables) -> Figure:
    return draw_contest(tables, "100 arms, half of the relations known, Bernoulli rewards")


def _claims(tables: Tables) -> list[Claim]:
    where = "When half of the relations are known"
    return [
        ratio_claim(tables, "closure-eighth-of-psi", where, "lsdt_psi", _SHARE),
        lowest_claim(tables, "closure-lowest-half", where),
    ]


EXPERIMENT = Experiment(
    id="beyond-partial-5",
    title="Contest when half of the relations are known",
    paper=BEYOND,
    setting=_setting,
    compute=play_contest,
    table=standings,
    draw=_draw,
    claims=_claims,
    reading=contest_reading,
    seconds=10.0,
)
