"""The contest with complete side information: the paper's own setting, every policy there is."""

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

_SHARE = 1 / 4  # of LSDT-CSI's regret


def _setting(request: Request) -> Setting:
    return contest_setting(request, revealed=1.0, rewards="gaussian", connected=True)


def _draw(tables: Tables) -> Figure:
    return draw_contest(tables, "100 arms, complete side information, Gaussian rewards")


def _claims(tables: Tables) -> list[Claim]:
    where = "With complete side information"
    return [
        ratio_claim(tables, "closure-quarter-of-csi", where, "lsdt_csi", _SHARE),
        lowest_claim(tables, "closure-lowest-complete", where),
    ]


EXPERIMENT = Experiment(
    id="beyond-complete",
    title="Contest with complete side information",
    paper=BEYOND,
    setting=_setting,
    compute=play_contest,
    table=standings,
    draw=_draw,
    claims=_claims,
    reading=contest_reading,
    seconds=10.0,
)
