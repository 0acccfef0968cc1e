"""The kinds of figures in the report: lines with bands in panels, values with intervals in rows, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.plotting.line_names import name_lines, room_for
from lsdt.plotting.style import COLOURS, INK, MUTED, RULE, WIDTH, inches, write_note, write_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

# Colours repeat after seven lines, dashes after twenty-eight.
DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
MOST_LINES = len(COLOURS) * len(DASHES)
REFERENCE_DASHES = (0, (2, 2))
_MARKS = ("o", "s", "D", "^", "v", "P")
_PANEL_HEIGHT = 3.6  # inches, for a panel below rows; chosen by eye
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "handlelength": 3.2}


class Line(NamedTuple):
    """One line: its name, its points, and the ends of its band if it has one.

    Attributes
    ----------
    reference : bool
        Whether this is something to compare with (a bound, a value of the paper), drawn thin and grey.
    points : bool
        Whether to mark the points, as for a few that were measured separately.
    colour : int or None
        The number of the colour; by default the next one. Lines with the same label in several panels share
        a colour.
    """

    label: str
    x: ArrayLike
    mean: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    reference: bool = False
    points: bool = False
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """One plot.

    ``span`` is a part of the x axis to shade, with its label; ``marks`` are positions on the x axis for
    vertical lines, with their labels; ``mark`` is a point to ring; ``x_ticks`` are positions and labels of
    ticks, for values that are not to scale.
    """

    lines: Sequence[Line]
    xlabel: str
    ylabel: str
    title: str = ""
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    span: tuple[float, float, str] | None = None
    marks: Sequence[tuple[float, str]] = ()
    mark: tuple[float, float] | None = None
    x_ticks: Sequence[tuple[float, str]] = ()


class Dot(NamedTuple):
    """A value in one row and one group, with the ends of its interval (both equal to the value if none)."""

    row: str
    group: str
    value: float
    low: float
    high: float


def draw_panels(panels: Sequence[Panel], title: str, note: str = "", height: float = 4.6) -> Figure:
    """Draw panels side by side under one title, with one legend for all of them.

    Lines with the same label in several panels share one legend entry. The legend is to the right of a single
    panel, in the order in which the lines end, and below several panels.

    Examples
    --------
    >>> from lsdt.plotting.panels import Line, Panel, draw_panels
    >>> panel = Panel([Line("square", [1, 2, 3], [1, 4, 9])], xlabel="x", ylabel="y")
    >>> figure = draw_panels([panel], "Squares")
    """
    from matplotlib.figure import Figure

    if len(panels) == 1:
        figure = Figure(figsize=(WIDTH, height_of_panel(panels[0], height)), layout="constrained")
        axes = figure.add_subplot()
        draw_lines(axes, panels[0], beside=True)
        write_title(axes, title)
        write_note(figure, note)
        return figure
    looks = _looks(panels)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    drawn: dict[str, Any] = {}
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for line in panel.lines:
            drawn.setdefault(line.label, _draw_line(axes, line, looks[line.label])[1])
        dress(axes, panel)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    if any(len(panel.lines) > 1 for panel in panels):
        _explain_all(figure, list(drawn.values()), note)
    else:  # the axis of every panel says what its line is
        write_note(figure, note)
    return figure


def draw_dots(
    dots: Sequence[Dot],
    xlabel: str,
    title: str,
    note: str = "",
    log: bool = False,
    line_after: str | None = None,
) -> Figure:
    """Draw values as dots with intervals, with rows from top to bottom in the order of their first dots.

    A line below the row `line_after` separates it from the rows that follow.

    Examples
    --------
    >>> from lsdt.plotting.panels import Dot, draw_dots
    >>> figure = draw_dots([Dot("ucb1", "measured", 3., 2.5, 3.5)], "milliseconds", "Times")
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, _height_of_rows(dots)), layout="constrained")
    axes = figure.add_subplot()
    rows = _draw_rows(axes, dots, xlabel, log)
    if line_after is not None:
        axes.axhline(rows.index(line_after) + 0.5, color=MUTED, lw=0.8)
    write_title(axes, title)
    write_note(figure, note)
    return figure


def draw_standings(
    dots: Sequence[Dot], xlabel: str, panel: Panel, title: str, note: str = "", log: bool = False
) -> Figure:
    """Draw the results of a contest as dots in rows, and how they came about as a panel of lines below.

    Examples
    --------
    >>> from lsdt.plotting.panels import Dot, Line, Panel, draw_standings
    >>> panel = Panel([Line("ucb1", [1, 2], [1., 3.])], "round t", "regret")
    >>> figure = draw_standings([Dot("ucb1", "mean", 3., 2.5, 3.5)], "regret", panel, "A contest")
    """
    from matplotlib.figure import Figure

    above = _height_of_rows(dots)
    figure = Figure(figsize=(WIDTH, above + _PANEL_HEIGHT), layout="constrained")
    rows, lines = figure.subplots(2, 1, height_ratios=(above, _PANEL_HEIGHT))
    _draw_rows(rows, dots, xlabel, log)
    write_title(rows, title)
    draw_lines(lines, panel, beside=True)
    write_note(figure, note)
    return figure


