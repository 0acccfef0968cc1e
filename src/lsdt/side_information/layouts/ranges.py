"""Ranges: bounds on the signed difference of two means.

Similar and dissimilar pairs say how far apart two means are, not which is the larger. A *range* says that
``low <= mean a - mean b <= high``; either end may be open. ``better`` is the range strictly above 0. All
statements about a pair are intersected, so a pair has one row. Rows name the smaller arm first; a strict end
is always 0, since only ``better`` is strict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_list, is_number, is_row
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import require_memory
from lsdt.side_information.arms import index_pairs
from lsdt.side_information.layouts.adjacency import frozen
from lsdt.side_information.layouts.thresholds import at_pairs, limits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmNames
    from lsdt.side_information.layouts.stores import PairStore

    Pairs = NDArray[np.integer[Any]]
    Floats = NDArray[np.float64]

IGNORED = "reads similar and dissimilar pairs only, and this side information has ranges"
WITHOUT = "side.reveal(1, 1, p_range=0) leaves the ranges out"
_BYTES_PER_ROW = 150.0  # an estimate of peak memory while rows are sorted and joined
_FEWER = "keep fewer ranges: one that contains 0 rarely excludes an arm"
_ROW = "a range is (a, b, low, high), where either end may be None or infinite"


class KnownRange(NamedTuple):
    """A range of ``mean a - mean b``: its ends, infinite where open, and which of them are excluded."""

    low: float = -np.inf
    high: float = np.inf
    strict_low: bool = False
    strict_high: bool = False

    @property
    def is_known(self) -> bool:
        """Whether an end is finite."""
        return self.low > -np.inf or self.high < np.inf


class PairRanges(NamedTuple):
    """Ranges by pair: ``low <= mean of pairs[i, 0] - mean of pairs[i, 1] <= high``, ascending by pair.

    Attributes
    ----------
    pairs : ndarray of int32, shape (m, 2)
        Arms as indices, the smaller first; a pair occurs once.
    low, high : ndarray of float
        The ends, infinite where open.
    strict_low, strict_high : ndarray of bool
        Which ends are excluded: those set by `better`, which are 0.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, better=[(2, 0)], ranges=[(0, 1, -.1, .3)])
    >>> side.ranges.pairs.tolist(), side.ranges.low.tolist(), side.ranges.high.tolist()
    ([[0, 1], [0, 2]], [-0.1, -inf], [0.3, 0.0])
    >>> side.ranges.strict_high.tolist()
    [False, True]
    """

    pairs: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    strict_low: NDArray[np.bool_]
    strict_high: NDArray[np.bool_]

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen_ranges, tuple(self)  # read-only again after unpickling

    @property
    def n_better(self) -> int:
        """Number of pairs that `better` orders."""
        return int((self.strict_low | self.strict_high).sum())

    @property
    def has_range(self) -> NDArray[np.bool_]:
        """Which pairs have a finite end that `better` did not set."""
        low, high = (np.isfinite(self.low) & ~self.strict_low), (np.isfinite(self.high) & ~self.strict_high)
        return low | high

    @property
    def has_size(self) -> bool:
        """Whether any end is neither 0 nor open, so that the ranges depend on the units of rewards."""
        return any(bool((np.isfinite(ends) & (ends != 0.0)).any()) for ends in (self.low, self.high))

    def better_pairs(self) -> NDArray[np.int32]:
        """Return the pairs that `better` orders, the better arm first."""
        strict = self.strict_low | self.strict_high
        turned = np.where(self.strict_low[:, None], self.pairs, self.pairs[:, ::-1])
        return turned[strict]

    def ordered_pairs(self) -> NDArray[np.int32]:
        """Return the pairs with an arm that is known to be better, that arm first."""
        above, below = (self.low > 0.0) | self.strict_low, (self.high < 0.0) | self.strict_high
        return np.where(above[:, None], self.pairs, self.pairs[:, ::-1])[above | below]

    def rows(self) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Return pairs, low and high of the ranges without `better`: an end that it set is open here."""
        kept = self.has_range
        low = np.where(self.strict_low, -np.inf, self.low)[kept]
        return self.pairs[kept], low, np.where(self.strict_high, np.inf, self.high)[kept]

    def turned(self, which: NDArray[np.bool_]) -> PairRanges:
        """Return the ranges with the sign of some reversed: the better arm becomes worse by as much."""
        low, high = np.where(which, 0.0 - self.high, self.low), np.where(which, 0.0 - self.low, self.high)
        strict = self.strict_low, self.strict_high
        below, above = np.where(which, strict[1], strict[0]), np.where(which, strict[0], strict[1])
        return frozen_ranges(self.pairs, low, high, below, above)

    def select(self, kept: NDArray[np.bool_]) -> PairRanges | None:
        """Return the ranges of the `kept` pairs; None if there are none."""
        return frozen_ranges(*(column[kept] for column in self)) if kept.any() else None  # type: ignore[arg-type]

    def among(self, arms: NDArray[np.int64], n_arms: int) -> PairRanges | None:
        """Return the ranges among ascending `arms`; ``arms[i]`` becomes ``i``. None if there are none."""
        place = np.full(n_arms, -1, np.int32)
        place[arms] = np.arange(len(arms), dtype=np.int32)
        found = self.select(np.asarray((place[self.pairs] >= 0).all(axis=1)))
        return None if found is None else frozen_ranges(place[found.pairs], *found[1:])

    def at(self, first: int, second: int) -> KnownRange:
        """Return the range of mean first - mean second."""
        pair = min(first, second), max(first, second)
        place = bisect_left(self.pairs, pair, key=tuple)  # np.searchsorted would copy a column
        if place == len(self.pairs) or tuple(self.pairs[place]) != pair:
            return KnownRange()
        low, high = float(self.low[place]), float(self.high[place])
        strict = bool(self.strict_low[place]), bool(self.strict_high[place])
        return KnownRange(
            *((low, high, *strict) if first < second else (0.0 - high, 0.0 - low, *strict[::-1]))
        )

    @property
    def in_words(self) -> str:
        """The numbers of better pairs and ranges as text to append: ', 2 better pairs, 1 range'."""
        counts = {"better pair": self.n_better, "range": int(self.has_range.sum())}
        return "".join(f", {counted(count, noun)}" for noun, count in counts.items() if count)

    def same_as(self, other: PairRanges | None) -> bool:
        """Return whether the other ranges say the same."""
        if other is None:
            return False
        columns: Any = zip(self, other, strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in columns)

    def _repr_html_(self) -> str:
        return fields_card(self)


