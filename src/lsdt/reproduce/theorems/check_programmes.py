"""Remarks of the paper on programmes P1 and P2 and on the size of B*."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import (
    Claim,
    always,
    at_least,
    at_most,
    below,
    exactly,
    mean_of,
    number,
    share_of,
)
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import line_of, note_on_runs, rows_at, summary_table, uniform_means
from lsdt.reproduce.theorems.exploration_values import (
    degree_claim,
    degrees_and_values,
    domination_number,
    epsilon_claims,
    epsilon_rows,
    epsilon_words,
    paper_problem,
)
from lsdt.side_information import SideInformation, from_means, subset
from lsdt.theory import fractional_domination, graves_lai_constant, lower_bound_constant, solve_p1

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_ROUNDING = 1e-9  # a z that exceeds 1 by less is due to the solver's rounding
_SAME = 1e-6  # relative tolerance between two ways to compute a number, one of them a solver
_WHOLE = "epsilon 0.2"
_SHRINKING = "epsilon 0.5 log K / sqrt K"
_SURVIVORS = "arms left of 100"


def _setting(request: Request) -> Setting:
    return {
        "sizes": [10, 100, 1000] if request.quick else [10, 30, 100, 300, 1000, 3000, 10_000],
        "epsilon": 0.2,
        "rho": 0.5,
        "graph_arms": 14,
        "graph_shares": [0.1, 0.3] if request.quick else [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5],
        "left_over": {"arms": 100, "low": 0.1, "high": 0.9, "epsilon": 0.1, "p": 0.5},
        "left_over_epsilons": [0.1, 0.2, 0.4] if request.quick else [0.1, 0.15, 0.2, 0.3, 0.4],
        "p1_arms": [5, 20] if request.quick else [5, 20, 80],
        "replications": request.replications,
        "fixed_draw": request.fixed_draw,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    candidates = _candidate_sizes(setting, work)
    work.done(0.4)
    covers = _covers(setting, work)
    work.done(0.6)
    epsilons = epsilon_rows(
        setting["left_over"],
        setting["left_over_epsilons"],
        setting["replications"],
        work.seed,
        setting["fixed_draw"],
    )
    work.done(0.7)
    return {
        "candidates": candidates,
        "p2": covers,
        "epsilons": pd.DataFrame(epsilons),
        "p1": _constants(setting, work),
    }


def _candidate_sizes(setting: Setting, work: Work) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for n_arms in setting["sizes"]:
        shrinking = setting["rho"] * math.log(n_arms) / math.sqrt(n_arms)
        for rule, epsilon in ((_WHOLE, setting["epsilon"]), (_SHRINKING, shrinking)):
            for run in range(setting["replications"]):
                means = uniform_means(n_arms, work.seed, run, setting["fixed_draw"])
                rows.append({"rule": rule, "arms": n_arms, "run": run, **_size_of(means, epsilon)})
    return pd.DataFrame(rows)


def _size_of(means: Any, epsilon: float) -> dict[str, Any]:
    """Return the number of candidates, whether the graph is connected, and whether classes are narrow.

    ``within_gap``: the graph is complete, or no class is wider than the largest gap between neighbouring
    means.
    """
    found = candidate_set(from_means(means, epsilon), "anchors")
    widest = float(np.diff(np.sort(means)).max())
    assert found.classes is not None
    spread = max(float(np.ptp(means[members])) for members in found.classes)
    complete = float(np.ptp(means)) < epsilon
    return {
        "candidates": len(found),
        "connected": widest < epsilon,
        "within_gap": complete or spread <= widest * (1.0 + 1e-9),
    }


def _covers(setting: Setting, work: Work) -> pd.DataFrame:
    """Solve P2 on random graphs, and on the arms that the triangle rule leaves of the paper's problems."""
    import pandas as pd

    rows = []
    n_arms, case = setting["graph_arms"], setting["left_over"]
    problem = paper_problem(case, case["epsilon"], setting["fixed_draw"])
    for run in range(setting["replications"]):
        for place, share in enumerate(setting["graph_shares"]):
            rng = np.random.default_rng((work.seed, run, place))
            pairs = np.argwhere(np.triu(rng.random((n_arms, n_arms)) < share, 1))
            rows.append(
                {
                    "kind": f"{n_arms} arms",
                    "share": share,
                    "run": run,
                    **_cover(SideInformation(n_arms, pairs)),
                }
            )
        side = problem.draw(work.seed, run).side
        left = subset(side, candidate_set(side, "triangles").arms)
        values = _cover(left)
        rows.append({"kind": _SURVIVORS, "share": math.nan, "run": run, **values})
    return pd.DataFrame(rows)


