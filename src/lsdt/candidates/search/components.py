"""Components: arms joined by similar pairs or ranges, and whether an arm can be the best of its component.

Components can be shifted freely against one another, so each is decided by itself. Suppose arm i is the best
of one. Given an order for every dissimilar pair, the relations are difference constraints on the depths below
it, and shortest paths decide them. The search through the orders is depth first, and skips orders that follow
from others.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates.propagation.closure_kernel import closed_bounds, constraints_among, order_pairs
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.search.exact_kernel import CAN, CANNOT, NO_ROOM, UNDECIDED, Search, search, suppose_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.method import Clock
    from lsdt.side_information import SideInformation

MOST_ORDERS = 10_000  # orders assumed for one arm: about half a second with 100 arms

_CELLS = 10_000_000  # bounds processed between two looks at the clock, roughly: a fraction of a second
_FIRST_SAVED = 16  # levels of backtracking with room at first, which doubles; most searches need none
_MOST_SAVED = 2**29  # bytes of bounds saved for backtracking: half a gigabyte


class SearchResult(NamedTuple):
    """CAN, CANNOT or UNDECIDED; how many orders were assumed; depths that prove CAN.

    Depths are in the unit of the constraint system: an epsilon, where there is one for all pairs.
    """

    answer: int
    orders: int
    depths: NDArray[np.float64] | None = None


def components_of(system: ConstraintSystem, arms: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split arms of a constraint system into components: sets of arms joined by similar pairs or ranges."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    c = system.constraints
    size = len(system.arms)
    near = csr_array((np.ones(len(c.similar), bool), c.similar, c.similar_starts), (size, size))
    count, number = connected_components(near[arms][:, arms], directed=False)
    return [arms[number == one] for one in range(count)]


def whole_system(side: SideInformation) -> ConstraintSystem:
    """Return the constraint system of all arms, which must be few enough for `system_around` to take all."""
    system = system_around(side, np.arange(side.n_arms))
    assert len(system.arms) == side.n_arms
    return system


class Component:
    """Arms joined by similar pairs or ranges, with their relations.

    Parameters
    ----------
    system : ConstraintSystem
        The constraints of all arms.
    arms : ndarray of int
        Its arms, ascending, as indices in the constraint system.
    is_tight : bool
        Whether `system` is already tightened.
    """

    def __init__(self, system: ConstraintSystem, arms: NDArray[np.int64], is_tight: bool = False) -> None:
        self.arms = arms
        self._is_tight = is_tight
        self.system = system
        unknown = np.full(len(system.arms), -1)
        self._constraints = constraints_among(system.constraints, arms, unknown)
        similar, self._pairs, self._apart = closed_bounds(system.constraints, arms, unknown)
        # 32 bits where they are enough: most of the time goes into reading and writing bounds.
        reach = np.abs(similar).max(initial=0) + self._apart.max(initial=0)
        self._similar = similar.astype(np.int32) if reach < 2**30 else similar

    def derive(self, arm: int | None) -> tuple[NDArray[np.signedinteger], bool]:
        """Return the bounds that follow if `arm` (None: any) is the best, and whether they are consistent."""
        bounds = self._similar.copy()
        if arm is not None and not suppose_best(self._constraints, bounds, self.place(arm)):
            return bounds, False
        return bounds, bool(order_pairs(bounds, self._pairs, self._apart))

    def place(self, arm: int) -> int:
        """Return the index of an arm in the component."""
        return int(np.searchsorted(self.arms, arm))

    def decide(
        self, arm: int | None, most_orders: int | None = None, clock: Clock | None = None
    ) -> SearchResult:
        """Decide whether an arm can be the best of the component or, for None, whether any can."""
        most_orders = MOST_ORDERS if most_orders is None else most_orders
        bounds, possible = self.derive(arm)
        room = _FIRST_SAVED
        state = Search(
            bounds,
            np.empty((room, *bounds.shape), bounds.dtype),
            np.empty((room, 3), np.int64),
            np.array([0, 0, possible]),
            np.ones(len(self._pairs)),
        )
        steps = np.zeros(len(self.arms), np.int64)
        best = self._any_arm if arm is None else self.place(arm)
        at_once = max(_CELLS // bounds.size, 1)
        while True:
            until = min(int(state.counts[1]) + at_once, most_orders)
            answer = int(search(state, self._pairs, self._apart, best, until, steps))
            if answer == NO_ROOM and 2 * state.saved.nbytes <= _MOST_SAVED:
                state = state._replace(
                    saved=np.concatenate((state.saved, np.empty_like(state.saved))),
                    other_order=np.concatenate((state.other_order, np.empty_like(state.other_order))),
                )
            elif answer != UNDECIDED or until == most_orders or (clock is not None and clock.is_over()):
                break
        orders = int(state.counts[1])
        if answer != CAN:
            return SearchResult(CANNOT if answer == CANNOT else UNDECIDED, orders)
        verdict = self.check_depths(arm, steps, orders)
        if verdict.answer == CAN or self._tightened is None:
            return verdict
        tight = self._tightened.decide(arm, most_orders, clock)
        return tight if tight.answer == CAN else verdict

    @property
    def _any_arm(self) -> int:
        """The code for any arm in a search: -1 if means may be reflected, -2 with ranges, which forbid it."""
        return -1 if self.system.ranges is None else -2

    @cached_property
    def _tightened(self) -> Component | None:
        """The component with slightly stricter relations if steps round thresholds or ranges, else None."""
        ranges = self.system.ranges
        is_rounded = self.system.thresholds is not None or (ranges is not None and not ranges.steps.exact)
        if self._is_tight or not is_rounded:
            return None
        return Component(self.system.tighten(), self.arms, is_tight=True)

    def check_depths(self, arm: int | None, steps: NDArray[np.int64], orders: int) -> SearchResult:
        """Return CAN with these depths if they satisfy the relations, else UNDECIDED."""
        steps = steps - steps.min()
        on_top = arm is None or steps[self.place(arm)] == 0
        depths = steps / self.system.scale
        if not on_top or not fits(self.system, self.arms, steps) or not self.system.fits(self.arms, depths):
            return SearchResult(UNDECIDED, orders)
        return SearchResult(CAN, orders, depths)


class PairSteps(NamedTuple):
    """Pairs of arms with the steps between them, as in the constraints."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    steps: NDArray[np.int64]


