"""How many relations elimination needs when there are very many arms, and how local they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt import problems
from lsdt.candidates import candidate_set, triangle_survivors
from lsdt.plotting import COLOURS, Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, at_least, at_most, mean_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import rows_at, summary_table, values_at

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.side_information import SideInformation

METHODS = ("triangles", "propagation")
_LOCALITIES = {0.0: "any pairs", 0.5: "half of them near", 1.0: "near pairs"}
_MOST_RUNS = 2  # the part takes ten minutes, and shares of this many arms vary little
_BY = ["arms", "locality", "relations", "method"]


def _setting(request: Request) -> Setting:
    many = [10, 20, 30, 40, 50, 60, 80, 100, 200, 400]
    return {
        "arms": [1_000, 10_000] if request.quick else [10_000, 100_000],
        "means": [0.1, 1.0],
        "epsilon": 0.1,
        "relations_per_arm": [10, 20, 50, 100] if request.quick else many,
        "localities": list(_LOCALITIES),
        "reach": 3.0,
        "timeout": 120.0,
        "replications": min(request.replications, _MOST_RUNS),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    grid = [
        (arms, locality, relations)
        for arms in setting["arms"]
        for locality in setting["localities"]
        for relations in setting["relations_per_arm"]
    ]
    low, high = setting["means"]
    rows: list[dict[str, Any]] = []
    for number, (arms, locality, relations) in enumerate(grid):
        problem = problems.sparse(
            arms, relations, locality, setting["epsilon"], low=low, high=high, reach=setting["reach"]
        )
        for run in range(setting["replications"]):
            shares = shares_left(problem.draw(work.seed, run).side, setting["timeout"])
            rows += [
                {
                    "arms": arms,
                    "locality": locality,
                    "relations": relations,
                    "method": method,
                    "run": run,
                    "share": share,
                }
                for method, share in zip(METHODS, shares, strict=True)
            ]
        work.done((number + 1) / len(grid))
    return {"left": pd.DataFrame(rows)}


def shares_left(side: SideInformation, timeout: float) -> list[float]:
    """Return the share of arms that each method leaves; `timeout` limits propagation as a whole."""
    left = triangle_survivors(side), candidate_set(side, "propagation", timeout=timeout).arms
    return [len(arms) / side.n_arms for arms in left]


def _table(tables: Tables) -> pd.DataFrame:
    return summary_table(tables["left"], _BY, "share")


def _draw(tables: Tables) -> Figure:
    rows, panels = _table(tables), []
    sizes = sorted(rows["arms"].unique())
    for locality, title in _LOCALITIES.items():
        lines = []
        for number, method in enumerate(METHODS):
            for dashes, arms in enumerate(sizes[::-1]):
                here = rows_at(rows, locality=locality, method=method, arms=arms)
                lines.append(
                    Line(
                        f"{method}, {arms:,} arms",
                        here["relations"],
                        here["share"],
                        points=True,
                        colour=number + len(COLOURS) * dashes,
                    )
                )
        label = "share of arms left" if locality == 0.0 else ""
        panels.append(Panel(lines, "relations per arm", label, title, x_log=True, y_range=(0.0, 1.03)))
    runs = tables["left"]["run"].nunique()
    note = f"mean of {runs} {'draw' if runs == 1 else 'draws'}"
    return draw_panels(panels, "Arms left of very many, epsilon 0.1", note, 3.8)


def _left(tables: Tables, locality: float, relations: int) -> NDArray[np.float64]:
    """Return the share that propagation leaves of the largest number of arms, run by run."""
    table = tables["left"]
    where = {"locality": locality, "relations": relations, "method": "propagation"}
    return values_at(table, "share", arms=table["arms"].max(), **where)


def _claims(tables: Tables) -> list[Claim]:
    fewest, most = tables["left"]["relations"].min(), tables["left"]["relations"].max()
    checks = [
        judge(
            f"share left with {relations} relations per arm, {word}",
            mean_of(_left(tables, locality, relations)),
            limit,
        )
        for judge, relations, limit in ((at_least, fewest, 0.95), (at_most, most, 0.1))
        for locality, word in _LOCALITIES.items()
    ]
    return [
        Claim(
            "massive-elimination-begins",
            "With few relations per arm nothing can be excluded; with enough of them nearly all arms are.",
            BEYOND_THE_PAPER,
            tuple(checks),
        )
    ]


def _discussion(tables: Tables) -> str:
    rows, said = _table(tables), []
    arms = int(rows["arms"].max())
    for locality, word in _LOCALITIES.items():
        begins = []
        for method in METHODS:
            here = rows_at(rows, locality=locality, method=method, arms=arms)
            gone = here[here["share"] < 0.5]["relations"]
            begins.append(
                f"{int(gone.min())} with {method}"
                if len(gone)
                else f"more than {int(here['relations'].max())} with {method}"
            )
        said.append(f"{word}: {', '.join(begins)}")
    return (
        f"Relations an arm must have for fewer than half of {arms:,} arms to be left: {'; '.join(said)}. "
        "A triangle takes three relations among three arms; pairs drawn at random rarely form one. The more "
        "arms there are, the more relations each must have. Propagation orders all dissimilar pairs at once: "
        "with too few relations the order of one pair implies no other, with a few more nearly all."
    )


EXPERIMENT = Experiment(
    id="beyond-massive",
    title="Very many arms: where elimination begins",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=600.0,
)
