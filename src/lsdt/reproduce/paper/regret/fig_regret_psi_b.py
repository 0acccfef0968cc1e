"""Regret with partial side information: LSDT-PSI against UCB1 on B0."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import mean_of, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import LSDT_PSI, UCB1_ON_B0

if TYPE_CHECKING:
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Tables

_JUDGED = (300, 500, 1000)


def _claims(tables: Tables) -> list[Claim]:
    return [
        regret_figures.lowest_claim(
            tables,
            "psi-pooling-gains",
            "The online step of LSDT-PSI gains over UCB1 on the arms that the offline step leaves.",
            "Fig. 7b, Section 6.2.2",
            LSDT_PSI,
            (UCB1_ON_B0,),
            regret_figures.horizons_near(tables, _JUDGED),
        )
    ]


def _discussion(tables: Tables) -> str:
    parts = []
    for t in regret_figures.horizons_near(tables, _JUDGED):
        ours, other = (regret_figures.regret_at(tables, policy, t) for policy in (LSDT_PSI, UCB1_ON_B0))
        parts.append(
            f"At T = {t:,} LSDT-PSI has {number(ours.mean())}, UCB1 on B0 {number(other.mean())}, and "
            f"LSDT-PSI the lower one in {mean_of(ours < other).value:.0%} of the runs: "
            f"{regret_figures.compare_at(tables, LSDT_PSI, UCB1_ON_B0, t)}."
        )
    return " ".join(parts) + " The number of epochs of LSDT-PSI depends on the horizon."


EXPERIMENT = Experiment(
    id="fig-regret-psi-b",
    title="Regret with partial side information, against UCB1 on B0",
    paper="Fig. 7b, Section 6.2.2",
    setting=partial(regret_figures.partial_setting, policies=("lsdt_psi", "ucb1@paper")),
    compute=regret_figures.play,
    table=regret_figures.regret_summary,
    draw=partial(
        regret_figures.draw,
        title="100 arms, half of the relations known: what pooling adds to B0",
        per_horizon=True,
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=2.0,
)
