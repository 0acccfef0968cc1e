"""Wrong relations, near pairs revealed more often: who loses what, and who loses the best arm."""

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
    return wrong_setting(request, revealed=None, wrong=(0.0, 0.01))


def _draw(tables: Tables) -> Figure:
    return draw_wrong(tables, "100 arms, near pairs revealed first, some relations wrong; 10,000 rounds")


def _claims(tables: Tables) -> list[Claim]:
    claim = kept_claim(tables, "watchful-keeps-the-best-near", "When near pairs are revealed more often")
    return [] if claim is None else [claim]


EXPERIMENT = Experiment(
    id="beyond-distance",
    title="Relations that are wrong, near pairs revealed first",
    paper=BEYOND,
    setting=_setting,
    compute=play_wrong,
    table=shown_table,
    draw=_draw,
    claims=_claims,
    reading=wrong_reading,
    seconds=75.0,
)
