"""How far below the best arm one that is named may lie, and which bounds on gaps have a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt._validation import checked_number
from lsdt.candidates import MutualBounds
from lsdt.errors import Unsupported
from lsdt.side_information.layouts.stores import PairStore

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation


def sized_bounds(side: SideInformation, bounds: MutualBounds) -> MutualBounds:
    """Return bounds on gaps in rewards: those given, or no more than the order where they have no size.

    Without an epsilon, bounds from similar and dissimilar pairs are in epsilons.
    """
    related = not isinstance(side.store, PairStore) or side.store.n_similar + side.store.n_dissimilar > 0
    if side.epsilon is not None or side.store.thresholds is not None or not related:
        return bounds
    return unknown_gaps(len(bounds.indptr) - 1)


def unknown_gaps(n_arms: int) -> MutualBounds:
    """Return bounds that say nothing of any pair of arms."""
    own = np.zeros(n_arms)
    return MutualBounds(np.arange(n_arms + 1), np.arange(n_arms), own, own.copy())


def tolerance_of(side: SideInformation, tolerance: float | None) -> float:
    """Return the tolerance; by default epsilon. Where there is no single one, say so and propose a value."""
    if tolerance is not None:
        return checked_number(tolerance, "tolerance", at_least=0.0)
    if side.epsilon is not None:
        return float(side.epsilon)
    proposed = _proposal(side)
    why = (
        "relations have thresholds of their own"
        if side.store.thresholds is not None
        else "the side information has no epsilon"
    )
    raise Unsupported(
        f"{why}, so that the tolerance must be given: how far below the best arm the one that is named may "
        f"lie, in rewards{proposed}"
    )


def _proposal(side: SideInformation) -> str:
    """Return a tolerance to try: what most relations can tell apart."""
    if side.store.thresholds is not None:
        largest = side.store.thresholds.largest
        return f"; tolerance={largest:g}, the largest threshold, asks for no more than relations settle"
    if side.ranges is not None and side.ranges.has_size:
        widths = side.ranges.high - side.ranges.low
        widths = widths[np.isfinite(widths) & (widths > 0.0)]
        if len(widths):
            middle = float(np.median(widths))
            return f"; tolerance={middle:.3g}, the median width of the ranges, may be a start"
    return "; tolerance=0.05 is a start for rewards from 0 to 1"