def frozen_ranges(
    pairs: NDArray[Any], low: Floats, high: Floats, strict_low: NDArray[Any], strict_high: NDArray[Any]
) -> PairRanges:
    """Wrap rows that are known to be sorted, checked and free of repeats."""
    columns = (pairs.astype(np.int32, copy=False), low, high, strict_low, strict_high)
    return PairRanges(*(frozen(column) for column in columns))  # type: ignore[arg-type]


def checked_rows(ranges: Any, names: ArmNames) -> tuple[Pairs, Floats, Floats]:
    """Return the ranges of a user as pairs of indices, low and high; errors name the range."""
    if hasattr(ranges, "columns"):
        raise InvalidInput("ranges must be a list of (a, b, low, high); for a dataframe use lsdt.from_frame")
    rows = checked_list(ranges, "ranges", "(a, b, low, high)")
    for number, row in enumerate(rows):
        if not is_row(row, 4) or isinstance(row, (Set, Mapping)):
            raise InvalidInput(f"range number {number} is {row!r}; {_ROW}")
    rows = [tuple(row) for row in rows]
    if isinstance(ranges, np.ndarray) and ranges.dtype.kind in "iuf" and len(rows):
        arms = ranges[:, :2]
        if not (np.abs(arms) < 2**53).all() or (arms != np.rint(arms)).any():
            raise InvalidInput("the first two columns of an array of ranges must be arms, as whole numbers")
        pairs = index_pairs(arms.astype(np.int64), names, "range")
        low, high = ranges[:, 2].astype(np.float64), ranges[:, 3].astype(np.float64)
    else:
        pairs = index_pairs([(row[0], row[1]) for row in rows], names, "range")
        low = np.array([_end(row[2], -np.inf, number) for number, row in enumerate(rows)], np.float64)
        high = np.array([_end(row[3], np.inf, number) for number, row in enumerate(rows)], np.float64)
    check_ends(low, high, lambda number: f"range number {number}")
    return pairs, low, high


def _end(value: Any, if_open: float, number: int) -> float:
    if value is None:
        return if_open
    if not is_number(value):
        raise InvalidInput(f"range number {number} has the end {value!r}; {_ROW}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInput(f"range number {number} has the end {value!r}, which is too large") from None


def check_ends(low: Floats, high: Floats, place: Any) -> None:
    """Refuse an empty range; ``place(row)`` says where a row is, for the error."""
    wrong = ~(low <= high) | (low == np.inf) | (high == -np.inf)  # NaN is wrong too
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"{place(row)} goes from {low[row]:g} to {high[row]:g}; low must not be above high, and an open "
            "end is None, or -inf for low and inf for high"
        )


