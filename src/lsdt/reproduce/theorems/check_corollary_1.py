"""Corollary 1: LSDT-PSI's regret does not grow with the size of the classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, Estimate, always, at_most, below, mean_of, number, ratio_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import (
    line_of,
    note_on_runs,
    regret_frame,
    rows_at,
    simulate_part,
    summary_table,
)
from lsdt.reproduce.theorems.block_graphs import BlockProblem, least_product
from lsdt.reproduce.theorems.growth import FLAT, by_arms, power_of_arms
from lsdt.side_information import subset
from lsdt.theory import check_assumptions, fractional_domination

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

# Steps below epsilon make a path of classes, and seven of them fill the means from 0.02 to 0.98.
_CLASSES, _STEP, _LOW, _EPSILON = 7, 0.8, 0.02, 0.2
_POLICIES = ("lsdt_psi", "ucb1")
_WHERE = "Corollary 1, Section 4.3, Appendix I"


def _setting(request: Request) -> Setting:
    """Return seven classes of equal arms, the lowest class 4.8 epsilon below the best.

    Elimination and programme P2 take most of the time, so there are few sizes, and fewer runs of the largest.
    """

    def with_runs(*sizes: int) -> list[dict[str, int]]:
        fewer = math.ceil(request.replications / 5)
        return [
            {"size": size, "replications": fewer if size > 100 else request.replications} for size in sizes
        ]

    played = (5, 10, 20) if request.quick else (5, 20, 40, 160)
    return {
        "classes": _CLASSES,
        "step": _STEP * _EPSILON,
        "lowest_mean": _LOW,
        "epsilon": _EPSILON,
        "rewards": "bernoulli",
        "p": _least_share(min(played)),
        "sizes_played": with_runs(*played),
        "domination": [
            {"p": _least_share(5), "sizes": with_runs(*played)},
            {"p": _least_share(20), "sizes": with_runs(*([20] if request.quick else [20, 40, 80]))},
        ],
        "policies": list(_POLICIES),
        "horizons": [5_000, 20_000] if request.quick else [20_000, 80_000],
    }


def _least_share(size: int) -> float:
    """Return p_S = p_D at the limit of Assumption 5 for classes of this size; larger classes need less."""
    return min(float(least_product(_CLASSES * size, size) ** (1 / 3)) + 1e-12, 1.0)


def _problem(setting: Setting, size: int, share: float) -> BlockProblem:
    return BlockProblem(
        setting["classes"], size, setting["step"], setting["lowest_mean"], setting["epsilon"], share
    )


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    families = [(family["p"], case) for family in setting["domination"] for case in family["sizes"]]
    steps = len(families) + len(setting["sizes_played"])
    covers: list[dict[str, Any]] = []
    for place, (share, case) in enumerate(families):
        covers.extend(_covers(_problem(setting, case["size"], share), case["replications"], work.seed))
        work.done((place + 1) / steps)
    regrets: list[pd.DataFrame] = []
    for place, case in enumerate(setting["sizes_played"]):
        regrets.append(_regrets(setting, case["size"], case["replications"], work))
        work.done((len(families) + place + 1) / steps)
    return {"regret": pd.concat(regrets, ignore_index=True), "domination": pd.DataFrame(covers)}


def _covers(problem: BlockProblem, runs: int, seed: int) -> list[dict[str, Any]]:
    """Solve P2 on the bottom class of every draw, to which no similar pair joins another surviving class."""
    held = check_assumptions(problem.complete, problem.share, problem.share).hold
    bottom = np.arange(problem.size)
    rows = []
    for run in range(runs):
        side = problem.draw(seed, run).side
        solution = fractional_domination(subset(side, bottom), method="simplex")
        rows.append(
            {
                "p": problem.share,
                "class_size": problem.size,
                "arms": problem.n_arms,
                "run": run,
                "assumptions_hold": held,
                "bottom_share": solution.size,
                "played_arms": int((solution.z > 0.0).sum()),
                "extra_arms": len(candidate_set(side, method="triangles")) - 2 * problem.size,
            }
        )
    return rows


def _regrets(setting: Setting, size: int, runs: int, work: Work) -> pd.DataFrame:
    """Return the regret of LSDT-PSI at both horizons and of UCB1 at the shorter one."""
    import pandas as pd

    problem, horizons = _problem(setting, size, setting["p"]), setting["horizons"]
    frames = []
    for policy in setting["policies"]:
        result = simulate_part(
            problem,
            policy,
            work,
            replications=runs,
            horizons=horizons if policy == "lsdt_psi" else horizons[:1],
            progress=False,
        )
        frames.append(regret_frame(result))
    return pd.concat(frames, ignore_index=True).assign(arms=problem.n_arms, class_size=size)


def _table(tables: Tables) -> pd.DataFrame:
    rows = summary_table(tables["regret"], ["policy", "t", "arms"], "regret")
    share = tables["domination"]
    share = share[share["p"] == share["p"].max()].groupby("arms")[["bottom_share", "played_arms"]].mean()
    return rows.join(share, on="arms")


def _draw(tables: Tables) -> Figure:
    regret, covers = tables["regret"], tables["domination"]
    labels = {"lsdt_psi": "LSDT-PSI", "ucb1": "UCB1 (alpha 2)"}
    lines = [
        line_of(rows, f"{labels[str(name)]}, T = {t:,}", "arms", "regret", points=True)
        for (name, t), rows in regret.groupby(["policy", "t"], sort=False, observed=True)
    ]
    shares = []
    for place, (share, rows) in enumerate(covers.groupby("p", sort=False)):
        name = f"C2, p = {share:.2f}"
        shares.append(line_of(rows, name, "class_size", "bottom_share", points=True, colour=3 + place))
    for share, rows in covers.groupby("p", sort=False):
        sizes = rows["class_size"].unique()
        name = f"2/p + 1, p = {share:.2f}"
        shares.append(Line(name, sizes, np.full(len(sizes), 2.0 / share + 1.0), reference=True))
    panels = [
        Panel(lines, "number of arms K", "regret", "Regret", x_log=True, y_log=True),
        Panel(shares, "arms in the bottom class", "sum of z", "Exploration values in the bottom class"),
    ]
    counts = regret.groupby("arms")["run"].nunique()
    note = note_on_runs(regret["run"])
    if counts.iloc[-1] < counts.iloc[0]:
        note += f"; {counts.iloc[-1]:,} runs at {counts.index[-1]:,} arms"
    return draw_panels(panels, "Seven classes of growing size, partial side information", note)


def _claims(tables: Tables) -> list[Claim]:
    covers = tables["domination"]
    bounded = []
    for (share, size), rows in covers.groupby(["p", "class_size"], sort=False):
        estimate = mean_of(rows["bottom_share"].to_numpy())
        what = f"mean sum of z in the bottom class of {size} arms, p = {share:.2f}"
        bounded.append(at_most(what, estimate, 2.0 / share + 1.0))
    held = always("graphs that meet Assumptions 3 to 5", covers["assumptions_hold"])
    return [
        *_regret_claims(tables),
        Claim(
            "corollary-1-domination",
            "The exploration values of the bottom class add up to 2/p_S + 1 at most on average, however "
            "large it is.",
            "Appendix I",
            (*bounded, held),
        ),
    ]


def _regret_claims(tables: Tables) -> list[Claim]:
    """Return two claims, on growth with T and on regret at one T, since the corollary is asymptotic."""
    short, long = _horizons(tables)
    arms = sorted(tables["regret"]["arms"].unique())
    grown = _growth(tables)
    growth = []
    for n_arms in arms[1:]:
        pairs = grown[[arms[0], n_arms]].dropna().to_numpy()
        what = f"growth of regret per unit of log T at {n_arms:,} arms over that at {arms[0]}"
        limit = float((n_arms / arms[0]) ** FLAT)
        growth.append(at_most(what, ratio_of(pairs[:, 1], pairs[:, 0]), limit))
    slopes = [
        below(
            f"slope of log regret on log K, {low:,} to {high:,} arms", _slope(tables, "lsdt_psi", low), FLAT
        )
        for low, high in dict.fromkeys(((arms[0], arms[-1]), (arms[-2], arms[-1])))
    ]
    given = "With gaps and probabilities fixed and all arms of the best class best, "
    return [
        Claim(
            "corollary-1-growth",
            f"{given}the growth of LSDT-PSI's regret with log T does not depend on the number of arms "
            f"(read: from T = {short:,} to {long:,} it grows with a power of K of {FLAT} or less).",
            _WHERE,
            tuple(growth),
        ),
        Claim(
            "corollary-1-regret",
            f"{given}LSDT-PSI's regret does not grow with the number of arms (read: at T = {short:,}, "
            f"though the corollary is for T to infinity, it grows with a power of K below {FLAT}).",
            _WHERE,
            tuple(slopes),
        ),
    ]


def _horizons(tables: Tables) -> tuple[int, int]:
    lengths = tables["regret"]["t"]
    return int(lengths.min()), int(lengths.max())


def _growth(tables: Tables) -> pd.DataFrame:
    """Return the growth of LSDT-PSI's regret per unit of log T, one row per run and one column per K."""
    rows, (short, long) = tables["regret"], _horizons(tables)
    rows = rows[rows["policy"] == "lsdt_psi"]
    wide = rows.pivot_table(index=["t", "run"], columns="arms", values="regret")
    return (wide.loc[long] - wide.loc[short]) / np.log(long / short)


