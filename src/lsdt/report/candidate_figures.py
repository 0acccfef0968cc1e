"""Pictures of a candidate set: arms as intervals on a line, or as a graph of similar and dissimilar pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates.recognition import recognise
from lsdt.errors import InvalidInput, Unsupported
from lsdt.report.layouts import lanes, spread_out
from lsdt.side_information.stores import WindowStore

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet

MOST_INTERVALS = 5_000
MOST_POINTS = 200
ENDINGS = (".svg", ".png", ".pdf")

# Okabe and Ito's palette: told apart by colour-blind readers, and in grey by their lightness.
_CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_OUT = "#C8C8C8"
_INK = "#222222"
_APART = "#D55E00"
_LABELS_INSIDE = 60  # more points than this are drawn small, without labels
_SMALLEST_PRINT = 4.5  # points; smaller labels are left out
_EVEN_PRINT = 6.0  # all labels have one size unless the longest would force it below this


def save_picture(found: CandidateSet, path: str | PathLike[str]) -> None:
    """Draw a candidate set into a ``.svg``, ``.png`` or ``.pdf`` file."""
    target = Path(path)
    as_intervals = found.classes is not None
    check_drawable(found.side.n_arms, target, as_intervals=as_intervals)
    import matplotlib

    figure = draw_intervals(found) if as_intervals else draw_graph(found)
    target.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "lsdt"}):
        metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
        figure.savefig(target, dpi=160, metadata=metadata)


def check_drawable(n_arms: int, path: Path, *, as_intervals: bool) -> None:
    """Refuse a picture that could not be read, if possible before any work is done for it."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"a picture ends in {', '.join(ENDINGS)}; got {str(path)!r}")
    most = MOST_INTERVALS if as_intervals else MOST_POINTS
    if n_arms > most:
        what = "intervals" if as_intervals else "a graph of partial information"
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
    colour, legend = _class_colours(found)
    row_height = min(0.32, 9.0 / (lane.max() + 1))
    figure, axes = _empty_figure(9.0, 1.6 + row_height * (lane.max() + 1))
    low, high = lane - 0.36, lane + 0.36
    corners = [[left, low], [left + width, low], [left + width, high], [left, high]]
    axes.add_collection(
        PolyCollection(
            list(np.moveaxis(np.array(corners), 2, 0)),
            facecolors=colour,
            edgecolors=_INK,
            linewidths=min(0.6, 2 * row_height),
        )
    )
    points_wide = width / (left.max() + width - left.min()) * 8.5 * 72
    labels = [str(found.side.label(arm)) for arm in range(found.side.n_arms)]
    fitting = [min(9.0, 45 * row_height, points_wide / (0.72 * len(label))) for label in labels]
    common = min(fitting)
    for arm, (label, fits) in enumerate(zip(labels, fitting, strict=True)):
        is_out = colour[arm] == _OUT
        size = common if common >= _EVEN_PRINT else fits
        if size >= _SMALLEST_PRINT:
            axes.text(
                left[arm] + width / 2,
                lane[arm],
                label,
                ha="center",
                va="center",
                fontsize=size,
                color=_INK if is_out else "white",
                weight="normal" if is_out else "bold",
                clip_on=True,
            )
    axes.set_yticks([])
    axes.set_ylim(-0.6, lane.max() + 0.6)
    spare = 0.02 * (left.max() + width - left.min())
    axes.set_xlim(left.min() - spare, left.max() + width + spare)
    axes.set_xlabel(axis_label)
    axes.spines[["left", "right", "top"]].set_visible(False)
    _finish(figure, axes, found, legend)
    return figure


