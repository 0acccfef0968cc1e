"""Running times with complete side information."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, below, between, mean_of, number, ratio_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.wording import CKL_UCB, LSDT_CSI, OSSB, OSUB, TS, UCB1, UCB1_ON_BSTAR
from lsdt.reproduce.paper.regret import running_times

if TYPE_CHECKING:
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

# Table 1 of the paper, in milliseconds.
_PAPER = {
    UCB1: {"online": 9.7},
    TS: {"online": 37.6},
    CKL_UCB: {"online": 849.5},
    OSUB: {"online": 880.3},
    OSSB: {"online": 3.3e5},
    LSDT_CSI: {"offline": 14.1, "online": 18.6},
    UCB1_ON_BSTAR: {"online": 9.1},
}
_POLICIES = ("ucb1", "ts", "ckl_ucb", "osub", "ossb", "lsdt_csi", "ucb1@paper")
_RIVALS = (CKL_UCB, OSSB)
_WHERE = "Table 1, Appendix A.2"


def _setting(request: Request) -> Setting:
    setting = regret_figures.complete_setting(request, _POLICIES)
    return {**setting, "replications": min(request.replications, running_times.MOST_RUNS)}


def _claims(tables: Tables) -> list[Claim]:
    slow = ratio_of(
        running_times.total(tables, OSUB, "online"), running_times.total(tables, CKL_UCB, "online")
    )
    return [
        Claim(
            "csi-cheap",
            "LSDT-CSI costs little beside the policies of comparable regret, CKL-UCB and OSSB.",
            f"Section 6.2.1; {_WHERE}",
            tuple(running_times.faster(tables, LSDT_CSI, rival) for rival in _RIVALS),
        ),
        Claim(
            "csi-slow-rivals",
            "CKL-UCB and OSSB are the slow ones: they solve an optimisation problem in every round.",
            _WHERE,
            tuple(
                running_times.faster(tables, quick, slow, "online")
                for slow in _RIVALS
                for quick in (UCB1, TS, LSDT_CSI)
            ),
        ),
        Claim(
            "csi-offline-cheap",
            "The offline step of LSDT-CSI is not too costly (read: it takes less time than the rounds of "
            "CKL-UCB and of OSSB).",
            _WHERE,
            tuple(_offline_check(tables, rival) for rival in _RIVALS),
        ),
        Claim(
            "osub-slow",
            "OSUB takes about as long as CKL-UCB (read: from half to twice as long).",
            _WHERE,
            (between(f"online ms of {OSUB} over {CKL_UCB}", slow, 0.5, 2.0),),
        ),
    ]


def _offline_check(tables: Tables, rival: str) -> Check:
    difference = running_times.total(tables, LSDT_CSI, "offline") - running_times.total(
        tables, rival, "online"
    )
    return below(f"offline ms of {LSDT_CSI} minus online ms of {rival}", mean_of(difference), 0.0)


def _discussion(tables: Tables) -> str:
    import numpy as np

    policies = (LSDT_CSI, UCB1, TS, CKL_UCB, OSUB, OSSB)
    middle = {policy: float(np.median(running_times.total(tables, policy))) for policy in policies}
    order = ", ".join(
        f"{policy} {number(middle[policy])}" for policy in sorted(middle, key=middle.__getitem__)
    )
    before, rounds = (
        number(float(np.median(running_times.total(tables, LSDT_CSI, part)))) for part in running_times.PARTS
    )
    return (
        f"Milliseconds for a run, offline step included, from the quickest (medians): {order}. Of LSDT-CSI's "
        f"time, {before} ms are its offline step and {rounds} ms its rounds. OSSB took the paper 330 "
        "seconds: its linear programme has a closed form with complete side information, and we use it. "
        "CKL-UCB sums over neighbours in every round; TS draws a hundred random numbers."
    )


EXPERIMENT = Experiment(
    id="table-time-csi",
    title="Running times with complete side information",
    paper=_WHERE,
    setting=_setting,
    compute=running_times.measure,
    table=partial(running_times.median_table, paper=_PAPER),
    draw=partial(
        running_times.draw,
        paper=_PAPER,
        title="Running times: 100 arms, 1,000 rounds, complete side information",
    ),
    claims=_claims,
    discussion=_discussion,
    seconds=1.0,
    is_timed=True,
)
