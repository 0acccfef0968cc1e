"""The number of jokes left at every epsilon of a grid; the paper's search visits only some of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import InconsistentSideInformation
from lsdt.ratings import PaperRule, side_information_of
from lsdt.reproduce.framework.claims import Claim, above, share_of
from lsdt.reproduce.framework.sampling import rows_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from lsdt.ratings import PairStatistics
    from lsdt.reproduce.framework.claims import Check
    from lsdt.reproduce.framework.experiment import Tables


def grid_rows(statistics: PairStatistics, alpha: float, resolution: float) -> Iterator[dict[str, Any]]:
    """Yield |B0| at every epsilon until all pairs are similar; NaN where relations contradict each other."""
    rule = PaperRule(statistics, alpha)
    for step in itertools.count(1):
        epsilon = round(step * resolution, 12)
        side = side_information_of(statistics, rule.relate(epsilon), epsilon)
        try:
            left = float(len(candidate_set(side, method="paper")))
        except InconsistentSideInformation:
            left = np.nan
        yield {"epsilon": epsilon, "left": left}
        if rule.is_exhausted(epsilon):
            return


def falls_then_rises(sizes: ArrayLike) -> bool:
    """Return whether a sequence falls to its minimum and then rises; NaNs are skipped."""
    known = np.asarray(sizes, np.float64)
    known = known[~np.isnan(known)]
    at, steps = int(known.argmin()), np.diff(known)
    return bool((steps[:at] <= 0.0).all() and (steps[at:] >= 0.0).all())


def shapes_of(tables: Tables, training: float, alpha: float) -> pd.DataFrame:
    """Return, split by split, whether |B0| falls and then rises, and whether the search finds its minimum."""
    import pandas as pd

    grids, searches = (
        rows_at(tables[name], training=training, alpha=alpha) for name in ("grids", "searches")
    )
    found = searches.set_index("run")["candidates"]
    rows = []
    for run, grid in grids.groupby("run"):
        least = grid["left"].min()
        rows.append(
            {
                "run": run,
                "one_valley": falls_then_rises(grid.sort_values("epsilon")["left"]),
                "reached": found[run] == least,
                "least": least,
                "beyond": found[run] - least,
                "contradictions": int(grid["left"].isna().sum()),
            }
        )
    return pd.DataFrame(rows)


def grid_claim(tables: Tables, on: str, groups: Sequence[Any], paper: str) -> Claim:
    """Return the claim that |B0| falls and then rises with epsilon, so that the search finds its minimum."""
    return Claim(
        "jester-one-valley",
        f"{on}as epsilon grows |B0| first falls and then rises, so that doubling and halving find its "
        "minimum (read: in most splits it never rises before its minimum nor falls after it, on a grid of "
        "0.01; in most splits the search ends at the minimum of the grid).",
        paper,
        tuple(_checks(tables, groups)),
    )


def _checks(tables: Tables, groups: Sequence[Any]) -> Iterator[Check]:
    for group in groups:
        shapes = shapes_of(tables, *group)
        yield above(f"share of splits with one valley of |B0|, {group}", share_of(shapes["one_valley"]), 0.5)
        yield above(f"share of splits whose search ends lowest, {group}", share_of(shapes["reached"]), 0.5)
