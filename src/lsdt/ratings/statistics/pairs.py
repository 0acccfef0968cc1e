"""The difference of two items, measured by the users who rated both.

Only for users who rated both does kindness cancel out: otherwise an item rated by kind users alone would seem
better than it is. Every user contributes the difference of two ratings to every pair of items that they
rated. A pair keeps the number, the mean and the variance of these differences.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._progress import track, without_progress
from lsdt._validation import MOST_RATERS, check_kind, checked_whole
from lsdt.errors import counted
from lsdt.kernel import available_cores, over_blocks, require_memory
from lsdt.ratings.log import RatingLog
from lsdt.ratings.statistics import pairs_kernel as kernel
from lsdt.side_information import all_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from lsdt.ratings.rules.hubs import HubScreen
    from lsdt.side_information import ArmId

    Worth = Callable[["_PairColumns"], NDArray[np.bool_]]
    Keep = Callable[[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]]

_BYTES = 28.0  # a pair: three numbers of 4 bytes and two of 8
_FEWER = "ask for more common raters with min_raters, or say which epsilon"
_PARTS = 16  # per core, at most: cores finish within a sixteenth of one another; more parts cost more passes


class Blocks(NamedTuple):
    """How the work is cut up.

    At most `cells` pairs are added up at a time: 3 MB, about what a core's own cache holds. With up to
    `few_items` items, all sums fit in the cache in any order, and items are not sorted. With fewer than
    `items_in_part`, going through all users costs more than their pairs.

    Measured on two cores. 2,000 items and 1.2 million ratings: 0.18 s, with cells of 2^13 0.34, 2^15 and 2^19
    0.23, 2^20 0.41. 256 items and 2.4 million ratings: 0.09 s unsorted, 0.20 sorted; 1,000 items: 0.39 and
    0.30.
    """

    cells: int = 2**17
    few_items: int = 256
    items_in_part: int = 64


_USUAL_BLOCKS = Blocks()


@dataclass(frozen=True, eq=False)
class PairStatistics:
    """Statistics of pairs of items from their common raters, on the scale from 0 to 1.

    Pairs ascend; a pair that is not listed has too few common raters, or was not worth keeping.

    Attributes
    ----------
    first, second : array of int32
        The items, as indices, ``first < second``.
    raters : array of int32
        The number of users who rated both.
    difference : array of float64
        Mean over these users of the rating of `first` minus that of `second`.
    variance : array of float64
        Unbiased variance of these differences; NaN where there is one rater.
    item_ids : tuple
        Names of the items.
    n_compared : int
        How many pairs of items have any common rater, listed or not.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    raters: NDArray[np.int32]
    difference: NDArray[np.float64]
    variance: NDArray[np.float64]
    item_ids: tuple[ArmId, ...]
    n_compared: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def n_pairs(self) -> int:
        """Number of all pairs of items, whether they have common raters or not."""
        return all_pairs(self.n_items)

    @property
    def largest(self) -> float:
        """The largest distance of a listed pair; 0 if there is none."""
        return float(np.abs(self.difference).max(initial=0.0))

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"PairStatistics({counted(len(self), 'pair')} of {counted(self.n_items, 'item')})"

    def at(self, first: int, second: int) -> int | None:
        """Return the place of a pair of items, given by index, or None if it is not listed."""
        low, high = min(first, second), max(first, second)
        begin, end = np.searchsorted(self.first, [low, low + 1])
        place = int(begin + np.searchsorted(self.second[begin:end], high))
        return place if place < end and self.second[place] == high else None

    def select(self, which: NDArray[Any]) -> PairStatistics:
        """Return some of the pairs: a mask, or places in ascending order."""
        pairs = _PairColumns(self.first, self.second, self.raters, self.difference, self.variance)
        return PairStatistics(
            *_PairColumns(*(column[which] for column in pairs)),
            item_ids=self.item_ids,
            n_compared=self.n_compared,
        )

    def _repr_html_(self) -> str:
        return fields_card(self)


