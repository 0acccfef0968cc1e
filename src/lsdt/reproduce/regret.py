"""What the regret figures share: random problems played by policies, as tables, lines and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt.environments import problems
from lsdt.policies.words import parsed_policy
from lsdt.report.curves import Panel, draw_panels
from lsdt.report.figures import legend_text
from lsdt.reproduce.claims import Claim, below, mean_of
from lsdt.reproduce.sampling import line_of, note_on_runs, simulated, summary_table, values_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.report.style import Figure
    from lsdt.reproduce.claims import Check
    from lsdt.reproduce.experiments import Request, Setting, Tables, Work
    from lsdt.simulation import SimulationResult

HORIZON = 1000
_SHOWN_ROUNDS = (10, 50, 100, 200, 300, 500, 700, 1000)


def complete_setting(request: Request, policies: Sequence[str]) -> Setting:
    """Return the paper's setting with complete side information (Section 6.2.1)."""
    return {
        "arms": 100,
        "means": [0.1, 1.0],
        "epsilon": 0.1,
        "rewards": "gaussian",
        "revealed": 1.0,
        "connected": True,
        "rounds": HORIZON,
        "policies": list(policies),
        "runs": request.runs,
        "fixed_draw": request.fixed_draw,
    }


def partial_setting(request: Request, policies: Sequence[str], arms: int = 100) -> Setting:
    """Return the paper's setting with partial side information (Section 6.2.2): a run for every horizon."""
    return {
        "arms": arms,
        "means": [0.1, 0.9],
        "epsilon": 0.1,
        "rewards": "bernoulli",
        "revealed": 0.5,
        "connected": False,
        "horizons": list(range(200, HORIZON + 1, 200))
        if request.quick
        else list(range(100, HORIZON + 1, 100)),
        "policies": list(policies),
        "runs": request.runs,
        "fixed_draw": request.fixed_draw,
    }


def problem_of(setting: Setting) -> problems.UniformProblem:
    """Return the random problem of a setting."""
    share = setting["revealed"]
    low, high = setting["means"]
    return problems.uniform(
        setting["arms"],
        low,
        high,
        setting["epsilon"],
        setting["rewards"],
        share,
        share,
        setting["fixed_draw"],
        setting["connected"],
    )


def play(setting: Setting, work: Work) -> Tables:
    """Play all policies of a setting: regret at checkpoints, and the mean gap of every draw."""
    import pandas as pd

    problem = problem_of(setting)
    result = played(setting, work)
    gaps = []
    for run in result.numbers:
        means = problem.draw(work.seed, int(run)).means
        gaps.append(float(means.max() - means.mean()))
    return {"regret": regret_table(result), "draws": pd.DataFrame({"run": result.numbers, "mean_gap": gaps})}


def played(setting: Setting, work: Work) -> SimulationResult:
    """Simulate a setting."""
    policies = [parsed_policy(word) for word in setting["policies"]]
    rounds: dict[str, Any] = (
        {"horizons": setting["horizons"]} if "horizons" in setting else {"horizon": setting["rounds"]}
    )
    return simulated(
        problem_of(setting), policies, work, replications=setting["runs"], progress=work.done, **rounds
    )


def regret_table(result: SimulationResult) -> pd.DataFrame:
    """Return the regret of every policy, run and checkpoint; policies are named with their alpha."""
    frame = result.frame().rename(columns={"replication": "run"})
    names = {label: legend_text(result, label) for label in result.policies}
    frame["policy"] = frame["policy"].map(names)
    return frame[["policy", "run", "t", "regret"]]


def regret_at(tables: Tables, policy: str, t: int = HORIZON) -> NDArray[np.float64]:
    """Return the regret of a policy after t rounds, run by run; the policy by its name or its beginning."""
    table = tables["regret"]
    return values_at(table, "regret", policy=label_of(table, policy), t=t)


def label_of(table: pd.DataFrame, policy: str) -> str:
    """Return the full name of the policy that is called so, or begins so."""
    labels = list(table["policy"].unique())
    return next((each for each in labels if each == policy), "") or next(
        each for each in labels if each.startswith(policy)
    )


def shown_table(tables: Tables) -> pd.DataFrame:
    """Return the mean regret with its interval, at some of the checkpoints."""
    table = tables["regret"]
    shown = table[table["t"].isin(_SHOWN_ROUNDS)]
    return summary_table(shown, ["policy", "t"], "regret")


def draw(tables: Tables, title: str, per_horizon: bool = False, zoom: Sequence[str] = ()) -> Figure:
    """Draw mean regret against rounds or horizons; in a second panel, once more, only some policies."""
    table = tables["regret"]
    lines = {
        label: line_of(table[table["policy"] == label], label, "t", "regret", points=per_horizon)
        for label in table["policy"].unique()
    }
    xlabel = "horizon T (rounds)" if per_horizon else "round t"
    ylabel = "mean cumulative regret (reward units)"
    x_range = (0.0, float(table["t"].max()))
    panels = [Panel(list(lines.values()), xlabel, ylabel, x_range=x_range)]
    if zoom:
        few = [lines[label_of(table, policy)] for policy in zoom]
        panels.append(Panel(few, xlabel, "", "the same, enlarged", x_range=x_range))
    return draw_panels(panels, title, note_on_runs(table["run"]))


def lower(tables: Tables, first: str, second: str, t: int = HORIZON) -> Check:
    """Check that one policy has less regret than another after t rounds, run by run."""
    difference = regret_at(tables, first, t) - regret_at(tables, second, t)
    table = tables["regret"]
    at = f" at T = {t:,}" if t != HORIZON else ""
    what = f"regret of {label_of(table, first)} minus {label_of(table, second)}{at}"
    return below(what, mean_of(difference), 0.0)


def lowest_claim(
    tables: Tables, name: str, text: str, paper: str, first: str, others: Sequence[str]
) -> Claim:
    """Return the claim that a policy has less regret than each of the others."""
    return Claim(name, text, paper, tuple(lower(tables, first, other) for other in others))
