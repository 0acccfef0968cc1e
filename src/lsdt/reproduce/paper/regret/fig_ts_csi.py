"""Thompson sampling inside LSDT, complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.names import LSDT_TS, TS, TS_ON_BSTAR

if TYPE_CHECKING:
    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables


def _setting(request: Request) -> Setting:
    return regret_figures.complete_setting(request, ("lsdt_ts_csi", "ts", "ts@paper"))


def _draw(tables: Tables) -> Figure:
    title = "Thompson sampling: 100 arms, complete side information, Gaussian rewards"
    return regret_figures.draw(tables, title, zoom=(LSDT_TS, TS_ON_BSTAR))


def _claims(tables: Tables) -> list[Claim]:
    return [
        regret_figures.lowest_claim(
            tables,
            "ts-csi-below-ts",
            "Thompson sampling in two steps has less regret than plain Thompson sampling.",
            "Fig. 9a, Appendix A.1",
            LSDT_TS,
            (TS,),
        ),
        regret_figures.lowest_claim(
            tables,
            "ts-csi-pooling-gains",
            "Pooling gains over Thompson sampling on the candidate set alone.",
            "Fig. 9b, Appendix A.1",
            LSDT_TS,
            (TS_ON_BSTAR,),
        ),
    ]


def _reading(tables: Tables) -> str:
    policies = (TS, TS_ON_BSTAR, LSDT_TS)
    values = ", ".join(
        f"{policy} {number(regret_figures.regret_at(tables, policy).mean())}" for policy in policies
    )
    pairs = "; ".join(regret_figures.compared(tables, LSDT_TS, other) for other in (TS, TS_ON_BSTAR))
    return (
        f"Regret after 1,000 rounds: {values}. {pairs}. Rewards are Gaussian here and the posterior is a "
        "beta distribution: a reward is clipped to [0, 1] and tossed as a coin."
    )


EXPERIMENT = Experiment(
    id="fig-ts-csi",
    title="Thompson sampling with complete side information",
    paper="Fig. 9, Appendix A.1",
    setting=_setting,
    compute=regret_figures.play,
    table=regret_figures.shown_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=1.0,
)
