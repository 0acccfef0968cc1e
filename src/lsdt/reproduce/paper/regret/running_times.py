"""Tables 1 and 2: running times on one worker, next to the paper's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.framework import regret_figures
from lsdt.reproduce.framework.claims import Claim, Estimate, below, between, mean_of, number, ratio_of
from lsdt.reproduce.framework.experiment import Experiment, Work
from lsdt.reproduce.framework.wording import (
    CKL_UCB,
    LSDT_CSI,
    LSDT_PSI,
    OSSB,
    OSUB,
    TS,
    UCB1,
    UCB1_ON_B0,
    UCB1_ON_BSTAR,
    names_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

    Milliseconds = Mapping[str, Mapping[str, float]]  # by policy and part

_MOST_RUNS = 100  # enough for a median time
_PARTS = ("offline", "online")


def measure(setting: Setting, work: Work) -> Tables:
    """Return milliseconds per run and policy, measured on one worker.

    Libraries that a policy loads when it is first used, such as a solver, are loaded before.
    """
    import pandas as pd

    regret_figures.simulate_setting({**setting, "replications": 1}, Work(work.seed, 1))
    result = regret_figures.simulate_setting(setting, Work(work.seed, 1, work.done))
    names = names_of(setting, regret_figures.policies_of(setting), result)
    rows = []
    for label, name in names.items():
        offline, online = result.seconds(label)
        rows += [
            {"policy": name, "run": run, "offline": before, "online": rounds}
            for run, before, rounds in zip(result.numbers, 1e3 * offline, 1e3 * online, strict=True)
        ]
    return {"milliseconds": pd.DataFrame(rows)}


def total(tables: Tables, policy: str, part: str | None = None) -> np.ndarray:
    """Return a policy's milliseconds, run by run: offline, online, or both if `part` is None."""
    rows = tables["milliseconds"]
    rows = rows[rows["policy"] == policy].sort_values("run")
    values: np.ndarray = (rows[part] if part else rows["offline"] + rows["online"]).to_numpy(np.float64)
    return values


def median_table(tables: Tables, paper: Milliseconds) -> pd.DataFrame:
    """Return the median milliseconds beside the paper's; NaN where the paper gives none."""
    import pandas as pd

    rows = []
    for policy, group in tables["milliseconds"].groupby("policy", sort=False, observed=True):
        said = paper.get(policy, {})
        rows.append(
            {
                "policy": policy,
                "offline (ms)": group["offline"].median(),
                "online (ms)": group["online"].median(),
                "paper offline (ms)": said.get("offline", np.nan),
                "paper online (ms)": said.get("online", np.nan),
            }
        )
    return pd.DataFrame(rows)


def draw(tables: Tables, paper: Milliseconds, title: str) -> Figure:
    """Draw measured times and the paper's on a logarithmic axis."""
    dots = []
    for policy, group in tables["milliseconds"].groupby("policy", sort=False, observed=True):
        for part in _PARTS:
            if (group[part] > 0.0).all():  # a logarithmic axis cannot show 0
                low, middle, high = np.quantile(group[part], (0.1, 0.5, 0.9))
                dots.append(Dot(policy, f"{part}, measured", middle, low, high))
            if part in paper.get(policy, {}):
                said = paper[policy][part]
                dots.append(Dot(policy, f"{part}, paper (MATLAB)", said, said, said))
    dots.sort(key=lambda dot: ("paper" in dot.group, "online" in dot.group))
    note = (
        "median of the runs, whiskers from 10% to 90% of them; one worker, compilation left out; the paper's "
        "computer is not named"
    )
    return draw_dots(dots, "milliseconds per run of 1,000 rounds (logarithmic)", title, note, log=True)


def faster(tables: Tables, first: str, second: str, part: str | None = None) -> Check:
    """Check that a policy takes less time than another, paired by run."""
    difference: Estimate = mean_of(total(tables, first, part) - total(tables, second, part))
    return below(f"{part or 'total'} ms of {first} minus {second}", difference, 0.0)


def _median(tables: Tables, policy: str, part: str | None = None) -> float:
    return float(np.median(total(tables, policy, part)))


# ---------------------------------------------------------------- Table 1: complete side information

_RIVALS = (CKL_UCB, OSSB)


def _csi_setting(request: Request) -> Setting:
    policies = ("ucb1", "ts", "ckl_ucb", "osub", "ossb", "lsdt_csi", "ucb1@paper")
    setting = regret_figures.complete_setting(request, policies)
    return {**setting, "replications": min(request.replications, _MOST_RUNS)}


def _csi_claims(tables: Tables) -> list[Claim]:
    where = "Table 1, Appendix A.2"
    slow = ratio_of(total(tables, OSUB, "online"), total(tables, CKL_UCB, "online"))
    return [
        Claim(
            "csi-cheap",
            "LSDT-CSI costs little beside the policies of comparable regret, CKL-UCB and OSSB.",
            f"Section 6.2.1; {where}",
            tuple(faster(tables, LSDT_CSI, rival) for rival in _RIVALS),
        ),
        Claim(
            "csi-slow-rivals",
            "CKL-UCB and OSSB are the slow ones: they solve an optimisation problem in every round.",
            where,
            tuple(
                faster(tables, quick, slow, "online") for slow in _RIVALS for quick in (UCB1, TS, LSDT_CSI)
            ),
        ),
        Claim(
            "csi-offline-cheap",
            "The offline step of LSDT-CSI is not too costly (read: it takes less time than the rounds of "
            "CKL-UCB and of OSSB).",
            where,
            tuple(_offline_check(tables, rival) for rival in _RIVALS),
        ),
        Claim(
            "osub-slow",
            "OSUB takes about as long as CKL-UCB (read: from half to twice as long).",
            where,
            (between(f"online ms of {OSUB} over {CKL_UCB}", slow, 0.5, 2.0),),
        ),
    ]


