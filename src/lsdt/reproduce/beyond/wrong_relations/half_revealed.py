"""Wrong relations, half of all revealed: who loses what, and who loses the best arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.beyond.contests.contest_results import BEYOND
from lsdt.reproduce.beyond.wrong_relations.wrong_contest import (
    draw_wrong,
    kept_claim,
    play_wrong,
    shown_table,
    wrong_reading,
    wrong_setting,
)
from lsdt.reproduce.framework.experiment import Experiment

if TYPE_CHECKING:
    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables


def _setting(request: Request) -> Setting:
    return wrong_setting(request, revealed=0.5)


def _draw(tables: Tables) -> Figure:
    return draw_wrong(tables, "100 arms, half of the relations revealed, some of them wrong; 10,000 rounds")


def _claims(tables: Tables) -> list[Claim]:
    claim = kept_claim(tables, "watchful-keeps-the-best", "When half of the relations are revealed")
    return [] if claim is None else [claim]


EXPERIMENT = Experiment(
    id="beyond-wrong",
    title="Relations that are wrong",
    paper=BEYOND,
    setting=_setting,
    compute=play_wrong,
    table=shown_table,
    draw=_draw,
    claims=_claims,
    reading=wrong_reading,
    seconds=150.0,
)
