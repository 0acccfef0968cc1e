"""The plot of a test of side information: how far apart arms are, against how far apart they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._validation import check_kind
from lsdt.errors import InvalidInput
from lsdt.plotting.panels import REFERENCE_DASHES
from lsdt.plotting.style import COLOURS, INK, axes_or_new, check_axes, write_title
from lsdt.ratings import SideCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_MOST_MARKS = 20_000  # points drawn; with more, an SVG file would have many megabytes
_MOST_NAMED = 30  # groups named on the axis; chosen by eye


class CheckPoints(NamedTuple):
    """The numbers that `plot_check` draws: a point per pair, with the interval of its distance.

    Attributes
    ----------
    x : ndarray
        The distance of the features, the number of the group, or the rank.
    distance, low : ndarray
        The estimated distance of the two means, and the lower end of its interval.
    limit : ndarray
        How far apart the means may be according to the side information.
    is_wrong : ndarray of bool
        Whether the interval contradicts the limit.
    groups : list of str
        Names of the groups; empty if there are none.
    """

    x: NDArray[np.float64]
    distance: NDArray[np.float64]
    low: NDArray[np.float64]
    limit: NDArray[np.float64]
    is_wrong: NDArray[np.bool_]
    groups: list[str]


def plot_check(check: SideCheck, ax: Axes | None = None) -> Axes:
    """Plot how far apart pairs of arms are, against how far apart they may be.

    For features, every measured pair is a point over the distance of its features, and lies below the line of
    the Lipschitz constant if that holds. For groups, the similar pairs form a column of points per group,
    below epsilon if they really are similar; for other side information they are ranked by their distance.
    Pairs whose whole interval lies above the line are marked, and the lower half of the interval is drawn.

    Parameters
    ----------
    check : SideCheck
        What `lsdt.check_side` returns.
    ax : matplotlib Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    matplotlib Axes
        The one that was given, or that of the new figure.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=800, n_items=8, ratings_per_user=6, seed=1)
    >>> side = lsdt.from_features([[i] for i in range(8)], .05, .1, arm_ids=range(8))
    >>> lsdt.plotting.plot_check(lsdt.check_side(side, log)).get_xlabel()
    'distance of the features'
    """
    check_axes(ax)
    points = check_points(check)
    axes = axes_or_new(ax, 4.2)
    step = len(points.x) // _MOST_MARKS + 1
    shown = points.is_wrong | (np.arange(len(points.x)) % step == 0)
    for wrong, colour, label in ((False, COLOURS[0], "agrees, or is open"), (True, COLOURS[1], "wrong")):
        which = shown & (points.is_wrong == wrong)
        x, y = points.x[which], points.distance[which]
        if wrong:
            axes.vlines(x, points.low[which], y, color=colour, lw=0.8, alpha=0.6)
        named = f"{label} ({int((points.is_wrong == wrong).sum()):,})"
        axes.plot(x, y, "o", ms=3.5, color=colour, alpha=0.7, ls="", label=named)
    order = np.argsort(points.x, kind="stable")
    if check.lipschitz is not None:
        ends = np.array([0.0, float(points.x.max(initial=0.0))])
        what = f"Lipschitz constant {check.lipschitz.assumed:g}"
        axes.plot(points.x[order], points.limit[order], color=INK, lw=1.4, label=what)
        if check.lipschitz.assumed < check.lipschitz.smallest < np.inf:
            smallest = check.lipschitz.smallest
            what = f"smallest that is not contradicted, {smallest:.3g}"
            axes.plot(ends, smallest * ends, color=INK, lw=1.2, ls=REFERENCE_DASHES, label=what)
        axes.set_xlabel("distance of the features")
    else:
        axes.step(points.x[order], points.limit[order], color=INK, lw=1.4, where="mid", label="epsilon")
        axes.set_xlabel("group" if points.groups else "similar pairs, by their distance")
        if points.groups and len(points.groups) <= _MOST_NAMED:
            axes.set_xticks(range(len(points.groups)), points.groups, rotation=30, ha="right")
    axes.set_ylabel("distance of the means")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize=8.5)
    share = check.lipschitz.share_wrong if check.lipschitz is not None else check.share_wrong
    write_title(axes, f"About {share:.0%} of the pairs are further apart than they may be")
    return axes


def check_points(check: SideCheck) -> CheckPoints:
    """Return the numbers that `plot_check` draws."""
    check_kind(check, SideCheck, "plot_check takes what lsdt.check_side returns")
    found = check.lipschitz
    if found is not None:
        if not found.n_pairs:
            raise InvalidInput("no pair could be tested, so there is nothing to draw; lower min_raters")
        distance = np.abs(found.differences)
        low, limit = np.maximum(distance - found.half_widths, 0.0), found.allowed
        return CheckPoints(found.distances, distance, low, limit, low > limit, [])
    rows = check.pairs[check.pairs["relation"] == "similar"]
    if rows.empty:
        raise InvalidInput("no similar pair could be tested, so there is nothing to draw; lower min_raters")
    distance = rows["difference"].abs().to_numpy()
    low = np.maximum(distance - (rows["high"] - rows["low"]).to_numpy() / 2.0, 0.0)
    names = [str(name) for name in check.groups()["group"]] if rows["group"].notna().all() else []
    x = np.empty(len(rows))
    if names:
        number = {name: at for at, name in enumerate(names)}
        x[:] = [number[str(name)] for name in rows["group"]]
    else:
        x[np.argsort(distance, kind="stable")] = np.arange(len(rows))
    is_wrong = (rows["verdict"] == "wrong").to_numpy()
    return CheckPoints(x, distance, low, rows["limit"].to_numpy(), is_wrong, names)
