"""Corollary 1: with classes that grow, LSDT-PSI's regret does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.report.curves import Line, Panel, draw_panels
from lsdt.reproduce.block_graphs import BlockProblem, least_product
from lsdt.reproduce.claims import Claim, Estimate, at_most, below, mean_of, number
from lsdt.reproduce.experiments import Experiment
from lsdt.reproduce.sampling import line_of, note_on_runs, simulated, summary_table
from lsdt.side_information.restricting import restricted
from lsdt.theory import check_assumptions, fractional_domination

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.report.style import Figure
    from lsdt.reproduce.experiments import Request, Setting, Tables, Work

_CLASSES, _STEP, _LOW, _EPSILON = 7, 0.8, 0.02, 0.2
_POLICIES = ("lsdt_psi", "ucb1")
_WHERE = "Corollary 1, Section 4.3, Appendix I"
# "Does not depend on K": the regret grows with a power of K below this one. Decided before any run.
_FLAT = 0.25
_RUNS_FOR_ONE = 5  # the regret varies little between draws: one replication for so many runs asked for


def _setting(request: Request) -> Setting:
    """Seven classes, the bottom one 4.8 epsilon below the best, where all arms are equally good."""
    played = (5, 20) if request.quick else (5, 10, 20, 40, 80, 160)
    return {
        "classes": _CLASSES,
        "step": _STEP * _EPSILON,
        "lowest_mean": _LOW,
        "epsilon": _EPSILON,
        "rewards": "bernoulli",
        "p": _least_share(min(played)),
        "sizes_played": list(played),
        "domination": [
            {"p": _least_share(5), "sizes": [5, 20] if request.quick else [5, 10, 20, 40, 80, 160]},
            {"p": _least_share(20), "sizes": [20] if request.quick else [20, 40, 80]},
        ],
        "policies": list(_POLICIES),
        "horizon": 5_000 if request.quick else 20_000,
        "replications": math.ceil(request.runs / _RUNS_FOR_ONE),
    }


def _least_share(size: int) -> float:
    """Return p_S = p_D at the limit of Assumption 5 for classes of this size; larger ones need less."""
    return min(float(least_product(_CLASSES * size, size) ** (1 / 3)) + 1e-12, 1.0)


def _problem(setting: Setting, size: int, share: float) -> BlockProblem:
    return BlockProblem(
        setting["classes"], size, setting["step"], setting["lowest_mean"], setting["epsilon"], share
    )


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    families = [(family["p"], size) for family in setting["domination"] for size in family["sizes"]]
    steps = len(families) + len(setting["sizes_played"])
    covers: list[dict[str, Any]] = []
    for place, (share, size) in enumerate(families):
        covers.extend(_covers(_problem(setting, size, share), setting["replications"], work.seed))
        work.done((place + 1) / steps)
    regrets: list[pd.DataFrame] = []
    for place, size in enumerate(setting["sizes_played"]):
        regrets.append(_regrets(setting, size, work))
        work.done((len(families) + place + 1) / steps)
    return {"regret": pd.concat(regrets, ignore_index=True), "domination": pd.DataFrame(covers)}


def _covers(problem: BlockProblem, runs: int, seed: int) -> list[dict[str, Any]]:
    """Solve P2 on the bottom class of every draw; the classes left over share no similar pair."""
    held = check_assumptions(problem.complete, problem.share, problem.share).hold
    bottom = np.arange(problem.size)
    rows = []
    for run in range(runs):
        side = problem.draw(seed, run).side
        solution = fractional_domination(restricted(side, bottom), method="simplex")
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


def _regrets(setting: Setting, size: int, work: Work) -> pd.DataFrame:
    problem, horizon = _problem(setting, size, setting["p"]), setting["horizon"]
    result = simulated(
        problem,
        setting["policies"],
        work,
        horizon=horizon,
        replications=setting["replications"],
        checkpoints=[horizon],
        progress=False,
    )
    frame = result.frame()[["policy", "replication", "regret"]].rename(columns={"replication": "run"})
    return frame.assign(arms=problem.n_arms, class_size=size)


def _table(tables: Tables) -> pd.DataFrame:
    rows = summary_table(tables["regret"], ["policy", "arms"], "regret")
    share = tables["domination"]
    share = share[share["p"] == share["p"].max()].groupby("arms")[["bottom_share", "played_arms"]].mean()
    return rows.join(share, on="arms")


def _draw(tables: Tables) -> Figure:
    regret, covers = tables["regret"], tables["domination"]
    labels = {"lsdt_psi": "LSDT-PSI", "ucb1": "UCB1 (alpha 2)"}
    lines = [
        line_of(regret[regret["policy"] == name], labels[name], "arms", "regret", points=True)
        for name in _POLICIES
    ]
    shares = []
    for place, (share, rows) in enumerate(covers.groupby("p", sort=False)):
        name = f"C2 in the bottom class, p = {share:.2f}"
        shares.append(line_of(rows, name, "class_size", "bottom_share", points=True, colour=2 + place))
    for share, rows in covers.groupby("p", sort=False):
        sizes = rows["class_size"].unique()
        name = f"bound 2/p + 1, p = {share:.2f}"
        shares.append(Line(name, sizes, np.full(len(sizes), 2.0 / share + 1.0), reference=True))
    panels = [
        Panel(lines, "number of arms K", "regret", "Regret", x_log=True, y_log=True),
        Panel(shares, "arms in the bottom class", "sum of z", "Exploration values", x_log=True),
    ]
    return draw_panels(
        panels, "Seven classes of growing size, partial side information", note_on_runs(regret["run"])
    )


def _claims(tables: Tables) -> list[Claim]:
    covers = tables["domination"]
    bounded = []
    for (share, size), rows in covers.groupby(["p", "class_size"], sort=False):
        estimate = mean_of(rows["bottom_share"].to_numpy())
        what = f"mean sum of z in the bottom class of {size} arms, p = {share:.2f}"
        bounded.append(at_most(what, estimate, 2.0 / share + 1.0))
    arms = np.unique(tables["regret"]["arms"])
    whole, last = _slope(tables, "lsdt_psi"), _slope(tables, "lsdt_psi", at_least=arms[-2])
    return [
        Claim(
            "corollary-1-regret",
            "With gaps and probabilities fixed, LSDT-PSI's regret does not grow with the number of arms when "
            "the arms of the best class are all best (read: it grows with a power of K below 0.25).",
            _WHERE,
            (
                below(f"slope of log regret on log K, {arms[0]} to {arms[-1]} arms", whole, _FLAT),
                below(f"the same, {arms[-2]} to {arms[-1]} arms", last, _FLAT),
            ),
        ),
        Claim(
            "corollary-1-domination",
            "The exploration values of the bottom class add up to 2/p_S + 1 at most on average, however "
            "large it is.",
            "Appendix I",
            tuple(bounded),
        ),
    ]


def _slope(tables: Tables, policy: str, at_least: int = 0) -> Estimate:
    """Return the slope of log regret on log K: one line through the sizes for every run, then their mean."""
    rows = tables["regret"]
    rows = rows[(rows["policy"] == policy) & (rows["arms"] >= at_least)]
    wide = rows.pivot_table(index="run", columns="arms", values="regret")
    x = np.log(wide.columns.to_numpy(np.float64))
    x -= x.mean()
    y: NDArray[np.float64] = np.log(wide.to_numpy(np.float64))
    return mean_of(y @ x / (x @ x))


def _reading(tables: Tables) -> str:
    table, covers = _table(tables), tables["domination"]
    psi = table[table["policy"] == "lsdt_psi"].set_index("arms")
    ucb = table[table["policy"] == "ucb1"].set_index("arms")["regret"]
    first, before, last = psi.index[0], psi.index[-2], psi.index[-1]
    slopes = {name: number(_slope(tables, name).value) for name in _POLICIES}
    sizes = covers.groupby("p").apply(lambda rows: rows.loc[rows["class_size"].idxmax(), "class_size"])
    told = " and ".join(
        f"{number(covers[(covers['p'] == p) & (covers['class_size'] == size)]['bottom_share'].mean())} "
        f"for {size} arms at p = {p:.2f} (1/p is {number(1 / p)})"
        for p, size in sizes.items()
    )
    rounding = _STEP * _EPSILON * (_CLASSES - 1) * psi["played_arms"]
    return (
        f"LSDT-PSI's regret is {number(psi['regret'][first])} at {first} arms, "
        f"{number(psi['regret'][before])} at {before} and {number(psi['regret'][last])} at {last}; UCB1's "
        f"goes from {number(ucb[first])} to {number(ucb[last])}. As powers of K: {slopes['lsdt_psi']} and "
        f"{slopes['ucb1']}. The exploration values of the bottom class add up to {told}. What they do not "
        "show is rounding: every arm with a positive value is played once or more, and "
        f"{number(psi['played_arms'][before])} of the bottom class have one at {before} arms, "
        f"{number(psi['played_arms'][last])} at {last}. One play of each is a regret of "
        f"{number(rounding[before])} and {number(rounding[last])}; from where that is as much as the "
        "plays that are needed, regret grows with K. Theorem 6 has it as a term of the order of K that "
        "does not grow with T; the corollary, for T without end, drops it. Arms that only complete "
        f"information excludes were left in {number((covers['extra_arms'] > 0).mean())} of the draws."
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
    reading=_reading,
    seconds=3.0,
)
