"""The plot of a candidate set: few arms as intervals or as a graph of pairs, many as a density on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_kind
from lsdt.candidates import CandidateSet, recognise
from lsdt.plotting.candidate_line import LineForm, draw_line, line_form
from lsdt.plotting.graph_layout import bent_lines, lanes, shorten, spread_out
from lsdt.plotting.style import (
    COLOURS,
    GREY,
    INK,
    WIDTH,
    axes_or_new,
    check_axes,
    inches,
    wrap_text,
    write_title,
)
from lsdt.side_information import WindowStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Chosen by eye: more arms would be illegible, and are drawn as a density.
MOST_INTERVALS = 200
MOST_POINTS = 50

_APART = "#D55E00"
_ABOVE = "#4D4D4D"
# Chosen by eye.
_SMALLEST_PRINT = 5.0  # points; labels that would have to be smaller are shortened or left out
_LETTER = 0.85  # width of a bold letter with its margin, as a multiple of the font size
_MOST_DASHES = 300  # dissimilar or better pairs; more would be illegible
_SHORT_LABEL = 3  # letters that fit inside a point
_MOST_INSIDE, _MOST_BESIDE = 60, 25  # points that can be labelled legibly


class IntervalForm(NamedTuple):
    """Arms as intervals of one length: left ends, length, the row of each, and the label of the axis."""

    left: NDArray[np.float64]
    width: float
    lane: NDArray[np.int64]
    xlabel: str


class GraphForm(NamedTuple):
    """Arms as points, with the pairs that are joined; in `better` the better arm comes first."""

    points: NDArray[np.float64]
    similar: NDArray[np.int32]
    dissimilar: NDArray[np.int32]
    better: NDArray[np.int32]


class CandidatePicture(NamedTuple):
    """The numbers and words that `plot_candidates` draws.

    Attributes
    ----------
    form : IntervalForm, GraphForm or LineForm
        The positions of the arms.
    labels : list of str
        A name for every arm.
    group : ndarray of int
        The group of candidates that each arm belongs to; -1 for excluded arms.
    groups : list of str
        The names of the groups.
    title : str
        The answer in one line.
    """

    form: IntervalForm | GraphForm | LineForm
    labels: list[str]
    group: NDArray[np.int64]
    groups: list[str]
    title: str


def plot_candidates(found: CandidateSet, ax: Axes | None = None) -> Axes:
    """Plot which arms can be the best, in colour, and which cannot, in grey.

    Complete side information on up to 200 arms is drawn as intervals of length epsilon that overlap where
    arms are similar; they begin at the true means if these are known, otherwise where a unit interval model
    puts them. Partial side information on up to 50 arms is drawn as a graph: solid lines join similar arms,
    dashed lines dissimilar ones, and arrows point from the better arm of a pair to the worse one (as a better
    pair or a range says).

    More arms are drawn as a density along a line: their true means, or an estimate of them from ranges or
    pairs. Shades show why arms are excluded, and the legend says how many for each reason. Ticks above the
    density are candidates, some of them with names.

    Parameters
    ----------
    found : CandidateSet
        What `lsdt.candidate_set` returned.
    ax : matplotlib Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    matplotlib Axes
        The one that was given, or that of the new figure.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .3], epsilon=.15)
    >>> axes = lsdt.plotting.plot_candidates(lsdt.candidate_set(side))
    >>> axes.get_title(loc="left")
    '2 of 3 arms can be the best (complete side information)'
    """
    check_axes(ax)
    picture = candidate_picture(found)
    if isinstance(picture.form, LineForm):
        axes, handles = draw_line(picture.form, picture.labels, found, ax)
    elif isinstance(picture.form, IntervalForm):
        axes, handles = _draw_intervals(picture, picture.form, ax)
    else:
        axes, handles = _draw_graph(picture, picture.form, ax)
    write_title(axes, picture.title, wrap=ax is not None)
    if ax is None:
        columns = 2 if isinstance(picture.form, LineForm) else 4
        axes.figure.legend(
            handles=handles, loc="outside lower left", ncols=columns, frameon=False, fontsize=9
        )
    else:
        axes.legend(handles=handles, loc="best", fontsize=8)
    return axes


def candidate_picture(found: CandidateSet) -> CandidatePicture:
    """Return the numbers and words that `plot_candidates` draws."""
    check_kind(found, CandidateSet, "plot_candidates takes what lsdt.candidate_set returns")
    side = found.side
    as_intervals = found.classes is not None
    form: IntervalForm | GraphForm | LineForm
    if side.n_arms > (MOST_INTERVALS if as_intervals else MOST_POINTS):
        form = line_form(found)
    else:
        form = _intervals(found) if as_intervals else _graph(found)
    group, groups = _groups(found)
    kind = "complete" if side.is_complete else "partial"
    return CandidatePicture(
        form,
        [" ".join(side.show(arm).split()) or "·" for arm in range(side.n_arms)],
        group,
        groups,
        f"{len(found):,} of {side.n_arms:,} arms {found.claim} ({kind} side information)",
    )


# ---------------------------------------------------------------- numbers


def _intervals(found: CandidateSet) -> IntervalForm:
    """Return intervals at the true means, or by a model if these are unknown or bars would be too thin."""
    side = found.side
    if isinstance(side.store, WindowStore):
        windows = side.store.windows
        if np.ptp(windows.means) < 150 * windows.epsilon:
            xlabel = "mean reward: each arm is an interval of length epsilon from its mean"
            return _in_lanes(windows.means_by_arm(), windows.epsilon, xlabel)
    model = recognise(side)
    xlabel = "position in epsilons (intervals that fit the relations; only overlaps mean something)"
    return _in_lanes(model.coordinates, 1.0, xlabel)  # type: ignore[union-attr]


def _in_lanes(left: NDArray[np.float64], width: float, xlabel: str) -> IntervalForm:
    return IntervalForm(left, width, lanes(left, width, gap=0.04 * width), xlabel)


def _graph(found: CandidateSet) -> GraphForm:
    similar, dissimilar = found.side.similar_pairs(), found.side.dissimilar_pairs()
    ranges = found.side.ranges
    better = np.zeros((0, 2), np.int32) if ranges is None else ranges.ordered_pairs()
    return GraphForm(spread_out(found.side.n_arms, similar, dissimilar), similar, dissimilar, better)


def _groups(found: CandidateSet) -> tuple[NDArray[np.int64], list[str]]:
    """Return the group of every arm and the names of the groups: the classes if there are enough colours."""
    classes = found.classes
    if classes is not None and 1 < len(classes) <= len(COLOURS):
        members = classes
        names = [f"can be the best: class {n + 1} ({len(arms)})" for n, arms in enumerate(classes)]
    else:
        members = [found.arms]
        more = f" in {len(classes)} classes" if classes is not None and len(classes) > 1 else ""
        names = [f"{found.claim} ({len(found)}{more})"]
    group = np.full(found.side.n_arms, -1)
    for number, arms in enumerate(members):
        group[arms] = number
    return group, names


# ---------------------------------------------------------------- drawing


def _draw_intervals(
    picture: CandidatePicture, intervals: IntervalForm, ax: Axes | None
) -> tuple[Axes, list[Any]]:
    from matplotlib.collections import PolyCollection

    left, width, lane, xlabel = intervals
    rows = int(lane.max()) + 1
    row_height = min(0.32, 9.0 / rows)
    axes = axes_or_new(ax, 1.6 + row_height * rows)
    across = WIDTH - 0.5
    if ax is not None:
        across, height = inches(ax)
        row_height = height / rows
    low, high = lane - 0.36, lane + 0.36
    corners = [[left, low], [left + width, low], [left + width, high], [left, high]]
    axes.add_collection(
        PolyCollection(
            list(np.moveaxis(np.array(corners), 2, 0)),
            facecolors=_colours(picture),
            edgecolors=INK,
            linewidths=min(0.6, 2 * row_height),
        )
    )
    extent = float(np.ptp([left, left + width]))
    _label_intervals(axes, picture, intervals, row_height, across * width / extent)
    axes.set_yticks([])
    axes.set_ylim(-0.6, rows - 0.4)
    axes.set_xlim(left.min() - 0.02 * extent, left.max() + width + 0.02 * extent)
    axes.set_xlabel(xlabel if ax is None else wrap_text(ax, xlabel, 10))
    axes.spines[["left", "right", "top"]].set_visible(False)
    return axes, _group_handles(picture)


def _draw_graph(picture: CandidatePicture, graph: GraphForm, ax: Axes | None) -> tuple[Axes, list[Any]]:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    points, similar, dissimilar, better = graph
    handles = _group_handles(picture)
    low, high = points.min(axis=0) - 0.55, points.max(axis=0) + 0.55
    width, height = high - low
    axes = axes_or_new(ax, float(np.clip(WIDTH * height / width, 2.0, 5.5)) + 0.9)
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
        handles.append(Line2D([], [], label="similar", **line))
    if 0 < len(dissimilar) <= _MOST_DASHES:
        axes.add_collection(LineCollection(list(bent_lines(points, dissimilar)), **dashes))
        handles.append(Line2D([], [], label="dissimilar", **dashes))
    elif len(dissimilar):
        handles.append(Line2D([], [], ls="", label=f"{len(dissimilar):,} dissimilar pairs are not drawn"))
    small = 1.0 if ax is None else min(1.0, min(inches(ax)) / 4.0)
    size = float(np.clip(9000 / len(points), 40, 420)) * small**2
    axes.scatter(
        points[:, 0], points[:, 1], s=size, c=_colours(picture), edgecolors=INK, linewidths=0.8, zorder=3
    )
    if len(better):
        handles.append(_draw_arrows(axes, points, better, size))
    _label_points(axes, picture, points, size)
    axes.set_axis_off()
    if ax is None or _shares_both(ax):
        axes.set_aspect("equal")
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
    else:  # the plot keeps its shape, and leaves some room for the legend
        axes.update_datalim(np.array([low, high]))
        axes.margins(0.0)
        axes.set_aspect("equal", adjustable="datalim")
    return axes, handles


def _draw_arrows(axes: Axes, points: NDArray[np.float64], better: NDArray[np.int32], size: float) -> Any:
    """Draw an arrow from the better arm of every pair to the other; return the legend entry."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    if len(better) > _MOST_DASHES:
        return Line2D([], [], ls="", label=f"{len(better):,} better pairs are not drawn")
    radius = 0.5 * float(np.sqrt(size))  # points
    for start, end in points[better]:
        axes.add_patch(
            FancyArrowPatch(
                tuple(start),
                tuple(end),
                arrowstyle="-|>",
                mutation_scale=9,
                connectionstyle="arc3,rad=0.12",
                shrinkA=radius,
                shrinkB=radius + 1.0,
                color=_ABOVE,
                lw=0.9,
                zorder=2.5,
            )
        )
    return Line2D([], [], color=_ABOVE, lw=0.9, marker=">", markersize=5, label="better than")


