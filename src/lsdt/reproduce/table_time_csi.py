"""Running times with complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce import regret, timing
from lsdt.reproduce.claims import Claim, number
from lsdt.reproduce.experiments import Experiment

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.report.style import Figure
    from lsdt.reproduce.experiments import Request, Setting, Tables

# Table 1 of the paper, in milliseconds.
_PAPER = {
    "ucb1": {"online": 9.7},
    "ts": {"online": 37.6},
    "ckl_ucb": {"online": 849.5},
    "osub": {"online": 880.3},
    "ossb": {"online": 3.3e5},
    "lsdt_csi": {"offline": 14.1, "online": 18.6},
    "ucb1@candidates": {"online": 9.1},
}


def _setting(request: Request) -> Setting:
    setting = regret.complete_setting(request, tuple(_PAPER))
    return {**setting, "runs": min(request.runs, timing.MOST_RUNS)}


def _table(tables: Tables) -> pd.DataFrame:
    return timing.shown_table(tables, _PAPER)


def _draw(tables: Tables) -> Figure:
    return timing.draw(tables, _PAPER, "Running times: 100 arms, 1,000 rounds, complete side information")


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "csi-cheap",
            "LSDT-CSI costs little beside the policies of comparable regret, CKL-UCB and OSSB.",
            "Section 6.2.1; Table 1, Appendix A",
            (timing.faster(tables, "lsdt_csi", "ckl_ucb"), timing.faster(tables, "lsdt_csi", "ossb")),
        ),
        Claim(
            "csi-slow-rivals",
            "CKL-UCB and OSSB are the slow ones: they solve an optimisation problem in every round.",
            "Table 1, Appendix A",
            tuple(
                timing.faster(tables, quick, slow, "online")
                for slow in ("ckl_ucb", "ossb")
                for quick in ("ucb1", "ts", "lsdt_csi")
            ),
        ),
    ]


def _reading(tables: Tables) -> str:
    ours, ckl, ossb, ts = (
        number(timing.total(tables, word).mean()) for word in ("lsdt_csi", "ckl_ucb", "ossb", "ts")
    )
    return (
        f"LSDT-CSI takes {ours} ms for a run, offline step included; CKL-UCB {ckl} ms, OSSB {ossb} ms, TS "
        f"{ts} ms. OSSB took the paper 330 seconds: its linear programme has a closed form with complete "
        "side information, and we use it. What is left of the order is the work itself: a sum over "
        "neighbours for CKL-UCB, a hundred random numbers a round for TS."
    )


EXPERIMENT = Experiment(
    id="table-time-csi",
    title="Running times with complete side information",
    paper="Table 1, Appendix A",
    setting=_setting,
    compute=timing.measure,
    table=_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=1.0,
)