def draw_graph(found: CandidateSet) -> Figure:
    """Draw arms as points, similar pairs as solid and dissimilar pairs as dashed lines."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    side = found.side
    similar, dissimilar = side.similar_pairs(), side.dissimilar_pairs()
    points = spread_out(side.n_arms, similar, dissimilar)
    colour, legend = _class_colours(found)
    room = 0.5 if side.n_arms <= _LABELS_INSIDE else 0.3
    low, high = points.min(axis=0) - room, points.max(axis=0) + room
    width, height = high - low
    figure, axes = _empty_figure(9.0, float(np.clip(9.0 * height / width, 2.4, 8.0)) + 1.0)
    crowd = len(similar) + len(dissimilar)
    fade = float(np.clip(60.0 / max(crowd, 1), 0.06, 1.0))
    axes.add_collection(
        LineCollection(
            list(_bowed(points, dissimilar)), colors=_APART, linestyles=(0, (4, 3)), lw=1.0, alpha=0.75 * fade
        )
    )
    axes.add_collection(LineCollection(list(points[similar]), colors=_INK, lw=1.6, alpha=max(fade, 0.12)))
    large = side.n_arms <= _LABELS_INSIDE
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=420 if large else 60,
        c=colour,
        edgecolors=_INK,
        linewidths=0.8,
        zorder=3,
    )
    if large:
        for arm, (x, y) in enumerate(points):
            is_out = colour[arm] == _OUT
            axes.annotate(
                str(side.label(arm)),
                (x, y),
                ha="center",
                va="center",
                fontsize=9,
                zorder=4,
                color=_INK if is_out else "white",
                weight="normal" if is_out else "bold",
            )
    axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_axis_off()
    legend += [
        Line2D([], [], color=_INK, lw=1.6, label="similar"),
        Line2D([], [], color=_APART, lw=1.0, ls=(0, (4, 3)), label="dissimilar"),
    ]
    _finish(figure, axes, found, legend)
    return figure


def _bowed(points: NDArray[np.float64], pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return slightly bowed lines between the points of each pair, so that lines in a row stay apart."""
    start, end = points[pairs[:, 0]], points[pairs[:, 1]]
    across = (end - start) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    middle = (start + end) / 2 + 0.16 * across
    t = np.linspace(0.0, 1.0, 24)[None, :, None]
    lines: NDArray[np.float64] = (
        (1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None]
    )
    return lines


def _interval_ends(found: CandidateSet) -> tuple[NDArray[np.float64], float, str]:
    side = found.side
    if isinstance(side.store, WindowStore):
        windows = side.store.windows
        label = "mean reward: each arm is an interval of length epsilon from its mean"
        return windows.means_by_arm(), windows.epsilon, label
    model = recognise(side)
    label = "position in epsilons (intervals that fit the relations; only overlaps mean something)"
    return model.coordinates, 1.0, label  # type: ignore[union-attr]


def _class_colours(found: CandidateSet) -> tuple[list[str], list[Any]]:
    """Return the colour of every arm, and the legend entries that explain them."""
    from matplotlib.patches import Patch

    colour = [_OUT] * found.side.n_arms
    groups = found.classes if found.classes is not None else [found.arms]
    for number, members in enumerate(groups):
        for arm in members:
            colour[arm] = _CLASS_COLOURS[number % len(_CLASS_COLOURS)]
    if found.classes is None:
        legend = [Patch(fc=_CLASS_COLOURS[0], ec=_INK, label=f"can be the best ({len(found)})")]
    elif len(groups) <= len(_CLASS_COLOURS):
        legend = [
            Patch(fc=_CLASS_COLOURS[n], ec=_INK, label=f"can be the best: class {n + 1} ({len(members)})")
            for n, members in enumerate(groups)
        ]
    else:
        legend = [Patch(fc=_CLASS_COLOURS[0], ec=_INK, label=f"can be the best: {len(groups)} classes")]
    n_out = found.side.n_arms - len(found)
    return colour, [*legend, Patch(fc=_OUT, ec=_INK, label=f"cannot ({n_out})")]


def _empty_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Axes, found: CandidateSet, legend: list[Any]) -> None:
    kind = "complete" if found.side.is_complete else "partial"
    axes.set_title(
        f"{len(found)} of {found.side.n_arms} arms can be the best ({kind} side information)", loc="left"
    )
    figure.legend(handles=legend, loc="outside lower left", ncols=4, frameon=False, fontsize=9)
