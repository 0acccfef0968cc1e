"""Which arms lie strictly above an arm, whatever means satisfy some bounds on differences.

Bounds ``x_i - x_j <= b``, some of them strict, add up along paths. Arm j lies strictly above arm i in every
assignment of means exactly when a path from i to j adds up to less than 0, or to 0 with a strict bound.

**Exact.** Let u_j be the least sum of a path from i to j. The means ``x_j = x_i - u_j`` satisfy every bound
(strict ones after a small shift), because least sums obey the triangle inequality; arms that no path reaches
go far below. In this one assignment just the arms above i in *every* assignment lie above it. So an arm can
be among the best m exactly when fewer than m arms lie above it in this sense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.top import above_kernel as kernel
from lsdt.kernel import over_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.difference_links import Links, Quanta
    from lsdt.candidates.propagation.orientation.reflections import Reflection

_WORTH_SHARING = 64  # arms; a search takes microseconds, so fewer are not worth a thread


class UpwardBounds(NamedTuple):
    """Bounds as rows: ``x_arm - x_other <= bound``, or ``<`` where strict, in whole quanta.

    `sources` are the numbers of the links that the bounds come from, or the places in other rows.
    """

    starts: NDArray[np.int64]
    others: NDArray[np.int64]
    bounds: NDArray[np.int64]
    strict: NDArray[np.int64]
    sources: NDArray[np.int64]

    def count_above(self, arms: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Return how many arms lie strictly above each of `arms`, counting up to `most`."""
        counts = np.zeros(len(arms), np.int64)
        arms = arms.astype(np.int64)
        over_blocks(
            lambda first, last: kernel.count_above(*self[:4], arms, first, last, most, counts),
            len(arms),
            worth_sharing=_WORTH_SHARING,
        )
        return counts

    def paths_above(self, arm: int, most: int) -> list[list[int]]:
        """Return paths, as indices of entries, from an arm up to at most `most` arms strictly above it.

        A path ends at the arm above.
        """
        _, _, via, above = self._search(arm, most)
        paths = []
        for end in above.tolist():
            path: list[int] = []
            at = end
            while via[at] >= 0 and len(path) <= len(via):
                path.append(int(via[at]))
                at = self.row_of(path[-1])
            paths.append(path[::-1])
        return paths

    def least_sums(self, arm: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least sum of a path to every arm, `FAR` without one, and its strict bounds."""
        level, n_strict, _, _ = self._search(arm, len(self.starts))
        return level, n_strict

    def row_of(self, place: int) -> int:
        """Return the arm whose row holds a bound."""
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def _search(
        self, arm: int, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        n_arms = len(self.starts) - 1
        level, n_strict = np.full(n_arms, kernel.FAR, np.int64), np.zeros(n_arms, np.int64)
        via, above = np.full(n_arms, -1), np.empty(max(most, 1), np.int64)
        seen, queue = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
        found, _ = kernel.search_up(
            *self[:4], arm, most, level, n_strict, via, above, seen, queue, np.zeros(n_arms, bool)
        )
        return level, n_strict, via, above[:found]


def bounds_of_links(n_arms: int, links: Links, quanta: Quanta) -> UpwardBounds:
    """Return the bounds of better pairs, ranges and similar pairs as rows."""
    by_end = np.argsort(links.end, kind="stable")
    return UpwardBounds(
        np.searchsorted(links.end[by_end], np.arange(n_arms + 1)),
        links.start[by_end],
        quanta.bounds[by_end],
        links.strict[by_end].astype(np.int64),
        by_end,
    )


def bounds_of_reflection(reflection: Reflection) -> UpwardBounds:
    """Return similar pairs, ranges and the orders that count in a reflection as rows."""
    arms, others, codes = reflection.bounds_above()
    order = np.argsort(arms, kind="stable")
    return UpwardBounds(
        np.searchsorted(arms[order], np.arange(len(reflection.levels) + 1)),
        others[order].astype(np.int64),
        (codes[order] + 1) >> 1,
        codes[order] & 1,
        order,
    )


def lowest_means(
    bounds: UpwardBounds,
    arm: int,
    base: NDArray[np.float64],
    parts: NDArray[np.int64],
    largest: float,
    has_room: bool,
) -> NDArray[np.float64]:
    """Return means in quanta that satisfy all bounds and put only arms above `arm` that must be.

    Arms that no bound reaches keep their means of `base`, which satisfy the bounds, moved far below; each of
    the `parts` is moved by itself. `largest` is the largest distance in any relation. With `has_room`
    dissimilar arms end up slightly further apart than they must, for floats; similar ones stay near enough.
    """
    level, n_strict = bounds.least_sums(arm)
    unit = float(1 << (len(level) + 1).bit_length())  # more than the strict bounds of any path
    scale = unit - 0.5 / largest if has_room else unit
    reached = level < kernel.FAR
    means = np.where(reached, -(np.where(reached, level, 0) * unit - n_strict) / scale, 0.0)
    bottom = means[reached].min()
    for part in np.unique(parts[~reached]).tolist():
        members = ~reached & (parts == part)
        means[members] = base[members] - base[members].max() + bottom - largest - 1.0
        bottom = means[members].min()
    return np.asarray(means)
