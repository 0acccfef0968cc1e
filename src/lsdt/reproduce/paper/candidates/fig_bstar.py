"""Fig. 4: size of the candidate set B* with complete side information, by epsilon and by number of arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, above, at_most, below, between, mean_of, number, share_of
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
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work


def _setting(request: Request, arms: Any, **epsilon: Any) -> Setting:
    return {
        "arms": arms,
        "means": "uniform on (0, 1)",
        **epsilon,
        # One draw of the means is one number.
        "replications": 1 if request.fixed_draw else request.replications,
        "fixed_draw": request.fixed_draw,
    }


# ---------------------------------------------------------------- Fig. 4a: by epsilon

_SMALL = 10  # arms: our reading of "much smaller than K" for K = 100
_STATED = 5.0  # candidates, as the paper says
_DISCONNECTED, _CONNECTED = (0.05, 0.08), (0.12,)  # by the paper, whose graphs connect at 0.1


def _eps_setting(request: Request) -> Setting:
    step = 0.05 if request.quick else 0.01
    even = np.round(np.arange(step, 1.0 + step / 2, step), 3)
    return _setting(request, 100, epsilons=np.union1d(even, (*_DISCONNECTED, *_CONNECTED)).tolist())


def _eps_compute(setting: Setting, work: Work) -> Tables:
    def count(epsilon: float, run: int) -> dict[str, float]:
        means = uniform_means(setting["arms"], work.seed, run, setting["fixed_draw"])
        side = from_means(means, epsilon)
        gaps = np.diff(np.sort(means))
        return {
            "candidates": len(candidate_set(side, "anchors")),
            "components": 1 + int((gaps >= epsilon).sum()),
            "complete_graph": float(np.ptp(means) < epsilon),
        }

    return {"runs": table_over_grid(setting["epsilons"], setting["replications"], count, "epsilon", work)}


def _eps_table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["epsilon"], "candidates")
    rows["components"] = runs.groupby("epsilon", sort=False)["components"].mean().to_numpy()
    shown = np.isclose(rows["epsilon"] * 20, np.round(rows["epsilon"] * 20))
    return rows[shown | (rows["epsilon"] <= 0.05)]


def _eps_draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    xlabel = "epsilon (similar below, dissimilar from there)"
    line = line_of(runs, "arms in B*", "epsilon", "candidates")
    stated = Line("5, as the paper says", (0.1, 0.9), (_STATED, _STATED), reference=True)
    panels = [
        Panel([line], xlabel, "arms in the candidate set", x_range=(0, 1), y_range=(0, 100)),
        Panel(
            [line, stated],
            xlabel,
            "",
            "the same, enlarged",
            x_range=(0, 1),
            y_range=(0, 12),
            span=(0.1, 0.9, "epsilon in [0.1, 0.9]"),
        ),
    ]
    return draw_panels(
        panels, "Candidates left of 100 arms, complete side information", note_on_runs(runs["run"])
    )


def _is_connected(runs: pd.DataFrame, epsilon: float) -> NDArray[np.bool_]:
    """Return for each run whether the graph is connected."""
    found: NDArray[np.bool_] = values_at(runs, "components", epsilon=epsilon) == 1
    return found


def _eps_claims(tables: Tables) -> list[Claim]:
    runs = tables["runs"]
    inside = runs[(runs["epsilon"] >= 0.1 - 1e-9) & (runs["epsilon"] <= 0.9 + 1e-9)]
    average = mean_of(inside.groupby("run")["candidates"].mean())
    few, many = (values_at(runs, "candidates", epsilon=value) for value in (0.05, 0.1))
    last, before = (values_at(runs, "candidates", epsilon=value) for value in (1.0, 0.9))
    where, what = "Fig. 4a, Section 6.1.1", "mean |B*| over epsilon in [0.1, 0.9]"
    return [
        Claim(
            "bstar-about-5",
            "With 100 arms about 5 candidates are left for epsilon from 0.1 to 0.9 (read: from 4.5 to 5.5, "
            "on average over these epsilon).",
            where,
            (between(what, average, _STATED - 0.5, _STATED + 0.5),),
        ),
        Claim(
            "bstar-much-smaller",
            "Once the graph is connected there are far fewer candidates than arms (read: at most "
            f"{_SMALL} of 100, on average over epsilon from 0.1 to 0.9).",
            where,
            (at_most(what, average, _SMALL),),
        ),
        Claim(
            "bstar-connected-from-tenth",
            "With 100 arms the graph is disconnected for epsilon below 0.1 and connected above (read: in "
            "fewer, or more, than half of the draws).",
            where,
            tuple(_connection_checks(runs)),
        ),
        Claim(
            "bstar-falls-then-rises",
            "|B*| falls while epsilon is below 0.1, and rises towards K as epsilon approaches 1 and the "
            "graph becomes complete.",
            where,
            (
                below("|B*| at epsilon 0.1 minus at 0.05", mean_of(many - few), 0.0),
                below("|B*| at epsilon 0.9 minus at 1", mean_of(before - last), 0.0),
            ),
        ),
    ]


def _connection_checks(runs: pd.DataFrame) -> Iterator[Check]:
    for judge, places in ((below, _DISCONNECTED), (above, _CONNECTED)):
        for epsilon in places:
            what = f"share of draws with a connected graph at epsilon {epsilon:g}"
            yield judge(what, share_of(_is_connected(runs, epsilon)), 0.5)


def _eps_discussion(tables: Tables) -> str:
    runs = tables["runs"]
    rows = summary_table(runs, ["epsilon"], "candidates").set_index("epsilon")["candidates"]
    sizes = ", ".join(f"{number(rows.loc[value])} at {value:g}" for value in (0.05, 0.1, 0.5, 0.9, 1.0))
    shares = ", ".join(
        f"{_is_connected(runs, value).mean():.0%} at {value:g}" for value in (*_DISCONNECTED, *_CONNECTED)
    )
    return (
        f"Candidates of 100 arms, on average, by epsilon: {sizes}. Draws whose graph is connected: {shares}. "
        "A connected graph leaves its two end classes; every further component adds two of its own; a "
        "complete graph excludes no arm."
    )


# ---------------------------------------------------------------- Fig. 4b: by the number of arms

_CHECKED = (10, 50, 100, 200)  # the ends of the range that is drawn, and two sizes between


def _k_setting(request: Request) -> Setting:
    sizes = _CHECKED if request.quick else (*range(10, 100, 10), *range(100, 201, 20))
    return _setting(request, list(sizes), epsilon=0.2)


def _k_compute(setting: Setting, work: Work) -> Tables:
    def count(n_arms: float, run: int) -> dict[str, float]:
        means = uniform_means(int(n_arms), work.seed, run, setting["fixed_draw"])
        left = len(candidate_set(from_means(means, setting["epsilon"]), "anchors"))
        return {"candidates": left, "share": left / n_arms}

    return {"runs": table_over_grid(setting["arms"], setting["replications"], count, "arms", work)}


def _k_table(tables: Tables) -> pd.DataFrame:
    runs = tables["runs"]
    rows = summary_table(runs, ["arms"], "share")
    rows["candidates"] = summary_table(runs, ["arms"], "candidates")["candidates"]
    return rows


def _k_draw(tables: Tables) -> Figure:
    runs = tables["runs"]
    panel = Panel(
        [line_of(runs, "|B*| / K", "arms", "share", points=True)],
        "number of arms K",
        "share of arms in the candidate set",
        x_range=(0, float(runs["arms"].max())),
    )
    title = "Candidates left, complete side information, epsilon 0.2"
    return draw_panels([panel], title, note_on_runs(runs["run"]))


def _k_claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "bstar-share-falls",
            "The share of arms that can be the best falls as there are more arms.",
            "Fig. 4b, Section 6.1.1",
            decrease_checks(tables["runs"], "arms", "share", _CHECKED, "|B*| / K"),
        )
    ]


def _k_discussion(tables: Tables) -> str:
    runs = tables["runs"]
    said = ", ".join(
        f"{with_interval(mean_of(values_at(runs, 'candidates', arms=n_arms)))} of {n_arms}"
        for n_arms in _CHECKED
    )
    few, many = (values_at(runs, "share", arms=n_arms).mean() for n_arms in (_CHECKED[0], _CHECKED[-1]))
    return (
        f"Candidates, on average: {said} arms. Their share goes from {few:.1%} to {many:.1%} while the "
        f"number of arms grows by a factor of {_CHECKED[-1] // _CHECKED[0]}. Within a run, a larger number "
        "of arms adds arms to the smaller one, so runs are compared in pairs."
    )


EXPERIMENTS = {
    "fig-bstar-eps": Experiment(
        id="fig-bstar-eps",
        title="Size of the candidate set against epsilon",
        paper="Fig. 4a, Section 6.1.1",
        setting=_eps_setting,
        compute=_eps_compute,
        table=_eps_table,
        draw=_eps_draw,
        claims=_eps_claims,
        discussion=_eps_discussion,
        seconds=3.0,
    ),
    "fig-bstar-k": Experiment(
        id="fig-bstar-k",
        title="Share of candidates against the number of arms, complete side information",
        paper="Fig. 4b, Section 6.1.1",
        setting=_k_setting,
        compute=_k_compute,
        table=_k_table,
        draw=_k_draw,
        claims=_k_claims,
        discussion=_k_discussion,
        seconds=0.5,
    ),
}