def join_ranges(better: Pairs, pairs: Pairs, low: Floats, high: Floats, names: ArmNames) -> PairRanges | None:
    """Intersect all statements about every pair; refuse a pair whose intersection is empty.

    `better` are pairs of indices, the better arm first; `pairs` have a range each, from `low` to `high`.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.side_information.arms import ArmNames
    >>> twice = np.array([[0, 1], [1, 0]])
    >>> join_ranges(twice[:0], twice, np.array([0., -.4]), np.array([.5, .1]), ArmNames(2, None)).high
    array([0.4])
    """
    n_rows = len(better) + len(pairs)
    require_memory(n_rows * _BYTES_PER_ROW, f"joining {n_rows:,} ranges", _FEWER)
    ordered = np.concatenate([np.asarray(better, np.int64), np.asarray(pairs, np.int64)])
    n_better = len(better)
    lower = np.concatenate([np.zeros(n_better), low])
    upper = np.concatenate([np.full(n_better, np.inf), high])
    swapped = ordered[:, 0] > ordered[:, 1]
    strict = np.arange(len(ordered)) < n_better
    # Adding 0 makes -0.0 an ordinary 0, so that equal ranges have equal bits.
    lower, upper = np.where(swapped, -upper, lower) + 0.0, np.where(swapped, -lower, upper) + 0.0
    said = np.isfinite(lower) | np.isfinite(upper)
    if not said.any():
        return None
    keys = ordered.min(axis=1) * names.n_arms + ordered.max(axis=1)
    every, number = np.unique(keys[said], return_inverse=True)
    lower, upper, strict, swapped = lower[said], upper[said], strict[said], swapped[said]
    best_low, best_high = np.full(len(every), -np.inf), np.full(len(every), np.inf)
    np.maximum.at(best_low, number, lower)
    np.minimum.at(best_high, number, upper)
    strict_low, strict_high = np.zeros(len(every), bool), np.zeros(len(every), bool)
    strict_low[number[strict & ~swapped & (lower == best_low[number])]] = True
    strict_high[number[strict & swapped & (upper == best_high[number])]] = True
    joined = np.column_stack(np.divmod(every, names.n_arms))
    empty = (best_low > best_high) | ((best_low == best_high) & (strict_low | strict_high))
    if empty.any():
        at = int(np.argmax(empty))
        first, second = (names.label(int(arm)) for arm in joined[at])
        above = "above" if strict_low[at] else "at least"
        below = "below" if strict_high[at] else "at most"
        raise InvalidInput(
            f"the relations of the pair ({first!r}, {second!r}) leave no possible difference of means: it "
            f"would be {above} {best_low[at]:g} and {below} {best_high[at]:g}; correct or drop one of the "
            "relations"
        )
    return frozen_ranges(joined, best_low, best_high, strict_low, strict_high)


def pairs_at(ranges: PairRanges, epsilon: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs whose range makes them similar at this epsilon, and those it makes dissimilar.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, ranges=[(0, 1, -.1, .1), (0, 2, .2, None), (1, 2, 0, .3)])
    >>> [pairs.tolist() for pairs in pairs_at(side.ranges, .2)]
    [[[0, 1]], [[0, 2]]]
    """
    near = (ranges.low > -epsilon) & (ranges.high < epsilon)
    far = (ranges.low >= epsilon) | (ranges.high <= -epsilon)
    return ranges.pairs[near], ranges.pairs[far]


class OwnDistances(NamedTuple):
    """The limits on the distance of every range's pair, NaN where there is none, and contradictions.

    The pair is less than `near` and at least `far` apart. `too_far` marks ranges without a difference
    below `near`, `too_near` those without one of at least `far`.
    """

    near: Floats
    far: Floats
    too_far: NDArray[np.bool_]
    too_near: NDArray[np.bool_]


def own_distances(ranges: PairRanges, store: PairStore, epsilon: float | None) -> OwnDistances | None:
    """Compare ranges with the known distances of their pairs; None without an epsilon or thresholds."""
    if store.thresholds is None and epsilon is None:
        return None
    limits = limits_of(store.thresholds, epsilon)
    near = at_pairs(store.similar, limits.similar, ranges.pairs, np.nan)
    far = store.least_distances(ranges.pairs, limits)
    too_far = (ranges.low >= near) | (ranges.high <= -near)
    return OwnDistances(near, far, too_far, (ranges.low > -far) & (ranges.high < far))


def check_against_distances(
    ranges: PairRanges, store: PairStore, epsilon: float | None, names: ArmNames
) -> None:
    """Refuse a range that contradicts the known distance of its pair."""
    own = own_distances(ranges, store, epsilon)
    if own is None or not (own.too_far | own.too_near).any():
        return
    row = int(np.argmax(own.too_far | own.too_near))
    first, second = (names.label(int(arm)) for arm in ranges.pairs[row])
    word = f"similar (less than {own.near[row]:g} apart)"
    if not own.too_far[row]:
        word = f"dissimilar (at least {own.far[row]:g} apart)"
    raise InvalidInput(
        f"the pair ({first!r}, {second!r}) is {word}, and its range goes from {ranges.low[row]:g} to "
        f"{ranges.high[row]:g}: no difference satisfies both; correct or drop one of the two"
    )
