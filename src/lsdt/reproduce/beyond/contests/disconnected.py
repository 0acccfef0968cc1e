"""The contest when epsilon is so small that the similarity graph falls into pieces: every policy there is."""

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
    return contest_setting(request, revealed=1.0, rewards="gaussian", epsilon=0.03)


def _draw(tables: Tables) -> Figure:
    return draw_contest(tables, "100 arms, complete side information, epsilon 0.03, Gaussian rewards")


def _claims(tables: Tables) -> list[Claim]:
    return [lowest_claim(tables, "closure-lowest-disconnected", "On a similarity graph in pieces")]


EXPERIMENT = Experiment(
    id="beyond-disconnected",
    title="Contest on a similarity graph in pieces",
    paper=BEYOND,
    setting=_setting,
    compute=play_contest,
    table=standings,
    draw=_draw,
    claims=_claims,
    reading=contest_reading,
    seconds=10.0,
)
