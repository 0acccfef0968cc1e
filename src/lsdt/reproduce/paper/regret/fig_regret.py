"""Figs. 6b, 7, 9 and 10: regret of the paper's policies and of others.

Each figure is a row of `_FIGURES`: its setting with the policies, the claims that compare them, and a text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, mean_of, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.regret_figures import HORIZON, complete_setting, partial_setting
from lsdt.reproduce.framework.wording import (
    CKL_UCB,
    CKL_UCB_FLOOR,
    CKL_UCB_SQUARED,
    CKL_UCB_SQUARED_FLOOR,
    LSDT_CSI,
    LSDT_CSI_2,
    LSDT_PSI,
    LSDT_TS,
    LSDT_TS_LEAST,
    TS,
    TS_ON_B0,
    TS_ON_BSTAR,
    UCB1,
    UCB1_8_ON_BSTAR,
    UCB1_ON_B0,
    UCB1_ON_BSTAR,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

    Pairs = Sequence[tuple[str, str]]


class _RegretClaim(NamedTuple):
    """The claim that the first policy of each pair has less regret than the second."""

    name: str
    text: str
    paper: str
    pairs: Pairs

    def judge(self, tables: Tables, horizons: Sequence[int]) -> Claim:
        """Compare every pair at every horizon."""
        checks = [regret_figures.lower(tables, *pair, t) for pair in self.pairs for t in horizons]
        return Claim(self.name, self.text, self.paper, tuple(checks))


class _RegretFigure(NamedTuple):
    """One figure.

    Attributes
    ----------
    title, paper : str
        Title of the part, and where the paper has it.
    setting, discussion : function
        As in `Experiment`.
    drawing : dict
        Arguments of `regret_figures.draw`.
    comparisons : sequence of _RegretClaim
        The claims that compare regrets.
    seconds : float
        As in `Experiment`.
    judged : sequence of int
        The horizons at which regrets are compared.
    """

    title: str
    paper: str
    setting: Callable[[Request], Setting]
    discussion: Callable[[Tables], str]
    drawing: dict[str, Any]
    comparisons: Sequence[_RegretClaim]
    seconds: float
    judged: Sequence[int] = (HORIZON,)

    def claims(self, tables: Tables) -> list[Claim]:
        """Return the claims on the tables of this figure."""
        horizons = regret_figures.horizons_near(tables, self.judged)
        return [each.judge(tables, horizons) for each in self.comparisons]


def _values_and_pairs(tables: Tables, when: str, policies: Sequence[str], pairs: Pairs, remark: str) -> str:
    """Return the final regret of some policies, the differences of some pairs, and a remark."""
    values = regret_figures.mean_regrets(tables, policies)
    compared = "; ".join(regret_figures.compare_at(tables, *pair) for pair in pairs)
    return f"Regret {when}: {values}. {compared}. {remark}"


# ---------------------------------------------------------------- Fig. 7: one run per horizon

_CKL_UCBS = (CKL_UCB, CKL_UCB_FLOOR, CKL_UCB_SQUARED, CKL_UCB_SQUARED_FLOOR)
# The Gaussian divergence with 2 sigma^2 = 1 is the squared difference of the means.
_SQUARED = "ckl_ucb:divergence=gaussian,sigma=0.70710678"
_PSI_JUDGED = (300, 500, 1000)  # an early horizon, one in the middle, and the last


def _psi_discussion(tables: Tables) -> str:
    values = regret_figures.mean_regrets(tables, (LSDT_PSI, UCB1, TS, *_CKL_UCBS))
    first, *_, last = regret_figures.horizons_near(tables, _PSI_JUDGED)
    pairs = "; ".join(
        f"at T = {t:,} {regret_figures.compare_at(tables, LSDT_PSI, policy, t)}"
        for policy in _CKL_UCBS
        for t in (first, last)
    )
    return (
        "LSDT-PSI needs the horizon, so every point is a separate run. Regret at T = 1,000: "
        f"{values}. Between LSDT-PSI and CKL-UCB: {pairs}. The paper does not say which divergence CKL-UCB "
        "had here (on the jokes it takes the squared distance), nor whether its index has a floor at the "
        "arm's own mean. It names three baselines and says that "
        "LSDT-PSI is better than the other two: we judge all three."
    )


def _psi_pooling_discussion(tables: Tables) -> str:
    parts = []
    for t in regret_figures.horizons_near(tables, _PSI_JUDGED):
        ours, other = (regret_figures.regret_at(tables, policy, t) for policy in (LSDT_PSI, UCB1_ON_B0))
        parts.append(
            f"At T = {t:,} the regret of LSDT-PSI is {number(ours.mean())}, that of UCB1 on B0 "
            f"{number(other.mean())}; LSDT-PSI's is lower in {mean_of(ours < other).value:.0%} of the runs: "
            f"{regret_figures.compare_at(tables, LSDT_PSI, UCB1_ON_B0, t)}."
        )
    return " ".join(parts) + " The number of epochs of LSDT-PSI depends on the horizon."


# ---------------------------------------------------------------- all figures

_CSI_POOLING = ((LSDT_CSI, UCB1_8_ON_BSTAR), (LSDT_CSI, UCB1_ON_BSTAR), (LSDT_CSI_2, UCB1_ON_BSTAR))
_OUR_TS = (LSDT_TS, LSDT_TS_LEAST)

_FIGURES = {
    "fig-regret-csi-b": _RegretFigure(
        "Regret with complete side information, against UCB1 on the candidates",
        "Fig. 6b, Section 6.2.1",
        partial(
            complete_setting, policies=("lsdt_csi", "ucb1@paper:alpha=8", "ucb1@paper", "lsdt_csi:alpha=2")
        ),
        partial(
            _values_and_pairs,
            when="after 1,000 rounds",
            policies=(LSDT_CSI, UCB1_8_ON_BSTAR, UCB1_ON_BSTAR, LSDT_CSI_2),
            pairs=_CSI_POOLING,
            remark="The proof for LSDT-CSI does not cover alpha 2, and the paper does not say which alpha "
            "its UCB1 had.",
        ),
        {"title": "100 arms, complete side information: what pooling adds to the candidates"},
        [
            _RegretClaim(
                "csi-pooling-gains",
                "The online step of LSDT-CSI gains over UCB1 on the candidate set.",
                "Fig. 6b, Section 6.2.1",
                _CSI_POOLING,
            )
        ],
        seconds=0.5,
    ),
    "fig-regret-psi-a": _RegretFigure(
        "Regret with partial side information, against other policies",
        "Fig. 7a, Section 6.2.2",
        partial(
            partial_setting,
            policies=(
                *("lsdt_psi", "ucb1", "ts", "ckl_ucb", "ckl_ucb:floor=mean"),
                *(_SQUARED, f"{_SQUARED},floor=mean"),
            ),
        ),
        _psi_discussion,
        {
            "title": "100 arms, half of the relations known, Bernoulli rewards: one run per horizon",
            "per_horizon": True,
        },
        [
            _RegretClaim(
                "psi-below-classics",
                "LSDT-PSI has less regret than UCB1 and TS.",
                "Fig. 7a, Section 6.2.2",
                [(LSDT_PSI, other) for other in (UCB1, TS)],
            ),
            _RegretClaim(
                "psi-below-ckl-ucb",
                "LSDT-PSI has less regret than CKL-UCB, which uses similar pairs only (read: with either "
                "divergence, that of Bernoulli rewards and the squared distance, and whether or not an index "
                "may lie below its arm's mean).",
                "Fig. 7a, Section 6.2.2",
                [(LSDT_PSI, other) for other in _CKL_UCBS],
            ),
        ],
        seconds=3.0,
        judged=_PSI_JUDGED,
    ),
    "fig-regret-psi-b": _RegretFigure(
        "Regret with partial side information, against UCB1 on B0",
        "Fig. 7b, Section 6.2.2",
        partial(partial_setting, policies=("lsdt_psi", "ucb1@paper")),
        _psi_pooling_discussion,
        {
            "title": "100 arms, half of the relations known: what pooling adds to B0",
            "per_horizon": True,
        },
        [
            _RegretClaim(
                "psi-pooling-gains",
                "The online step of LSDT-PSI gains over UCB1 on the arms that the offline step leaves.",
                "Fig. 7b, Section 6.2.2",
                [(LSDT_PSI, UCB1_ON_B0)],
            )
        ],
        seconds=2.0,
        judged=_PSI_JUDGED,
    ),
    "fig-ts-csi": _RegretFigure(
        "Thompson sampling with complete side information",
        "Fig. 9, Appendix A.1",
        partial(complete_setting, policies=("lsdt_ts_csi", "ts", "ts@paper")),
        partial(
            _values_and_pairs,
            when="after 1,000 rounds",
            policies=(TS, TS_ON_BSTAR, LSDT_TS),
            pairs=((LSDT_TS, TS), (LSDT_TS, TS_ON_BSTAR)),
            remark="Rewards are Gaussian here and the posterior is a beta distribution: a reward is clipped "
            "to [0, 1] and replaced by a coin toss with that probability.",
        ),
        {
            "title": "Thompson sampling: 100 arms, complete side information, Gaussian rewards",
            "zoom": (LSDT_TS, TS_ON_BSTAR),
        },
        [
            _RegretClaim(
                "ts-csi-below-ts",
                "Thompson sampling in two steps has less regret than plain Thompson sampling.",
                "Fig. 9a, Appendix A.1",
                [(LSDT_TS, TS)],
            ),
            _RegretClaim(
                "ts-csi-pooling-gains",
                "Pooling gains over Thompson sampling on the candidate set alone.",
                "Fig. 9b, Appendix A.1",
                [(LSDT_TS, TS_ON_BSTAR)],
            ),
        ],
        seconds=1.0,
    ),
    "fig-ts-psi": _RegretFigure(
        "Thompson sampling with partial side information",
        "Fig. 10, Appendix A.1",
        partial(
            partial_setting,
            policies=("lsdt_ts_psi", "lsdt_ts_psi:elimination=least_likely", "ts", "ts@paper"),
            arms=200,
        ),
        partial(
            _values_and_pairs,
            when="at T = 1,000",
            policies=(TS, TS_ON_B0, *_OUR_TS),
            pairs=[(ours, TS_ON_B0) for ours in _OUR_TS],
            remark="The paper describes this policy in words only. LSDT-TS here eliminates an arm when a "
            "quantile of its pooled posterior falls below that of the best; 'least likely out' takes the "
            "words literally: only the arm least likely to be the best is eliminated, once it has been "
            "explored often enough.",
        ),
        {
            "title": "Thompson sampling: 200 arms, half of the relations known, Bernoulli rewards",
            "per_horizon": True,
            "zoom": (*_OUR_TS, TS_ON_B0),
        },
        [
            _RegretClaim(
                "ts-psi-below-ts",
                "With partial information too, Thompson sampling in two steps has less regret than plain TS "
                "(read: with either rule of elimination).",
                "Fig. 10a, Appendix A.1",
                [(ours, TS) for ours in _OUR_TS],
            ),
            _RegretClaim(
                "ts-psi-pooling-gains",
                "With partial information too, pooling gains over Thompson sampling on the arms that are "
                "left (read: with either rule of elimination).",
                "Fig. 10b, Appendix A.1",
                [(ours, TS_ON_B0) for ours in _OUR_TS],
            ),
        ],
        seconds=10.0,
        judged=(500, 1000),
    ),
}

EXPERIMENTS = {
    part: Experiment(
        id=part,
        title=figure.title,
        paper=figure.paper,
        setting=figure.setting,
        compute=regret_figures.play,
        table=regret_figures.regret_summary,
        draw=partial(regret_figures.draw, **figure.drawing),
        claims=figure.claims,
        discussion=figure.discussion,
        seconds=figure.seconds,
    )
    for part, figure in _FIGURES.items()
}
