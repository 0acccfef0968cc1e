"""What the page of an experiment shows, as plain data for the templates."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import east_asian_width
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from lsdt.errors import LsdtError
from lsdt.service.attention import in_words
from lsdt.service.routes import best_arm, lift

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.service.hosting import HostedExperiment
    from lsdt.side_information import SideInformation

# Chosen by eye, so that the page stays legible.
_MOST_DOTS = 300  # on the line of arms; more would cover one another
_MOST_LABELS = 40
_LEVELS = 6  # rows of labels above the line
_BEST = 9  # rows of the best arms
_OUT = 12  # rows of the arms that are out
_TICKS = 6  # at most, on the line of arms
_WIDEST = 16  # letters of a label
_LETTER = 8.0  # width of one, of those of a wide font
# Ends of the line in a picture that is 1,000 wide: half a label fits beside them.
_LEFT, _RIGHT = 70.0, 930.0
# Beyond these, making the page would hold up decisions.
_MOST_PAIRS = 20_000  # similar pairs that are looked through for arms with a reward
_MOST_SUSPECTED = 2_000  # arms up to which suspects are looked for while a page is open: 17 ms


class ArmDot(NamedTuple):
    """An arm on the line; `level` is the height of its label, or -1 for none."""

    arm: str
    link: str
    x: float
    radius: float
    is_candidate: bool
    is_best: bool
    level: int
    title: str


def overview(hosted: HostedExperiment) -> dict[str, Any]:
    """Return everything that the page of an experiment shows."""
    agent = hosted.agent
    frame = agent.to_frame()
    best = best_arm(hosted, _BEST - 1) if agent.n_told else None
    out = frame[frame["status"].str.startswith("eliminated") | (frame["status"] == "retired")]
    return {
        "about": hosted.about(),
        "best": best,
        "needs_tolerance": agent.tolerance is None and agent.side.epsilon is None,
        "called": lambda arm: called(agent.side, arm),
        "rows": _best_rows(best),
        "rate": _rate(hosted),
        "lift": _lift(hosted),
        "line": _line(agent.side, frame, None if best is None else best.arm),
        "out": [
            {"arm": arm, "link": arm_link(hosted.name, arm), "status": status}
            for arm, status in zip(out["arm"][:_OUT], out["status"][:_OUT], strict=True)
        ],
        "n_out": len(out),
        "suspects": _suspects(hosted),
        "expired": hosted.activity.n_expired(),
        "log": log_rows(hosted),
    }


def _lift(hosted: HostedExperiment) -> dict[str, Any] | None:
    """Return the lift of the arm with the highest mean over the control; None without a control."""
    try:
        found = lift(hosted)
    except LsdtError:  # no arm has a floor or a holdout, or several have, or means may change
        return None
    return {"control": found.control, "first": found.arms[0] if found.arms else None}


def arm_link(name: str, arm: Any) -> str:
    """Return the address of an arm's page."""
    return f"/experiments/{quote(name, safe='')}/arms/{quote(str(arm), safe='')}"


def called(side: SideInformation, arm: Any) -> Markup:
    """Return what people read for an arm, as HTML: title and id, or the id alone.

    In Hebrew or Arabic, the numbers that follow would otherwise be shown in front of it.
    """
    return Markup("<bdi>{}</bdi>").format(side.show(side.index(arm)))


def _rate(hosted: HostedExperiment) -> dict[str, Any] | None:
    """Return the reward rate, and how long ago the newest decision that it counts was asked for, if known."""
    found = hosted.activity.rate()
    return None if found is None else found._asdict() | {"age": _age(found.before)}


def _age(since: float | None) -> str:
    return "" if since is None else in_words(max(0.0, time() - since))


def log_rows(hosted: HostedExperiment) -> list[dict[str, Any]]:
    """Return the last events, the newest first."""
    side, now = hosted.agent.side, time()
    return [
        row._asdict()
        | {
            "arm": side.show(row.arm) if row.arm is not None and row.arm < side.n_arms else None,
            "ago": in_words(max(0.0, now - row.time)),
        }
        for row in hosted.activity.rows()
    ]


