"""The plot of candidates among many arms: all arms as a density along a line, some candidates with names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates import CANDIDATE, NAMES, fit_line, lay_out, reasons_of, recognise
from lsdt.plotting.graph_layout import shorten
from lsdt.plotting.style import COLOURS, INK, RULE, axes_or_new, inches, wrap_text
from lsdt.side_information import WindowStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.side_information import SideInformation

# Chosen by eye.
_HEIGHT = 4.0  # inches
_ROWS = 4  # rows of labels above the line
_MOST_FITTED = 5_000  # arms whose positions are refined one by one; with more that would take many seconds
_LETTERS = 16  # longest label, in characters
_OPEN_WEIGHT = 0.03  # weight of an open range, which may end anywhere, relative to a closed one
_GAP = 1.5  # epsilons between components whose distance is unknown
_SHADES = ("#9A9A9A", "#BDBDBD", "#808080", "#D9D9D9", "#AEAEAE")  # one for each kind of reason


class LineForm(NamedTuple):
    """Positions of arms along a line, and why each is excluded.

    Attributes
    ----------
    x : ndarray
        The position of every arm.
    xlabel : str
        What the positions mean.
    kinds : ndarray of int
        Why each arm is excluded, as an index into `lsdt.candidates.NAMES`.
    named : ndarray of int
        The arms to name, from right to left.
    """

    x: NDArray[np.float64]
    xlabel: str
    kinds: NDArray[np.int64]
    named: NDArray[np.int64]


def line_form(found: CandidateSet) -> LineForm:
    """Return the positions of arms on a line, why each is excluded, and which ones to name."""
    x, xlabel = _places(found.side)
    return LineForm(x, xlabel, reasons_of(found).kinds, _named(x, found.arms))


def _places(side: SideInformation) -> tuple[NDArray[np.float64], str]:
    """Return positions and the label of their axis: true means, a unit interval model, or an estimate."""
    if isinstance(side.store, WindowStore):
        return side.store.windows.means_by_arm(), "mean reward"
    if side.is_complete and side.ranges is None:
        model = recognise(side)
        if model.is_unit_interval:
            return model.coordinates, "position in epsilons, in intervals that fit the relations"  # type: ignore[union-attr]
    if side.ranges is not None:
        return _by_ranges(side), "mean reward, estimated from the ranges (only differences mean something)"
    if side.n_similar + side.n_dissimilar == 0:
        return np.arange(side.n_arms, dtype=float), "arms by number: nothing is known about any pair"
    how = "estimated"
    if side.n_arms > _MOST_FITTED:
        x, part = lay_out(side)
        how = "roughly estimated"
    else:
        line = fit_line(side)
        x, part = line.x, line.part
    either = "either end may be the better one"
    return _one_after_another(x, part), f"position in epsilons, {how} from the pairs ({either})"


def _by_ranges(side: SideInformation) -> NDArray[np.float64]:
    """Return the means that best fit the midpoints of the ranges by least squares, weighted by narrowness.

    An open range counts as one as wide as the median closed range, with little weight.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    assert side.ranges is not None
    low, high = side.ranges.low, side.ranges.high
    is_closed = np.isfinite(low) & np.isfinite(high)
    usual = float(np.median((high - low)[is_closed])) if is_closed.any() else 1.0
    width = np.where(is_closed, high - low, usual or 1.0)
    middle = np.where(np.isfinite(low), low + width / 2.0, high - width / 2.0)
    weight = np.where(is_closed, 1.0, _OPEN_WEIGHT) / np.maximum(width, 1e-3 * (usual or 1.0))
    number = np.arange(len(middle))
    rows = np.concatenate([number, number])
    columns = np.concatenate([side.ranges.pairs[:, 0], side.ranges.pairs[:, 1]])
    values = np.concatenate([weight, -weight])
    system = csr_array((values, (rows, columns)), shape=(len(middle), side.n_arms))
    return np.asarray(lsqr(system, weight * middle, atol=1e-6, btol=1e-6, iter_lim=500)[0])


