"""Running times with partial side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce import regret, timing
from lsdt.reproduce.claims import Claim, number
from lsdt.reproduce.experiments import Experiment

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.report.style import Figure
    from lsdt.reproduce.experiments import Request, Setting, Tables

# Table 2 of the paper, in milliseconds; its "LSDT-CSI (online)" is LSDT-PSI.
_PAPER = {
    "ucb1": {"online": 10.3},
    "ts": {"online": 38.3},
    "ckl_ucb": {"online": 354.2},
    "lsdt_psi": {"offline": 12.6, "online": 161.4},
    "ucb1@candidates": {"online": 10.1},
}


def _setting(request: Request) -> Setting:
    setting = regret.partial_setting(request, tuple(_PAPER))
    return {**setting, "horizons": [regret.HORIZON], "runs": min(request.runs, timing.MOST_RUNS)}


def _table(tables: Tables) -> pd.DataFrame:
    return timing.shown_table(tables, _PAPER)


def _draw(tables: Tables) -> Figure:
    return timing.draw(tables, _PAPER, "Running times: 100 arms, 1,000 rounds, half of the relations known")


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "psi-dearer-than-classics",
            "UCB1 and TS take less time than LSDT-PSI.",
            "Table 2, Appendix A",
            (timing.faster(tables, "ucb1", "lsdt_psi"), timing.faster(tables, "ts", "lsdt_psi")),
        ),
        Claim(
            "psi-cheaper-than-ckl-ucb",
            "LSDT-PSI takes less time than CKL-UCB.",
            "Section 6.2.2; Table 2, Appendix A",
            (
                timing.faster(tables, "lsdt_psi", "ckl_ucb"),
                timing.faster(tables, "lsdt_psi", "ckl_ucb", "online"),
            ),
        ),
    ]


def _reading(tables: Tables) -> str:
    before, rounds = (number(timing.total(tables, "lsdt_psi", part).mean()) for part in timing.PARTS)
    ckl_before, ckl_rounds = (number(timing.total(tables, "ckl_ucb", part).mean()) for part in timing.PARTS)
    return (
        f"LSDT-PSI takes {before} ms before its first round, most of it for the linear programme P2, and "
        f"{rounds} ms for its 1,000 rounds; CKL-UCB {ckl_before} and {ckl_rounds} ms. Offline here is "
        "everything before the first round; the paper's online time is likely to hold its linear programme."
    )


EXPERIMENT = Experiment(
    id="table-time-psi",
    title="Running times with partial side information",
    paper="Table 2, Appendix A",
    setting=_setting,
    compute=timing.measure,
    table=_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=2.0,
)
