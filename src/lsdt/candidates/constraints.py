"""Relations as constraints on depths, for the arms whose relations can be looked at in reasonable time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.propagation_kernel import Constraints
from lsdt.side_information.restricting import restricted
from lsdt.side_information.stores import PairStore, WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation
    from lsdt.side_information.stores import Store

# Relations of an arm beyond which only some arms are looked at: a few hundred say nearly all there is to say.
_DENSE = 600.0
_FEWEST_ARMS = 1_500
_FEW = 500  # arms among which every step is passed on


@dataclass(frozen=True, eq=False)
class Field:
    """The constraints among `arms`, which ascend, in whole steps: `unit` of them are `size` in rewards.

    With as many steps to an epsilon as there are arms, and one more, strict and other inequalities are the
    same in whole steps, and bounds are read back exactly.
    """

    arms: NDArray[np.int64]
    constraints: Constraints
    unit: int
    size: float

    @property
    def entries(self) -> int:
        """Number of relations, each counted from both ends."""
        return len(self.constraints.similar) + len(self.constraints.dissimilar)

    def places(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where arms of the field are in it."""
        return np.searchsorted(self.arms, arms)

    def nearest(self, seeds: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Return `size` places: the seeds, and again and again those with most relations to them."""
        c, chosen = self.constraints, np.unique(seeds)
        while len(chosen) < size:
            similar = _relatives(c.similar_starts, c.similar, chosen)
            both = np.concatenate([similar, _relatives(c.dissimilar_starts, c.dissimilar, chosen)])
            arms, counts = np.unique(both, return_counts=True)
            # Arms that are similar to none of them say nothing: no path leads back from them.
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
    """Return the constraints among some arms and those that say most about them: all, if that is quick."""
    members = np.arange(side.n_arms)
    if side.n_arms > max(_FEWEST_ARMS, 2 * len(arms)) and _mean_degree(side.store) > _DENSE:
        members = _around(side.store, arms, max(_FEWEST_ARMS, 2 * len(arms)))
    store = restricted(side, members).store.explicit()
    similar, dissimilar = store.similar, store.listed_dissimilar()
    unit = len(members) + 1
    constraints = Constraints(
        similar.indptr.copy(),  # writable, as compiled code knows it
        similar.indices.copy(),
        np.array([unit - 1]),
        dissimilar.indptr.copy(),
        dissimilar.indices.copy(),
        np.array([unit]),
        1 if len(members) <= _FEW else unit // 8,
        unit,
    )
    return Field(members, constraints, unit, 1.0 if side.epsilon is None else side.epsilon)


def _mean_degree(store: Store) -> float:
    if isinstance(store, WindowStore):
        return 2.0 * sum(store.expected_counts()) / store.n_arms
    return 2.0 * (store.n_similar + store.n_dissimilar) / store.n_arms


def _around(store: Store, arms: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the arms, arms similar to them, and others evenly spread: `size` in all, or a few more."""
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
