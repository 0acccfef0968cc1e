"""How far an arm lies above the others, if it is the best: bounds on every gap.

With partial information, propagation derives the bounds: arm by arm, or, if the order of nearly all
dissimilar pairs is known up to reflection (see `reflections`), for all remaining arms at once. With complete
information the order of the arms is known up to its direction, so the bounds are shortest paths along it.
Gaps are in units of the rewards; an unknown epsilon counts as 1. Propagation uses ranges near every arm too;
chains of ranges and similar pairs among all arms then narrow the bounds further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._progress import counter
from lsdt.candidates.complete.anchors import find_anchors
from lsdt.candidates.complete.gap_bounds import depths_along
from lsdt.candidates.propagation.closure_kernel import bounds_below, mutual_rows
from lsdt.candidates.propagation.constraints import ConstraintSystem, system_around, takes_all
from lsdt.candidates.propagation.method import MOST_CLOSED, most_near
from lsdt.candidates.propagation.method_kernel import FAR, new_scratch
from lsdt.candidates.propagation.order import order_gaps
from lsdt.candidates.propagation.range_steps import has_one_unit
from lsdt.errors import InvalidInput
from lsdt.kernel import over_blocks
from lsdt.side_information import subset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.candidates.complete.proper_order import ProperOrder
    from lsdt.candidates.propagation.method import Propagation
    from lsdt.side_information import SideInformation

_MOST_CLOSED_ROWS = 2_000  # rows for which constraints are closed: each takes some milliseconds
_MOST_ORDERED_ROWS = 2_000  # rows narrowed by chains of ranges: a table of all pairs takes 32 MB
_MOST_SUMS = 200_000_000  # links that are added up for all rows: some seconds
_LONG_WORK = 2e9  # comparisons arm by arm: some seconds
_MOSTLY = 0.5  # share of pairs with an order from which bounds by reflections are worth their looseness
MOST_BOUNDS = 50_000_000  # entries of all rows: a gigabyte


class GapBounds(NamedTuple):
    """Bounds on the gap ``mu_i - mu_j`` of one arm i to every arm j, if i is the best; may be infinite.

    Attributes
    ----------
    lower, upper : array
        One number for every arm, in rewards; in epsilons where epsilon is not known.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)])
    >>> lsdt.candidate_set(side).bounds(0).lower.tolist()
    [0.0, 0.0, 1.0]
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def _repr_html_(self) -> str:
        return fields_card(self)