def _shares_both(axes: Axes) -> bool:
    """Return whether both axes are shared with other plots, in which case matplotlib cannot adjust limits."""
    shared = (axes.get_shared_x_axes(), axes.get_shared_y_axes())
    return all(len(each.get_siblings(axes)) > 1 for each in shared)


def _colours(picture: CandidatePicture) -> list[str]:
    return [GREY if group < 0 else COLOURS[group] for group in picture.group]


def _group_handles(picture: CandidatePicture) -> list[Any]:
    """Return the legend entries that explain the colours."""
    from matplotlib.patches import Patch

    handles = [
        Patch(fc=fill, ec=INK, label=name) for fill, name in zip(COLOURS, picture.groups, strict=False)
    ]
    n_out = int((picture.group < 0).sum())
    return [*handles, Patch(fc=GREY, ec=INK, label=f"cannot ({n_out})")] if n_out else handles


def _label_intervals(
    axes: Axes, picture: CandidatePicture, intervals: IntervalForm, row_height: float, bar: float
) -> None:
    """Write ids into the bars, all in one size; shortened if needed, and left out if still too long."""
    left, width, lane, _ = intervals
    room = bar * 72 / _LETTER  # points
    longest = max(map(len, picture.labels))
    size = min(9.0, 45 * row_height, room / longest)
    letters = longest
    if size < _SMALLEST_PRINT:
        size = min(6.0, 45 * row_height)
        letters = int(room / size)
    if letters < min(longest, 4) or size < _SMALLEST_PRINT:
        return
    for arm, label in enumerate(picture.labels):
        place = (left[arm] + width / 2, lane[arm])
        _write(axes, place, shorten(label, letters), size, is_out=picture.group[arm] < 0)


def _label_points(axes: Axes, picture: CandidatePicture, points: NDArray[np.float64], size: float) -> None:
    """Write ids into the points, or beside them where they do not fit."""
    from matplotlib.patheffects import withStroke

    print_size = float(np.clip(0.46 * np.sqrt(size), 5.5, 9.0))
    inside = max(map(len, picture.labels)) <= _SHORT_LABEL
    if len(picture.labels) > (_MOST_INSIDE if inside else _MOST_BESIDE):
        return
    for arm, (label, point) in enumerate(zip(picture.labels, points, strict=True)):
        if inside:
            _write(axes, (point[0], point[1]), label, print_size, is_out=picture.group[arm] < 0)
            continue
        axes.annotate(
            shorten(label, 18),
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