def draw_named_lines(axes: Axes, panel: Panel) -> None:
    """Draw one panel with the name of every line at its end, or with a legend if the names do not fit."""
    looks = _looks([panel])
    lines = [_draw_line(axes, line, looks[line.label])[1] for line in panel.lines]
    dress(axes, panel)
    width, height = inches(axes)
    if room_for(len(lines), height):
        name_lines(axes, lines, width, height)
    else:
        _plain(axes.legend(handles=lines, loc="best", **_LEGEND))


def draw_lines(axes: Axes, panel: Panel, *, beside: bool) -> None:
    """Draw one panel into a plot, with its legend beside it (`beside`) or inside.

    The legend is in the order in which the lines end.
    """
    looks = _looks([panel])
    drawn = [_draw_line(axes, line, looks[line.label]) for line in panel.lines]
    dress(axes, panel)
    handles = [handle for _, handle in sorted(drawn, key=lambda pair: -pair[0])]
    place: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02)} if beside else {"loc": "best"}
    )
    _plain(axes.legend(handles=handles, **place, **_LEGEND))


def height_of_panel(panel: Panel, height: float = 4.6) -> float:
    """Return the height of a figure with one panel, in inches: enough for the legend beside it."""
    return max(height, 0.9 + 0.24 * len(panel.lines))


def _explain_all(figure: Figure, handles: list[Any], note: str) -> None:
    """Put one legend below several panels, with the note as its title, so that they do not overlap."""
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 4),
        title=note or None,
        title_fontsize=8.5,
        **_LEGEND,
    )
    legend.get_title().set_color(MUTED)
    _plain(legend)


def _plain(legend: Any) -> None:
    """Switch off math in a legend, as names of policies may contain dollar signs."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _looks(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Return colour, dashes and width for every label: references in greys, the others along the palette."""
    labels = {line.label for panel in panels for line in panel.lines}
    if not 0 < len(labels) <= MOST_LINES:
        raise InvalidInput(f"1 to {MOST_LINES} lines can be told apart in one picture; got {len(labels)}")
    looks: dict[str, dict[str, Any]] = {}
    coloured = greys = 0
    for line in (line for panel in panels for line in panel.lines):
        if line.label in looks:
            continue
        if line.reference:
            grey = ("#333333", "#777777", "#A0A0A0")[greys % 3]
            looks[line.label] = {"color": grey, "ls": REFERENCE_DASHES, "lw": 1.2}
            greys += 1
        else:
            number = coloured if line.colour is None else line.colour
            looks[line.label] = {
                "color": COLOURS[number % len(COLOURS)],
                "ls": DASHES[number // len(COLOURS) % len(DASHES)],
                "lw": 1.8,
            }
            coloured += 1
    return looks


def _draw_line(axes: Axes, line: Line, look: dict[str, Any]) -> tuple[float, Any]:
    mean = np.asarray(line.mean, float)
    marks: dict[str, Any] = {"marker": "o", "ms": 3.5} if line.points or len(mean) == 1 else {}
    (handle,) = axes.plot(line.x, mean, label=line.label, **look, **marks)
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=look["color"], alpha=0.18, lw=0)
    finite = mean[np.isfinite(mean)]
    return float(finite[-1]) if len(finite) else 0.0, handle


def dress(axes: Axes, panel: Panel) -> None:
    """Set the labels, scales, limits and marks of a panel, and tone down everything that is not data."""
    axes.set_xlabel(panel.xlabel)
    axes.set_ylabel(panel.ylabel)
    if panel.x_ticks:
        axes.set_xticks([place for place, _ in panel.x_ticks], [word for _, word in panel.x_ticks])
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.x_range is not None:
        axes.set_xlim(*panel.x_range)
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    elif not panel.y_log:
        axes.set_ylim(bottom=0)
    if panel.span is not None:
        first, last, word = panel.span
        axes.axvspan(first, last, color="#000000", alpha=0.05, lw=0)
        axes.annotate(
            word,
            ((first + last) / 2, 0.985),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            fontsize=8.5,
            color=MUTED,
        )
    _draw_marks(axes, panel.marks)
    if panel.mark is not None:
        x, y = panel.mark
        axes.plot([x], [y], "o", ms=9, mfc="none", mec=INK, mew=1.6, clip_on=False)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    axes.grid(color=RULE, lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["right", "top"]].set_visible(False)


def _height_of_rows(dots: Sequence[Dot]) -> float:
    """Return the height that the rows of these dots need, in inches."""
    rows, groups = len({dot.row for dot in dots}), len({dot.group for dot in dots})
    return 1.5 + rows * (0.36 if groups < 3 else 0.16 * groups)


def _draw_rows(axes: Axes, dots: Sequence[Dot], xlabel: str, log: bool) -> list[str]:
    """Draw dots into a plot, with a legend if there are several groups; return the names of the rows."""
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


def _draw_marks(axes: Axes, marks: Sequence[tuple[float, str]]) -> None:
    for place, word in marks:
        axes.axvline(place, color=MUTED, lw=1.0, ls=REFERENCE_DASHES, zorder=1)
        axes.annotate(
            word,
            (place, 0.985),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=8.5,
            color=MUTED,
        )
