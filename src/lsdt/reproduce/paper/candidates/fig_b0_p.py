"""Size of B0, the set that the triangle rule leaves, against the share of relations revealed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, at_most, below, mean_of, number
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
from lsdt.side_information import from_means

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_CHECKED = (0.1, 0.3, 0.5, 0.7, 0.9)
_ABOVE_HALF = (0.6, 0.7, 0.8, 0.9)
_NONE = 0.5  # arms: an average excess of less than that counts as none


def _setting(request: Request) -> Setting:
    step = 0.1 if request.quick else 0.05
    return {
        "arms": 100,
        "means": "uniform on (0, 1)",
        "epsilon": 0.2,
        "revealed": np.round(np.arange(0.1, 1.0 + step / 2, step), 3).tolist(),
        "replications": request.replications,
        "propagation_runs": min(request.replications, PROPAGATION_RUNS),
        "fixed_draw": request.fixed_draw,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    def count(share: float, run: int) -> dict[str, float]:
        means = uniform_means(setting["arms"], work.seed, run, setting["fixed_draw"])
        complete = from_means(means, setting["epsilon"])
        best = len(candidate_set(complete, "anchors"))
        if share == 1.0:  # all relations are known: the paper uses the exact step there
            propagates = run < setting["propagation_runs"]
            return {"left": best, "candidates": best, "propagation": best if propagates else math.nan}
        # The same seed for every share: whatever a smaller share reveals, a larger one reveals too.
        revealed = complete.reveal(share, share, seed=work.seed * 1_000_003 + run)
        further = count_after_propagation(revealed, run, setting["propagation_runs"])
        left = len(candidate_set(revealed, "triangles"))
        return {"left": left, "candidates": best, "propagation": further}

    return {"runs": table_over_grid(setting["revealed"], setting["replications"], count, "p", work)}


def _table(tables: Tables) -> pd.DataFrame:
    rows = summary_table(tables["runs"], ["p"], "left").rename(columns={"left": "arms in B0"})
    rows["after propagation"] = summary_table(_propagation_runs(tables), ["p"], "propagation")["propagation"]
    return rows


def _propagation_runs(tables: Tables) -> pd.DataFrame:
    """Return the runs in which propagation was computed."""
    return tables["runs"].dropna(subset="propagation")


def _draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    xlabel = "share p of the relations that is revealed"
    rule = line_of(runs, "B0 (triangle rule)", "p", "left", points=True)
    further = line_of(
        _propagation_runs(tables), "after propagation (not in the paper)", "p", "propagation", points=True
    )
    known = line_of(runs, "B* (all is known)", "p", "candidates")
    best = Line(known.label, known.x, known.mean, reference=True)
    panels = [
        Panel([rule, further, best], xlabel, "arms left", x_range=(0.1, 1.0), y_range=(0, 100)),
        Panel(
            [rule, further, best],
            xlabel,
            "",
            "the same, enlarged",
            x_range=(0.3, 1.0),
            y_range=(0, 15),
            span=(0.5, 1.0, "p > 0.5"),
        ),
    ]
    note = f"{note_on_runs(runs['run'])}; propagation on {_propagation_runs(tables)['run'].nunique()} of them"
    return draw_panels(panels, "Arms left of 100, partial side information, epsilon 0.2", note)


def _claims(tables: Tables) -> list[Claim]:
    runs = tables["runs"]
    excess = [
        at_most(
            f"|B0| - |B*| at p = {share:g}",
            mean_of(values_at(runs, "left", p=share) - values_at(runs, "candidates", p=share)),
            _NONE,
        )
        for share in _ABOVE_HALF
    ]
    last = below(
        "|B0| at p = 1 minus at 0.9",
        mean_of(values_at(runs, "left", p=1.0) - values_at(runs, "left", p=0.9)),
        0.0,
    )
    steps = decrease_checks(runs, "p", "left", _CHECKED, "|B0|", paired=True)
    return [
        Claim(
            "b0-falls-with-p",
            "|B0| falls towards |B*| as more relations are revealed.",
            "Fig. 5a, Section 6.1.2",
            (*steps, last),
        ),
        Claim(
            "b0-optimal-above-half",
            "When more than half of the relations are revealed, only the arms of B* remain (read: on average "
            f"at most {_NONE:g} more).",
            "Fig. 5a, Section 6.1.2",
            tuple(excess),
        ),
    ]


def _discussion(tables: Tables) -> str:
    runs = tables["runs"]
    left = ", ".join(f"{number(values_at(runs, 'left', p=p).mean())} at p = {p:g}" for p in _ABOVE_HALF)
    best = values_at(runs, "candidates", p=1.0).mean()
    further = ", ".join(
        f"{number(values_at(_propagation_runs(tables), 'propagation', p=p).mean())} at p = {p:g}"
        for p in (0.1, 0.3, *_ABOVE_HALF[:1])
    )
    return (
        f"The triangle rule leaves, on average, {left}; if all is known {number(best)} can be the best. At "
        "p = 1 the exact step replaces the triangles, as in the paper. Propagation, which the paper "
        f"does not have, leaves {further}."
    )


EXPERIMENT = Experiment(
    id="fig-b0-p",
    title="Size of B0 against the share of revealed relations",
    paper="Fig. 5a, Section 6.1.2",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=2.0,
)
