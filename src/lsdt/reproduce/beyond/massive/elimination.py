"""How many relations elimination needs when there are very many arms, and how local they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt import problems
from lsdt.candidates.propagation.closure_kernel import eliminate_by_closure
from lsdt.candidates.propagation.constraints import field_around
from lsdt.candidates.propagation.method_kernel import eliminate_by_intervals
from lsdt.candidates.triangles.rule import triangle_survivors
from lsdt.kernel.parallel import over_blocks
from lsdt.plotting.panels import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, at_least, at_most, mean_of
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import summary_table, values_at

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.plotting.style import Figure
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.side_information import SideInformation

STAGES = ("triangles", "intervals", "closure")
_LOCALITIES = {0.0: "any pairs", 0.5: "half of them near", 1.0: "near pairs"}
_COLOURS = {"triangles": 0, "intervals": 1, "closure": 9}  # the last is dashed: it often hides the second
_MOST_RUNS = 3


def _setting(request: Request) -> Setting:
    return {
        "arms": 10_000 if request.quick else 100_000,
        "means": [0.1, 1.0],
        "epsilon": 0.1,
        "relations_per_arm": [10, 50, 100] if request.quick else [10, 20, 50, 100, 200, 400],
        "localities": list(_LOCALITIES),
        "reach": 3.0,
        "looked_at": 50 if request.quick else 300,
        "near": 2_000,
        "closed": 64,
        "replications": min(request.replications, _MOST_RUNS),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    grid = [
        (locality, relations)
        for locality in setting["localities"]
        for relations in setting["relations_per_arm"]
    ]
    rows: list[dict[str, Any]] = []
    for number, (locality, relations) in enumerate(grid):
        problem = problems.sparse(
            setting["arms"], relations, locality, setting["epsilon"], "bernoulli", *setting["means"]
        )
        for run in range(setting["replications"]):
            shares = shares_left(problem.draw(work.seed, run).side, setting)
            rows += [
                {"locality": locality, "relations": relations, "stage": stage, "run": run, "share": share}
                for stage, share in zip(STAGES, shares, strict=True)
            ]
        work.done((number + 1) / len(grid))
    table = pd.DataFrame(rows)
    table["arms"] = setting["arms"]
    return {"left": table}


def shares_left(side: SideInformation, setting: Setting) -> list[float]:
    """Return the share of arms left after each stage; the later stages are tried on a sample of the arms."""
    arms = triangle_survivors(side)
    share = len(arms) / side.n_arms
    some = arms[np.linspace(0, len(arms) - 1, min(len(arms), setting["looked_at"])).astype(np.int64)]
    around = field_around(side, some)
    near, closed, c = setting["near"], setting["closed"], around.constraints
    places = around.places(some)
    by_intervals = _eliminate(
        places,
        lambda first, last, possible: eliminate_by_intervals(c, places, first, last, near, possible),
    )
    left = places[by_intervals]
    by_closure = _eliminate(
        left,
        lambda first, last, possible: eliminate_by_closure(c, left, first, last, near, closed, possible),
    )
    return [share, share * by_intervals.mean(), share * by_closure.sum() / len(some)]


def _eliminate(
    places: NDArray[np.int64], work: Callable[[int, int, NDArray[np.bool_]], None]
) -> NDArray[np.bool_]:
    possible = np.ones(len(places), bool)
    over_blocks(lambda first, last: work(first, last, possible), len(places), 9, 8)
    return possible


def _table(tables: Tables) -> pd.DataFrame:
    return summary_table(tables["left"], ["locality", "relations", "stage"], "share")


def _draw(tables: Tables) -> Figure:
    table = tables["left"]
    rows = summary_table(table, ["locality", "relations", "stage"], "share")
    panels = []
    for locality, title in _LOCALITIES.items():
        lines = []
        for stage in STAGES:
            here = rows[(rows["locality"] == locality) & (rows["stage"] == stage)]
            lines.append(Line(stage, here["relations"], here["share"], points=True, colour=_COLOURS[stage]))
        label = "share of arms left" if locality == 0.0 else ""
        panels.append(Panel(lines, "relations per arm", label, title, x_log=True, y_range=(0.0, 1.03)))
    runs = table["run"].nunique()
    note = f"mean of {runs} {'draw' if runs == 1 else 'draws'}; stages after the first as of some arms"
    return draw_panels(panels, f"Arms left of {int(table['arms'].iloc[0]):,}, epsilon 0.1", note, 3.8)


def _left(tables: Tables, locality: float, relations: int, stage: str) -> NDArray[np.float64]:
    return values_at(tables["left"], "share", locality=locality, relations=relations, stage=stage)


def _claims(tables: Tables) -> list[Claim]:
    fewest, most = tables["left"]["relations"].min(), tables["left"]["relations"].max()
    few = [
        at_least(
            f"share left with {fewest} relations an arm, {word}",
            mean_of(_left(tables, locality, fewest, "closure")),
            0.95,
        )
        for locality, word in _LOCALITIES.items()
    ]
    many = [
        at_most(
            f"share left with {most} relations an arm, {word}",
            mean_of(_left(tables, locality, most, "intervals")),
            0.1,
        )
        for locality, word in _LOCALITIES.items()
    ]
    return [
        Claim(
            "massive-elimination-begins",
            "With few relations an arm nothing can be excluded; with enough of them nearly all arms are.",
            "beyond the paper",
            (*few, *many),
        )
    ]


def _discussion(tables: Tables) -> str:
    table = tables["left"]
    rows = summary_table(table, ["locality", "relations", "stage"], "share")
    said = []
    for locality, word in _LOCALITIES.items():
        here = rows[(rows["locality"] == locality) & (rows["stage"] == "closure")]
        gone = here[here["share"] < 0.5]
        most = int(here["relations"].max())
        begins = f"from {int(gone['relations'].min())} relations on" if len(gone) else f"not at {most}"
        said.append(f"{word}: {begins}")
    return (
        f"Relations an arm must have for fewer than half of {int(table['arms'].iloc[0]):,} arms to be left: "
        f"{'; '.join(said)}. A contradiction needs a cycle of relations near the arm, and in relations "
        "drawn at random these are long: the more arms there are, the more relations each must have."
    )


EXPERIMENT = Experiment(
    id="beyond-massive",
    title="Very many arms: where elimination begins",
    paper="beyond the paper",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=300.0,
)