def pair_statistics(log: RatingLog, min_raters: int = 1, keep: Keep | None = None) -> PairStatistics:
    """Compare every pair of items by the users who rated both.

    Parameters
    ----------
    log : RatingLog
        The ratings.
    min_raters : int
        Pairs with fewer common raters are left out.
    keep : callable, optional
        ``keep(raters, difference, variance)`` takes arrays of pairs and returns which are worth keeping.
        There may be very many pairs, 28 bytes each.

    Examples
    --------
    >>> import lsdt
    >>> nan = float("nan")
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .6, nan], [.4, .6, nan], [nan, .1, .3]], scale=(0, 1))
    >>> found = lsdt.ratings.pair_statistics(log)
    >>> found.first.tolist(), found.second.tolist(), found.raters.tolist()
    ([0, 1], [1, 2], [2, 1])
    >>> found.difference.round(3).tolist(), found.variance.round(3).tolist()
    ([-0.3, -0.2], [0.02, nan])
    """
    check_kind(log, RatingLog, "log must be a RatingLog, as lsdt.ratings.read_log returns it")
    return compare_items(log, checked_whole(min_raters, "min_raters", 1, MOST_RATERS), keep)


def compare_items(
    log: RatingLog, min_raters: int, keep: Keep | None = None, blocks: Blocks = _USUAL_BLOCKS
) -> PairStatistics:
    """Compare every pair of items, in blocks on all cores; the blocks do not affect the result."""
    rows = _rows(log, blocks.few_items)
    worth = None if keep is None else _by_numbers(keep)
    found = _compare_all(rows, (0, log.n_items), min_raters, worth, blocks)
    return _joined(log, rows, found)


def compare_by_hubs(
    log: RatingLog, min_raters: int, screen: HubScreen, blocks: Blocks = _USUAL_BLOCKS
) -> PairStatistics:
    """Compare some items with all others first, and then the others as far as these leave them open."""
    hubs = screen.hubs
    rows = _rows(log, 0, hubs)
    with without_progress():  # the second step takes longest
        found = _compare_all(rows, (0, len(hubs)), min_raters, _by_numbers(screen), blocks)
    screen.learn(_joined(log, rows, list(found)))
    found += _compare_all(
        rows, (len(hubs), log.n_items), min_raters, lambda pairs: screen.worth(*pairs), blocks
    )
    return _joined(log, rows, found)


def _by_numbers(keep: Keep) -> Worth:
    return lambda pairs: keep(pairs.raters, pairs.difference, pairs.variance)


def _compare_all(
    rows: _SortedLog, items: tuple[int, int], min_raters: int, worth: Worth | None, blocks: Blocks
) -> list[tuple[_PairColumns, int]]:
    """Compare a range of items with all later ones; return, by part, the pairs and how many were compared."""
    parts = list(_parts(rows, items, blocks.items_in_part))
    pool = ThreadPoolExecutor(available_cores())
    try:
        compared_parts = pool.map(lambda part: _compare(rows, part, min_raters, worth, blocks.cells), parts)
        return list(track(compared_parts, "parts of the pairs", len(parts)))
    finally:
        pool.shutdown(cancel_futures=True)


def _joined(log: RatingLog, rows: _SortedLog, found: list[tuple[_PairColumns, int]]) -> PairStatistics:
    """Join the pairs of all parts in ascending order, and empty the list to free memory."""
    compared = sum(n_compared for _, n_compared in found)
    parts = [columns for columns, _ in found]
    found.clear()
    pairs = _concatenate(parts)
    if not rows.names_ascend:
        order = kernel.order_of_pairs(pairs.first, pairs.second, log.n_items)
        pairs = _PairColumns(*(column[order] for column in pairs))
    return PairStatistics(*pairs, item_ids=log.item_ids, n_compared=compared)


