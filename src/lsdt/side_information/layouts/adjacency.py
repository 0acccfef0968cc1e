"""One relation among the arms as a compact symmetric graph (compressed sparse rows)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel import over_blocks, require_memory
from lsdt.side_information.layouts import adjacency_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


_WORTH_CHECKING = 2**30  # bytes; below a gigabyte, free memory is not looked up
_WORTH_SHARING = 1_000_000  # pairs; below that, building takes at most a few dozen milliseconds


class Adjacency(NamedTuple):
    """Neighbours of every arm: those of arm ``i`` are ``indices[indptr[i]:indptr[i + 1]]``, ascending.

    Both arrays are read-only. Every pair is stored from both ends: 8 bytes a pair and 8 bytes an arm.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __reduce__(self) -> tuple[Any, ...]:
        return adjacency_of_rows, (self.indptr, self.indices)  # read-only again after unpickling

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs."""
        return len(self.indices) // 2

    def neighbours(self, arm: int) -> NDArray[np.int32]:
        """Return the neighbours of one arm, ascending."""
        return self.indices[self.indptr[arm] : self.indptr[arm + 1]]

    def has(self, first: int, second: int) -> bool:
        """Return whether the graph contains the pair."""
        row = self.neighbours(first)
        place = int(np.searchsorted(row, second))
        return place < len(row) and int(row[place]) == second

    def pairs(self) -> NDArray[np.int32]:
        """Return every pair once, ``(m, 2)``, smaller arm first, ascending."""
        return kernel.pairs_from_rows(self.indptr, self.indices)


def frozen(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a read-only view of a contiguous array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def adjacency_of_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> Adjacency:
    """Wrap rows that are known to be symmetric, ascending and free of repeats."""
    return Adjacency(frozen(indptr), frozen(indices))  # type: ignore[arg-type]


def adjacency_of_pairs(pairs: NDArray[np.integer], n_arms: int) -> Adjacency:
    """Build the graph of unordered pairs; repeated pairs count once."""
    if pairs.dtype not in (np.int32, np.int64):
        pairs = pairs.astype(np.int64)
    needed = 24 * n_arms + 20 * len(pairs)
    if needed > _WORTH_CHECKING:
        require_memory(needed, f"{len(pairs):,} pairs of {n_arms:,} arms", "use fewer arms or pairs")
    return adjacency_of_rows(*kernel.rows_from_pairs(frozen(pairs), n_arms))


def two_adjacencies(
    similar: NDArray[np.integer], dissimilar: NDArray[np.integer], n_arms: int
) -> tuple[Adjacency, Adjacency]:
    """Build the graphs of two relations, in parallel if they are large."""
    lists, made = (similar, dissimilar), {}

    def work(first: int, last: int) -> None:
        for number in range(first, last):
            made[number] = adjacency_of_pairs(lists[number], n_arms)

    is_long = len(similar) + len(dissimilar) >= _WORTH_SHARING
    over_blocks(work, 2, worth_sharing=2 if is_long else 3)
    return made[0], made[1]


def common_pair(first: Adjacency, second: Adjacency) -> tuple[int, int] | None:
    """Return the smallest pair that both relations contain, or None."""
    pair = kernel.first_common_pair(first.indptr, first.indices, second.indptr, second.indices)
    return None if pair[0] < 0 else (int(pair[0]), int(pair[1]))
