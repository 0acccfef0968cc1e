"""The picture of a contest: values in rows above, how they came about as lines below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.plotting.dots import draw_rows, height_of
from lsdt.plotting.panels import draw_lines
from lsdt.plotting.style import INK, WIDTH, write_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from lsdt.plotting.dots import Dot
    from lsdt.plotting.panels import Panel

_PANEL_HEIGHT = 3.6


def draw_standings(
    dots: Sequence[Dot], xlabel: str, panel: Panel, title: str, note: str = "", log: bool = False
) -> Figure:
    """Draw dots in rows, as `draw_dots` does, and below them a panel of lines with a legend of its own.

    Examples
    --------
    >>> from lsdt.plotting.panels import Line, Panel
    >>> from lsdt.plotting.dots import Dot
    >>> from lsdt.plotting.standings import draw_standings
    >>> panel = Panel([Line("ucb1", [1, 2], [1., 3.])], "round t", "regret")
    >>> figure = draw_standings([Dot("ucb1", "mean", 3., 2.5, 3.5)], "regret", panel, "A contest")
    """
    from matplotlib.figure import Figure

    above = height_of(dots)
    figure = Figure(figsize=(WIDTH, above + _PANEL_HEIGHT), layout="constrained")
    rows, lines = figure.subplots(2, 1, height_ratios=(above, _PANEL_HEIGHT))
    draw_rows(rows, dots, xlabel, log)
    rows.set_title(title, loc="left", fontsize=11, color=INK, pad=12)
    draw_lines(lines, panel)
    write_note(figure, note)
    return figure