class MutualBounds(NamedTuple):
    """Bounds among candidates as compressed sparse rows; arms are numbered by their place among them.

    If candidate i is the best, then ``lower <= mu_i - mu_j <= upper`` for every j in
    ``indices[indptr[i]:indptr[i + 1]]``, ascending, i itself with two zeros. For a j outside the row all that
    is known is that its mean is not larger.

    Attributes
    ----------
    indptr, indices : array
        The rows, as in SciPy.
    lower, upper : array
        The bounds, in the order of `indices`.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)])
    >>> bounds = lsdt.candidate_set(side).mutual_bounds
    >>> len(bounds.indptr) - 1
    3
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of_tables(cls, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> MutualBounds:
        """Return full rows from two square tables."""
        n_arms = len(lower)
        others = np.tile(np.arange(n_arms), n_arms)
        return cls(np.arange(n_arms + 1) * n_arms, others, lower.ravel(), upper.ravel())

    def _repr_html_(self) -> str:
        return fields_card(self)


def gap_bounds(side: SideInformation, arm: int) -> GapBounds:
    """Return bounds on the gaps below an arm; raise if it cannot be the best."""
    if side.is_complete and side.ranges is None:
        proper = find_anchors(side).proper
        steps = _complete_steps(proper, arm)
        return GapBounds(*_gaps(*steps, side.n_arms + 1, _size(side)))
    ordered = order_gaps(side, np.array([arm]))
    if ordered is not None and ordered.is_out[arm]:
        raise _no_gaps(side, arm, "the order of the arms")
    if ordered is not None and not (side.n_dissimilar and has_one_unit(side)):
        return GapBounds(ordered.lower, ordered.upper[0])  # these include similar pairs
    system = system_around(side, np.array([arm]))
    n_arms, place = len(system.arms), int(system.places(np.array([arm]))[0])
    scratch = new_scratch(n_arms)
    possible, _ = bounds_below(
        system.constraints, place, most_near(system, 1), MOST_CLOSED, scratch, np.full(n_arms, -1)
    )
    if not possible:
        raise _no_gaps(side, arm, "propagation")
    lower, upper = np.zeros(side.n_arms), np.full(side.n_arms, np.inf)
    lower[system.arms], upper[system.arms] = _gaps(scratch.lower, scratch.upper, system.unit, system.size)
    if ordered is not None:
        lower, upper = np.maximum(lower, ordered.lower), np.minimum(upper, ordered.upper[0])
    return GapBounds(lower, upper)


def _no_gaps(side: SideInformation, arm: int, what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} shows that arm {side.label(arm)!r} cannot be the best, so there are no gaps below it; ask "
        "about an arm that the method 'propagation' leaves"
    )


def mutual_bounds(
    side: SideInformation,
    arms: NDArray[np.int64],
    most_entries: int = MOST_BOUNDS,
    found: Propagation | None = None,
) -> MutualBounds:
    """Return bounds on the gaps among `arms`; row i assumes that arm i is the best.

    Rows of partial information are cut to the nearest arms if all rows together would have more than
    `most_entries` entries. With `found`, the result of propagation, the order of dissimilar pairs need not be
    found again.
    """
    if side.is_complete and side.ranges is None:
        return _complete(side, arms)
    # Without epsilon, distances cannot be expressed in the units of rewards.
    by_order = side.ranges is not None and len(arms) <= _MOST_ORDERED_ROWS
    is_told = by_order and not side.n_dissimilar  # the order gives all bounds
    if not has_one_unit(side) or is_told:
        bounds = _no_bounds(len(arms))
    elif found is not None and _is_ordered(found, len(arms)):
        bounds = _by_reflections(found, arms, most_entries)
    else:
        closed = _closed_before(found, arms, most_entries)
        bounds = _partial(_system_of(side, arms, found), arms, most_entries) if closed is None else closed
    if side.ranges is None or not by_order:
        return bounds
    n_links = len(side.ranges.pairs) + side.n_similar
    if n_links * len(arms) <= _MOST_SUMS:  # chains may lead through excluded arms
        ordered = order_gaps(side, arms)
        return bounds if ordered is None else _narrow(bounds, ordered.upper[:, arms])
    ordered = order_gaps(subset(side, arms), np.arange(len(arms)))
    return bounds if ordered is None else _narrow(bounds, ordered.upper)


def _is_ordered(found: Propagation, n_arms: int) -> bool:
    """Return whether to take bounds from the order of dissimilar pairs that propagation found for all arms.

    If many pairs have no order, bounds derived for one best arm at a time are tighter, but take long.
    """
    oriented, system = found.oriented, found.system
    if oriented is None or system is None or not oriented.reflections:
        return False
    if oriented.is_whole:
        return True
    work = most_near(system, n_arms) * float(n_arms) * system.entries / len(system.arms)
    return work > _LONG_WORK and oriented.n_ordered >= _MOSTLY * oriented.n_pairs


def _by_reflections(found: Propagation, arms: NDArray[np.int64], most_entries: int) -> MutualBounds:
    """Return bounds that hold in every reflection in which the arm of the row can be the best."""
    assert found.system is not None
    n_arms, size = len(arms), found.system.size
    if n_arms**2 <= most_entries:
        lowest, highest = np.zeros((n_arms, n_arms)), np.full((n_arms, n_arms), np.inf)
        for rows, lower, upper in _reflection_blocks(found, arms):
            lowest[rows], highest[rows] = _gaps(lower, upper, 1, size)
        return MutualBounds.of_tables(lowest, highest)
    counts = np.zeros(n_arms, np.int64)
    columns: list[list[NDArray[np.int64]]] = [[np.zeros(0, np.int64)] for _ in range(4)]
    for rows, lower, upper in _reflection_blocks(found, arms):
        is_known = (upper < FAR) | (lower > 0)
        _keep_narrowest(is_known, upper - lower, max(most_entries // n_arms, 1))
        row, other = np.nonzero(is_known)
        counts[rows] = is_known.sum(axis=1)
        for column, values in zip(columns, (rows[row], other, lower[other], upper[row, other]), strict=True):
            column.append(values)
    row, indices, low, high = (np.concatenate(column) for column in columns)
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return MutualBounds(indptr, indices[order], *_gaps(low[order], high[order], 1, size))


def _reflection_blocks(
    found: Propagation, arms: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield some rows, the lower bounds on their gaps (the same for all of them), and the upper bounds."""
    assert found.system is not None
    assert found.oriented is not None
    system, reflections = found.system, found.oriented.reflections
    places, near = system.places(arms), most_near(system, len(arms))
    tops = [reflection.levels[places] == 0 for reflection in reflections]
    for which in range(1, 1 << len(reflections)):  # arms at the top of the same reflections
        chosen = [reflection for number, reflection in enumerate(reflections) if which >> number & 1]
        is_here = [top == bool(which >> number & 1) for number, top in enumerate(tops)]
        rows = np.flatnonzero(np.all(is_here, axis=0))
        if len(rows) == 0:
            continue
        lower = np.minimum.reduce([reflection.depths(places) for reflection in chosen])
        searches = [reflection.gaps_above(places[rows], places, near) for reflection in chosen]
        for parts in zip(*searches, strict=True):
            yield rows[parts[0][0]], lower, np.maximum.reduce([gaps for _, gaps in parts])


