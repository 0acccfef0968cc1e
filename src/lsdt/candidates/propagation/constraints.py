"""Relations as constraints on depths, for all arms or for as many as take reasonable time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates.propagation.method_kernel import FAR, Constraints
from lsdt.candidates.propagation.range_steps import (
    LinkRows,
    RangeSteps,
    has_one_unit,
    joint_rows,
    link_rows,
    range_steps,
)
from lsdt.kernel import evenly_spread
from lsdt.side_information import PairStore, WindowStore, steps_of, subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency, PairRanges, SideInformation, Store, Thresholds

# With more relations per arm than this, a part of the arms is enough: a few hundred decide nearly everything.
_DENSE = 600.0
_FEWEST_ARMS = 1_500  # the size of such a part: every arm then still has hundreds of relations in it
_FLOATS = 1e-12  # relative error by which floats may miss the closed end of a range
_FEW = 500  # up to this many arms every gain is propagated; beyond, only gains of an eighth of a unit


class SimilarRows(NamedTuple):
    """Similar pairs as rows with their steps; a single entry in `steps` applies to all pairs."""

    starts: NDArray[np.int64]
    others: NDArray[np.int32]
    steps: NDArray[np.int64]


class RangeConstraints(NamedTuple):
    """Similar pairs and ranges kept apart, while the rows of similar pairs in the constraints hold both.

    Attributes
    ----------
    similar : SimilarRows
        The similar pairs alone.
    links : LinkRows
        The ends of the ranges alone.
    stated, steps, graphs
        The ranges as stated, all relations in steps, and the similar and dissimilar pairs.
    is_compared : bool
        Whether ranges count with their size, not only with their direction.
    """

    similar: SimilarRows
    links: LinkRows
    stated: PairRanges
    steps: RangeSteps
    graphs: tuple[Adjacency, Adjacency]
    is_compared: bool


@dataclass(frozen=True, eq=False)
class ConstraintSystem:
    """A constraint system among ascending `arms` in whole steps; `unit` steps are `size` in rewards.

    An epsilon (or a quantum of distinct thresholds and ranges) has more steps than there are arms. Strict
    inequalities can then be written as non-strict ones in whole steps, and bounds convert back exactly.
    """

    arms: NDArray[np.int64]
    constraints: Constraints
    unit: int
    size: float
    thresholds: Thresholds | None = None
    ranges: RangeConstraints | None = None

    @property
    def near(self) -> SimilarRows:
        """The similar pairs alone, as rows."""
        if self.ranges is not None:
            return self.ranges.similar
        c = self.constraints
        return SimilarRows(c.similar_starts, c.similar, c.similar_steps)

    @property
    def entries(self) -> int:
        """Number of relations, each counted from both ends."""
        return len(self.constraints.similar) + len(self.constraints.dissimilar)

    @property
    def largest(self) -> float:
        """The largest distance in any relation, in units; at least 1."""
        most = max(self.near.steps.max(initial=0) + 1, self.constraints.dissimilar_steps.max(initial=0))
        if self.ranges is not None:
            most = max(most, int(np.abs(self.ranges.links.steps).max(initial=0)))
        return max(float(most) / self.unit, 1.0)

    @property
    def scale(self) -> float:
        """Steps per unit for converting depths to floats, with half a step to spare.

        Similar arms are at least one step nearer than their threshold, and stay below it. Dissimilar arms
        end up slightly further apart than they must. Ranges may have to be met exactly; with them the unit is
        a power of two, and nothing is rounded.
        """
        return self.unit - 0.5 / self.largest if self.ranges is None else float(self.unit)

    def fits(self, places: NDArray[np.int64], depths: NDArray[np.float64]) -> bool:
        """Return whether depths in units satisfy distinct thresholds and ranges as stated, not rounded."""
        if self.thresholds is None and self.ranges is None:
            return True
        known = np.full(len(self.arms), np.nan)
        known[places] = depths * self.size
        return self._fits_thresholds(known) and self._fits_ranges(known)

    def _fits_thresholds(self, known: NDArray[np.float64]) -> bool:
        if self.thresholds is None:
            return True

        def gaps(starts: NDArray[np.int64], others: NDArray[np.int32]) -> NDArray[np.float64]:
            apart: NDArray[np.float64] = np.abs(np.repeat(known, np.diff(starts)) - known[others])
            return apart

        c = self.constraints
        near, far = gaps(*self.near[:2]), gaps(c.dissimilar_starts, c.dissimilar)
        too_far = near >= self.thresholds.similar  # False (NaN) where an arm is not in `places`
        spare = 0.0 if self.ranges is None else _FLOATS * self.thresholds.largest
        return not (too_far.any() or (far < self.thresholds.dissimilar - spare).any())

    def _fits_ranges(self, known: NDArray[np.float64]) -> bool:
        if self.ranges is None or not self.ranges.is_compared:
            return True
        pairs, low, high, strict_low, strict_high = self.ranges.stated
        less = known[pairs[:, 1]] - known[pairs[:, 0]]  # the larger depth is the smaller mean
        spare = _FLOATS * max(self.largest * self.size, float(np.nanmax(np.abs(known), initial=0.0)))
        wrong = (less < low - spare) | (less > high + spare)
        wrong |= (strict_low & (less <= 0.0)) | (strict_high & (less >= 0.0))
        return not wrong.any()

    def tighten(self) -> ConstraintSystem:
        """Return a constraint system a unit stricter: what satisfies it satisfies the relations as stated."""
        c, unit = self.constraints, self.unit
        if self.ranges is None:
            tight = c._replace(
                similar_steps=c.similar_steps - unit,
                similar_back=c.similar_back - unit,
                dissimilar_steps=c.dissimilar_steps + unit,
            )
            return replace(self, constraints=tight)
        steps = self.ranges.steps
        # Better pairs and ends at 0 were not rounded.
        near, far = (
            np.where((ends == FAR) | (np.abs(ends) <= 1), ends, ends - unit)
            for ends in (steps.forward, steps.backward)
        )
        stricter = steps._replace(
            similar=steps.similar - unit, dissimilar=steps.dissimilar + unit, forward=near, backward=far
        )
        return replace(
            self, **_joined(self.ranges.graphs, self.ranges.stated, stricter, c, self.ranges.is_compared)
        )

    def places(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of arms in the constraint system."""
        return np.searchsorted(self.arms, arms)

    def nearest(self, seeds: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Return up to `size` indices: the seeds, then repeatedly those with most relations to the chosen."""
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


def takes_all(side: SideInformation, arms: NDArray[np.int64]) -> bool:
    """Return whether `system_around` takes all arms, since that is quick."""
    return side.n_arms <= max(_FEWEST_ARMS, 2 * len(arms)) or _mean_degree(side.store) <= _DENSE


def system_around(side: SideInformation, arms: NDArray[np.int64]) -> ConstraintSystem:
    """Return the constraint system of `arms` and some others (`_around`), or of all arms if that is quick."""
    members = np.arange(side.n_arms)
    if not takes_all(side, arms):
        members = _around(side.store, arms, max(_FEWEST_ARMS, 2 * len(arms)))
    part = subset(side, members)
    store = part.store.explicit()
    similar, dissimilar = store.similar, store.listed_dissimilar()
    ranged = None if store.ranges is None else range_steps(part)
    steps = steps_of(part.limits, part.n_arms) if ranged is None else ranged
    # With ranges, what is narrow and what is a gain goes by the distances of pairs: a quantum may be tiny.
    unit = steps.unit if ranged is None else max(int(steps.dissimilar.min(initial=FAR)), steps.unit)
    constraints = Constraints(
        similar.indptr.copy(),  # writable, as compiled code expects
        similar.indices.copy(),
        steps.similar,
        steps.similar,
        dissimilar.indptr.copy(),
        dissimilar.indices.copy(),
        steps.dissimilar,
        1 if len(members) <= _FEW else unit // 8,
        min(unit, int(FAR) // 4),
    )
    found = ConstraintSystem(members, constraints, steps.unit, steps.size, store.thresholds)
    if ranged is None or store.ranges is None:
        return found
    graphs, compared = (similar, dissimilar), has_one_unit(part)
    return replace(found, **_joined(graphs, store.ranges, ranged, constraints, compared))


def _joined(
    graphs: tuple[Adjacency, Adjacency],
    stated: PairRanges,
    steps: RangeSteps,
    constraints: Constraints,
    is_compared: bool,
) -> dict[str, Any]:
    """Return the fields ``constraints``, with ranges in the rows of similar pairs, and ``ranges``."""
    starts, others, ahead, back = joint_rows(*graphs, stated.pairs, steps)
    joint = constraints._replace(
        similar_starts=starts,
        similar=others,
        similar_steps=ahead,
        similar_back=back,
        dissimilar_steps=steps.dissimilar,
    )
    near = SimilarRows(graphs[0].indptr.copy(), graphs[0].indices.copy(), steps.similar)
    links = link_rows(len(starts) - 1, stated.pairs, steps)
    return {"constraints": joint, "ranges": RangeConstraints(near, links, stated, steps, graphs, is_compared)}


def is_sparse(store: Store) -> bool:
    """Return whether there are few enough relations per arm to use those of all arms."""
    return _mean_degree(store) <= _DENSE


def _mean_degree(store: Store) -> float:
    if isinstance(store, WindowStore):
        return 2.0 * sum(store.expected_counts()) / store.n_arms
    n_ranges = 0 if store.ranges is None else len(store.ranges.pairs)
    return 2.0 * (store.n_similar + store.n_dissimilar + n_ranges) / store.n_arms


def _around(store: Store, arms: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the arms, arms similar to them, and others evenly spread: about `size` in all."""
    chosen = np.zeros(store.n_arms, bool)
    chosen[arms] = True
    near = np.unique(np.concatenate([_similar_to(store, int(arm)) for arm in evenly_spread(arms, 32)]))
    chosen[evenly_spread(near, (size - len(arms)) // 2)] = True
    chosen[evenly_spread(np.arange(store.n_arms), max(size - int(chosen.sum()), 1))] = True
    return np.flatnonzero(chosen)


def _similar_to(store: Store, arm: int) -> NDArray[np.int64]:
    if isinstance(store, PairStore):
        return store.similar.neighbours(arm).astype(np.int64)
    windows = store.windows
    place = windows.position[arm]
    window = windows.order[windows.left_end[place] : windows.right_end[place]].astype(np.int64)
    return window[[store.relation(arm, int(other)) > 0 for other in window]] if store.layers else window
