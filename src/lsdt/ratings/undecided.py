"""Why ratings decide no relation at all, with numbers, and what would help."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import counted
from lsdt.ratings.engines.source import LogSource
from lsdt.side_information import all_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.from_ratings import RatingRequest
    from lsdt.ratings.statistics.intervals import DifferenceIntervals


class _Survey:
    """Notes how close pairs came to a decision, and keeps none of them; many threads call it at once."""

    def __init__(self, min_raters: int, intervals: DifferenceIntervals | None) -> None:
        self._min_raters, self._intervals, self._lock = min_raters, intervals, Lock()
        self.enough, self.most_raters, self.shortest = 0, 0, np.inf

    def __call__(
        self, raters: NDArray[np.int32], difference: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Note the most common raters and the narrowest interval of some pairs; return that none is kept."""
        enough = raters >= self._min_raters
        widths = np.empty(0)
        if self._intervals is not None and enough.any():
            widths = self._intervals.half_widths(raters[enough], difference[enough], variance[enough])
        with self._lock:
            self.enough += int(enough.sum())
            self.most_raters = max(self.most_raters, int(raters.max(initial=0)))
            self.shortest = min(self.shortest, float(widths.min(initial=np.inf)))
        return np.zeros(len(raters), bool)


def why_undecided(request: RatingRequest, source: RatingSource, epsilon: float | None) -> str:
    """Return in words why no pair of items could be decided; `epsilon` is None where none was tried."""
    assert request.min_raters is not None
    intervals = None if request.rule == "paper" else request.strict_intervals(source)
    survey = _Survey(request.min_raters, intervals)
    # An engine returns every pair it is asked for, and too many have too few raters.
    in_memory = isinstance(source, LogSource)
    compared = source.pairs(1 if in_memory else request.min_raters, survey).n_compared
    most = f", {survey.most_raters:,} at the most" if survey.most_raters else ""
    by_ranges = request.relations == "ranges"
    said = [
        f"No pair of items could be {'ordered' if by_ranges else 'decided'}: of "
        f"{counted(all_pairs(len(source.item_ids)), 'pair')}, {compared:,} have common raters{most}, and "
        f"{survey.enough:,} have the {request.min_raters:,} that are needed"
    ]
    if np.isfinite(survey.shortest):
        meant = "(-epsilon, epsilon)" if epsilon is None else f"(-{epsilon:g}, {epsilon:g})"
        where = f"decided where its interval lies inside {meant} or outside"
        if by_ranges:
            where = "ordered where its interval leaves out 0"
        said.append(
            f". The shortest interval of a difference reaches {survey.shortest:.2g} to either side, and a "
            f"pair is {where}"
        )
    said.append(
        ". More users would help, or fewer items (min_ratings or top of read_log): all pairs share the "
        "confidence"
    )
    if survey.enough == 0:
        said.append("; so would asking for fewer common raters (min_raters)")
    return "".join(said) + "."
