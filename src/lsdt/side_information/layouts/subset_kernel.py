"""Compiled side of :mod:`lsdt.side_information.layouts.subset`."""

from __future__ import annotations

from functools import partial

import numpy as np

from lsdt.kernel import Array, compiled
from lsdt.side_information.layouts.reveal_kernel import CoinLayers, CompleteBase, relation_after


@compiled
def rows_among(indptr: Array, indices: Array, arms: Array) -> tuple[Array, Array]:
    """Return the rows of the subgraph on `arms`, numbered as listed; rows ascend where `arms` do."""
    place = np.full(len(indptr) - 1, -1, np.int32)
    for at in range(len(arms)):
        place[arms[at]] = at
    starts = np.zeros(len(arms) + 1, np.int64)
    for at in range(len(arms)):
        kept = 0
        for entry in range(indptr[arms[at]], indptr[arms[at] + 1]):
            kept += place[indices[entry]] >= 0
        starts[at + 1] = starts[at] + kept
    rows = np.empty(starts[-1], np.int32)
    filled = 0
    for at in range(len(arms)):
        for entry in range(indptr[arms[at]], indptr[arms[at] + 1]):
            if place[indices[entry]] >= 0:
                rows[filled] = place[indices[entry]]
                filled += 1
    return starts, rows


# It looks at all pairs, whatever its arrays hold: those of 700 arms take two seconds interpreted.
@partial(compiled, work=lambda _base, _layers, arms: len(arms) ** 2 // 10)
def relations_among(base: CompleteBase, layers: CoinLayers, arms: Array) -> tuple[Array, Array, Array, Array]:
    """Return the rows of similar and of dissimilar pairs among ascending `arms`; `base` must be windows."""
    n_arms = len(arms)
    starts = np.zeros((2, n_arms + 1), np.int64)
    rows = np.empty((2, 0), np.int32)
    for writing in (False, True):
        if writing:
            rows = np.empty((2, max(starts[0, n_arms], starts[1, n_arms])), np.int32)
        for at in range(n_arms):
            filled_similar, filled_dissimilar = starts[0, at], starts[1, at]
            arm = arms[at]
            position = base.position[arm]
            for to in range(n_arms):
                other = arms[to]
                if other == arm:
                    continue
                near = base.left_end[position] <= base.position[other] < base.right_end[position]
                distance = abs(base.means[arm] - base.means[other]) / base.epsilon
                relation = relation_after(layers, 1 if near else -1, distance, arm, other)
                if relation > 0:
                    if writing:
                        rows[0, filled_similar] = to
                    filled_similar += 1
                elif relation < 0:
                    if writing:
                        rows[1, filled_dissimilar] = to
                    filled_dissimilar += 1
            starts[0, at + 1], starts[1, at + 1] = filled_similar, filled_dissimilar
    return starts[0], rows[0, : starts[0, n_arms]].copy(), starts[1], rows[1, : starts[1, n_arms]].copy()