def _keep_narrowest(is_known: NDArray[np.bool_], width: NDArray[np.int64], entries: int) -> None:
    """Set `is_known` to False except for the `entries` entries of each row with the narrowest bounds."""
    beyond = np.argsort(np.where(is_known, width, 2 * FAR), axis=1, kind="stable")[:, entries:]
    np.put_along_axis(is_known, beyond, False, axis=1)


def _no_bounds(n_arms: int) -> MutualBounds:
    """Return rows that contain only their own arm."""
    return MutualBounds(np.arange(n_arms + 1), np.arange(n_arms), np.zeros(n_arms), np.zeros(n_arms))


def _narrow(found: MutualBounds, upper: NDArray[np.float64]) -> MutualBounds:
    """Return the bounds cut to these upper ones; for candidates, the lower bounds by order are 0."""
    n_arms = len(upper)
    rows = np.repeat(np.arange(n_arms), np.diff(found.indptr))
    highest, lowest = np.full((n_arms, n_arms), np.inf), np.zeros((n_arms, n_arms))
    highest[rows, found.indices], lowest[rows, found.indices] = found.upper, found.lower
    highest = np.minimum(highest, upper)
    known = np.isfinite(highest)
    known[rows, found.indices] = True
    indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return MutualBounds(indptr, np.nonzero(known)[1], lowest[known], highest[known])


def _size(side: SideInformation) -> float:
    return 1.0 if side.epsilon is None else side.epsilon


def _gaps(
    lower: NDArray[np.int64], upper: NDArray[np.int64], unit: int, size: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds in rewards, from steps; strict ones lost a step per pair, less than a unit in all."""
    highest = np.where(upper >= FAR // 2, np.inf, -(-upper // unit) * size)
    return np.maximum(lower // unit, 0) * size, highest


def _system_of(side: SideInformation, arms: NDArray[np.int64], found: Propagation | None) -> ConstraintSystem:
    """Return the constraint system around arms; reuse that of propagation if both cover all arms."""
    if found is None or found.system is None or len(found.system.arms) < side.n_arms:
        return system_around(side, arms)
    return found.system if takes_all(side, arms) else system_around(side, arms)


def _closed_before(
    found: Propagation | None, arms: NDArray[np.int64], most_entries: int
) -> MutualBounds | None:
    """Return what `_partial` would, from the closures by which propagation excluded arms, or None."""
    if found is None or found.depths is None or found.system is None:
        return None
    depths, system = found.depths, found.system
    if not np.array_equal(depths.arms, arms) or len(arms) ** 2 > most_entries:
        return None
    if depths.near != most_near(system, len(arms)):
        return None
    is_known = (depths.upper < FAR) | (depths.lower > 0)
    indptr = np.concatenate([[0], np.cumsum(is_known.sum(axis=1))])
    low, high = depths.lower[is_known], depths.upper[is_known]
    return MutualBounds(indptr, np.nonzero(is_known)[1], *_gaps(low, high, system.unit, system.size))


def _partial(system: ConstraintSystem, arms: NDArray[np.int64], most_entries: int) -> MutualBounds:
    places = system.places(arms)
    number = np.full(len(system.arms), -1)
    number[places] = np.arange(len(arms))
    near = most_near(system, len(arms))
    closed = MOST_CLOSED if len(arms) <= _MOST_CLOSED_ROWS else 1
    entries = max(most_entries // len(arms), 1)
    rows: dict[int, tuple[NDArray[np.int64], ...]] = {}

    def work(first: int, last: int) -> None:
        rows[first] = mutual_rows(system.constraints, places, first, last, near, closed, entries, number)
        count(last - first)

    with counter(len(arms), "arms (bounds)") as count:
        over_blocks(work, len(arms), worth_sharing=9, smallest=8)
    counts, indices, lower, upper = (
        np.concatenate([rows[first][column] for first in sorted(rows)]) for column in range(4)
    )
    return MutualBounds(
        np.concatenate([[0], np.cumsum(counts)]), indices, *_gaps(lower, upper, system.unit, system.size)
    )


def _complete_steps(proper: ProperOrder, arm: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return bounds on all depths below an arm at an end of its component, in steps."""
    n_arms = len(proper.order)
    members, component_lower, component_upper = depths_along(proper, arm)
    # Arms of another component are dissimilar to all of this one, which has no gaps, so they lie below it.
    lower, upper = np.full(n_arms, component_lower.max() + n_arms + 1), np.full(n_arms, FAR)
    lower[members], upper[members] = component_lower, component_upper
    lower[arm] = upper[arm] = 0
    return lower, upper


def _complete(side: SideInformation, arms: NDArray[np.int64]) -> MutualBounds:
    proper = find_anchors(side).proper
    n_arms = len(arms)
    lower, upper = np.empty((n_arms, n_arms)), np.empty((n_arms, n_arms))
    for row, arm in enumerate(arms.tolist()):
        steps = _complete_steps(proper, arm)
        gaps = _gaps(steps[0][arms], steps[1][arms], side.n_arms + 1, _size(side))
        lower[row], upper[row] = gaps
    return MutualBounds.of_tables(lower, upper)
