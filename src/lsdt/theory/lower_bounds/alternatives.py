"""Alternative means that fit the same graph: polytopes of difference constraints along a known order.

In a connected unit interval graph the order of the means is unique up to reversal and up to arms with equal
neighbourhoods. Dissimilar arms never have equal neighbourhoods, so either orientation fixes the order of
every dissimilar pair, and the means that fit it form a convex set. Within a class of arms with equal
neighbourhoods we may keep the order of the true means: given the lowest and the highest new mean of the
class, the smallest shifts keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.theory.true_means import Truth


class OrderedComponent(NamedTuple):
    """One component: its arms by class and mean, ascending.

    The arm at position i is similar to those at positions ``left[i]`` to ``right[i] - 1``.
    """

    arms: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def is_complete(self) -> bool:
        """Whether all arms are similar: one class, and no orientation."""
        return int(self.right[0]) == len(self.arms)

    def reverse(self) -> OrderedComponent:
        """Return the classes from the highest to the lowest, arms within a class ascending as before."""
        n_arms = len(self.arms)
        turned = np.lexsort((np.arange(n_arms), -self.right, -self.left))
        return OrderedComponent(self.arms[turned], n_arms - self.right[turned], n_arms - self.left[turned])


class Polytope(NamedTuple):
    """Shifts d = mean - new mean with ``rows @ d <= offsets``, one column for each arm."""

    rows: csr_array
    offsets: NDArray[np.float64]


def component_of(truth: Truth, first: int, last: int) -> OrderedComponent:
    """Return one component in ascending order of its means; the proper order may run either way."""
    proper, means = truth.anchors.proper, truth.means
    arms = proper.order[first:last].astype(np.int64)
    left = proper.left_end[first:last].astype(np.int64) - first
    right = proper.right_end[first:last].astype(np.int64) - first
    if means[arms[0]] > means[arms[-1]]:
        left, right = len(arms) - right, len(arms) - left
    ascending = np.lexsort((means[arms], right, left))
    return OrderedComponent(arms[ascending], left[ascending], right[ascending])


def polytope(
    component: OrderedComponent, means: NDArray[np.float64], epsilon: float, floor: float | None = None
) -> Polytope:
    """Return the shifts to means that fit `component` in its order, all at least `floor` if given.

    Columns are arms in ascending number. Strict inequalities are closed: that does not change an infimum.
    """
    arms, right = component.arms, component.right
    n_arms = len(arms)
    places = np.arange(n_arms)
    # Of the arms with one right end, the lowest has the widest similar pair and the highest the nearest
    # dissimilar pair; these imply the rest.
    widest = (np.diff(right, prepend=0) > 0) & (right - 1 > places)
    nearest = (np.diff(right, append=n_arms + 1) > 0) & (right < n_arms)
    # high - low of new means: >= 0 along the order, <= epsilon in a window, >= epsilon beyond it
    low = np.concatenate([places[:-1], places[widest], places[nearest]])
    high = np.concatenate([places[1:], right[widest] - 1, right[nearest]])
    sign = np.repeat([1.0, -1.0, 1.0], [n_arms - 1, widest.sum(), nearest.sum()])
    least = np.repeat([0.0, epsilon, epsilon], [n_arms - 1, widest.sum(), nearest.sum()])
    column = np.argsort(np.argsort(arms))
    distance = means[arms[high]] - means[arms[low]]
    numbers = np.arange(len(low))
    entries = np.concatenate([sign, -sign])
    where = (np.concatenate([numbers, numbers]), np.concatenate([column[high], column[low]]))
    offsets = sign * (distance - least)
    if floor is not None:
        entries = np.append(entries, 1.0)
        where = (np.append(where[0], len(low)), np.append(where[1], column[0]))
        offsets = np.append(offsets, means[arms[0]] - floor)
    return Polytope(csr_array((entries, where), shape=(len(offsets), n_arms)), offsets)
