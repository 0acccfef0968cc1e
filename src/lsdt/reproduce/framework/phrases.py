"""Comparisons in words that follow from the numbers: which side an interval is on, and how far."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lsdt.reproduce.framework.claims import mean_of, number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lsdt.reproduce.framework.claims import Estimate


def with_interval(estimate: Estimate) -> str:
    """Return a number with its interval, where it has one."""
    if math.isnan(estimate.low):
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def loses(first: str, second: str, regret: ArrayLike, other: ArrayLike) -> str:
    """Say whether a policy loses less than another, more, or neither for sure; regret is paired by run."""
    import numpy as np

    difference = mean_of(np.asarray(regret, np.float64) - np.asarray(other, np.float64))
    value, low, high = difference
    if math.isnan(low):
        return f"{first} loses {number(abs(value))} {_side(value)} than {second} in the one run there is"
    if low <= 0.0 <= high:
        return f"{first} and {second} are not clearly apart: {with_interval(difference)} between them"
    ends = sorted((abs(low), abs(high)))
    how_far = f"{number(abs(value))} ({number(ends[0])} to {number(ends[1])})"
    return f"{first} loses {how_far} {_side(value)} than {second}"


def _side(value: float) -> str:
    return "less" if value < 0.0 else "more"