def _cover(side: SideInformation) -> dict[str, float]:
    solution = fractional_domination(side, method="simplex")
    return {
        "graph_arms": side.n_arms,
        "c2": solution.size,
        "gap": solution.gap,
        "largest_z": float(solution.z.max()),
        "domination": domination_number(side),
        **degrees_and_values(side, solution.z),
    }


def _left(covers: pd.DataFrame) -> pd.DataFrame:
    """Return the rows on the arms that the triangle rule leaves of the paper's problems."""
    return covers[covers["kind"] == _SURVIVORS]


def _constants(setting: Setting, work: Work) -> pd.DataFrame:
    """Compute C1 by formula and by solver, and the exact constant, for connected graphs on random means."""
    import pandas as pd

    rows = []
    for place, n_arms in enumerate(setting["p1_arms"]):
        for run in range(setting["replications"]):
            rng = np.random.default_rng((work.seed, run, 100 + place))
            means = rng.random(n_arms)
            epsilon = float(np.diff(np.sort(means)).max() * rng.uniform(1.01, 3.0))
            side = from_means(means, epsilon)
            formula, solved = lower_bound_constant(side, means), solve_p1(side, means).value
            exact = graves_lai_constant(side, means, tolerance=_SAME / 10.0)
            row = {"arms": n_arms, "run": run, "formula": formula, "solved": solved}
            rows.append({**row, "exact": exact.value, "exact_gap": exact.gap})
        work.done(0.7 + 0.3 * (place + 1) / len(setting["p1_arms"]))
    return pd.DataFrame(rows)


def _table(tables: Tables) -> pd.DataFrame:
    rows = summary_table(tables["candidates"], ["rule", "arms"], "candidates")
    rows["limit"] = _limit(rows["arms"])
    return rows


def _limit(arms: Any) -> Any:
    """Return sqrt(K) log K."""
    return np.sqrt(arms) * np.log(arms)


def _draw(tables: Tables) -> Figure:
    sizes, covers = tables["candidates"], tables["p2"]
    lines = [
        line_of(sizes[sizes["rule"] == rule], f"|B*|, {rule}", "arms", "candidates", points=True)
        for rule in (_WHOLE, _SHRINKING)
    ]
    arms = np.unique(sizes["arms"])
    lines.append(Line("sqrt(K) log K", arms, _limit(arms), reference=True))
    random = covers[covers["kind"] != _SURVIVORS]
    shares = [
        line_of(random, "C2", "share", "c2", points=True, colour=2),
        line_of(random, "domination number", "share", "domination", points=True, colour=3),
    ]
    panels = [
        Panel(lines, "number of arms K", "candidates", "Size of B*", x_log=True, y_log=True),
        Panel(shares, "share of pairs that are similar", "arms", "Random graphs of 14 arms"),
    ]
    return draw_panels(panels, "Claims in passing", note_on_runs(sizes["run"]))


def _claims(tables: Tables) -> list[Claim]:
    sizes = tables["candidates"]
    return [
        *_p2_claims(tables["p2"]),
        degree_claim(_left(tables["p2"])),
        *epsilon_claims(tables["epsilons"]),
        _p1_claim(tables["p1"]),
        Claim(
            "bstar-below-sqrt",
            "With means uniform on (0, 1) the mean size of B* is below the order of sqrt(K) log K (read: "
            "below sqrt(K) log K itself).",
            "Sections 3.3 and 6.1.1",
            tuple(
                below(f"mean |B*|, {rule}, K = {arms:,}", mean_of(rows["candidates"]), float(_limit(arms)))
                for (rule, arms), rows in sizes.groupby(["rule", "arms"], sort=False)
            ),
        ),
        _connectivity_claim(sizes),
    ]


