"""Notes for the user of side information that says which items are beaten."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import counted
from lsdt.side_information import all_pairs

if TYPE_CHECKING:
    from lsdt.ratings.engines.source import LogSource
    from lsdt.ratings.from_ratings import RatingRequest
    from lsdt.ratings.rules.beaten_items import BeatenItems
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.ratings.statistics.missingness import Missingness


class BeatenFindings(NamedTuple):
    """Everything that the notes report on."""

    request: RatingRequest
    source: LogSource
    found: BeatenItems
    items: ItemStatistics
    missingness: Missingness


def beaten_notes(findings: BeatenFindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all notes, and those that deserve a warning."""
    left, alarms, missing = "", [], ""
    if not findings.found.is_out.any():
        alarms.append(_why_none(findings))
    else:
        left, alarm = _what_is_left(findings)
        alarms += filter(None, [alarm])
        behind = _typical_difference(findings)
        missing = findings.missingness.note(behind, "the difference between a beaten item and its beater")
        if findings.missingness.matters(behind):
            alarms.append(missing)
            missing = ""
    notes = [
        findings.source.note,
        _comparisons(findings),
        _level(findings.request, findings.source.scale),
        _growth(findings.request),
        left,
        *alarms,
        missing,
    ]
    return tuple(filter(None, notes)), tuple(alarms)


def _typical_difference(findings: BeatenFindings) -> float:
    """Return by how much an item that is beaten is worse than the one that beat it, typically."""
    source, effects = findings.found.source, findings.items.effects
    return float(np.median(np.abs(effects[source.beaters] - effects[source.arms])))


def _comparisons(findings: BeatenFindings) -> str:
    pairs = counted(all_pairs(len(findings.source.item_ids)), "pair")
    return (
        f"Items are compared by the users who rated both: {findings.found.n_compared:,} of {pairs} have "
        "common raters."
    )


def _level(request: RatingRequest, scale: tuple[float, float]) -> str:
    low, high = scale
    assumed = (
        f"whatever the distribution of ratings from {low:g} to {high:g} and however few the raters (if a "
        "rating could lie outside, give scale= to read_log)"
    )
    if request.interval == "bootstrap":
        assumed = "if common raters are many (interval='betting' does not need that)"
    return (
        f"The best item is beaten with a probability of at most {request.error:.4g}, {assumed}, for those "
        "who rate both items of a pair. Nothing else is certain: a beaten item may be better than another "
        "one. Choosing among the rest adds a risk of its own."
    )


def _growth(request: RatingRequest) -> str:
    if request.interval == "bootstrap":
        return "Building again as the log grows is a new test, with a risk of its own."
    return (
        "As the log grows, build again from all of it as often as you like, with the same items and scale: "
        "the risk stays the same, if who rates next does not depend on the rating."
    )


def _what_is_left(findings: BeatenFindings) -> tuple[str, str]:
    """Describe the items that are left, and return an alarm if the best may not be among them."""
    is_out, error = findings.found.is_out, findings.request.error
    risk = float(findings.items.best_chances(findings.request.seed)[is_out].sum())
    left = f"{int((~is_out).sum()):,} of {counted(len(is_out), 'item')}"
    if risk <= error:
        return f"{left} are not beaten; the estimated risk of having lost the best is {risk:.2g}.", ""
    return "", (
        f"The estimated risk of having lost the best item, {risk:.3g}, is above {error:.4g}: those who rate "
        f"both items of a pair may judge them differently from others. {left} are not beaten."
    )


def _why_none(findings: BeatenFindings) -> str:
    share = findings.found.most
    return (
        f"No item is beaten: the strongest evidence against any of them reaches {share:.2g} of what is "
        "needed. More users would help, or fewer items (min_ratings or top of read_log): all are rivals."
    )
