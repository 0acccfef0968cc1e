"""Regret with complete side information: LSDT-CSI against UCB1 on the candidates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import LSDT_CSI, LSDT_CSI_2, UCB1_8_ON_BSTAR, UCB1_ON_BSTAR

if TYPE_CHECKING:
    from lsdt.reproduce.framework.experiment import Tables

_POLICIES = ("lsdt_csi", "ucb1@paper:alpha=8", "ucb1@paper", "lsdt_csi:alpha=2")
_PAIRS = ((LSDT_CSI, UCB1_8_ON_BSTAR), (LSDT_CSI, UCB1_ON_BSTAR), (LSDT_CSI_2, UCB1_ON_BSTAR))


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "csi-pooling-gains",
            "The online step of LSDT-CSI gains over UCB1 on the candidate set.",
            "Fig. 6b, Section 6.2.1",
            tuple(regret_figures.lower(tables, ours, other) for ours, other in _PAIRS),
        )
    ]


def _discussion(tables: Tables) -> str:
    policies = (LSDT_CSI, UCB1_8_ON_BSTAR, UCB1_ON_BSTAR, LSDT_CSI_2)
    values = regret_figures.mean_regrets(tables, policies)
    pairs = "; ".join(regret_figures.compare_at(tables, ours, other) for ours, other in _PAIRS)
    return (
        f"Regret after 1,000 rounds: {values}. {pairs}. The proof for LSDT-CSI does not cover alpha 2, and "
        "the paper does not say which alpha its UCB1 had."
    )


EXPERIMENT = Experiment(
    id="fig-regret-csi-b",
    title="Regret with complete side information, against UCB1 on the candidates",
    paper="Fig. 6b, Section 6.2.1",
    setting=partial(regret_figures.complete_setting, policies=_POLICIES),
    compute=regret_figures.play,
    table=regret_figures.regret_summary,
    draw=partial(
        regret_figures.draw, title="100 arms, complete side information: what pooling adds to the candidates"
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=0.5,
)
