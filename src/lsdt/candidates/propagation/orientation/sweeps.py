"""Bounds of all arms at once, sweep by sweep on all cores.

**One reference for all arms.** `growth` grows from one reference after another, each time over a few hundred
arms. Once some of the pairs have an order, bounds relative to a single reference are good enough everywhere:
bounds that satisfy all similar pairs and orders force most of the missing orders, and these tighten the
bounds. Once a fiftieth of the pairs of a large problem is in the class, one reference often finds all others,
in some twenty sweeps over all relations.

**Soundness.** Bounds and forced orders follow the same rules as in `growth`. Sweeps end when nothing changes,
and the result does not depend on the order of arms or on threads: bounds only shrink, orders only join the
class, and each step that was possible stays possible.

**Levels** of reflections are found in the same way.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.propagation.orientation import growth_kernel, sweeps_kernel as kernel
from lsdt.kernel import over_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_MOST_SWEEPS = 200  # for levels, which fall for ever if relations contradict one another
_FEW = 0.1  # of the arms: if no more change in a sweep, later sweeps skip arms with no change near them
_MANY_ARMS = 20_000  # with fewer, sweeps are too short to run in parallel
_NEVER = 2**62  # arms; never run in parallel


def sweep_all(
    codes: growth_kernel.Codes,
    classes: growth_kernel.OrientationClasses,
    frame: growth_kernel.Frame,
    number: int,
    reference: int,
    n_pairs: int,
    is_over: Callable[[], bool],
) -> int:
    """Learn all orders that bounds of all arms relative to one reference force; return how many.

    Stop once all `n_pairs` are in the class. Nothing is learnt if bounds do not fit into 16 bits.
    """
    distances = codes.similar_codes, codes.dissimilar_codes
    if max(int(some.max(initial=0)) for some in distances) > kernel.LARGEST_CODE:
        return 0
    n_arms, is_logged = len(codes.similar_starts) - 1, len(classes.times) > 0
    bounds = np.full((n_arms, 2), kernel.NO_BOUND, np.int16)
    bounds[reference] = 0
    n_learnt = 0
    while True:
        root, n_written = int(classes.root[number]), 0
        n_missing = n_pairs - int(classes.size[root])
        signs = np.where(classes.root == root, classes.sign, 0).astype(np.int8)
        known = codes, classes, signs, frame, root, reference, bounds
        for written in _sweeps(partial(kernel.sweep_frame, *known), n_arms, not is_logged):
            n_written += written
            is_whole = n_written // (1 if is_logged else 2) >= n_missing  # both rows of a pair, or the pair
            if is_whole or classes.totals[2] >= 0 or is_over():
                break
        if not is_logged:
            n_written //= 2
            classes.size[root] += n_written
        n_learnt += n_written
        if is_whole or classes.totals[2] >= 0 or is_over():
            return n_learnt
        if not kernel.join_forced(codes, classes, frame, root, reference, bounds):
            return n_learnt
        if (
            int(classes.root[number]) != root
        ):  # it joined class 1, which fixes its direction, perhaps reversed: start again
            bounds[:] = kernel.NO_BOUND
            bounds[reference] = 0


def settle_levels(
    codes: growth_kernel.Codes, bits: NDArray[np.int16], signs: NDArray[np.int8], levels: NDArray[np.int32]
) -> bool:
    """Lower levels in place until they satisfy all relations; return False if they did not converge.

    Then they are not yet low enough, or no levels satisfy all relations.
    """
    known = codes, bits, signs, levels
    if len(levels) < _MANY_ARMS:
        return bool(kernel.settle_few(*known, _MOST_SWEEPS, _FEW))

    def sweep(awake: NDArray[np.bool_], marks: NDArray[np.bool_], first: int, last: int) -> tuple[int, int]:
        return kernel.sweep_levels(*known, awake, marks, np.zeros(0, np.int64), first, last)

    for n_sweeps, _ in enumerate(_sweeps(sweep, len(levels), True), 1):
        if n_sweeps == _MOST_SWEEPS:
            return False
    return bool(levels.min() > kernel.LOWEST)


def _sweeps(sweep: Callable[..., tuple[int, int]], n_arms: int, is_shared: bool) -> Iterator[int]:
    """Sweep all arms until nothing changes; yield after each sweep the sum of its second results.

    ``sweep(awake, marks, first, last)`` sweeps some arms; its first result is how many changed. When few
    change, the arms related to them are marked, and only these are awake in the next sweep.
    """
    no_arms = np.zeros(0, bool)
    awake, n_changed = no_arms, n_arms
    while n_changed > 0:
        marks = np.zeros(n_arms, bool) if n_changed <= _FEW * n_arms else no_arms
        found: list[tuple[int, int]] = []

        def work(first: int, last: int) -> None:
            found.append(sweep(awake, marks, first, last))  # noqa: B023

        over_blocks(work, n_arms, _MANY_ARMS if is_shared else _NEVER)
        n_changed = sum(one[0] for one in found)
        yield sum(one[1] for one in found)
        awake = marks
