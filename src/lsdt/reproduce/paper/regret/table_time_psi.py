"""Running times with partial side information."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import CKL_UCB, LSDT_PSI, TS, UCB1, UCB1_ON_B0
from lsdt.reproduce.paper.regret import running_times

if TYPE_CHECKING:
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

# Table 2 of the paper, in milliseconds; its "LSDT-CSI (online)" is LSDT-PSI.
_PAPER = {
    UCB1: {"online": 10.3},
    TS: {"online": 38.3},
    CKL_UCB: {"online": 354.2},
    LSDT_PSI: {"offline": 12.6, "online": 161.4},
    UCB1_ON_B0: {"online": 10.1},
}
_POLICIES = ("ucb1", "ts", "ckl_ucb", "lsdt_psi", "ucb1@paper")
_WHERE = "Table 2, Appendix A.2"


def _setting(request: Request) -> Setting:
    setting = regret_figures.partial_setting(request, _POLICIES)
    return {
        **setting,
        "horizons": [regret_figures.HORIZON],
        "replications": min(request.replications, running_times.MOST_RUNS),
    }


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "psi-dearer-than-classics",
            "UCB1 and TS take less time than LSDT-PSI.",
            _WHERE,
            (running_times.faster(tables, UCB1, LSDT_PSI), running_times.faster(tables, TS, LSDT_PSI)),
        ),
        Claim(
            "psi-cheaper-than-ckl-ucb",
            "LSDT-PSI takes less time than CKL-UCB.",
            f"Section 6.2.2; {_WHERE}",
            (
                running_times.faster(tables, LSDT_PSI, CKL_UCB),
                running_times.faster(tables, LSDT_PSI, CKL_UCB, "online"),
            ),
        ),
    ]


def _discussion(tables: Tables) -> str:
    import numpy as np

    said = []
    for policy in (LSDT_PSI, CKL_UCB, UCB1, TS):
        before, rounds = (
            number(float(np.median(running_times.total(tables, policy, part))))
            for part in running_times.PARTS
        )
        said.append(f"{policy} {before} and {rounds}")
    return (
        f"Milliseconds before the first round and for 1,000 rounds (medians): {', '.join(said)}. Offline "
        "here is everything before the first round, for LSDT-PSI also the linear programme P2; the paper "
        "does not say in which of its two times that is."
    )


EXPERIMENT = Experiment(
    id="table-time-psi",
    title="Running times with partial side information",
    paper=_WHERE,
    setting=_setting,
    compute=running_times.measure,
    table=partial(running_times.median_table, paper=_PAPER),
    draw=partial(
        running_times.draw,
        paper=_PAPER,
        title="Running times: 100 arms, 1,000 rounds, half of the relations known",
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=2.0,
    is_timed=True,
)
