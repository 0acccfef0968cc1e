"""The plot of an agent's arms: means with intervals, and how often each was played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_kind, checked_whole
from lsdt.agent import Agent
from lsdt.errors import counted
from lsdt.plotting.graph_layout import shorten
from lsdt.plotting.style import (
    COLOURS,
    GREY,
    INK,
    MUTED,
    RULE,
    axes_or_new,
    check_axes,
    write_note,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MOST_ROWS = 200  # beyond this nothing can be read
# Chosen by eye, for a font size of 9 points.
_ROW = 0.27  # height of a row, in inches
_LETTERS = 28  # longest label, in characters: about a quarter of the width
_COLUMN = 42  # points to the right of the plot at which the column of plays ends
_STATES = ("recommended", "in play", "not played yet", "eliminated")


class ArmRows(NamedTuple):
    """The numbers that `plot_arms` draws: a row for every arm shown, from the top.

    Attributes
    ----------
    labels : list of str
        Names of the arms.
    plays : ndarray of int
        The number of rewards of each arm.
    mean, low, high : ndarray
        Posterior means with 95% intervals. An eliminated arm has its plain mean and no interval;
        NaN where there is no value.
    state : list of str
        ``'recommended'``, ``'in play'``, ``'not played yet'`` or ``'eliminated'``.
    n_in_play, n_eliminated : int
        How many arms are in play, and how many are eliminated, whether shown or not.
    certainty : float
        The posterior probability that the recommended arm is the best of those in play.
    n_told : int
        The total number of rewards.
    """

    labels: list[str]
    plays: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    state: list[str]
    n_in_play: int
    n_eliminated: int
    certainty: float
    n_told: int


def plot_arms(agent: Agent, ax: Axes | None = None, *, most: int = 30) -> Axes:
    """Plot what an agent knows about its arms: posterior means with 95% intervals, and plays.

    The arms in play come first, ordered by their means, with the recommended one at the top. If there are
    many, the best and the most played are shown. Eliminated arms, in grey, are shown if there is room, and
    those never played only if all arms are shown. The shaded band is the interval of the recommended arm: an
    arm whose interval does not reach into it is clearly worse.

    Parameters
    ----------
    agent : Agent
        The agent whose arms to plot.
    ax : matplotlib Axes, optional
        Where to draw; by default into a new figure.
    most : int
        How many arms to show, up to 200.

    Returns
    -------
    matplotlib Axes
        The one that was given, or that of the new figure.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.2, .5, .55, .9], epsilon=.2, arm_ids=["a", "b", "c", "d"])
    >>> agent = lsdt.Agent(side, policy="ucb1")
    >>> for reward in [0, 1, 0, 1, 1, 1]:
    ...     agent.tell(agent.ask(), reward)
    >>> axes = lsdt.plotting.plot_arms(agent)
    >>> [label.get_text() for label in axes.get_yticklabels()][0] == agent.best().arm_id
    True
    """
    check_axes(ax)
    from matplotlib.transforms import ScaledTranslation

    rows = arm_rows(agent, most)
    axes = axes_or_new(ax, 1.7 + _ROW * len(rows.labels))
    _draw_rows(axes, rows)
    write_title(
        axes,
        f"Recommended: {rows.labels[0]}, the best of {counted(rows.n_in_play, 'arm')} in play "
        f"with probability {_percent(rows.certainty)}",
        wrap=ax is not None,
        pad=20,
    )
    if ax is None:
        column = ScaledTranslation((_COLUMN + 10) / 72, 0.0, axes.figure.dpi_scale_trans)
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.0, 1.02),
            bbox_transform=axes.transAxes + column,
            frameon=False,
            fontsize=9,
        )
        write_note(axes.figure.figure, _note(rows))
    else:
        axes.legend(loc="best", fontsize=8)
    return axes


def arm_rows(agent: Agent, most: int = 30) -> ArmRows:
    """Return the numbers that `plot_arms` draws."""
    check_kind(agent, Agent, "plot_arms takes an lsdt.Agent")
    n_rows = checked_whole(most, "most", 1, MOST_ROWS)
    n_arms = agent.side.n_arms
    best = agent.best(n_runners_up=n_arms)
    in_play: list[Any] = [best, *best.runners_up]  # by posterior mean, all with intervals
    rows: list[tuple[Any, ...]] = []
    for at in _chosen(np.array([each.plays for each in in_play]), n_rows):
        arm = in_play[at]
        state = "recommended" if at == 0 else "in play" if arm.plays else "not played yet"
        rows.append((arm.arm_id, arm.plays, arm.mean, arm.low, arm.high, state))
    if len(rows) < min(n_rows, n_arms):
        frame = agent.to_frame()
        out = frame[~frame["arm"].isin([arm.arm_id for arm in in_play])]
        if n_arms > n_rows:
            out = out[out["plays"] > 0]
        out = out.sort_values("mean", ascending=False, kind="stable").head(n_rows - len(rows))
        rows += [(arm.arm, arm.plays, arm.mean, np.nan, np.nan, "eliminated") for arm in out.itertuples()]
    labels, plays, mean, low, high, states = (list(column) for column in zip(*rows, strict=True))
    return ArmRows(
        [
            shorten(" ".join(agent.side.show(agent.side.index(label)).split()) or "·", _LETTERS)
            for label in labels
        ],
        np.array(plays, np.int64),
        np.array(mean, np.float64),
        np.array(low, np.float64),
        np.array(high, np.float64),
        states,
        len(in_play),
        n_arms - len(in_play),
        best.certainty,
        agent.n_told,
    )


def _chosen(plays: NDArray[np.int64], n_rows: int) -> list[int]:
    """Return which arms in play to show, in order: the best, and in a third of the rows the most played."""
    if len(plays) <= n_rows:
        return list(range(len(plays)))
    first = n_rows - n_rows // 3
    most_played = [at for at in np.argsort(-plays, kind="stable").tolist() if at >= first]
    return sorted([*range(first), *most_played[: n_rows - first]])


def _draw_rows(axes: Axes, rows: ArmRows) -> None:
    places = np.arange(len(rows.labels))
    state = np.array(rows.state)
    axes.axvspan(rows.low[0], rows.high[0], color=COLOURS[1], alpha=0.1, lw=0)
    looks: tuple[dict[str, Any], ...] = (
        {"fmt": "D", "color": COLOURS[1]},
        {"fmt": "o", "color": COLOURS[0]},
        {"fmt": "o", "color": COLOURS[5], "mfc": "none"},
        {"fmt": "o", "color": GREY, "mec": MUTED},
    )
    for name, look in zip(_STATES, looks, strict=True):
        at = np.flatnonzero(state == name)
        if not len(at):
            continue
        ends = np.nan_to_num([rows.mean[at] - rows.low[at], rows.high[at] - rows.mean[at]])
        label = f"{name} ({rows.n_eliminated:,})" if name == "eliminated" else name
        axes.errorbar(
            rows.mean[at],
            places[at],
            xerr=np.maximum(ends, 0),
            ms=5.5,
            capsize=2.5,
            lw=1.4,
            label=label,
            **look,
        )
    for place, plays in enumerate(rows.plays.tolist()):
        _write_beside(axes, f"{plays:,}", (1.0, place), ("axes fraction", "data"))
    _write_beside(axes, "plays", (1.0, 1.0), "axes fraction")
    axes.set_xlabel("mean reward, with 95% intervals")
    n_arms = rows.n_in_play + rows.n_eliminated
    axes.set_ylabel(f"{len(places):,} of {n_arms:,} arms" if len(places) < n_arms else "")
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set_yticks(places, rows.labels, parse_math=False)
    axes.tick_params(axis="y", length=0)
    for tick, each in zip(axes.get_yticklabels(), rows.state, strict=True):
        tick.set_color(MUTED if each == "eliminated" else INK)
    axes.grid(color=RULE, lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["right", "top"]].set_visible(False)


def _write_beside(axes: Axes, word: str, place: tuple[float, float], coordinates: Any) -> None:
    """Write a word to the right of the plot, in the column of plays."""
    axes.annotate(
        word,
        place,
        xycoords=coordinates,
        xytext=(_COLUMN, 0),
        textcoords="offset points",
        ha="right",
        va="center_baseline" if isinstance(coordinates, tuple) else "bottom",
        fontsize=9,
        color=MUTED,
        annotation_clip=False,
    )


def _percent(share: float) -> str:
    return "below 1%" if share < 0.01 else "above 99%" if share > 0.99 else f"{share:.0%}"


def _note(rows: ArmRows) -> str:
    rewards = counted(rows.n_told, "reward")
    note = f"posterior means after {rewards}; shaded: the interval of the recommended arm"
    if len(rows.labels) < rows.n_in_play:
        return f"{note}; only the best and the most played arms are shown"
    hidden = rows.n_in_play + rows.n_eliminated - len(rows.labels)
    return f"{note}; {counted(hidden, 'eliminated arm')} not shown" if hidden else note
