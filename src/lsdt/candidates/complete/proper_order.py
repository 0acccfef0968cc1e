"""Complete side information as an order of the arms in which the arms similar to each form a window.

A graph is a unit interval graph exactly when its vertices can be ordered so that each closed neighbourhood
is consecutive (Roberts 1969). This module brings complete information of either kind, stored pairs or windows
over means, to that form; candidates, classes, witnesses and interval models are then read off the order.

For stored pairs the order comes from two breadth-first sweeps per component, as in the paper's offline step
(Corneil, Kim, Natarajan, Olariu and Sprague, "Simple linear time recognition of unit interval graphs",
1995), and is checked against every pair: the answer is exact in both directions.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.complete import proper_order_kernel as kernel
from lsdt.kernel import over_blocks
from lsdt.side_information import WindowedOrder, WindowStore, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency, Store


class ProperOrder(WindowedOrder):
    """Arms from left to right on the line, component after component."""

    @cached_property
    def component_starts(self) -> NDArray[np.int64]:
        """First position of every connected component."""
        return np.concatenate([[0], self._component_ends[:-1]])

    @cached_property
    def _component_ends(self) -> NDArray[np.int64]:
        """One past the last position of every component: where a window ends with its own position."""
        places: NDArray[np.int64] = np.arange(1, len(self.order) + 1)
        ends: NDArray[np.int64] = places[self.right_end == places]
        return ends

    def component_bounds(self, position: int) -> tuple[int, int]:
        """Return the first position of the component of a position, and one past its last."""
        at = int(np.searchsorted(self._component_ends, position, side="right"))
        return int(self.component_starts[at]), int(self._component_ends[at])


def proper_order_of_store(store: Store, first_start: int = 0) -> ProperOrder | None:
    """Return a proper order of complete information, or None when there is none.

    `first_start` is the arm the first sweep begins at; the answer does not depend on it.
    """
    if isinstance(store, WindowStore) and not store.layers:
        return ProperOrder(store.windows.order, store.windows.right_end)
    return proper_order(store.explicit().similar, first_start)


def proper_order(graph: Adjacency, first_start: int = 0) -> ProperOrder | None:
    """Return a proper order of a similarity graph, or None when it is not a unit interval graph."""
    neighbours = graph.indices.view(np.uint32)
    order = kernel.sweep_order(graph.indptr, neighbours, first_start)
    n_arms = len(order)
    position = np.empty(n_arms, np.int32)
    position[order] = np.arange(n_arms, dtype=np.int32)
    right_end = np.empty(n_arms, np.int32)
    over_blocks(
        lambda first, last: kernel.farthest_neighbours(
            graph.indptr, neighbours, order, position, first, last, right_end
        ),
        n_arms,
    )
    if not kernel.windows_hold(right_end, graph.n_pairs):
        return None
    return ProperOrder(order, frozen(right_end))  # type: ignore[arg-type]