def _best_rows(best: Any) -> list[dict[str, Any]]:
    if best is None:
        return []
    rows = [best, *best.runners_up]
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    span = (high - low) or 1.0
    return [
        {
            "arm": row.arm,
            "plays": row.plays,
            "mean": row.mean,
            "low": row.low,
            "high": row.high,
            "left": 100 * (row.low - low) / span,
            "width": 100 * (row.high - row.low) / span,
            "at": 100 * (row.mean - low) / span,
        }
        for row in rows
    ]


def _suspects(hosted: HostedExperiment) -> list[dict[str, Any]] | str:
    if hosted.agent.side.n_arms > _MOST_SUSPECTED:
        return "With this many arms they are looked for on request only: GET .../suspects."
    try:
        found = hosted.agent.suspects()
    except LsdtError as error:
        return str(error)
    return [dict(row) for row in found.head(5).to_dict("records")]


def _line(side: SideInformation, frame: pd.DataFrame, best: Any) -> dict[str, Any]:
    """Return the arms from left to right by their estimates, with room for labels."""
    means = frame["mean"].to_numpy(float)
    places = np.where(_is_known(side, means), frame["estimate"].to_numpy(float), np.nan)
    known = np.flatnonzero(np.isfinite(places))
    if not len(known):
        return {"dots": [], "ticks": [], "n_shown": 0, "n_levels": 0}
    plays = frame["plays"].to_numpy()
    if len(known) > _MOST_DOTS:  # the most played, and a sample of the others
        order = known[np.argsort(-plays[known], kind="stable")]
        rest = order[_MOST_DOTS // 2 :]
        step = math.ceil(len(rest) / (_MOST_DOTS // 2))
        known = np.concatenate([order[: _MOST_DOTS // 2], rest[::step]])
    low, high = float(places[known].min()), float(places[known].max())
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    labelled = set(known[np.argsort(-plays[known], kind="stable")][:_MOST_LABELS].tolist())
    ends = [-math.inf] * _LEVELS
    dots, most = [], max(1, int(plays.max()))
    for arm in known[np.argsort(places[known], kind="stable")].tolist():
        name, text = str(frame["arm"].iloc[arm]), side.show(arm)
        shown, n_letters = _label(text)
        x = _LEFT + (_RIGHT - _LEFT) * (float(places[arm]) - low) / (high - low)
        level, half = -1, 0.5 * _LETTER * n_letters + 3
        if arm in labelled:
            level = next((each for each in range(_LEVELS) if ends[each] <= x - half), -1)
            if level >= 0:
                ends[level] = x + half
        status = str(frame["status"].iloc[arm])
        out = status.startswith("eliminated") or status == "retired"
        told = f"mean {means[arm]:.3f} of {plays[arm]:,} rewards" if plays[arm] else "no reward yet"
        dots.append(
            ArmDot(
                shown,
                name,
                round(x, 1),
                round(4.0 + 6.0 * math.sqrt(plays[arm] / most), 1),
                not out,
                best is not None and name == str(best),
                level,
                f"{text}: estimate {places[arm]:.3f}; {told}; {status}",
            )
        )
    ticks = [
        (round(_LEFT + (_RIGHT - _LEFT) * (at - low) / (high - low), 1), text)
        for at, text in _ticks(low, high)
    ]
    return {
        "dots": dots,
        "ticks": ticks,
        "n_shown": len(dots),
        "n_levels": 1 + max((dot.level for dot in dots), default=0),
    }


def _label(text: str) -> tuple[str, int]:
    """Return a text cut to the width of a label, and its width in letters: Chinese ones are two wide."""
    widths = list(accumulate(2 if east_asian_width(one) in "WF" else 1 for one in text))
    if widths[-1] <= _WIDEST:
        return text, widths[-1]
    n = bisect_right(widths, _WIDEST - 1)
    return f"{text[:n]}…", widths[n - 1] + 1


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round numbers between two others, a few, and how to write them."""
    rough = (high - low) / _TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [(number * step, f"{number * step:.{digits}f}") for number in numbers]


def _is_known(side: SideInformation, means: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which arms have a reward, or a similar arm that has; the estimate of others says little."""
    has_reward = np.isfinite(means)
    found = has_reward.copy()
    if side.n_arms <= _MOST_PAIRS and side.n_similar <= _MOST_PAIRS:
        pairs = side.similar_pairs()
        for a, b in ((0, 1), (1, 0)):
            found[pairs[has_reward[pairs[:, b]], a]] = True
    return found
