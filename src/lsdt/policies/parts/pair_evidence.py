"""Evidence against one arm being better than another by more than a tolerance, for many pairs at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled
from lsdt.policies.parts.mixture_evidence import NOBODY, SETTLED, least_evidence


@compiled
def fill_free(state: Any, value: Array, point: Array) -> None:
    """Put the certified least evidence against each arm's row into `value`, and where it is into `point`."""
    for arm in range(len(value)):
        found = least_evidence(state, arm, NOBODY, 0.0, math.nan)
        value[arm], point[arm] = found[2], found[0]


@compiled
def fill_strongest(
    state: Any,
    order: Array,
    named: Array,
    tolerance: float,
    free: Array,
    start: Array,
    value: Array,
    point: Array,
    rival: Array,
) -> None:
    """Find the rival of each arm named with the least evidence against being better by more than a tolerance.

    Rivals come in `order`, ascending by `free`, the evidence against their rows, which that with an arm is
    never below. Evidence is certified. Where the bounds of all rivals exclude it, it is infinite.
    """
    n_arms = len(start)
    for column in range(len(named)):
        arm = named[column]
        value[column], point[column], rival[column] = math.inf, math.nan, NOBODY
        for other in order:
            if free[other] >= value[column]:
                break
            if other != arm and state.rows.upper[other * n_arms + arm] > tolerance * SETTLED:
                found = least_evidence(state, other, arm, tolerance, start[other])
                if found[2] < value[column]:
                    value[column], point[column], rival[column] = found[2], found[0], other


def put_free(state: Any) -> tuple[Array, Array]:
    """Return the least evidence against the row of every arm, and the mean at which it is."""
    n_arms = len(state.tallies.counts)
    value, point = np.empty(n_arms), np.empty(n_arms)
    fill_free(state, value, point)
    return value, point


def strongest_rivals(
    state: Any, rivals: Array, named: Array, tolerance: float, free: Array, start: Array
) -> tuple[Array, Array, Array]:
    """Return the least evidence against a rival of each arm named, the mean at which it is, and the rival."""
    order = rivals[np.argsort(free[rivals], kind="stable")].astype(np.int64)
    value, point, rival = np.empty(len(named)), np.empty(len(named)), np.empty(len(named), np.int64)
    fill_strongest(state, order, named.astype(np.int64), tolerance, free, start, value, point, rival)
    return value, point, rival


def reward_divergence(
    state: Any, rival: int, leader: int, tolerance: float, q: float, estimate: Array
) -> Array:
    """Return how far, by KL, the likely mean of every arm is from its mean in an explanation.

    The explanation: `rival` has mean q, and lies more than the tolerance above `leader`, if there is one.
    Arms of which nothing is known tell nothing.
    """
    n_arms = len(estimate)
    row = slice(rival * n_arms, (rival + 1) * n_arms)
    lower, upper = state.rows.lower[row].copy(), state.rows.upper[row]
    if leader >= 0:
        lower[leader] = max(lower[leader], tolerance)
    known = np.isfinite(estimate)
    mean = np.where(known, estimate, 0.0)
    claimed = np.minimum(np.maximum(mean, q - upper), q - lower)
    if state.family == BERNOULLI:
        mean, claimed = np.clip(mean, 0.001, 0.999), np.clip(claimed, 0.001, 0.999)
        far = mean * np.log(mean / claimed) + (1.0 - mean) * np.log((1.0 - mean) / (1.0 - claimed))
    else:
        far = np.square(mean - claimed)
    return np.where(known, far, 0.0)
