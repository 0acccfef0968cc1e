"""Size of the candidate set B* against epsilon, complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.report.curves import Panel, draw_panels
from lsdt.reproduce.claims import Claim, at_most, below, between, mean_of, number
from lsdt.reproduce.experiments import Experiment
from lsdt.reproduce.sampling import (
    counted_table,
    line_of,
    note_on_runs,
    summary_table,
    uniform_means,
    values_at,
)
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.report.style import Figure
    from lsdt.reproduce.experiments import Request, Setting, Tables, Work

_SMALL = 10  # arms: "much smaller than K" for K = 100


def _setting(request: Request) -> Setting:
    step = 0.05 if request.quick else 0.01
    epsilons = np.round(np.arange(step, 1.0 + step / 2, step), 3)
    return {
        "arms": 100,
        "means": "uniform on (0, 1)",
        "epsilons": epsilons.tolist(),
        "runs": request.runs,
        "fixed_draw": request.fixed_draw,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    def count(epsilon: float, run: int) -> dict[str, float]:
        means = uniform_means(setting["arms"], work.seed, run, setting["fixed_draw"])
        side = SideInformation.from_means(means, epsilon)
        gaps = np.diff(np.sort(means))
        return {
            "candidates": len(candidate_set(side, "anchors")),
            "components": 1 + int((gaps >= epsilon).sum()),
            "complete_graph": float(np.ptp(means) < epsilon),
        }

    return {"runs": counted_table(setting["epsilons"], setting["runs"], count, "epsilon", work)}


def _table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["epsilon"], "candidates")
    rows["components"] = runs.groupby("epsilon", sort=False)["components"].mean().to_numpy()
    shown = np.isclose(rows["epsilon"] * 20, np.round(rows["epsilon"] * 20))
    return rows[shown | (rows["epsilon"] <= 0.05)]


def _draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    panel = Panel(
        [line_of(runs, "arms in B*", "epsilon", "candidates")],
        "epsilon (threshold between similar and dissimilar)",
        "arms in the candidate set",
        x_range=(0, 1),
        y_range=(0, 100),
        span=(0.1, 0.9, "epsilon in [0.1, 0.9]"),
    )
    return draw_panels(
        [panel], "Candidates left of 100 arms, complete side information", note_on_runs(runs["run"])
    )


def _claims(tables: Tables) -> list[Claim]:
    runs = tables["runs"]
    inside = runs[(runs["epsilon"] >= 0.1 - 1e-9) & (runs["epsilon"] <= 0.9 + 1e-9)]
    average = inside.groupby("run")["candidates"].mean().to_numpy()
    sizes = summary_table(inside, ["epsilon"], "candidates")
    largest = sizes.loc[sizes["candidates"].idxmax()]
    at_largest = values_at(runs, "candidates", epsilon=largest["epsilon"])
    few, many = (values_at(runs, "candidates", epsilon=value) for value in (0.05, 0.1))
    last, before = (values_at(runs, "candidates", epsilon=value) for value in (1.0, 0.9))
    where = "Fig. 4a, Section 6.1.1"
    return [
        Claim(
            "bstar-about-5",
            "With 100 arms about 5 candidates are left for every epsilon from 0.1 to 0.9.",
            where,
            (
                between("mean |B*| over epsilon in [0.1, 0.9]", mean_of(average), 4.5, 5.5),
                at_most(f"largest mean |B*|, at epsilon {largest['epsilon']:g}", mean_of(at_largest), _SMALL),
            ),
        ),
        Claim(
            "bstar-falls-then-rises",
            "|B*| falls while the graph is still disconnected (epsilon below 0.1), and rises towards K as "
            "epsilon approaches 1 and the graph becomes complete.",
            where,
            (
                below("|B*| at epsilon 0.1 minus at 0.05", mean_of(many - few), 0.0),
                below("|B*| at epsilon 0.9 minus at 1", mean_of(before - last), 0.0),
            ),
        ),
    ]


def _reading(tables: Tables) -> str:
    rows = summary_table(tables["runs"], ["epsilon"], "candidates").set_index("epsilon")["candidates"]
    return (
        "Once the graph is connected only the two end classes are left: at epsilon 0.5 that is "
        f"{number(rows.loc[0.5])} of 100 arms on average. Left of 0.1 every component has two end classes of "
        f"its own ({number(rows.loc[0.05])} arms at 0.05); towards 1 the graph becomes complete, and a "
        "complete graph excludes nobody."
    )


EXPERIMENT = Experiment(
    id="fig-bstar-eps",
    title="Size of the candidate set against epsilon",
    paper="Fig. 4a, Section 6.1.1",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=3.0,
)
