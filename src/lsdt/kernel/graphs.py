"""Walks along graphs: connected components, and the steps from one node to the others.

SciPy does the same, but importing its graphs takes longer than walking along a small graph in plain Python.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

# Nodes and links of a small graph: Python walks along them in some 20 ms, and importing SciPy takes 100.
SMALL = 100_000


class SymmetricGraph:
    """A symmetric graph: the neighbours of node ``i`` are ``others[starts[i]:starts[i + 1]]``."""

    def __init__(self, starts: NDArray[Any], others: NDArray[Any]) -> None:
        self._starts, self._others = starts, others
        self._is_small = len(starts) + len(others) <= SMALL

    def components(self) -> tuple[int, NDArray[np.int32]]:
        """Return how many components there are, numbered by their first nodes, and that of every node."""
        if not self._is_small:
            from scipy.sparse.csgraph import connected_components

            count, number = connected_components(self._matrix, directed=False)
            return int(count), number
        near, count = self._neighbours, 0
        label = [-1] * len(near)
        for root in range(len(near)):
            if label[root] >= 0:
                continue
            label[root] = count
            reached = [root]
            for node in reached:  # which grows meanwhile
                for other in near[node]:
                    if label[other] < 0:
                        label[other] = count
                        reached.append(other)
            count += 1
        return count, np.array(label, np.int32)

    def steps_from(self, source: int) -> NDArray[np.float64]:
        """Return how many steps away from `source` every node is, infinity where no way leads."""
        if not self._is_small:
            from scipy.sparse.csgraph import dijkstra

            return np.asarray(dijkstra(self._matrix, directed=False, indices=source, unweighted=True))
        near = self._neighbours
        steps = [np.inf] * len(near)
        steps[source] = 0.0
        reached = [source]
        for node in reached:  # which grows meanwhile
            for other in near[node]:
                if steps[other] == np.inf:
                    steps[other] = steps[node] + 1.0
                    reached.append(other)
        return np.array(steps)

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        starts, others = self._starts.tolist(), self._others.tolist()
        return [others[begin:end] for begin, end in pairwise(starts)]

    @cached_property
    def _matrix(self) -> csr_array:
        from scipy.sparse import csr_array

        # SciPy 1.14 walks along graphs with 32-bit indices only.
        whole = np.int32 if len(self._others) < 2**31 else np.int64
        size, others = len(self._starts) - 1, self._others.astype(whole, copy=False)
        ones = np.ones(len(others), np.int8)
        return csr_array((ones, others, self._starts.astype(whole, copy=False)), shape=(size, size))
