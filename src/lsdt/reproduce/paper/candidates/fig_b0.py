"""Fig. 5: size of B0, the set that the triangle rule leaves, by revealed relations and by number of arms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, at_most, below, mean_of, number
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
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.side_information import SideInformation

_PROPAGATION_RUNS = 25  # few, as propagation takes milliseconds where the triangle rule takes microseconds


def _setting(request: Request, arms: Any, revealed: Any) -> Setting:
    return {
        "arms": arms,
        "means": "uniform on (0, 1)",
        "epsilon": 0.2,
        "revealed": revealed,
        "replications": request.replications,
        "propagation_runs": min(request.replications, _PROPAGATION_RUNS),
        "fixed_draw": request.fixed_draw,
    }


def _reveal(complete: SideInformation, share: float, run: int, seed: int) -> SideInformation:
    """Return a random share of the relations; a larger share contains all that a smaller one reveals."""
    return complete.reveal(share, share, seed=seed * 1_000_003 + run)


def _count_after_propagation(side: SideInformation, run: int, setting: Setting) -> float:
    """Return how many arms propagation leaves; NaN in the runs in which it is not computed."""
    propagates = run < setting["propagation_runs"]
    return float(len(candidate_set(side, "propagation"))) if propagates else math.nan


def _propagation_runs(tables: Tables) -> pd.DataFrame:
    """Return the runs in which propagation was computed."""
    return tables["runs"].dropna(subset="propagation")


def _note(tables: Tables) -> str:
    runs = note_on_runs(tables["runs"]["run"])
    return f"{runs}; propagation on {_propagation_runs(tables)['run'].nunique()} of them"


# ---------------------------------------------------------------- Fig. 5a: by the share of revealed relations

_CHECKED_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # spread over the range that is drawn
_ABOVE_HALF = (0.6, 0.7, 0.8, 0.9)  # where the paper says that only B* remains
_NONE = 0.5  # arms: our reading of "none", an average excess that rounds to 0


def _p_setting(request: Request) -> Setting:
    step = 0.1 if request.quick else 0.05
    return _setting(request, 100, np.round(np.arange(0.1, 1.0 + step / 2, step), 3).tolist())


def _p_compute(setting: Setting, work: Work) -> Tables:
    def count(share: float, run: int) -> dict[str, float]:
        means = uniform_means(setting["arms"], work.seed, run, setting["fixed_draw"])
        complete = from_means(means, setting["epsilon"])
        best = len(candidate_set(complete, "anchors"))
        if share == 1.0:  # all relations are known: the paper uses the exact step there
            propagates = run < setting["propagation_runs"]
            return {"left": best, "candidates": best, "propagation": best if propagates else math.nan}
        revealed = _reveal(complete, share, run, work.seed)
        further = _count_after_propagation(revealed, run, setting)
        left = len(candidate_set(revealed, "triangles"))
        return {"left": left, "candidates": best, "propagation": further}

    return {"runs": table_over_grid(setting["revealed"], setting["replications"], count, "p", work)}


def _p_table(tables: Tables) -> pd.DataFrame:
    rows = summary_table(tables["runs"], ["p"], "left").rename(columns={"left": "arms in B0"})
    rows["after propagation"] = summary_table(_propagation_runs(tables), ["p"], "propagation")["propagation"]
    return rows


def _p_draw(tables: Tables) -> Figure:
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
    title = "Arms left of 100, partial side information, epsilon 0.2"
    return draw_panels(panels, title, _note(tables))


def _p_claims(tables: Tables) -> list[Claim]:
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
    steps = decrease_checks(runs, "p", "left", _CHECKED_SHARES, "|B0|")
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


def _p_discussion(tables: Tables) -> str:
    runs = tables["runs"]
    left = ", ".join(f"{number(values_at(runs, 'left', p=p).mean())} at p = {p:g}" for p in _ABOVE_HALF)
    best = values_at(runs, "candidates", p=1.0).mean()
    further = ", ".join(
        f"{number(values_at(_propagation_runs(tables), 'propagation', p=p).mean())} at p = {p:g}"
        for p in (0.1, 0.3, *_ABOVE_HALF[:1])
    )
    return (
        f"The triangle rule leaves, on average, {left}; if all relations are known, {number(best)} arms can "
        "be the best. At p = 1 the exact step replaces the triangles, as in the paper. Propagation, which "
        f"the paper does not have, leaves {further}."
    )


# ---------------------------------------------------------------- Fig. 5b: by the number of arms

_CHECKED_SIZES = (10, 50, 100, 150)  # the ends of the range that is drawn, and two sizes between


def _k_setting(request: Request) -> Setting:
    return _setting(request, list(_CHECKED_SIZES if request.quick else range(10, 151, 10)), 0.5)


def _k_compute(setting: Setting, work: Work) -> Tables:
    def count(n_arms: float, run: int) -> dict[str, float]:
        means = uniform_means(int(n_arms), work.seed, run, setting["fixed_draw"])
        revealed = _reveal(from_means(means, setting["epsilon"]), setting["revealed"], run, work.seed)
        left = len(candidate_set(revealed, "triangles"))
        further = _count_after_propagation(revealed, run, setting)
        return {"left": left, "share": left / n_arms, "propagation": further / n_arms}

    return {"runs": table_over_grid(setting["arms"], setting["replications"], count, "arms", work)}


def _k_table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["arms"], "share")
    rows["arms in B0"] = summary_table(runs, ["arms"], "left")["left"]
    further = summary_table(_propagation_runs(tables), ["arms"], "propagation")
    rows["share after propagation"] = further["propagation"]
    return rows


def _k_draw(tables: Tables) -> Figure:
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
    return draw_panels([panel], "Arms left, half of the relations known, epsilon 0.2", _note(tables))


def _k_claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "b0-share-falls",
            "The share of arms that the triangle rule leaves falls as there are more arms.",
            "Fig. 5b, Section 6.1.2",
            decrease_checks(tables["runs"], "arms", "share", _CHECKED_SIZES, "|B0| / K"),
        )
    ]


def _k_discussion(tables: Tables) -> str:
    runs, last = tables["runs"], _CHECKED_SIZES[-1]
    said = ", ".join(
        f"{with_interval(mean_of(values_at(runs, 'left', arms=n_arms)))} of {n_arms}"
        for n_arms in _CHECKED_SIZES
    )
    further = values_at(_propagation_runs(tables), "propagation", arms=last).mean() * last
    return (
        f"Arms left, on average: {said}. Propagation, which the paper does not have, leaves "
        f"{number(further)} of {last}. An arm is excluded when two arms similar to it are known to be "
        "dissimilar. Within a run, a larger number of arms adds arms to the smaller one, so runs are "
        "compared in pairs."
    )


EXPERIMENTS = {
    "fig-b0-p": Experiment(
        id="fig-b0-p",
        title="Size of B0 against the share of revealed relations",
        paper="Fig. 5a, Section 6.1.2",
        setting=_p_setting,
        compute=_p_compute,
        table=_p_table,
        draw=_p_draw,
        claims=_p_claims,
        discussion=_p_discussion,
        seconds=2.0,
    ),
    "fig-b0-k": Experiment(
        id="fig-b0-k",
        title="Share of arms in B0 against the number of arms",
        paper="Fig. 5b, Section 6.1.2",
        setting=_k_setting,
        compute=_k_compute,
        table=_k_table,
        draw=_k_draw,
        claims=_k_claims,
        discussion=_k_discussion,
        seconds=1.0,
    ),
}
