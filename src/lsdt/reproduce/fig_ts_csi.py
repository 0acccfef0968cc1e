"""Thompson sampling inside LSDT, complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce import regret
from lsdt.reproduce.claims import number
from lsdt.reproduce.experiments import Experiment
from lsdt.reproduce.names import LSDT_TS, TS, TS_ON_BSTAR

if TYPE_CHECKING:
    from lsdt.report.style import Figure
    from lsdt.reproduce.claims import Claim
    from lsdt.reproduce.experiments import Request, Setting, Tables


def _setting(request: Request) -> Setting:
    return regret.complete_setting(request, ("lsdt_ts_csi", "ts", "ts@candidates"))


def _draw(tables: Tables) -> Figure:
    title = "Thompson sampling: 100 arms, complete side information, Gaussian rewards"
    return regret.draw(tables, title, zoom=(LSDT_TS, TS_ON_BSTAR))


def _claims(tables: Tables) -> list[Claim]:
    return [
        regret.lowest_claim(
            tables,
            "ts-csi-below-ts",
            "Thompson sampling in two steps has less regret than plain Thompson sampling.",
            "Fig. 9a, Appendix A.1",
            LSDT_TS,
            (TS,),
        ),
        regret.lowest_claim(
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
    values = ", ".join(f"{policy} {number(regret.regret_at(tables, policy).mean())}" for policy in policies)
    pairs = "; ".join(regret.compared(tables, LSDT_TS, other) for other in (TS, TS_ON_BSTAR))
    return (
        f"Regret after 1,000 rounds: {values}. {pairs}. Rewards are Gaussian here and the posterior is a "
        "beta distribution: a reward is clipped to [0, 1] and tossed as a coin."
    )


EXPERIMENT = Experiment(
    id="fig-ts-csi",
    title="Thompson sampling with complete side information",
    paper="Fig. 9, Appendix A.1",
    setting=_setting,
    compute=regret.play,
    table=regret.shown_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=1.0,
)