def _slope(tables: Tables, policy: str, at_least: int = 0) -> Estimate:
    """Return the power of K with which regret grows at the shorter horizon."""
    rows = tables["regret"]
    return power_of_arms(rows_at(rows, policy=policy, t=rows["t"].min()), at_least)


def _discussion(tables: Tables) -> str:
    table, covers, (short, long) = _table(tables), tables["domination"], _horizons(tables)
    psi, ucb = (rows_at(table, policy=name, t=short).set_index("arms") for name in _POLICIES)
    grown = _growth(tables).mean()
    slopes = {name: number(_slope(tables, name).value) for name in _POLICIES}
    sizes = covers.groupby("p")["class_size"].max()
    told = " and ".join(
        f"{number(rows_at(covers, p=p, class_size=size)['bottom_share'].mean())} "
        f"for {size} arms at p = {p:.2f} (1/p is {number(1 / p)})"
        for p, size in sizes.items()
    )
    rounding = (_STEP * _EPSILON * (_CLASSES - 1) * psi["played_arms"]).dropna()
    return (
        f"At T = {short:,} LSDT-PSI's regret is {by_arms(psi['regret'])}. UCB1's is "
        f"{by_arms(ucb['regret'])}. As powers of K: {slopes['lsdt_psi']} and {slopes['ucb1']}. From there "
        f"to T = {long:,} LSDT-PSI's grows per unit of log T by {by_arms(grown)}.\n\n"
        f"The exploration values of the bottom class add up to {told}. They do not include rounding: every "
        "arm with a positive value is played at least once. One play of each is a regret of "
        f"{by_arms(rounding)}; if that is all of the regret, it is the same at both horizons. Theorem 6 has "
        "it as a term of the order of K that does not grow with T; the corollary, for T to infinity, drops "
        "it.\n\n"
        "Arms that only complete information excludes were left in "
        f"{number((covers['extra_arms'] > 0).mean())} of the draws."
    )


EXPERIMENT = Experiment(
    id="check-corollary-1",
    title="LSDT-PSI when classes grow",
    paper=_WHERE,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=5.0,
)
