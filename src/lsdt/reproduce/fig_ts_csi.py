"""Thompson sampling inside LSDT, complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.reproduce import regret
from lsdt.reproduce.claims import number
from lsdt.reproduce.experiments import Experiment

if TYPE_CHECKING:
    from lsdt.report.style import Figure
    from lsdt.reproduce.claims import Claim
    from lsdt.reproduce.experiments import Request, Setting, Tables

_OURS, _PLAIN, _CANDIDATES = "lsdt_ts_csi", "ts", "ts on candidates"


def _setting(request: Request) -> Setting:
    return regret.complete_setting(request, ("lsdt_ts_csi", "ts", "ts@candidates"))


def _draw(tables: Tables) -> Figure:
    title = "Thompson sampling: 100 arms, complete side information, Gaussian rewards"
    return regret.draw(tables, title, zoom=(_OURS, _CANDIDATES))


def _claims(tables: Tables) -> list[Claim]:
    return [
        regret.lowest_claim(
            tables,
            "ts-csi-below-ts",
            "Thompson sampling in two steps has less regret than plain Thompson sampling.",
            "Fig. 9a, Appendix A",
            _OURS,
            (_PLAIN,),
        ),
        regret.lowest_claim(
            tables,
            "ts-csi-pooling-gains",
            "Pooling gains over Thompson sampling on the candidate set alone.",
            "Fig. 9b, Appendix A",
            _OURS,
            (_CANDIDATES,),
        ),
    ]


def _reading(tables: Tables) -> str:
    ours, plain, candidates = (
        number(regret.regret_at(tables, policy).mean()) for policy in (_OURS, _PLAIN, _CANDIDATES)
    )
    return (
        f"After 1,000 rounds: {plain} for plain TS, {candidates} on the candidates, {ours} with classes "
        "first. Rewards are Gaussian here and the posterior is a beta distribution: a reward is clipped to "
        "[0, 1] and tossed as a coin, which is what makes plain TS slow to learn."
    )


EXPERIMENT = Experiment(
    id="fig-ts-csi",
    title="Thompson sampling with complete side information",
    paper="Fig. 9, Appendix A",
    setting=_setting,
    compute=regret.play,
    table=regret.shown_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=1.0,
)
