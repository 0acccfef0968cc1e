"""Bounds on differences of means as links between arms, and the least bounds that follow along them.

A link says ``x_end - x_start <= bound``, or ``<`` if it is strict. Similar pairs, better pairs and ranges are
links; bounds add up along them. A dissimilar pair whose range excludes one of its two orders is a link, too:
the worse arm lies at least epsilon below the other.

**Numbers.** A level is a whole number of quanta, with a count of the strict links that led there; of two
equal levels the one with more of them is the lower. If all ends are whole multiples of a common quantum, that
is the quantum, and nothing is rounded (`lsdt.side_information.layouts.integer_steps`). Otherwise it is a
small part of epsilon, or a power of two where there is none, such that sums over all arms just fit in 61
bits, and bounds are rounded up to it: what follows from them also follows from the true bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation import difference_links_kernel as kernel
from lsdt.kernel import require_memory
from lsdt.side_information import MOST_QUANTA, PairStore, Thresholds, common_quantum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import PairRanges, SideInformation

_MOST_LEVELS = 2**61  # the largest sum of bounds along all arms; a cycle is noticed before twice that
_BYTES_PER_LINK = 110.0  # an estimate of peak memory while links are sorted and rounded
_FAR = 2**62  # the level of arms that no link reaches
_EXACT_FLOATS = 2**52  # whole numbers up to here are exact as floats
_FLOATS = 1e-13  # relative error of floats that still count as a whole multiple, as in `integer_steps`
# Rounds before the first search for a cycle; the next ones follow after twice as many each, so that all
# searches together take no longer than the rounds.
_FIRST_LOOK = 2


class Links(NamedTuple):
    """Bounds on differences, ``x_end - x_start <= bound``, or ``<`` where strict; `start` ascends."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    bound: NDArray[np.float64]
    strict: NDArray[np.bool_]
    is_similar: NDArray[np.bool_]
    is_dissimilar: NDArray[np.bool_]


class Quanta(NamedTuple):
    """Bounds as whole numbers of quanta, the size of a quantum, and whether none was rounded."""

    bounds: NDArray[np.int64]
    size: float
    exact: bool


class Levels(NamedTuple):
    """The least bound of every arm against the largest mean: quanta, strict links on the path, the last link.

    `last` is -1 where the bound is the initial 0. `circle` lists the links of a contradictory cycle, in
    order; the bounds then mean nothing. It is None if there is no such cycle.
    """

    level: NDArray[np.int64]
    strict: NDArray[np.int64]
    last: NDArray[np.int64]
    circle: list[int] | None


def links_of(side: SideInformation) -> tuple[Links, bool]:
    """Return the links of side information with ranges, and whether its similar pairs are among them.

    Where epsilon is unknown, similar pairs have no size to compare with that of a range.
    """
    store = side.store
    assert isinstance(store, PairStore)
    ranges = store.ranges
    assert ranges is not None
    n_links = 2.0 * (len(ranges.pairs) + store.n_similar)
    require_memory(n_links * _BYTES_PER_LINK, f"the order of {n_links:,.0f} links", "use fewer ranges")
    parts = _links_of_ranges(ranges)
    is_read = not store.n_similar
    if side.has_epsilon or not parts.bound.any():
        more = [_links_of_ordered(store, ranges, side.limits)]
        if store.n_similar:
            more.append(_links_of_similar(store, side.limits))
        parts = Links(*(np.concatenate(column) for column in zip(parts, *more, strict=True)))
        is_read = True
    ascending = np.argsort(parts.start, kind="stable")
    return Links(*(column[ascending] for column in parts)), is_read  # type: ignore[arg-type]


def _links_of_similar(store: PairStore, limits: Thresholds) -> Links:
    starts = np.repeat(np.arange(store.n_arms), np.diff(store.similar.indptr))
    bounds, every = np.broadcast_to(limits.similar, len(starts)), np.ones(len(starts), bool)
    return Links(starts, store.similar.indices.astype(np.int64), bounds, every, every, ~every)


def _links_of_ordered(store: PairStore, ranges: PairRanges, limits: Thresholds) -> Links:
    """Return a link from the better to the worse arm of every dissimilar pair that its own range orders."""
    apart = store.least_distances(ranges.pairs, limits)
    first, second = ranges.pairs.astype(np.int64).T
    above = (ranges.low > -apart) | ((ranges.low == -apart) & ranges.strict_low)
    below = ((ranges.high < apart) | ((ranges.high == apart) & ranges.strict_high)) & ~above
    start = np.concatenate([first[above], second[below]])
    no = np.zeros(len(start), bool)
    bounds = 0.0 - np.concatenate([apart[above], apart[below]])
    return Links(start, np.concatenate([second[above], first[below]]), bounds, no, no, ~no)


def _links_of_ranges(ranges: PairRanges) -> Links:
    first, second = ranges.pairs.astype(np.int64).T
    above, below = np.isfinite(ranges.high), np.isfinite(ranges.low)
    start = np.concatenate([second[above], first[below]])
    return Links(
        start,
        np.concatenate([first[above], second[below]]),
        np.concatenate([ranges.high[above], 0.0 - ranges.low[below]]),
        np.concatenate([ranges.strict_high[above], ranges.strict_low[below]]),
        np.zeros(len(start), bool),
        np.zeros(len(start), bool),
    )


