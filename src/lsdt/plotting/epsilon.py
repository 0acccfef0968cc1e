"""How the choice of epsilon came about: candidates and risk against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.plotting.panels import Line, Panel, draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lsdt.ratings import RatingEvidence


def draw_epsilon(evidence: RatingEvidence) -> Figure:
    """Draw what every epsilon that was tried leaves, and at what estimated risk; the chosen one is ringed.

    Gaps are values at which the relations contradict one another.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=500, n_items=10, ratings_per_user=6)
    >>> side = lsdt.from_ratings(log, confidence=.8)
    >>> figure = lsdt.plotting.draw_epsilon(side.evidence)
    """
    scan = getattr(evidence, "scan", None)
    if scan is None:
        raise InvalidInput(
            f"draw_epsilon takes the evidence of side information from ratings; got {type(evidence).__name__}"
        )
    at = int((scan["epsilon"] == evidence.epsilon).to_numpy().argmax())
    left, risk = (scan[name].to_numpy("float64", na_value=float("nan")) for name in ("candidates", "risk"))
    epsilon, chosen, limit = scan["epsilon"].to_numpy(), evidence.epsilon, 1.0 - evidence.confidence
    axis: dict[str, Any] = {"xlabel": "epsilon, share of the scale"}
    ends = epsilon[0], epsilon[-1]
    if len(scan) == 1:
        axis["x_range"] = ends = (0.0, 2.0 * chosen)
    few, n_items = len(scan) < 30, len(evidence.item_ids)
    panels = [
        Panel(
            [Line("candidates", epsilon, left, points=few)],
            **axis,
            ylabel="candidates",
            title=f"{_number(left[at])} of {n_items:,} items left at {chosen:g}",
            y_range=(0, 1.05 * n_items),
            mark=(chosen, left[at]),
        ),
        Panel(
            [
                Line("estimated risk of losing the best item", epsilon, risk, points=few, colour=1),
                Line(f"most that is accepted, {limit:.3g}", ends, [limit, limit], reference=True),
            ],
            **axis,
            ylabel="risk",
            title=f"estimated risk {_number(risk[at])}",
            y_range=(0, 1.1 * np.nanmax([limit, *risk])),
            mark=(chosen, risk[at]),
        ),
    ]
    how = {"given": "given", "paper": "by the paper's search"}.get(evidence.search, "chosen")
    return draw_panels(panels, f"Epsilon {how}: what it leaves, and at what risk", height=4.2)


def _number(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.3g}" if value < 1.0 else f"{value:,.0f}"
