"""Code that the regret figures share: settings, simulation, tables, lines and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt import problems
from lsdt.plotting import Panel, draw_panels
from lsdt.policies import parse_policy
from lsdt.reproduce.framework.claims import below, mean_of, number
from lsdt.reproduce.framework.sampling import (
    line_of,
    note_on_runs,
    regret_frame,
    simulate_part,
    summary_table,
    values_at,
)
from lsdt.reproduce.framework.wording import colour_of, names_of, regret_comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.policies import Policy
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.simulation import SimulationResult

HORIZON = 1000  # rounds (Section 6.2)
_SHOWN_ROUNDS = (10, 50, 100, 200, 300, 500, 700, 1000)  # few enough for a table, dense where regret bends


def complete_setting(request: Request, policies: Sequence[str]) -> Setting:
    """Return the paper's setting with complete side information (Section 6.2.1)."""
    return {
        "arms": 100,
        "means": [0.1, 1.0],
        "epsilon": 0.1,
        "rewards": "gaussian",
        "revealed": 1.0,
        "connected": True,
        "horizon": HORIZON,
        "policies": list(policies),
        "replications": request.replications,
        "fixed_draw": request.fixed_draw,
    }


def partial_setting(request: Request, policies: Sequence[str], arms: int = 100) -> Setting:
    """Return the paper's setting with partial side information (Section 6.2.2), with a run per horizon."""
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
        "replications": request.replications,
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
    """Simulate a setting; return a table of the regret of its policies by run and checkpoint."""
    return {"regret": regret_table(setting, simulate_setting(setting, work))}


def simulate_setting(setting: Setting, work: Work) -> SimulationResult:
    """Simulate the policies of a setting and return the result."""
    rounds: dict[str, Any] = (
        {"horizons": setting["horizons"]} if "horizons" in setting else {"horizon": setting["horizon"]}
    )
    return simulate_part(
        problem_of(setting),
        policies_of(setting),
        work,
        replications=setting["replications"],
        progress=work.done,
        **rounds,
    )


def policies_of(setting: Setting) -> list[Policy]:
    """Return the policies of a setting."""
    return [parse_policy(word) for word in setting["policies"]]


def early_plays(setting: Setting, work: Work, first: int, last: int) -> pd.DataFrame:
    """Return, per policy and run, the share of plays of the best arm and the number of arms played.

    The share is that of rounds first + 1 to last; arms count if they were played in any round up to last.
    """
    import numpy as np
    import pandas as pd

    problem, policies = problem_of(setting), policies_of(setting)
    best = [int(np.argmax(problem.draw(work.seed, run).means)) for run in range(setting["replications"])]
    # No policy here uses the horizon, so a shorter run is the beginning of a longer one.
    study = {"replications": setting["replications"], "plays": True, "progress": False}
    before, after = (
        simulate_part(problem, policies, work, horizon=rounds, **study) for rounds in (first, last)
    )
    rows = []
    for label, name in names_of(setting, policies, after).items():
        late = after.plays(label) - before.plays(label)
        share = late[np.arange(len(best)), best] / (last - first)
        arms = (after.plays(label) > 0).sum(axis=1)
        rows += [
            {"policy": name, "run": run, "on_best": share[run], "arms": int(arms[run])}
            for run in range(len(best))
        ]
    return pd.DataFrame(rows)


def regret_table(setting: Setting, result: SimulationResult) -> pd.DataFrame:
    """Return a table of the regret of every policy, run and checkpoint, with display names of policies."""
    frame = regret_frame(result)
    return frame.assign(policy=frame["policy"].map(names_of(setting, policies_of(setting), result)))


def regret_at(tables: Tables, policy: str, t: int = HORIZON) -> NDArray[np.float64]:
    """Return the regret of a policy after t rounds, run by run."""
    return values_at(tables["regret"], "regret", policy=policy, t=t)


def mean_regrets(tables: Tables, policies: Sequence[str]) -> str:
    """Return the mean final regret of some policies as text."""
    return ", ".join(f"{policy} {number(regret_at(tables, policy).mean())}" for policy in policies)


def horizons_near(tables: Tables, wanted: Sequence[int]) -> list[int]:
    """Return, for each wanted horizon, the first horizon at or above it that was run."""
    run = sorted(map(int, tables["regret"]["t"].unique()))
    return [min(t for t in run if t >= each) for each in wanted]


def regret_summary(tables: Tables) -> pd.DataFrame:
    """Return the mean regret with its interval, at some of the checkpoints."""
    table = tables["regret"]
    shown = table[table["t"].isin(_SHOWN_ROUNDS)]
    return summary_table(shown, ["policy", "t"], "regret")


def draw(tables: Tables, title: str, per_horizon: bool = False, zoom: Sequence[str] = ()) -> Figure:
    """Draw mean regret by round or by horizon; policies in `zoom` are repeated in a second panel."""
    table = tables["regret"]
    lines = {
        name: line_of(
            table[table["policy"] == name],
            name,
            "t",
            "regret",
            points=per_horizon,
            colour=colour_of(name),
        )
        for name in table["policy"].unique()
    }
    xlabel = "horizon T (rounds)" if per_horizon else "round t"
    ylabel = "mean cumulative regret (reward units)"
    x_range = (0.0, float(table["t"].max()))
    panels = [Panel(list(lines.values()), xlabel, ylabel, x_range=x_range)]
    if zoom:
        few = [lines[policy] for policy in zoom]
        panels.append(Panel(few, xlabel, "", "the same, enlarged", x_range=x_range))
    return draw_panels(panels, title, note_on_runs(table["run"]))


def lower(tables: Tables, first: str, second: str, t: int = HORIZON) -> Check:
    """Check that one policy has less regret than another after t rounds, paired by run."""
    difference = regret_at(tables, first, t) - regret_at(tables, second, t)
    return below(f"regret of {first} minus {second} at T = {t:,}", mean_of(difference), 0.0)


def compare_at(tables: Tables, first: str, second: str, t: int = HORIZON) -> str:
    """Return a sentence that compares the regret of two policies after t rounds."""
    return regret_comparison(first, second, regret_at(tables, first, t), regret_at(tables, second, t))