def quanta_of(
    bounds: NDArray[np.float64], n_arms: int, distances: NDArray[np.float64] | None = None
) -> Quanta:
    """Return bounds as whole numbers of quanta, rounded up if they have no common quantum.

    `distances` are those of similar and dissimilar pairs. Most comparisons are among these, so they are not
    rounded if they have a common quantum of their own.

    Examples
    --------
    >>> import numpy as np
    >>> quanta_of(np.array([.3, -.1, 0.]), n_arms=3)
    Quanta(bounds=array([ 3, -1,  0]), size=0.1, exact=True)
    """
    sizes = np.abs(bounds[bounds != 0.0])
    if not len(sizes):
        return Quanta(np.zeros(len(bounds), np.int64), 1.0, True)
    most = min(_MOST_LEVELS // (n_arms + 1), _EXACT_FLOATS)
    common = common_quantum(Thresholds(sizes, sizes[:1]), min(most, MOST_QUANTA))
    if common is not None:
        return Quanta(np.rint(bounds / common).astype(np.int64), common, True)
    largest = float(sizes.max())
    if distances is not None and len(distances):
        own = common_quantum(Thresholds(distances, distances[:1]), min(most, MOST_QUANTA))
        if own is not None and largest / own <= most:
            return _rounded_up(bounds, own, int(np.floor(np.log2(most * (own / largest)))))
    # Dividing by a power of two does not round (unless a number is tiny beside the largest, and then rounding
    # up is all that matters), so rounding up is exact.
    power = int(np.frexp(largest / most)[1])
    scaled = np.ldexp(bounds, -power)
    whole = np.where((scaled == 0.0) & (bounds > 0.0), 1.0, np.ceil(scaled))
    exact = bool((np.ldexp(whole, power) == bounds).all())
    return Quanta(whole.astype(np.int64), float(np.ldexp(1.0, power)), exact)


def _rounded_up(bounds: NDArray[np.float64], own: float, halvings: int) -> Quanta:
    """Return bounds in quanta of `own` halved `halvings` times, rounded up; multiples of `own` stay exact."""
    scaled = np.ldexp(bounds / own, halvings)
    coarse = np.ldexp(np.rint(bounds / own), halvings)
    is_whole = np.rint(bounds / own) * own == bounds
    is_whole |= np.abs(scaled - coarse) <= _FLOATS * np.abs(scaled)
    # The division may have rounded down by less than the next float.
    whole = np.where(is_whole, coarse, np.ceil(np.nextafter(scaled, np.inf)))
    return Quanta(whole.astype(np.int64), float(np.ldexp(own, -halvings)), bool(is_whole.all()))


def least_levels(n_arms: int, links: Links, bounds: NDArray[np.int64]) -> Levels:
    """Return the least bound of every arm against the largest mean, or a contradictory cycle of links.

    A round relaxes all links from arms whose bound fell since their visit in the round before. Arms are
    visited along the links, so one round is enough if there are no cycles, as in a ranking. Without a
    contradiction there are at most as many rounds as arms.
    """
    first = np.searchsorted(links.start, np.arange(n_arms + 1))
    order = kernel.visiting_order(first, links.end)
    level, strict, last = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), np.full(n_arms, -1)
    has_fallen = np.ones(n_arms, bool)
    # No sum along different arms is below this: if a level is, there is a cycle.
    floor = -n_arms * int(np.abs(bounds).max(initial=0))
    rounds, look = 0, _FIRST_LOOK
    while kernel.lower_levels(first, links.end, bounds, links.strict, order, has_fallen, level, strict, last):
        rounds += 1
        if rounds == look or rounds > n_arms or level.min() < floor:
            look = 2 * look if rounds == look else look
            arm = kernel.arm_in_circle(links.start, last)
            if arm >= 0:
                return Levels(level, strict, last, _circle(links.start, last, arm))
    return Levels(level, strict, last, None)


def _circle(start: NDArray[np.int64], last: NDArray[np.int64], begin: int) -> list[int]:
    """Return the cycle of last links through an arm, in the order in which they are followed.

    The cycle is a contradiction: the level of each arm on it is at least that of its predecessor plus the
    link, and larger if the predecessor has fallen since; at least one of them has.
    """
    circle, arm = [int(last[begin])], int(start[last[begin]])
    while arm != begin:
        circle.append(int(last[arm]))
        arm = int(start[last[arm]])
    return circle[::-1]


def sums_to(n_arms: int, links: Links, quanta: Quanta, arms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the least bound on ``x_i - x_j`` for some arms i (rows) and all arms j, in the units of rewards.

    It is infinite where no links lead from j to i. The links must not contradict one another.
    """
    by_end = np.argsort(links.end, kind="stable")
    first = np.searchsorted(links.end[by_end], np.arange(n_arms + 1))
    back, bounds, strict = links.start[by_end], quanta.bounds[by_end], links.strict[by_end]
    order = kernel.visiting_order(first, back)
    sums = np.empty((len(arms), n_arms))
    for row, arm in enumerate(arms.tolist()):
        level, has_fallen = np.full(n_arms, _FAR), np.zeros(n_arms, bool)
        level[arm], has_fallen[arm] = 0, True
        n_strict, last = np.zeros(n_arms, np.int64), np.full(n_arms, -1)
        while kernel.lower_levels(first, back, bounds, strict, order, has_fallen, level, n_strict, last):
            pass
        sums[row] = np.where(level == _FAR, np.inf, level * quanta.size)
    return sums
