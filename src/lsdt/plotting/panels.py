"""Pictures of lines with bands, in one panel or several side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.errors import InvalidInput
from lsdt.plotting.style import COLOURS, INK, MUTED, RULE, WIDTH, write_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

# Colours repeat after seven lines, dashes after twenty-eight.
DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
MOST_LINES = len(COLOURS) * len(DASHES)
_REFERENCE_DASHES = (0, (2, 2))


class Line(NamedTuple):
    """One line: its name, where it goes, and the ends of its band where it has one.

    Attributes
    ----------
    reference : bool
        Something to compare with (a bound, a value of the paper), drawn thin and grey.
    points : bool
        Whether to mark the points: for few of them, each measured on its own.
    colour : int or None
        Which colour; by default the next. Lines of one thing in several panels share a name and a colour.
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

    ``span`` is a stretch of the x axis to shade, with a word on what it is; ``marks`` are places on it to
    draw a line at, each with a word; ``mark`` is a point to ring; ``x_ticks`` are words at places of the x
    axis, where values are not to scale.
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


def draw_panels(panels: Sequence[Panel], title: str, note: str = "", height: float = 4.6) -> Figure:
    """Draw panels side by side under one title, with one legend for all of them.

    Lines with the same label in several panels are one entry. The legend stands right of a single panel,
    ordered as the lines end, and below several.

    Examples
    --------
    >>> from lsdt.plotting.panels import Line, Panel, draw_panels
    >>> panel = Panel([Line("square", [1, 2, 3], [1, 4, 9])], xlabel="x", ylabel="y")
    >>> figure = draw_panels([panel], "Squares")
    """
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    if not 0 < len(labels) <= MOST_LINES:
        raise InvalidInput(f"1 to {MOST_LINES} lines can be told apart in one picture; got {len(labels)}")
    single = len(panels) == 1
    least = 0.9 + 0.24 * len(labels) if single else 0.0
    figure = Figure(figsize=(WIDTH, max(height, least)), layout="constrained")
    looks = _looks(panels)
    drawn: dict[str, tuple[float, Any]] = {}
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for line in panel.lines:
            drawn.setdefault(line.label, _draw_line(axes, line, looks[line.label]))
        dress(axes, panel)
    if single:
        _explain_one(figure, list(drawn.values()), title)
        write_note(figure, note)
        return figure
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    if any(len(panel.lines) > 1 for panel in panels):
        _explain_all(figure, [handle for _, handle in drawn.values()], note)
    else:  # the axis of every panel says what its line is
        write_note(figure, note)
    return figure


def draw_lines(axes: Axes, panel: Panel) -> None:
    """Draw one panel into a plot, its legend to the right, as the lines end."""
    looks = _looks([panel])
    drawn = [_draw_line(axes, line, looks[line.label]) for line in panel.lines]
    dress(axes, panel)
    _explain_lines(axes, drawn)


_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "handlelength": 3.2}


def _explain_one(figure: Figure, drawn: list[tuple[float, Any]], title: str) -> None:
    """Put the title above a single panel, and the legend to its right, as the lines end."""
    axes = figure.axes[0]
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=12)
    _explain_lines(axes, drawn)


def _explain_lines(axes: Axes, drawn: list[tuple[float, Any]]) -> None:
    handles = [handle for _, handle in sorted(drawn, key=lambda pair: -pair[0])]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.02), **_LEGEND)


def _explain_all(figure: Figure, handles: list[Any], note: str) -> None:
    """Put one legend below several panels; the note heads it, lest they cover one another."""
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 4),
        title=note or None,
        title_fontsize=8.5,
        **_LEGEND,
    )
    legend.get_title().set_color(MUTED)


def _looks(panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """Return colour and dashes of every label: references in greys, the others along the palette."""
    looks: dict[str, dict[str, Any]] = {}
    coloured = greys = 0
    for line in (line for panel in panels for line in panel.lines):
        if line.label in looks:
            continue
        if line.reference:
            grey = ("#333333", "#777777", "#A0A0A0")[greys % 3]
            looks[line.label] = {"color": grey, "ls": _REFERENCE_DASHES, "lw": 1.2}
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
    import numpy as np

    mean = np.asarray(line.mean, float)
    marks: dict[str, Any] = {"marker": "o", "ms": 3.5} if line.points or len(mean) == 1 else {}
    (handle,) = axes.plot(line.x, mean, label=line.label, **look, **marks)
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=look["color"], alpha=0.18, lw=0)
    finite = mean[np.isfinite(mean)]
    return float(finite[-1]) if len(finite) else 0.0, handle


def dress(axes: Axes, panel: Panel) -> None:
    """Label the axes of a panel and quieten everything that is not data."""
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


def _draw_marks(axes: Axes, marks: Sequence[tuple[float, str]]) -> None:
    for place, word in marks:
        axes.axvline(place, color=MUTED, lw=1.0, ls=_REFERENCE_DASHES, zorder=1)
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
