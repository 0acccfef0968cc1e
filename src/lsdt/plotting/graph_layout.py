"""Positions of points, lines and labels in a plot, computed without matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS = 300  # iterations of majorisation: enough for 50 points to settle, and fast


def lanes(left: NDArray[np.float64], width: float, gap: float) -> NDArray[np.int64]:
    """Return a lane for every interval, such that intervals in the same lane are at least `gap` apart."""
    lane_ends: list[float] = []
    lane_of = np.zeros(len(left), np.int64)
    for arm in np.argsort(left, kind="stable"):
        free = next((lane for lane, end in enumerate(lane_ends) if end + gap <= left[arm]), len(lane_ends))
        if free == len(lane_ends):
            lane_ends.append(0.0)
        lane_ends[free] = left[arm] + width
        lane_of[arm] = free
    return lane_of


def spread_out(n_arms: int, similar: NDArray[np.int32], dissimilar: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return a point for every arm: similar arms near one another, dissimilar ones apart.

    The target distance of two arms is the number of steps along similar pairs, and at least two for a
    dissimilar pair; the points minimise the weighted squared error (stress majorisation: Gansner, Koren and
    North, 2004). The result is deterministic.
    """
    if n_arms == 1:
        return np.zeros((1, 2))
    ones = np.ones(len(similar))
    graph = csr_array((ones, (similar[:, 0], similar[:, 1])), shape=(n_arms, n_arms))
    wanted = shortest_path(graph, directed=False, unweighted=True)
    finite = wanted[np.isfinite(wanted)]
    wanted[~np.isfinite(wanted)] = finite.max() + 1.5
    for first, second in dissimilar:
        wanted[first, second] = wanted[second, first] = max(wanted[first, second], 2.0)
    return _majorise(wanted)


def _majorise(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    n_arms = len(wanted)
    weight = 1.0 / np.maximum(wanted, 1e-9) ** 2
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    solve = np.linalg.pinv(laplacian)
    # Classical scaling gives a good starting point.
    centred = np.eye(n_arms) - 1.0 / n_arms
    values, vectors = np.linalg.eigh(-0.5 * centred @ wanted**2 @ centred)
    points = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-6))
    points += 1e-3 * np.random.default_rng(0).standard_normal(points.shape)  # no two points may coincide
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratio = weight * wanted / np.maximum(apart, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        points = solve @ ((np.diag(ratio.sum(axis=1)) - ratio) @ points)
    result: NDArray[np.float64] = points
    return result


def bent_lines(points: NDArray[np.float64], pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return slightly curved lines between the points of each pair, so that collinear ones do not overlap."""
    start, end = points[pairs[:, 0]], points[pairs[:, 1]]
    across = (end - start) @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    middle = (start + end) / 2 + 0.2 * across
    t = np.linspace(0.0, 1.0, 24)[None, :, None]
    lines: NDArray[np.float64] = (
        (1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None]
    )
    return lines


def shorten(label: str, letters: int) -> str:
    """Return a label of at most `letters` characters, with an ellipsis in the middle if it is shortened."""
    if len(label) <= letters:
        return label
    tail = max((letters - 1) // 3, 1)
    return f"{label[: letters - 1 - tail]}…{label[-tail:]}"
