"""Share of arms in the candidate set B* against the number of arms, complete side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.candidates import candidate_set
from lsdt.plotting.panels import Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, mean_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import (
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

_CHECKED = (10, 50, 100, 200)


def _setting(request: Request) -> Setting:
    sizes = _CHECKED if request.quick else (*range(10, 100, 10), *range(100, 201, 20))
    return {
        "arms": list(sizes),
        "means": "uniform on (0, 1)",
        "epsilon": 0.2,
        "replications": 1
        if request.fixed_draw
        else request.replications,  # one draw of the means is one number
        "fixed_draw": request.fixed_draw,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    def count(n_arms: float, run: int) -> dict[str, float]:
        means = uniform_means(int(n_arms), work.seed, run, setting["fixed_draw"])
        left = len(candidate_set(from_means(means, setting["epsilon"]), "anchors"))
        return {"candidates": left, "share": left / n_arms}

    return {"runs": table_over_grid(setting["arms"], setting["replications"], count, "arms", work)}


def _table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["arms"], "share")
    rows["candidates"] = summary_table(runs, ["arms"], "candidates")["candidates"]
    return rows


def _draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    panel = Panel(
        [line_of(runs, "|B*| / K", "arms", "share", points=True)],
        "number of arms K",
        "share of arms in the candidate set",
        x_range=(0, float(runs["arms"].max())),
    )
    title = "Candidates left, complete side information, epsilon 0.2"
    return draw_panels([panel], title, note_on_runs(runs["run"]))


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "bstar-share-falls",
            "The share of arms that can be the best falls as there are more arms.",
            "Fig. 4b, Section 6.1.1",
            decrease_checks(tables["runs"], "arms", "share", _CHECKED, "|B*| / K", paired=True),
        )
    ]


def _discussion(tables: Tables) -> str:
    runs = tables["runs"]
    counts = [mean_of(values_at(runs, "candidates", arms=n_arms)) for n_arms in _CHECKED]
    said = ", ".join(
        f"{with_interval(count)} of {n_arms}" for count, n_arms in zip(counts, _CHECKED, strict=True)
    )
    few, many = (values_at(runs, "share", arms=n_arms).mean() for n_arms in (_CHECKED[0], _CHECKED[-1]))
    return (
        f"Candidates, on average: {said} arms. Their share goes from {few:.1%} to {many:.1%} while the "
        f"number of arms grows by a factor of {_CHECKED[-1] // _CHECKED[0]}. In a run more arms are the same "
        "ones and further ones, so that runs are compared in pairs."
    )


EXPERIMENT = Experiment(
    id="fig-bstar-k",
    title="Share of candidates against the number of arms, complete side information",
    paper="Fig. 4b, Section 6.1.1",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=0.5,
)
