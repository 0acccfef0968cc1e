"""Notes for the user of side information that consists of ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import InconsistentSideInformation, counted
from lsdt.ratings.evidence import normality_of, share_wrong
from lsdt.ratings.undecided import why_undecided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.from_ratings import RatingRequest
    from lsdt.ratings.rules.ranges import FoundRanges
    from lsdt.ratings.statistics.missingness import Missingness


class RangeFindings(NamedTuple):
    """Everything that the notes report on."""

    request: RatingRequest
    source: RatingSource
    found: FoundRanges
    left_out: tuple[int, int]
    chances: NDArray[np.float64]
    missingness: Missingness


def range_notes(findings: RangeFindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all notes, and those that deserve a warning."""
    found = findings.found
    left, alarms, missing = "", [], ""
    if found.n_ordered == 0:
        # Equal means satisfy every range, so that every item can be the best.
        alarms.append(why_undecided(findings.request, findings.source, None))
    else:
        left, alarm = _what_is_left(findings)
        alarms += filter(None, [alarm])
        width = float(np.median(found.half_widths))
        missing = findings.missingness.note(width, "half the length of a range")
        if findings.missingness.matters(width):
            alarms.append(missing)
            missing = ""
    notes = [
        findings.source.note,
        _scale(findings),
        _comparisons(findings),
        _left_out(findings),
        _level(findings.request),
        left,
        *alarms,
        missing,
    ]
    return tuple(filter(None, notes)), tuple(alarms)


def _what_is_left(findings: RangeFindings) -> tuple[str, str]:
    """Describe the items that the ranges leave, and return an alarm if these may be wrong."""
    try:
        arms = candidate_set(findings.found.side_information(), "order").arms
    except InconsistentSideInformation:
        return "", "The ranges contradict one another: some of them are wrong. Ask for more confidence."
    risk, error = float(np.delete(findings.chances, arms).sum()), findings.request.error
    items = counted(findings.found.statistics.n_items, "item")
    left = f"{len(arms):,} of {items}, those that no other lies above"
    if risk <= error:
        return f"The ranges leave {left}, with an estimated risk of {risk:.2g} of losing the best.", ""
    return "", (
        f"The estimated risk of losing the best item, {risk:.3g}, is above {error:.4g}: ask for more "
        f"confidence. The ranges leave {left}."
    )


def _scale(findings: RangeFindings) -> str:
    low, high = findings.source.scale
    return (
        f"Ratings from {low:g} to {high:g} are put on the scale from 0 to 1; a difference of 0.1 is "
        f"{0.1 * (high - low):g} on theirs."
    )


def _comparisons(findings: RangeFindings) -> str:
    listed, found = findings.found.statistics, findings.found
    said = (
        f"Of {counted(listed.n_pairs, 'pair')} of items, {listed.n_compared:,} have common raters; "
        f"{len(listed):,} have a range, and {found.n_ordered:,} of these say which item is better. Pairs "
        f"with fewer than {findings.request.min_raters} common raters are left unknown, and so are those "
    )
    if findings.request.level == "family":
        return f"{said}whose interval is wider than the scale on both sides, which says nothing."
    return f"{said}whose items may be equal."


def _left_out(findings: RangeFindings) -> str:
    both, implied = findings.left_out
    if both + implied == 0:
        return ""
    return (
        f"With so many items, {both + implied:,} ranges are not kept: {both:,} of two items that others lie "
        f"above, and {implied:,} that follow from two that are kept. That excludes no item which all of them "
        "would keep."
    )


def _level(request: RatingRequest) -> str:
    if request.level != "family":
        return share_wrong(request, "ranges")
    return (
        f"With a probability of {request.confidence:.4g} at least, no range is wrong and the best item is "
        f"not lost, {normality_of(request)}, for those who rate both items of a pair."
    )
