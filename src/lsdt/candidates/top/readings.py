"""Bounds on the differences of all means, whichever arm is the best: a table for each reading of the orders.

Relations leave the orders of dissimilar pairs open up to reflection, one choice for every part that similar
pairs join. A *reading* is one of the choices, and in it all relations bound differences of two means. So for
each arm, and each of the readings of its part, ``lower[i, j] <= mean i - mean j <= upper[i, j]`` for all j;
bounds to arms of other parts are infinite, unless ranges join them. The first table has the one reading of
every part, the second one the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.orientation.growth import never
from lsdt.candidates.top.above_kernel import FAR
from lsdt.candidates.top.orders import count_in_reflections
from lsdt.kernel import require_memory
from lsdt.side_information import PairStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation


class Readings(NamedTuple):
    """Bounds on differences among some arms, in rewards, one table of each kind for a reading.

    ``part[i]`` is the part of arm i: each part has its own reading. After a `contradiction`, and where
    relations have no size, nothing is known.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    part: NDArray[np.int64]
    contradiction: bool = False

    @property
    def least_spread(self) -> float:
        """How far apart the largest and the least mean are at least, whichever reading is right."""
        above = np.zeros((len(self.lower), int(self.part.max(initial=0)) + 1))
        for reading, lower in zip(above, self.lower, strict=True):
            np.maximum.at(reading, self.part, lower.max(axis=1, initial=0.0))
        return float(above.min(axis=0).max())


def read_bounds(side: SideInformation, arms: NDArray[np.int64]) -> Readings:
    """Return bounds on the differences of the means of some arms in every reading of the relations.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> from lsdt.candidates.top.readings import read_bounds
    >>> side = lsdt.complete(3, similar=[(0, 1), (1, 2)], epsilon=.1)
    >>> read_bounds(side, np.arange(3)).upper[:, 0, 2].round(2).tolist()      # 0 is above 2, or below it
    [0.2, -0.1]
    """
    _require_tables(len(arms))
    if not _has_relations(side) or not _has_size(side):
        return nothing_known(len(arms))
    system = system_around(side, arms)
    if system.ranges is not None and not system.ranges.is_compared:
        return nothing_known(len(arms))
    places = system.places(arms)
    found = count_in_reflections(system, places[:0], 1, never)
    if found.part is None:
        return nothing_known(len(arms), contradiction=True)
    upper = np.full((len(found.first), len(arms), len(arms)), np.inf)
    for table, (_, bounds) in zip(upper, found.first, strict=True):
        for row, place in zip(table, places.tolist(), strict=True):
            level = bounds.least_sums(place)[0][places]
            row[:] = np.where(level < FAR, level * system.size, np.inf)
    part = found.part[places] if system.ranges is None else np.zeros(len(arms), np.int64)
    return Readings(-upper.transpose(0, 2, 1), upper, part)


def _require_tables(n_arms: int) -> None:
    require_memory(64.0 * n_arms**2, f"bounds among {n_arms:,} arms", "leave some arms out")


def _has_relations(side: SideInformation) -> bool:
    store = side.store
    return not isinstance(store, PairStore) or side.ranges is not None or store.n_similar > 0


def _has_size(side: SideInformation) -> bool:
    """Return whether relations bound differences in rewards: without an epsilon, pairs do not."""
    store = side.store
    only_ranges = isinstance(store, PairStore) and store.n_similar + store.n_dissimilar == 0
    return side.has_epsilon or only_ranges


def nothing_known(n_arms: int, *, contradiction: bool = False) -> Readings:
    """Return bounds that say nothing about any two arms."""
    _require_tables(n_arms)
    upper = np.full((1, n_arms, n_arms), np.inf)
    upper[0, np.arange(n_arms), np.arange(n_arms)] = 0.0
    return Readings(-upper, upper, np.arange(n_arms), contradiction)
