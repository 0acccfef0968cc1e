"""Regret with complete side information: LSDT-CSI against UCB1 on the candidates, what pooling adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.names import LSDT_CSI, LSDT_CSI_2, UCB1_8_ON_BSTAR, UCB1_ON_BSTAR

if TYPE_CHECKING:
    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

_PAIRS = ((LSDT_CSI, UCB1_8_ON_BSTAR), (LSDT_CSI, UCB1_ON_BSTAR), (LSDT_CSI_2, UCB1_ON_BSTAR))


def _setting(request: Request) -> Setting:
    policies = ("lsdt_csi", "ucb1@paper:alpha=8", "ucb1@paper", "lsdt_csi:alpha=2")
    return regret_figures.complete_setting(request, policies)


def _draw(tables: Tables) -> Figure:
    return regret_figures.draw(
        tables, "100 arms, complete side information: what pooling adds to the candidates"
    )


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "csi-pooling-gains",
            "The online step of LSDT-CSI gains over UCB1 on the candidate set.",
            "Fig. 6b, Section 6.2.1",
            tuple(regret_figures.lower(tables, ours, other) for ours, other in _PAIRS),
        )
    ]


def _reading(tables: Tables) -> str:
    policies = (LSDT_CSI, UCB1_8_ON_BSTAR, UCB1_ON_BSTAR, LSDT_CSI_2)
    values = ", ".join(
        f"{policy} {number(regret_figures.regret_at(tables, policy).mean())}" for policy in policies
    )
    pairs = "; ".join(regret_figures.compared(tables, ours, other) for ours, other in _PAIRS)
    return (
        f"Regret after 1,000 rounds: {values}. {pairs}. The proof for LSDT-CSI does not cover alpha 2, and "
        "the paper does not say which alpha its UCB1 had."
    )


EXPERIMENT = Experiment(
    id="fig-regret-csi-b",
    title="Regret with complete side information, against UCB1 on the candidates",
    paper="Fig. 6b, Section 6.2.1",
    setting=_setting,
    compute=regret_figures.play,
    table=regret_figures.shown_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=0.5,
)
