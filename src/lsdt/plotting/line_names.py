"""Names of lines at their ends, without overlap, so that readers need not match colours with a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression

from lsdt.plotting.style import INK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

# Chosen by eye, for a font size of 9 points.
_LINE = 0.2  # inches from one name to the next
_LEAD = 0.3  # inches from the end of a line to its name
_SIZE = 9  # font size, in points


def room_for(n_names: int, height: float) -> bool:
    """Return whether `n_names` names, one below the other, fit into `height` inches."""
    return (n_names - 1) * _LINE <= height


def name_lines(axes: Axes, lines: Sequence[Line2D], width: float, height: float) -> None:
    """Write the name of every line to the right of the plot, as near to its end as the other names allow.

    Parameters
    ----------
    axes : matplotlib Axes
        The plot; its limits must not change afterwards.
    lines : list of Line2D
        Lines with labels.
    width, height : float
        The final size of the plot, in inches.
    """
    axes.get_ylim()  # makes matplotlib compute the limits
    ends = [_end(line) for line in lines]
    onto_axes = axes.transData + axes.transAxes.inverted()
    shares = np.array([onto_axes.transform(end)[1] for end in ends])
    places = spread(np.clip(shares, 0.0, 1.0), _LINE / height)
    for line, end, place in zip(lines, ends, places, strict=True):
        lead: dict[str, Any] = {
            "arrowstyle": "-",
            "color": line.get_color(),
            "lw": 0.75 * line.get_linewidth(),
            "ls": line.get_linestyle(),
            "shrinkA": 2,
            "shrinkB": 0,
            "relpos": (0.0, 0.5),
        }
        axes.annotate(
            str(line.get_label()),
            end,
            xytext=(1.0 + _LEAD / width, float(place)),
            textcoords="axes fraction",
            ha="left",
            va="center",
            fontsize=_SIZE,
            color=INK,
            parse_math=False,
            annotation_clip=False,
            arrowprops=lead,
        )


def _end(line: Line2D) -> tuple[float, float]:
    """Return the last finite point of a line."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    at = int(finite[-1]) if len(finite) else -1
    return float(x[at]), float(y[at]) if len(finite) else 0.0


def spread(wanted: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Return positions from 0 to 1, at least `gap` apart, in the order of the wanted ones and near to them.

    The sum of squared moves is minimal. After subtracting a gap for each name below, positions only have to
    be ascending, which is an isotonic regression, clipped at the ends of the axis.

    Examples
    --------
    >>> from lsdt.plotting.line_names import spread
    >>> spread(np.array([.5, .5, 0.]), .1).round(2).tolist()
    [0.45, 0.55, 0.0]
    """
    order = np.argsort(wanted, kind="stable")
    below = gap * np.arange(len(wanted))
    free = isotonic_regression(wanted[order] - below).x
    places = np.empty(len(wanted))
    places[order] = np.clip(free, 0.0, max(1.0 - gap * (len(wanted) - 1), 0.0)) + below
    return places
