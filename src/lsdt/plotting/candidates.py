"""Pictures of a candidate set: arms as intervals on a line, or as a graph of similar and dissimilar pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._files import checked_path
from lsdt._validation import check_kind
from lsdt.candidates import CandidateSet
from lsdt.candidates.complete.recognition import recognise
from lsdt.errors import Unsupported
from lsdt.plotting.graph_layout import bowed, lanes, shortened, spread_out
from lsdt.plotting.style import COLOURS, GREY, INK, WIDTH, check_ending, empty_figure, write_figure
from lsdt.side_information.layouts.stores import WindowStore

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


MOST_INTERVALS = 5_000
MOST_POINTS = 200

_APART = "#D55E00"
_SMALLEST_PRINT = 5.0  # points; labels that would have to be smaller are shortened, or left out
_LETTER = 0.85  # the width of a letter in its own size, bold and with a margin
_MOST_DASHES = 300  # beyond this many, dissimilar pairs would be fog
_SHORT_LABEL = 3  # letters that fit inside a point
_MOST_INSIDE, _MOST_BESIDE = 60, 25  # points that can be labelled without a heap of letters


def save_picture(found: CandidateSet, path: str | PathLike[str]) -> None:
    """Draw a candidate set into a ``.svg``, ``.png`` or ``.pdf`` file.

    Complete information is drawn as intervals (`draw_intervals`), partial as a graph (`draw_graph`).

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.plotting import save_picture
    >>> found = lsdt.candidate_set(lsdt.from_means([.1, .2, .3], epsilon=.15))
    >>> save_picture(found, "arms.svg")  # doctest: +SKIP
    """
    check_kind(found, CandidateSet, "a picture shows what lsdt.candidate_set returns")
    target = checked_path(path)
    as_intervals = found.classes is not None
    check_drawable(found.side.n_arms, target, as_intervals=as_intervals)
    write_figure(draw_intervals(found) if as_intervals else draw_graph(found), target)


def check_drawable(n_arms: int, path: Path, *, as_intervals: bool) -> None:
    """Refuse a picture that could not be read, if possible before any work is done for it."""
    check_ending(path)
    most = MOST_INTERVALS if as_intervals else MOST_POINTS
    if n_arms > most:
        what = "intervals" if as_intervals else "a graph"
        raise Unsupported(
            f"{what} can be drawn for up to {most:,} arms, and there are {n_arms:,}; leave the picture out, "
            "or draw a part of the arms"
        )


def draw_intervals(found: CandidateSet) -> Figure:
    """Draw every arm as an interval of length epsilon that starts at its mean; candidates are coloured.

    Means are the true ones where the side information knows them, else those of a unit interval model.
    """
    from matplotlib.collections import PolyCollection

    left, width, axis_label = _interval_ends(found)
    lane = lanes(left, width, gap=0.04 * width)
    colour, legend = _colours(found)
    row_height = min(0.32, 9.0 / (lane.max() + 1))
    figure, axes = empty_figure(WIDTH, 1.6 + row_height * (lane.max() + 1))
    low, high = lane - 0.36, lane + 0.36
    corners = [[left, low], [left + width, low], [left + width, high], [left, high]]
    axes.add_collection(
        PolyCollection(
            list(np.moveaxis(np.array(corners), 2, 0)),
            facecolors=colour,
            edgecolors=INK,
            linewidths=min(0.6, 2 * row_height),
        )
    )
    _label_intervals(
        axes, found, left + width / 2, lane, colour, row_height, width / np.ptp([left, left + width])
    )
    axes.set_yticks([])
    axes.set_ylim(-0.6, lane.max() + 0.6)
    spare = 0.02 * float(np.ptp([left, left + width]))
    axes.set_xlim(left.min() - spare, left.max() + width + spare)
    axes.set_xlabel(axis_label)
    axes.spines[["left", "right", "top"]].set_visible(False)
    _finish(figure, found, legend)
    return figure


def draw_graph(found: CandidateSet) -> Figure:
    """Draw arms as points, similar pairs as solid and dissimilar pairs as dashed lines."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    side = found.side
    similar, dissimilar = side.similar_pairs(), side.dissimilar_pairs()
    points = spread_out(side.n_arms, similar, dissimilar)
    colour, legend = _colours(found)
    low, high = points.min(axis=0) - 0.55, points.max(axis=0) + 0.55
    width, height = high - low
    figure, axes = empty_figure(WIDTH, float(np.clip(WIDTH * height / width, 2.0, 5.5)) + 0.9)
    thin = float(np.clip(60.0 / max(len(similar), 1), 0.0, 1.0))
    line: dict[str, Any] = {"zorder": 2, "color": INK, "lw": 0.5 + 1.1 * thin, "alpha": 0.35 + 0.65 * thin}
    dashes: dict[str, Any] = {
        "zorder": 1,
        "color": _APART,
        "lw": 0.7 + 0.3 * thin,
        "ls": (0, (4, 3)),
        "alpha": 0.4 + 0.4 * thin,
    }
    if len(similar):
        axes.add_collection(LineCollection(list(points[similar]), **line))
        legend.append(Line2D([], [], label="similar", **line))
    if 0 < len(dissimilar) <= _MOST_DASHES:
        axes.add_collection(LineCollection(list(bowed(points, dissimilar)), **dashes))
        legend.append(Line2D([], [], label="dissimilar", **dashes))
    elif len(dissimilar):
        legend.append(Line2D([], [], ls="", label=f"{len(dissimilar):,} dissimilar pairs are not drawn"))
    size = float(np.clip(9000 / side.n_arms, 40, 420))
    axes.scatter(points[:, 0], points[:, 1], s=size, c=colour, edgecolors=INK, linewidths=0.8, zorder=3)
    _label_points(axes, found, points, colour, size)
    axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_axis_off()
    _finish(figure, found, legend)
    return figure