class _PairColumns(NamedTuple):
    """Columns of `PairStatistics`."""

    first: NDArray[Any]
    second: NDArray[Any]
    raters: NDArray[Any]
    difference: NDArray[Any]
    variance: NDArray[Any]


class _SortedLog(NamedTuple):
    """A log with items sorted from the rarest to the most common, so that common ones share the cache."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    ratings: NDArray[np.float64]
    names: NDArray[np.int32]

    @property
    def names_ascend(self) -> bool:
        return bool((np.diff(self.names) > 0).all())


def _rows(log: RatingLog, few_items: int, first: NDArray[np.int32] | None = None) -> _SortedLog:
    """Sort the items of a log; those of `first` come before all others."""
    if log.n_items <= few_items:
        names = np.arange(log.n_items, dtype=np.int32)
        return _SortedLog(log.starts.copy(), log.items.copy(), log.unit_ratings(), names)
    counts = log.counts()
    if first is not None:
        counts[first] = -1
    names = np.argsort(counts, kind="stable").astype(np.int32)
    label = np.empty_like(names)
    label[names] = np.arange(len(names), dtype=np.int32)
    to = np.empty(log.n_ratings, np.int32), np.empty(log.n_ratings, np.float64)
    rows, scale = (log.starts, log.items, log.ratings), (log.low, log.high)
    over_blocks(lambda first, last: kernel.relabel_rows(rows, scale, label, first, last, to), log.n_users)
    return _SortedLog(log.starts.copy(), *to, names)


def _parts(rows: _SortedLog, items: tuple[int, int], items_in_part: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive items with about the same work each."""
    first, last = items
    work = np.cumsum(kernel.later_ratings(rows.starts, rows.items, len(rows.names))[first:last])
    n_parts = available_cores() * min(_PARTS, max(2, (last - first) // items_in_part))
    ends = np.searchsorted(work, work[-1:] * np.arange(1, n_parts) / n_parts, side="right")
    limits = np.unique(np.concatenate(([first], first + ends, [last])))
    yield from zip(limits[:-1].tolist(), limits[1:].tolist(), strict=True)


def _compare(
    rows: _SortedLog, part: tuple[int, int], min_raters: int, worth: Worth | None, cells: int
) -> tuple[_PairColumns, int]:
    """Compare the items of a part with all later ones; how items are divided does not affect the sums."""
    n_items = len(rows.names)
    room = max(cells, n_items - part[0])
    sums, found = np.zeros(3 * room), _room_for(room)
    place = kernel.rows_from(rows.starts, rows.items, part[0])
    kept, n_kept, compared, first = [], 0, 0, part[0]
    while first < part[1]:
        width = n_items - first
        last = min(part[1], first + max(1, cells // width))
        block = sums[: 3 * (last - first) * width].reshape(last - first, width, 3)
        kernel.add_block(rows.starts, rows.items, rows.ratings, place, first, last, block)
        written, any_rater = kernel.take_block(block, first, rows.names, min_raters, found)
        pairs = _PairColumns(*(column[:written] for column in found))
        if worth is not None:
            chosen = worth(pairs)
            pairs = _PairColumns(*(column[chosen] for column in pairs))
        kept.append(_PairColumns(*(column.copy() for column in pairs)) if worth is None else pairs)
        compared += any_rater
        first = last
        n_kept += len(pairs.first)
        require_memory(_BYTES * n_kept, f"{n_kept:,} pairs of items and more", _FEWER)  # to join them
    return _concatenate(kept), compared


def _room_for(pairs: int) -> _PairColumns:
    return _PairColumns(*np.empty((3, pairs), np.int32), *np.empty((2, pairs)))


def _concatenate(parts: list[_PairColumns]) -> _PairColumns:
    """Concatenate columns, freeing each one as soon as it is copied."""
    columns = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    return _PairColumns(*(np.concatenate(columns.pop(0)) for _ in range(len(columns))))
