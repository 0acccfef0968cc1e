"""Thompson sampling inside LSDT, complete side information."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import LSDT_TS, TS, TS_ON_BSTAR

if TYPE_CHECKING:
    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Tables


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


def _discussion(tables: Tables) -> str:
    policies = (TS, TS_ON_BSTAR, LSDT_TS)
    values = regret_figures.mean_regrets(tables, policies)
    pairs = "; ".join(regret_figures.compare_at(tables, LSDT_TS, other) for other in (TS, TS_ON_BSTAR))
    return (
        f"Regret after 1,000 rounds: {values}. {pairs}. Rewards are Gaussian here and the posterior is a "
        "beta distribution: a reward is clipped to [0, 1] and tossed as a coin."
    )


EXPERIMENT = Experiment(
    id="fig-ts-csi",
    title="Thompson sampling with complete side information",
    paper="Fig. 9, Appendix A.1",
    setting=partial(regret_figures.complete_setting, policies=("lsdt_ts_csi", "ts", "ts@paper")),
    compute=regret_figures.play,
    table=regret_figures.regret_summary,
    draw=partial(
        regret_figures.draw,
        title="Thompson sampling: 100 arms, complete side information, Gaussian rewards",
        zoom=(LSDT_TS, TS_ON_BSTAR),
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=1.0,
)
