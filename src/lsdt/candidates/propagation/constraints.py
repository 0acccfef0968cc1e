"""Relations as constraints on depths, for as many arms as take reasonable time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.propagation.method_kernel import Constraints
from lsdt.side_information.layouts.integer_steps import steps_of
from lsdt.side_information.layouts.stores import PairStore, WindowStore
from lsdt.side_information.layouts.subset import subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation
    from lsdt.side_information.layouts.stores import Store
    from lsdt.side_information.layouts.thresholds import Thresholds

# With more relations per arm than this, a part of the arms is enough: a few hundred decide nearly everything.
_DENSE = 600.0
_FEWEST_ARMS = 1_500
_FEW = 500  # up to so many arms, every single step is propagated


@dataclass(frozen=True, eq=False)
class Field:
    """The constraints among ascending `arms` in whole steps; `unit` steps are `size` in rewards.

    An epsilon (or a quantum of distinct thresholds) has one step more than there are arms. Strict and
    non-strict inequalities then are the same in whole steps, and bounds convert back exactly.
    """

    arms: NDArray[np.int64]
    constraints: Constraints
    unit: int
    size: float
    thresholds: Thresholds | None = None

    @property
    def entries(self) -> int:
        """Number of relations, each counted from both ends."""
        return len(self.constraints.similar) + len(self.constraints.dissimilar)

    @property
    def largest(self) -> float:
        """The largest distance in any relation, in units; at least 1."""
        c = self.constraints
        most = max(c.similar_steps.max(initial=0) + 1, c.dissimilar_steps.max(initial=0))
        return max(float(most) / self.unit, 1.0)

    @property
    def scale(self) -> float:
        """Steps per unit for converting depths to floats, with half a step to spare.

        Similar arms are at least one step nearer than their threshold, and stay below it. Dissimilar arms
        end up slightly further apart than they must.
        """
        return self.unit - 0.5 / self.largest

    def fits(self, places: NDArray[np.int64], depths: NDArray[np.float64]) -> bool:
        """Return whether depths in units satisfy the distinct thresholds, which steps may round."""
        if self.thresholds is None:
            return True
        c, known = self.constraints, np.full(len(self.arms), np.nan)
        known[places] = depths * self.size

        def gaps(starts: NDArray[np.int64], others: NDArray[np.int32]) -> NDArray[np.float64]:
            apart: NDArray[np.float64] = np.abs(np.repeat(known, np.diff(starts)) - known[others])
            return apart

        near, far = gaps(c.similar_starts, c.similar), gaps(c.dissimilar_starts, c.dissimilar)
        too_far = near >= self.thresholds.similar  # not a number where an arm is not among the places
        return not (too_far.any() or (far < self.thresholds.dissimilar).any())

    def tighten(self) -> Field:
        """Return the field with thresholds rounded a unit stricter: whatever satisfies it satisfies them."""
        c = self.constraints
        tight = c._replace(
            similar_steps=c.similar_steps - self.unit, dissimilar_steps=c.dissimilar_steps + self.unit
        )
        return replace(self, constraints=tight)

    def places(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of arms in the field."""
        return np.searchsorted(self.arms, arms)

    def nearest(self, seeds: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Return `size` places: the seeds, then repeatedly those with most relations to the places so far."""
        c, chosen = self.constraints, np.unique(seeds)
        while len(chosen) < size:
            similar = _relatives(c.similar_starts, c.similar, chosen)
            both = np.concatenate([similar, _relatives(c.dissimilar_starts, c.dissimilar, chosen)])
            arms, counts = np.unique(both, return_counts=True)
            # An arm similar to none of them adds nothing: no path leads back from it.
            others = np.isin(arms, similar) & ~np.isin(arms, chosen)
            arms, counts = arms[others], counts[others]
            if len(arms) == 0:
                break
            most = np.lexsort((arms, -counts))[: min(size - len(chosen), max(len(chosen) // 2, 1))]
            chosen = np.union1d(chosen, arms[most])
        return chosen


def _relatives(
    starts: NDArray[np.int64], others: NDArray[np.int32], chosen: NDArray[np.int64]
) -> NDArray[np.int32]:
    return np.concatenate([others[starts[place] : starts[place + 1]] for place in chosen.tolist()])


def field_around(side: SideInformation, arms: NDArray[np.int64]) -> Field:
    """Return the constraints among arms and those most related to them; among all arms if that is quick."""
    members = np.arange(side.n_arms)
    if side.n_arms > max(_FEWEST_ARMS, 2 * len(arms)) and _mean_degree(side.store) > _DENSE:
        members = _around(side.store, arms, max(_FEWEST_ARMS, 2 * len(arms)))
    part = subset(side, members)
    store = part.store.explicit()
    similar, dissimilar = store.similar, store.listed_dissimilar()
    steps = steps_of(store, part.epsilon)
    constraints = Constraints(
        similar.indptr.copy(),  # writable, as compiled code knows it
        similar.indices.copy(),
        steps.similar,
        dissimilar.indptr.copy(),
        dissimilar.indices.copy(),
        steps.dissimilar,
        1 if len(members) <= _FEW else steps.unit // 8,
        steps.unit,
    )
    return Field(members, constraints, steps.unit, steps.size, store.thresholds)


def _mean_degree(store: Store) -> float:
    if isinstance(store, WindowStore):
        return 2.0 * sum(store.expected_counts()) / store.n_arms
    return 2.0 * (store.n_similar + store.n_dissimilar) / store.n_arms


def _around(store: Store, arms: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the arms, arms similar to them, and others evenly spread: about `size` in all."""
    chosen = np.zeros(store.n_arms, bool)
    chosen[arms] = True
    near = np.unique(np.concatenate([_similar_to(store, int(arm)) for arm in _spread(arms, 32)]))
    chosen[_spread(near, (size - len(arms)) // 2)] = True
    chosen[_spread(np.arange(store.n_arms), max(size - int(chosen.sum()), 1))] = True
    return np.flatnonzero(chosen)


def _spread(values: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _similar_to(store: Store, arm: int) -> NDArray[np.int64]:
    if isinstance(store, PairStore):
        return store.similar.neighbours(arm).astype(np.int64)
    windows = store.windows
    place = windows.position[arm]
    window = windows.order[windows.left_end[place] : windows.right_end[place]].astype(np.int64)
    return window[[store.relation(arm, int(other)) > 0 for other in window]] if store.layers else window