def _one_after_another(x: NDArray[np.float64], part: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return positions with the components side by side, the largest first, as their distance is unknown."""
    sizes = np.bincount(part)
    low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
    np.minimum.at(low, part, x)
    np.maximum.at(high, part, x)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    width = np.where(sizes > 0, high - low, 0.0)[order] + _GAP
    start = np.empty(len(sizes))
    start[order] = np.concatenate([[0.0], np.cumsum(width)[:-1]])
    return np.asarray(x - low[part] + start[part])


def _named(x: NDArray[np.float64], arms: NDArray[np.int64], most: int = 15) -> NDArray[np.int64]:
    """Return the candidates to name, from right to left: all if they are few, else some across the line."""
    ordered = arms[np.argsort(x[arms], kind="stable")]
    if len(ordered) <= most:
        return np.asarray(ordered[::-1])
    wanted = np.linspace(float(x[ordered[0]]), float(x[ordered[-1]]), most)
    places = np.unique(np.searchsorted(x[ordered], wanted).clip(0, len(ordered) - 1))
    return np.asarray(ordered[places[::-1]])


def draw_line(
    form: LineForm, labels: list[str], found: CandidateSet, ax: Axes | None
) -> tuple[Axes, list[Any]]:
    """Draw the density of all arms, a tick per candidate, and names; return the axes and legend entries."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    axes = axes_or_new(ax, _HEIGHT)
    n_arms, x = len(form.x), form.x
    bins = int(np.clip(n_arms // 5, 24, 100))
    span = float(np.ptp(x)) or 1.0
    edges = np.linspace(float(x.min()) - 0.01 * span, float(x.max()) + 0.01 * span, bins + 1)
    kinds = [CANDIDATE, *(kind for kind in np.unique(form.kinds).tolist() if kind != CANDIDATE)]
    shades = [COLOURS[0], *_SHADES]
    handles, bottom = [], np.zeros(bins)
    for kind, shade in zip(kinds, shades, strict=False):
        which = form.kinds == kind
        heights = np.histogram(x[which], edges)[0]
        axes.bar(edges[:-1], heights, np.diff(edges), bottom, align="edge", color=shade, lw=0)
        bottom += heights
        share = f"{int(which.sum()):,}" + (f", {which.mean():.0%}" if which.mean() >= 0.01 else "")
        name = f"{found.claim}" if kind == CANDIDATE else f"out: {NAMES[kind]}"
        handles.append(Patch(fc=shade, label=f"{name} ({share})"))
    top = float(bottom.max())
    level = 1.08 * top
    axes.vlines(x[found.arms], level, 1.14 * top, color=COLOURS[0], lw=0.8, alpha=_alpha(len(found)))
    n_rows = _write_names(axes, form, labels, 1.14 * top, 0.13 * top)
    axes.set_yticks([tick for tick in MaxNLocator(5, integer=True).tick_values(0, top) if tick <= top])
    axes.set_ylim(0.0, (1.16 + 0.13 * n_rows) * top)
    axes.set_ylabel("arms")
    axes.set_xlabel(form.xlabel if ax is None else wrap_text(ax, form.xlabel, 10))
    axes.grid(axis="y", color=RULE, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["left", "right", "top"]].set_visible(False)
    return axes, handles


def _alpha(n_ticks: int) -> float:
    return float(np.clip(400.0 / max(n_ticks, 1), 0.15, 1.0))


def _write_names(axes: Axes, form: LineForm, labels: list[str], base: float, row: float) -> int:
    """Write names as flags on poles above their ticks, and return how many rows they take.

    Flags point towards the middle. Among arms close together the outer ones have longer poles, so that no
    pole crosses a name; arms for which no row is free are not named.
    """
    low, span = float(form.x.min()), float(np.ptp(form.x)) or 1.0
    letter = 0.071 / max(inches(axes)[0], 1.0) * 1.1 * span  # width of a letter, in the units of the line
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_ROWS)]
    middle, n_rows = low + span / 2.0, 0
    outside_first = sorted(form.named.tolist(), key=lambda arm: -abs(form.x[arm] - middle))
    for arm in outside_first:
        at, label = float(form.x[arm]), shorten(labels[arm], _LETTERS)
        width = letter * (len(label) + 1)
        to_left = at > middle
        begin, end = (at - width, at) if to_left else (at, at + width)
        clear = [not any(a < at < b for a, b in row_) for row_ in taken]
        open_rows = [
            number
            for number in range(_ROWS)
            if all(clear[:number]) and not any(a < end and begin < b for a, b in taken[number])
        ]
        if not open_rows:
            continue
        inward = (form.x[form.named] - at) * (-1.0 if to_left else 1.0)
        n_near = int(((inward > 0.0) & (inward < 2.0 * width)).sum())  # these need the rows below this one
        free = min(open_rows[-1], n_near)
        free = free if free in open_rows else open_rows[0]
        taken[free].append((begin, end))
        n_rows = max(n_rows, free + 1)
        height = base + (free + 0.9) * row
        axes.vlines(at, base, height, color=INK, lw=0.5, alpha=0.6)
        axes.annotate(
            label,
            (at, height),
            xytext=(-2 if to_left else 2, 0),
            textcoords="offset points",
            ha="right" if to_left else "left",
            va="top",
            fontsize=8,
            color=INK,
            parse_math=False,
        )
    return n_rows