def _label_intervals(
    axes: Axes,
    found: CandidateSet,
    centre: NDArray[np.float64],
    lane: NDArray[np.int64],
    colour: list[str],
    row_height: float,
    share: float,
) -> None:
    """Write ids into the bars, all in one size: shortened if need be, left out if even that is too long."""
    room = share * (WIDTH - 0.5) * 72 / _LETTER  # points
    labels = [_one_line(found, arm) for arm in range(found.side.n_arms)]
    longest = max(map(len, labels))
    size = min(9.0, 45 * row_height, room / longest)
    letters = longest
    if size < _SMALLEST_PRINT:
        size = min(6.0, 45 * row_height)
        letters = int(room / size)
    if letters < min(longest, 4) or size < _SMALLEST_PRINT:
        return
    for arm, label in enumerate(labels):
        _write(axes, (centre[arm], lane[arm]), shortened(label, letters), size, is_out=colour[arm] == GREY)


def _label_points(
    axes: Axes, found: CandidateSet, points: NDArray[np.float64], colour: list[str], size: float
) -> None:
    """Write ids into the points, or beside them where they do not fit."""
    from matplotlib.patheffects import withStroke

    print_size = float(np.clip(0.46 * np.sqrt(size), 5.5, 9.0))
    labels = [_one_line(found, arm) for arm in range(found.side.n_arms)]
    inside = max(map(len, labels)) <= _SHORT_LABEL
    if len(labels) > (_MOST_INSIDE if inside else _MOST_BESIDE):
        return
    for arm, (label, point) in enumerate(zip(labels, points, strict=True)):
        if inside:
            _write(axes, (point[0], point[1]), label, print_size, is_out=colour[arm] == GREY)
            continue
        axes.annotate(
            shortened(label, 18),
            (point[0], point[1]),
            xytext=(0, -0.62 * np.sqrt(size) - 2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=max(print_size, 7.0),
            color=INK,
            zorder=5,
            parse_math=False,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )


def _one_line(found: CandidateSet, arm: int) -> str:
    return " ".join(str(found.side.label(arm)).split()) or "·"


def _write(axes: Axes, place: tuple[float, float], label: str, size: float, *, is_out: bool) -> None:
    axes.text(
        *place,
        label,
        ha="center",
        va="center_baseline",
        fontsize=size,
        color=INK if is_out else "white",
        weight="normal" if is_out else "bold",
        zorder=4,
        clip_on=True,
        parse_math=False,  # an id may hold dollar signs
    )


def _interval_ends(found: CandidateSet) -> tuple[NDArray[np.float64], float, str]:
    """Return where intervals start and their length: true means, unless bars would be too thin to see."""
    side = found.side
    if isinstance(side.store, WindowStore):
        windows = side.store.windows
        if np.ptp(windows.means) < 150 * windows.epsilon:
            label = "mean reward: each arm is an interval of length epsilon from its mean"
            return windows.means_by_arm(), windows.epsilon, label
    model = recognise(side)
    label = "position in epsilons (intervals that fit the relations; only overlaps mean something)"
    return model.coordinates, 1.0, label  # type: ignore[union-attr]


def _colours(found: CandidateSet) -> tuple[list[str], list[Any]]:
    """Return the colour of every arm, and the legend entries that explain them."""
    from matplotlib.patches import Patch

    colour = [GREY] * found.side.n_arms
    classes = found.classes
    if classes is not None and 1 < len(classes) <= len(COLOURS):
        groups = classes
        names = [f"can be the best: class {n + 1} ({len(members)})" for n, members in enumerate(classes)]
    else:
        groups = [found.arms]
        more = f" in {len(classes)} classes" if classes is not None and len(classes) > 1 else ""
        names = [f"{found.verb} the best ({len(found)}{more})"]
    legend = []
    for members, name, fill in zip(groups, names, COLOURS, strict=False):
        legend.append(Patch(fc=fill, ec=INK, label=name))
        for arm in members:
            colour[arm] = fill
    n_out = found.side.n_arms - len(found)
    return colour, [*legend, Patch(fc=GREY, ec=INK, label=f"cannot ({n_out})")] if n_out else legend


def _finish(figure: Figure, found: CandidateSet, legend: list[Any]) -> None:
    kind = "complete" if found.side.is_complete else "partial"
    title = f"{len(found)} of {found.side.n_arms} arms {found.verb} the best ({kind} side information)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    figure.legend(handles=legend, loc="outside lower left", ncols=4, frameon=False, fontsize=9)
