"""Pictures of a few measured values with their intervals: one row each, groups told apart by colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsdt.plotting.panels import Panel, dress
from lsdt.plotting.style import COLOURS, INK, MUTED, WIDTH, write_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = ("o", "s", "D", "^", "v", "P")


class Dot(NamedTuple):
    """A value of one row and one group; the ends are those of its interval, equal to it where it has none."""

    row: str
    group: str
    value: float
    low: float
    high: float


def draw_dots(
    dots: Sequence[Dot],
    xlabel: str,
    title: str,
    note: str = "",
    log: bool = False,
    line_after: str | None = None,
) -> Figure:
    """Draw values as dots with intervals, rows from top to bottom in the order in which they come.

    A line below the row `line_after` sets the rows apart that follow.

    Examples
    --------
    >>> from lsdt.plotting.dots import Dot, draw_dots
    >>> figure = draw_dots([Dot("ucb1", "measured", 3., 2.5, 3.5)], "milliseconds", "Times")
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height_of(dots)), layout="constrained")
    axes = figure.add_subplot()
    rows = draw_rows(axes, dots, xlabel, log)
    if line_after is not None:
        axes.axhline(rows.index(line_after) + 0.5, color=MUTED, lw=0.8)
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=12)
    write_note(figure, note)
    return figure


def height_of(dots: Sequence[Dot]) -> float:
    """Return the height that these dots need, in inches."""
    rows, groups = len({dot.row for dot in dots}), len({dot.group for dot in dots})
    return 1.5 + rows * (0.36 if groups < 3 else 0.16 * groups)


def draw_rows(axes: Axes, dots: Sequence[Dot], xlabel: str, log: bool) -> list[str]:
    """Draw dots into a plot, with a legend where there are groups, and return its rows."""
    rows = list(dict.fromkeys(dot.row for dot in dots))
    groups = list(dict.fromkeys(dot.group for dot in dots))
    step = 0.25 if len(groups) < 3 else 0.75 / len(groups)
    for number, group in enumerate(groups):
        members = [dot for dot in dots if dot.group == group]
        places = [rows.index(dot.row) + step * (number - (len(groups) - 1) / 2) for dot in members]
        values = [dot.value for dot in members]
        ends = [[dot.value - dot.low for dot in members], [dot.high - dot.value for dot in members]]
        axes.errorbar(
            values,
            places,
            xerr=ends,
            fmt=_MARKS[number % len(_MARKS)],
            ms=5.5,
            capsize=2.5,
            lw=1.4,
            color=COLOURS[number % len(COLOURS)],
            label=group,
        )
    dress(axes, Panel((), xlabel, "", x_log=log, y_range=(len(rows) - 0.4, -0.6)))
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    if len(groups) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=9)
    return rows
