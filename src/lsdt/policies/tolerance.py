"""How far below the best arm one that is named may lie; which bounds on gaps have a size and can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt._validation import checked_number
from lsdt.candidates import MutualBounds
from lsdt.errors import Unsupported
from lsdt.side_information import PairStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

_PART = 0.2  # of the spread of the means: five steps from the worst arm to the best
_ROUNDING = 1e-9  # far above that of sums of a million epsilons
_ENOUGH = 30  # rewards of an arm whose mean says something
_WITHOUT = "a tenth of the mean of a good arm is a start, such as tolerance=0.01 for click rates about 0.1"


def sized_bounds(side: SideInformation, bounds: MutualBounds) -> MutualBounds:
    """Return bounds on gaps in rewards: those given, or none where they have no size in rewards.

    Without an epsilon, bounds from similar and dissimilar pairs are in epsilons.
    """
    related = not isinstance(side.store, PairStore) or side.store.n_similar + side.store.n_dissimilar > 0
    if side.has_epsilon or not related:
        return bounds
    return unknown_gaps(len(bounds.indptr) - 1)


def unknown_gaps(n_arms: int) -> MutualBounds:
    """Return bounds that say nothing about any pair of arms."""
    own = np.zeros(n_arms)
    return MutualBounds(np.arange(n_arms + 1), np.arange(n_arms), own, own.copy())


def least_spread(bounds: MutualBounds) -> float:
    """Return how far apart the largest and the least mean are at least, whichever arm is the best."""
    if len(bounds.lower) == 0:
        return 0.0
    return float(np.maximum.reduceat(bounds.lower, bounds.indptr[:-1]).min())  # no row is empty


def cannot_hold(spread: float) -> bool:
    """Say whether means from 0 to 1 cannot be so far apart."""
    return spread > 1.0 + _ROUNDING


def too_far_apart(spread: float) -> str:
    """Return what is wrong with bounds that cannot be."""
    return (
        f"the relations put some means {spread:.3g} apart or more, and rewards lie in [0, 1]: epsilon is too "
        "large, or relations are wrong"
    )


def tolerance_of(
    side: SideInformation,
    tolerance: float | None,
    counts: NDArray[np.int64] | None = None,
    sums: NDArray[np.float64] | None = None,
) -> float:
    """Return the tolerance; by default epsilon. Where there is no single one, say so and propose a value.

    The proposal is on the scale of the means: of the rewards so far, if `counts` and `sums` have any.
    """
    if tolerance is not None:
        return checked_number(tolerance, "tolerance", at_least=0.0)
    if side.epsilon is not None:
        return float(side.epsilon)
    proposed = _of_rewards(counts, sums) or _of_relations(side) or _WITHOUT
    why = (
        "relations have thresholds of their own"
        if side.store.thresholds is not None
        else "the side information has no epsilon"
    )
    raise Unsupported(
        f"{why}, so give a tolerance: how far below the best mean that of the arm named may lie, in units of "
        f"rewards; {proposed}"
    )


def _of_rewards(counts: NDArray[np.int64] | None, sums: NDArray[np.float64] | None) -> str:
    """Return a tolerance to try, on the scale of the rewards so far; empty where there are too few."""
    if counts is None or sums is None or counts.sum() < _ENOUGH:
        return ""
    known = counts >= _ENOUGH
    if known.sum() >= 2:
        means = sums[known] / counts[known]
        spread = float(means.max() - means.min())
        if spread > 0.0:
            return f"tolerance={_PART * spread:.1g}, a fifth of the spread of the means so far, is a start"
    mean = abs(float(sums.sum() / counts.sum()))
    return f"tolerance={0.1 * mean:.1g}, a tenth of the mean reward so far, is a start" if mean else ""


def _of_relations(side: SideInformation) -> str:
    """Return a tolerance to try, of how far apart relations say that means are; empty where they do not."""
    apart = 0.0
    if side.store.thresholds is not None and side.n_dissimilar:
        apart = float(side.store.thresholds.dissimilar.max())
    if side.ranges is not None and side.ranges.has_size:
        middles = np.abs(side.ranges.low + side.ranges.high) / 2.0
        apart = max(apart, float(middles[np.isfinite(middles)].max(initial=0.0)))
    if apart == 0.0:
        return ""
    return f"tolerance={_PART * apart:.1g}, a fifth of how far apart relations put two arms, is a start"