def relations_among(
    system: ConstraintSystem, arms: NDArray[np.int64]
) -> tuple[PairSteps, PairSteps, PairSteps]:
    """Return the similar pairs, dissimilar pairs and range ends among `arms`, as indices into `arms`.

    For the end of a range, the second arm lies at most `steps` below the first.
    """
    c = system.constraints
    place = np.full(len(system.arms), -1)
    place[arms] = np.arange(len(arms))

    def among(
        starts: NDArray[np.int64], others: NDArray[Any], steps: NDArray[np.int64], once: bool = True
    ) -> PairSteps:
        first, second = np.repeat(place, np.diff(starts)), place[others]
        kept = (first >= 0) & (first < second) if once else (first >= 0) & (second >= 0)
        return PairSteps(first[kept], second[kept], np.broadcast_to(steps, len(others))[kept])

    none = np.zeros(0, np.int64)
    links = PairSteps(none, none, none) if system.ranges is None else among(*system.ranges.links, once=False)
    return among(*system.near), among(c.dissimilar_starts, c.dissimilar, c.dissimilar_steps), links


def fits(system: ConstraintSystem, arms: NDArray[np.int64], steps: NDArray[np.int64]) -> bool:
    """Return whether depths in steps satisfy every relation among some arms of a constraint system."""
    near, far, links = relations_among(system, arms)
    return bool(
        (np.abs(steps[near.first] - steps[near.second]) <= near.steps).all()
        and (np.abs(steps[far.first] - steps[far.second]) >= far.steps).all()
        and (steps[links.second] - steps[links.first] <= links.steps).all()
    )
