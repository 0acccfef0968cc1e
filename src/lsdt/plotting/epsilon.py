"""The plot of the choice of epsilon: the number of items left by triangles, and the risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._validation import check_kind
from lsdt.errors import InvalidInput
from lsdt.plotting.panels import REFERENCE_DASHES
from lsdt.plotting.style import COLOURS, INK, RULE, axes_or_new, check_axes, write_title
from lsdt.ratings import RatingEvidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_FEW = 30  # fewer values of epsilon than this are marked one by one; chosen by eye
_HOW = {"given": "given", "paper": "by the paper's search"}


class EpsilonChoice(NamedTuple):
    """Items left and risk for every epsilon that was tried; NaN where relations contradict one another.

    Attributes
    ----------
    epsilon, by_triangles, risk : ndarray
        The values that were tried, the number of items left by triangles, and the estimated risk of losing
        the best item.
    chosen : int
        The index of the chosen value.
    limit : float
        The largest accepted risk.
    n_items : int
        The number of items.
    how : str
        How the value was chosen, in words.
    """

    epsilon: NDArray[np.float64]
    by_triangles: NDArray[np.float64]
    risk: NDArray[np.float64]
    chosen: int
    limit: float
    n_items: int
    how: str


def plot_epsilon(evidence: RatingEvidence, ax: Axes | None = None) -> Axes:
    """Plot how many items are left by triangles at every epsilon that was tried, and at what estimated risk.

    The risk has its own axis on the right. The chosen epsilon is ringed; gaps are values at which the
    relations contradict one another.

    Parameters
    ----------
    evidence : RatingEvidence
        ``side.evidence`` of side information that `lsdt.from_ratings` made.
    ax : matplotlib Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the items: the one that was given, or that of the new figure.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=500, n_items=10, ratings_per_user=6)
    >>> side = lsdt.from_ratings(log, confidence=.8, relations="threshold")
    >>> axes = lsdt.plotting.plot_epsilon(side.evidence)
    >>> axes.get_xlabel()
    'epsilon, share of the scale'
    """
    check_axes(ax)
    from matplotlib.patheffects import withStroke
    from matplotlib.ticker import MaxNLocator

    choice = epsilon_choice(evidence)
    axes = axes_or_new(ax, 4.2)
    right = axes.twinx()
    at, chosen = choice.chosen, float(choice.epsilon[choice.chosen])
    marker = "o" if len(choice.epsilon) < _FEW else ""
    for place, values, colour, label in (
        (axes, choice.by_triangles, COLOURS[0], "items that triangles leave"),
        (right, choice.risk, COLOURS[1], "estimated risk of losing the best item"),
    ):
        place.plot(choice.epsilon, values, color=colour, lw=1.8, marker=marker, ms=3.5, label=label)
        place.plot([chosen], [values[at]], "o", ms=9, mfc="none", mec=INK, mew=1.6, clip_on=False)
        place.set_ylabel(label, color=colour)
        place.tick_params(axis="y", colors=colour)
        place.spines["top"].set_visible(False)
    right.axhline(choice.limit, color=COLOURS[1], lw=1.2, ls=REFERENCE_DASHES)
    right.annotate(
        f"risk accepted, {choice.limit:.3g}",
        (0.99, choice.limit),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color=COLOURS[1],
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )
    axes.set_xlabel("epsilon, share of the scale")
    if len(choice.epsilon) == 1:
        axes.set_xlim(0.0, 2.0 * chosen)
    top = 1.15 * float(np.nanmax([choice.limit, *choice.risk, 1e-9]))
    for place, most in ((axes, 1.08 * choice.n_items), (right, top)):
        place.set_ylim(-0.03 * most, most)  # so that a line at 0 is visible
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color=RULE, lw=0.6)
    axes.set_axisbelow(True)
    write_title(
        axes,
        f"Epsilon {choice.how}: {chosen:g} leaves {_number(choice.by_triangles[at])} of {choice.n_items:,} "
        f"items at a risk of {_number(choice.risk[at])}",
        wrap=ax is not None,
    )
    return axes


def epsilon_choice(evidence: RatingEvidence) -> EpsilonChoice:
    """Return the numbers that `plot_epsilon` draws."""
    check_kind(
        evidence,
        RatingEvidence,
        "plot_epsilon takes the evidence of side information from ratings (side.evidence)",
    )
    if evidence.epsilon is None:
        raise InvalidInput("plot_epsilon draws the choice of epsilon, but relations='ranges' has no epsilon")
    scan = evidence.scan
    by_triangles, risk = (
        scan[name].to_numpy("float64", na_value=float("nan")) for name in ("by_triangles", "risk")
    )
    return EpsilonChoice(
        scan["epsilon"].to_numpy("float64"),
        by_triangles,
        risk,
        int((scan["epsilon"] == evidence.epsilon).to_numpy().argmax()),
        1.0 - evidence.confidence,
        len(evidence.item_ids),
        _HOW.get(evidence.search, "chosen"),
    )


def _number(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.3g}" if value < 1.0 else f"{value:,.0f}"