def _p2_claims(covers: pd.DataFrame) -> list[Claim]:
    what = "graphs on which C2 is at most the domination number"
    left = _left(covers)
    holds = covers["c2"] <= covers["domination"] * (1.0 + _SAME)
    return [
        Claim(
            "c2-at-most-domination",
            "C2 is at most the size of a smallest dominating set of the similarity graph.",
            "Section 4.2",
            (
                always(f"random {what}", holds[covers["kind"] != _SURVIVORS]),
                always(f"of the paper's problems, {what}", holds[left.index]),
            ),
        ),
        Claim(
            "z-at-most-one",
            "No exploration value is above 1.",
            "Section 4.2",
            (at_most("largest z", exactly(covers["largest_z"].max()), 1.0 + _ROUNDING),),
        ),
    ]


def _p1_claim(rows: pd.DataFrame) -> Claim:
    """Return the claim that P1 is hard; instances that are solved quickly count against it."""
    by_formula = (rows["formula"] / rows["solved"] - 1.0).abs() <= _SAME
    to_the_end = rows["exact_gap"] / rows["exact"] <= _SAME
    return Claim(
        "p1-is-hard",
        "With complete side information the linear programme of OSSB has no polynomial-time solution unless "
        "P = NP (read: a formula of K terms, or a few linear programmes of the order of K rows, does not "
        "give its optimum).",
        "Section 1.2",
        (
            at_most(
                "share of instances on which the formula gives P1's optimum", exactly(by_formula.mean()), 0.0
            ),
            at_most(
                "share of instances on which a few linear programmes solve the exact one",
                exactly(to_the_end.mean()),
                0.0,
            ),
        ),
    )


def _connectivity_claim(sizes: pd.DataFrame) -> Claim:
    largest = sizes["arms"].max()
    shrinking = rows_at(sizes, rule=_SHRINKING, arms=largest)
    connected = sizes[sizes["connected"]]
    return Claim(
        "bstar-argument",
        "With epsilon of the order of log K / sqrt(K) the graph is connected with high probability (read: "
        "0.95 or more), and an end class is no wider than the largest gap between neighbouring means.",
        "Section 6.1.1",
        (
            at_least(f"share of connected graphs, K = {largest:,}", share_of(shrinking["connected"]), 0.95),
            always("connected graphs whose end classes are no wider", connected["within_gap"]),
        ),
    )


def _discussion(tables: Tables) -> str:
    table, covers, constants = _table(tables), tables["p2"], tables["p1"]
    last = table[table["arms"] == table["arms"].max()].set_index("rule")
    left, ratio = _left(covers), covers["domination"] / covers["c2"]
    more = constants["exact"] / constants["formula"] - 1.0
    pairs = left["pairs"].sum()
    compared = (
        f" {number(left['alone'].mean())} of them are similar to no other, which makes their exploration "
        "value 1. Of two arms with different degrees the one of higher degree has the higher value in "
        f"{number(100 * left['higher'].sum() / pairs)}% of the pairs, the lower in "
        f"{number(100 * left['lower'].sum() / pairs)}%, the same in the others."
    )
    return (
        f"With {last['arms'].iloc[0]:,} arms B* has {number(last['candidates'][_WHOLE])} of them on "
        f"average with epsilon 0.2 and {number(last['candidates'][_SHRINKING])} with a shrinking epsilon; "
        f"sqrt(K) log K is {number(last['limit'].iloc[0])}.\n\n"
        f"P2's optimum is on average {number(100 - 100 / ratio.mean())}% below the domination number, and "
        f"computed to within {number(covers['gap'].max())} of its value. Of the paper's 100 arms "
        f"{number(left['graph_arms'].mean())} are left, with a C2 of {number(left['c2'].mean())} and a "
        f"smallest dominating set of {number(left['domination'].mean())}.{compared if pairs else ''}\n\n"
        f"{epsilon_words(tables['epsilons'])}\n\n"
        "With complete information P1 separates into one term per arm. OSSB's own programme is over all "
        "alternatives (Graves and Lai); on a connected graph a few linear programmes solve it. Its value is "
        f"{number(100 * more.median())}% above C1 in the median and {number(100 * more.max())}% at most. "
        "With partial information the alternatives are all means that fit what is known, and whether an arm "
        "is best in one of them is the question that Theorem 4 shows to be NP-complete; the claim above is "
        "not about that."
    )


EXPERIMENT = Experiment(
    id="check-programmes",
    title="Claims in passing: P1, P2 and the size of B*",
    paper="Sections 1.2, 3.3, 4.2, 4.3 and 6.1.1",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=3.5,
)
