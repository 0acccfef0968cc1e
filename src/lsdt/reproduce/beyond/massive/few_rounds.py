"""Regret with far more arms than rounds, with and without side information."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lsdt import problems
from lsdt.plotting import Panel, draw_panels
from lsdt.policies import Policy
from lsdt.reproduce.beyond.massive.random_subset import RandomSubset
from lsdt.reproduce.framework.claims import Claim, at_most, mean_of, number, ratio_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import (
    line_of,
    note_on_runs,
    regret_frame,
    simulate_part,
    summary_table,
    values_at,
)
from lsdt.reproduce.framework.wording import with_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

CLOSURE, ON_LEFT = "LSDT-closure", "TS on what propagation leaves"
UCB1, TS, SUBSET = "UCB1 (alpha 2)", "TS", "UCB1 on sqrt(T) random arms"
_BLIND = (UCB1, TS, SUBSET)
_MILLION = 10**6  # arms; from here on there is one run at a time, as each takes some gigabytes
_COLOURS = {CLOSURE: 0, UCB1: 1, TS: 2, ON_LEFT: 5, SUBSET: 6}


class Size(NamedTuple):
    """The size of a part, its largest number of runs, and its claim; every run is a new problem."""

    arms: int
    horizon: int
    relations: int
    runs: int
    seconds: float
    claim: str


SIZES = {
    "beyond-massive-regret": Size(10**5, 10**4, 100, 10, 150.0, "massive-side-information-pays"),
    "beyond-massive-million": Size(10**6, 10**5, 200, 3, 900.0, "million-side-information-pays"),
}


def _setting(size: Size, request: Request) -> Setting:
    return {
        "arms": 10_000 if request.quick else size.arms,
        "horizon": 2_000 if request.quick else size.horizon,
        "means": [0.1, 1.0],
        "epsilon": 0.1,
        "rewards": "bernoulli",
        "relations_per_arm": 100 if request.quick else size.relations,
        "locality": 1.0,
        "reach": 3.0,
        "replications": min(request.replications, size.runs),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    low, high = setting["means"]
    problem = problems.sparse(
        setting["arms"],
        setting["relations_per_arm"],
        setting["locality"],
        setting["epsilon"],
        setting["rewards"],
        low,
        high,
        setting["reach"],
    )
    policies = [
        Policy("lsdt_closure", label=CLOSURE),
        Policy("ts", on="propagation", label=ON_LEFT),
        Policy("ucb1", label=UCB1),
        Policy("ts", label=TS),
        RandomSubset,
    ]
    result = simulate_part(
        problem,
        policies,
        work if setting["arms"] < _MILLION else replace(work, n_jobs=1),
        horizon=setting["horizon"],
        replications=setting["replications"],
        checkpoints=50,
        progress=work.done,
    )
    frame = regret_frame(result).assign(arms=setting["arms"], relations=setting["relations_per_arm"])
    return {"regret": frame[["policy", "run", "t", "arms", "relations", "regret"]]}


def _last(tables: Tables, policy: str) -> NDArray[np.float64]:
    table = tables["regret"]
    return values_at(table, "regret", policy=policy, t=int(table["t"].max()))


def _table(tables: Tables) -> pd.DataFrame:
    table = tables["regret"]
    last = int(table["t"].max())
    shown = table[table["t"].isin([t for t in table["t"].unique() if 10 * t % last == 0])]
    return summary_table(shown[shown["t"].isin([last // 10, last // 2, last])], ["policy", "t"], "regret")


def _draw(tables: Tables) -> Figure:
    table = tables["regret"]
    lines = [
        line_of(table[table["policy"] == name], name, "t", "regret", colour=colour)
        for name, colour in _COLOURS.items()
    ]
    last = float(table["t"].max())
    panel = Panel(lines, "round t", "mean cumulative regret (reward units)", x_range=(0.0, last))
    arms, relations = int(table["arms"].iloc[0]), int(table["relations"].iloc[0])
    title = (
        f"{arms:,} arms, {last:,.0f} rounds: each arm compared with {relations} others of its neighbourhood"
    )
    return draw_panels([panel], title, note_on_runs(table["run"]))


def _claims(claim: str, tables: Tables) -> list[Claim]:
    ours = _last(tables, CLOSURE)
    return [
        Claim(
            claim,
            "With far more arms than rounds, LSDT-closure has at most a tenth of the regret of UCB1, TS and "
            "UCB1 on a random subset.",
            "beyond the paper; Section 1 says that side information is what makes such sizes possible",
            tuple(
                at_most(f"regret of {CLOSURE} over {other}", ratio_of(ours, _last(tables, other)), 0.1)
                for other in _BLIND
            ),
        )
    ]


def _discussion(tables: Tables) -> str:
    table = tables["regret"]
    said = ", ".join(f"{name} {with_interval(mean_of(_last(tables, name)))}" for name in _COLOURS)
    best_blind = min(_BLIND, key=lambda name: _last(tables, name).mean())
    ratio = ratio_of(_last(tables, CLOSURE), _last(tables, best_blind))
    return (
        f"Regret after {int(table['t'].max()):,} rounds on {int(table['arms'].iloc[0]):,} arms: {said}. The "
        f"best policy without side information is {best_blind}; LSDT-closure has {number(ratio.value)} times "
        "its regret. UCB1 tries every arm once before it repeats one, so it never uses what it learned here."
    )


EXPERIMENTS = {
    part: Experiment(
        id=part,
        title=f"Regret with far more arms than rounds: {size.arms:,} arms",
        paper="beyond the paper (Section 1)",
        setting=partial(_setting, size),
        compute=_compute,
        table=_table,
        draw=_draw,
        claims=partial(_claims, size.claim),
        discussion=_discussion,
        seconds=size.seconds,
    )
    for part, size in SIZES.items()
}
