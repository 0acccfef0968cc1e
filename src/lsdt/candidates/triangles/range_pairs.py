"""Ranges as similar and dissimilar pairs, for rules that can use nothing else.

At a threshold epsilon, a range inside (-epsilon, epsilon) says that two arms are similar, one that lies
outside says that they are dissimilar, and any other says neither. The triangle rule and the paper's policies
read ranges this way; size and direction are lost, so `order` and `propagation` can exclude more.

If there are only ranges, epsilon can be chosen freely. A few values are tried, spread over the ends of the
ranges; the one for which the triangle rule leaves the fewest arms is taken, the smallest of several. True
ranges imply true pairs at any threshold, so choosing among them is sound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.triangles.rule import triangle_survivors
from lsdt.kernel import evenly_spread
from lsdt.side_information import pairs_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import PairRanges, SideInformation

_TRIED = 24  # values of epsilon; each costs a run of the triangle rule


def read_ranges(side: SideInformation) -> SideInformation:
    """Return a copy that also has its ranges as pairs; `side` itself if none can be read.

    None can be read without ranges, with distinct thresholds, with similar or dissimilar pairs whose epsilon
    is not known, and where no range lies inside or outside of epsilon.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.candidates import read_ranges
    >>> rows = [(0, 1, -.05, .05), (0, 2, -.02, .08), (1, 2, .1, .3)]
    >>> read_ranges(lsdt.SideInformation(3, ranges=rows, epsilon=.1))
    SideInformation(3 arms, 2 similar pairs, 1 dissimilar pair, 3 ranges, complete, epsilon=0.1)
    >>> round(read_ranges(lsdt.SideInformation(3, ranges=rows)).epsilon, 6)  # just beyond the near pairs
    0.08
    """
    ranges = side.ranges
    if ranges is None or side.store.thresholds is not None:
        return side
    epsilon = side.epsilon
    if epsilon is None:
        if side.n_similar or side.n_dissimilar:
            return side
        epsilon = _choose_epsilon(side, ranges)
    if epsilon is None or not any(map(len, pairs_at(ranges, epsilon))):
        return side
    return side._with_ranges_read(epsilon)


def note_on_reading(side: SideInformation, read: SideInformation) -> str:
    """Return a note on how ranges were read; `read` is the result of `read_ranges`."""
    if read is side:
        return "better pairs and ranges were not read: with them there may be fewer candidates"
    near, far = read.n_similar - side.n_similar, read.n_dissimilar - side.n_dissimilar
    chosen = ", chosen so that few arms are left" if side.epsilon is None else ""
    return (
        f"of {len(side.ranges.pairs) if side.ranges else 0:,} ranges {near:,} were read as similar and "
        f"{far:,} as dissimilar pairs, at epsilon {read.epsilon:g}{chosen}; 'propagation' uses their size "
        "and direction, and may leave fewer candidates"
    )


def _choose_epsilon(side: SideInformation, ranges: PairRanges) -> float | None:
    """Return the threshold that leaves the fewest arms, or None if there is none to choose."""
    fewest, chosen = side.n_arms + 1, None
    for epsilon in _values(ranges).tolist():
        left = len(triangle_survivors(side._with_ranges_read(epsilon)))
        if 0 < left < fewest:
            fewest, chosen = left, epsilon
    return chosen


def _values(ranges: PairRanges) -> NDArray[np.float64]:
    """Return thresholds to try: for each pair the largest that makes it dissimilar, the smallest similar."""
    far = np.maximum(ranges.low, -ranges.high)  # at least so far apart
    near = np.maximum(-ranges.low, ranges.high)  # at most so far apart
    ends = np.concatenate([far[far > 0.0], np.nextafter(near[np.isfinite(near)], np.inf)])
    return evenly_spread(np.unique(ends[ends > 0.0]), _TRIED)
