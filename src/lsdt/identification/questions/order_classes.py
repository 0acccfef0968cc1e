"""Which dissimilar pairs determine one another's order, and which arms therefore lie inside the line.

If an arm is dissimilar to two others that are similar, these stand on the same side of it. Pairs that
determine one another in this way are a class: the order of one is the order of all (Gallai 1967). An arm with
arms of one class on both sides is *deep*: an arm similar to it lies strictly between these two, and cannot be
the best, whichever end of the line is the upper one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class OrderClasses(NamedTuple):
    """Dissimilar pairs, each in both orders (``first`` above ``second``), their classes, and deep arms."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    label: NDArray[np.int64]
    deep: NDArray[np.bool_]


def order_classes(similar: NDArray[np.bool_], apart: NDArray[np.bool_]) -> OrderClasses:
    """Return the classes of dissimilar pairs; both arguments are symmetric matrices of known pairs."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_arms = len(similar)
    first, second = np.nonzero(apart)
    number = np.full((n_arms, n_arms), -1)
    number[first, second] = np.arange(len(first))
    one, other = np.nonzero(np.triu(similar))
    arm, pair = np.nonzero(apart[:, one] & apart[:, other])
    one, other = one[pair], other[pair]
    rows = np.concatenate([number[arm, one], number[one, arm]])
    columns = np.concatenate([number[arm, other], number[other, arm]])
    graph = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(first), len(first)))
    _count, label = connected_components(graph, directed=False)
    label = label.astype(np.int64)
    upper, lower = np.unique(label * n_arms + first), np.unique(label * n_arms + second)
    deep = np.zeros(n_arms, bool)
    deep[np.intersect1d(upper, lower) % n_arms] = True
    return OrderClasses(first, second, label, deep)
