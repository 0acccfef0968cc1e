"""P2 on large graphs: a first-order method whose answers carry their own proof.

P2 minimises the total of z, where every closed neighbourhood must sum to at least 1. Its dual maximises the
total of y, where every closed neighbourhood must sum to at most 1; the matrix is the same, as it is
symmetric. Any feasible y bounds the optimum from below, so a feasible pair proves the quality of its z,
however it was found.

The pair is found by the primal-dual hybrid gradient method in its restarted Halpern form (Lu and Yang 2024,
after Applegate et al. 2021), with Pock and Chambolle's diagonal steps. Every few steps both iterates are
scaled to be feasible, and the best z and the best y so far are kept. The gap of the scaled iterates decides
when to restart, the gap between the best pair when to stop.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.theory.domination import primal_dual_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency

# A check costs about as much as a step, so one in 20 adds some 5%; up to 19 steps more than needed are taken.
_STEPS_BETWEEN_CHECKS = 20
# Restart when the gap has fallen below _ENOUGH times its value at the last restart, or below _SOME times it
# and has begun to rise, or when more than the fraction _LONG of all steps came since (the usual constants).
_ENOUGH, _SOME, _LONG = 0.3, 0.7, 0.36
# Plays are rounded up, so an arm with a smaller value would be played once an epoch for next to nothing.
_TINY = 1e-4
# Smaller values are rounding errors of the iteration.
_NOISE = 1e-9


class _Best:
    """The best feasible z and y so far, with their totals `size` and `lower`."""

    def __init__(self, similar: Adjacency) -> None:
        n_arms = len(similar.indptr) - 1
        self.rows = (similar.indptr, similar.indices)
        self.z, self.y, self._scaled = np.ones(n_arms), np.zeros(n_arms), np.empty(n_arms)
        self.size, self.lower = float(n_arms), 0.0

    def offer(self, point: NDArray[np.float64]) -> float:
        """Scale both parts of a point to be feasible, keep them if better; return the gap of this point."""
        z, y, sums_of_z, sums_of_y = point
        size = kernel.scale_up(*self.rows, z, sums_of_z, self._scaled)
        if size < self.size:
            self.z, self._scaled, self.size = self._scaled, self.z, size
        lower = kernel.scale_down(*self.rows, y, sums_of_y, self._scaled)
        if lower > self.lower:
            self.y, self._scaled, self.lower = self._scaled, self.y, lower
        return (size - lower) / lower if lower > 0.0 else math.inf

    def clean(self, gap: float) -> None:
        """Zero values below _TINY if the gap allows it, else below _NOISE, and rescale to stay feasible."""
        allowed = max(self.size, (1.0 + gap) * self.lower)
        for tiny in (_TINY, _NOISE):
            kept = np.where(self.z < tiny, 0.0, self.z)
            size = kernel.scale_up(*self.rows, kept, kernel.closed_sums(*self.rows, kept), self._scaled)
            if size <= allowed or (tiny == _NOISE and size < math.inf):
                self.z, self.size = self._scaled, size
                return


def solution_with_certificate(
    similar: Adjacency, gap: float, most_steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return z feasible for P2 and y feasible for its dual, totals within `gap` unless the steps run out."""
    rows, best = (similar.indptr, similar.indices), _Best(similar)
    start = 1.0 / (np.diff(similar.indptr) + 1.0)
    sums = kernel.closed_sums(*rows, start)
    point = np.stack([start, start, sums, sums])
    anchor, stepped = point.copy(), point.copy()
    weight, taken, total = 1.0, 0, 0
    last = at_restart = best.offer(point)
    while best.size > (1.0 + gap) * best.lower and total < most_steps:
        kernel.advance(*rows, point, anchor, stepped, weight, taken, _STEPS_BETWEEN_CHECKS)
        taken += _STEPS_BETWEEN_CHECKS
        total += _STEPS_BETWEEN_CHECKS
        now = best.offer(stepped)
        fell = now < _ENOUGH * at_restart or (now < _SOME * at_restart and now > last)
        last = now
        if fell or taken > _LONG * total:
            weight = _balance(weight, *kernel.distances_moved(similar.indptr, point, anchor))
            anchor[:] = point
            taken, at_restart = 0, now
    best.clean(gap)
    return best.z, best.y


def _balance(weight: float, moved_z: float, moved_y: float) -> float:
    """Return the dual step's new weight: the geometric mean of the old one and the distances' ratio, y to z.

    Both distances are squared; the weight stays as it is if either is 0.
    """
    if min(moved_z, moved_y) < 1e-20:
        return weight
    return math.sqrt(weight * math.sqrt(moved_y / moved_z))