def _offline_check(tables: Tables, rival: str) -> Check:
    difference = total(tables, LSDT_CSI, "offline") - total(tables, rival, "online")
    return below(f"offline ms of {LSDT_CSI} minus online ms of {rival}", mean_of(difference), 0.0)


def _csi_discussion(tables: Tables) -> str:
    middle = {policy: _median(tables, policy) for policy in (LSDT_CSI, UCB1, TS, CKL_UCB, OSUB, OSSB)}
    order = ", ".join(
        f"{policy} {number(middle[policy])}" for policy in sorted(middle, key=middle.__getitem__)
    )
    before, rounds = (number(_median(tables, LSDT_CSI, part)) for part in _PARTS)
    return (
        f"Milliseconds per run, including the offline step, fastest first (medians): {order}. Of LSDT-CSI's "
        f"time, {before} ms are its offline step and {rounds} ms its rounds. The paper's OSSB took 330 "
        "seconds; with complete side information its linear programme has a closed form, which we use. "
        "CKL-UCB sums over neighbours in every round; TS draws a hundred random numbers."
    )


# ---------------------------------------------------------------- Table 2: partial side information


def _psi_setting(request: Request) -> Setting:
    setting = regret_figures.partial_setting(request, ("ucb1", "ts", "ckl_ucb", "lsdt_psi", "ucb1@paper"))
    replications = min(request.replications, _MOST_RUNS)
    return {**setting, "horizons": [regret_figures.HORIZON], "replications": replications}


def _psi_claims(tables: Tables) -> list[Claim]:
    where = "Table 2, Appendix A.2"
    return [
        Claim(
            "psi-dearer-than-classics",
            "UCB1 and TS take less time than LSDT-PSI.",
            where,
            (faster(tables, UCB1, LSDT_PSI), faster(tables, TS, LSDT_PSI)),
        ),
        Claim(
            "psi-cheaper-than-ckl-ucb",
            "LSDT-PSI takes less time than CKL-UCB.",
            f"Section 6.2.2; {where}",
            (faster(tables, LSDT_PSI, CKL_UCB), faster(tables, LSDT_PSI, CKL_UCB, "online")),
        ),
    ]


def _psi_discussion(tables: Tables) -> str:
    said = []
    for policy in (LSDT_PSI, CKL_UCB, UCB1, TS):
        before, rounds = (number(_median(tables, policy, part)) for part in _PARTS)
        said.append(f"{policy} {before} and {rounds}")
    return (
        f"Milliseconds before the first round and for 1,000 rounds (medians): {', '.join(said)}. Offline "
        "here is everything before the first round, which for LSDT-PSI includes the linear programme P2; the "
        "paper does not say which of its two times includes it."
    )


# ---------------------------------------------------------------- both tables


class _TimeTable(NamedTuple):
    """One table: titles, the paper's milliseconds, and the functions of an `Experiment`."""

    title: str
    paper: str
    figure: str
    stated: Milliseconds
    setting: Callable[[Request], Setting]
    claims: Callable[[Tables], list[Claim]]
    discussion: Callable[[Tables], str]
    seconds: float


_TABLES = {
    "table-time-csi": _TimeTable(
        "Running times with complete side information",
        "Table 1, Appendix A.2",
        "Running times: 100 arms, 1,000 rounds, complete side information",
        {
            UCB1: {"online": 9.7},
            TS: {"online": 37.6},
            CKL_UCB: {"online": 849.5},
            OSUB: {"online": 880.3},
            OSSB: {"online": 3.3e5},
            LSDT_CSI: {"offline": 14.1, "online": 18.6},
            UCB1_ON_BSTAR: {"online": 9.1},
        },
        _csi_setting,
        _csi_claims,
        _csi_discussion,
        1.0,
    ),
    "table-time-psi": _TimeTable(
        "Running times with partial side information",
        "Table 2, Appendix A.2",
        "Running times: 100 arms, 1,000 rounds, half of the relations known",
        {
            UCB1: {"online": 10.3},
            TS: {"online": 38.3},
            CKL_UCB: {"online": 354.2},
            LSDT_PSI: {"offline": 12.6, "online": 161.4},  # in the paper "LSDT-CSI (online)"
            UCB1_ON_B0: {"online": 10.1},
        },
        _psi_setting,
        _psi_claims,
        _psi_discussion,
        2.0,
    ),
}

EXPERIMENTS = {
    part: Experiment(
        id=part,
        title=table.title,
        paper=table.paper,
        setting=table.setting,
        compute=measure,
        table=partial(median_table, paper=table.stated),
        draw=partial(draw, paper=table.stated, title=table.figure),
        claims=table.claims,
        discussion=table.discussion,
        seconds=table.seconds,
        is_timed=True,
    )
    for part, table in _TABLES.items()
}
