"""Share of arms in B0, the set that the triangle rule leaves, against the number of arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.candidates import candidate_set
from lsdt.plotting.panels import Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, mean_of, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import (
    PROPAGATION_RUNS,
    count_after_propagation,
    decrease_checks,
    line_of,
    note_on_runs,
    summary_table,
    table_over_grid,
    uniform_means,
    values_at,
)
from lsdt.reproduce.framework.wording import with_interval
from lsdt.side_information import from_means

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_CHECKED = (10, 50, 100, 150)


def _setting(request: Request) -> Setting:
    return {
        "arms": list(_CHECKED if request.quick else range(10, 151, 10)),
        "means": "uniform on (0, 1)",
        "epsilon": 0.2,
        "revealed": 0.5,
        "replications": request.replications,
        "propagation_runs": min(request.replications, PROPAGATION_RUNS),
        "fixed_draw": request.fixed_draw,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    def count(n_arms: float, run: int) -> dict[str, float]:
        means = uniform_means(int(n_arms), work.seed, run, setting["fixed_draw"])
        side = from_means(means, setting["epsilon"])
        share = setting["revealed"]
        revealed = side.reveal(share, share, seed=work.seed * 1_000_003 + run)
        left = len(candidate_set(revealed, "triangles"))
        further = count_after_propagation(revealed, run, setting["propagation_runs"])
        return {"left": left, "share": left / n_arms, "propagation": further / n_arms}

    return {"runs": table_over_grid(setting["arms"], setting["replications"], count, "arms", work)}


def _table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["arms"], "share")
    rows["arms in B0"] = summary_table(runs, ["arms"], "left")["left"]
    further = summary_table(_propagation_runs(tables), ["arms"], "propagation")
    rows["share after propagation"] = further["propagation"]
    return rows


def _propagation_runs(tables: Tables) -> pd.DataFrame:
    """Return the runs in which propagation was computed."""
    return tables["runs"].dropna(subset="propagation")


def _draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    panel = Panel(
        [
            line_of(runs, "|B0| / K", "arms", "share", points=True),
            line_of(_propagation_runs(tables), "after propagation", "arms", "propagation", points=True),
        ],
        "number of arms K",
        "share of arms left",
        x_range=(0, float(runs["arms"].max())),
        y_range=(0, 1),
    )
    title = "Arms left, half of the relations known, epsilon 0.2"
    note = f"{note_on_runs(runs['run'])}; propagation on {_propagation_runs(tables)['run'].nunique()} of them"
    return draw_panels([panel], title, note)


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "b0-share-falls",
            "The share of arms that the triangle rule leaves falls as there are more arms.",
            "Fig. 5b, Section 6.1.2",
            decrease_checks(tables["runs"], "arms", "share", _CHECKED, "|B0| / K", paired=True),
        )
    ]


def _discussion(tables: Tables) -> str:
    runs = tables["runs"]
    said = ", ".join(
        f"{with_interval(mean_of(values_at(runs, 'left', arms=n_arms)))} of {n_arms}" for n_arms in _CHECKED
    )
    last = _CHECKED[-1]
    further = values_at(_propagation_runs(tables), "propagation", arms=last).mean() * last
    return (
        f"Arms left, on average: {said}. Propagation, which the paper does not have, leaves "
        f"{number(further)} of {last}. An arm goes when two arms similar to it are known to be dissimilar. "
        "In a run more arms are the same ones and further ones, so that runs are compared in pairs."
    )


EXPERIMENT = Experiment(
    id="fig-b0-k",
    title="Share of arms in B0 against the number of arms",
    paper="Fig. 5b, Section 6.1.2",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=1.0,
)
