"""Thompson sampling inside LSDT, partial side information."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import LSDT_TS, LSDT_TS_LEAST, TS, TS_ON_B0

if TYPE_CHECKING:
    from lsdt.reproduce.framework.experiment import Tables

_OURS = (LSDT_TS, LSDT_TS_LEAST)
_POLICIES = ("lsdt_ts_psi", "lsdt_ts_psi:elimination=least_likely", "ts", "ts@paper")
_JUDGED = (500, 1000)


def _claims(tables: Tables) -> list[Claim]:
    return [
        _claim(
            tables,
            "ts-psi-below-ts",
            "With partial information too, Thompson sampling in two steps has less regret than plain TS "
            "(read: with either rule of elimination).",
            "Fig. 10a, Appendix A.1",
            TS,
        ),
        _claim(
            tables,
            "ts-psi-pooling-gains",
            "With partial information too, pooling gains over Thompson sampling on the arms that are left "
            "(read: with either rule of elimination).",
            "Fig. 10b, Appendix A.1",
            TS_ON_B0,
        ),
    ]


def _claim(tables: Tables, name: str, text: str, paper: str, other: str) -> Claim:
    horizons = regret_figures.horizons_near(tables, _JUDGED)
    return Claim(
        name,
        text,
        paper,
        tuple(regret_figures.lower(tables, ours, other, t) for ours in _OURS for t in horizons),
    )


def _discussion(tables: Tables) -> str:
    policies = (TS, TS_ON_B0, *_OURS)
    values = regret_figures.mean_regrets(tables, policies)
    pairs = "; ".join(regret_figures.compare_at(tables, ours, TS_ON_B0) for ours in _OURS)
    return (
        f"Regret at T = 1,000: {values}. {pairs}. The paper describes this policy in words only. LSDT-TS "
        "here eliminates an arm when a quantile of its pooled posterior falls below that of the best; "
        "'least likely out' takes the words literally: only the arm least likely to be the best goes, once "
        "it was explored often enough."
    )


EXPERIMENT = Experiment(
    id="fig-ts-psi",
    title="Thompson sampling with partial side information",
    paper="Fig. 10, Appendix A.1",
    setting=partial(regret_figures.partial_setting, policies=_POLICIES, arms=200),
    compute=regret_figures.play,
    table=regret_figures.regret_summary,
    draw=partial(
        regret_figures.draw,
        title="Thompson sampling: 200 arms, half of the relations known, Bernoulli rewards",
        per_horizon=True,
        zoom=(*_OURS, TS_ON_B0),
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=10.0,
)
