"""Moves of mean vectors whose law is the posterior given relations and rewards, raised to a power.

The moves are those of `parts.mean_draws_kernel`. Where these draw a uniform point, here a slice of the
density is drawn from (Neal, "Slice sampling", 2003): no step size has to be tuned, and no move is lost.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import Array, compiled, ratio, safe_exp, safe_log, safe_sqrt, uniform
from lsdt.policies.parts.mean_draws_kernel import (
    DrawnRelations,
    RewardEvidence,
    find_room,
    free_place,
    log_density,
    move_components,
    n_broken,
    point_in,
    stay_apart,
)

_MOST_TRIES = 30  # points of a slice: each halves what is left of it, or nearly
_TRADES = 2  # tries an arm and sweep


@compiled
def _move_arm(
    x: Array,
    arm: int,
    floor: float,
    ceiling: float,
    relations: DrawnRelations,
    heat: float,
    evidence: RewardEvidence,
    room: Array,
    stream: Array,
) -> None:
    """Draw the mean of an arm given all others."""
    low, high, n = find_room(x, arm, floor, ceiling, relations, room)
    level = heat * log_density(evidence, arm, x[arm]) + safe_log(1.0 - uniform(stream))
    if not evidence.is_coin and evidence.second[arm] > 0.0:
        reach = safe_sqrt(ratio(-2.0 * level, heat * evidence.second[arm]))
        low, high = max(low, evidence.first[arm] - reach), min(high, evidence.first[arm] + reach)
    for _ in range(_MOST_TRIES):
        y = point_in(low, high, n, room, stream)
        if math.isnan(y):
            return
        if heat * log_density(evidence, arm, y) >= level:
            x[arm] = y
            return
        if y < x[arm]:
            low = y
        else:
            high = y


@compiled
def _shift_component(
    x: Array,
    y: Array,
    which: int,
    floor: float,
    ceiling: float,
    relations: DrawnRelations,
    heat: float,
    evidence: RewardEvidence,
    stream: Array,
) -> None:
    """Draw the level of a component (of all arms, for -1) given its shape and all others."""
    component = relations.component
    lowest, highest, fit = math.inf, -math.inf, 0.0
    for arm in range(len(x)):
        y[arm] = x[arm]
        if which < 0 or component[arm] == which:
            lowest, highest = min(lowest, x[arm]), max(highest, x[arm])
            fit += log_density(evidence, arm, x[arm])
    level = heat * fit + safe_log(1.0 - uniform(stream))
    low, high = floor - lowest, ceiling - highest
    for _ in range(_MOST_TRIES):
        if not low < high:
            return
        shift, fit = low + uniform(stream) * (high - low), 0.0
        for arm in range(len(x)):
            if which < 0 or component[arm] == which:
                y[arm] = x[arm] + shift
                fit += log_density(evidence, arm, y[arm])
        if heat * fit >= level and (which < 0 or stay_apart(y, which, which, floor, ceiling, relations)):
            x[:] = y
            return
        if shift < 0.0:
            low = shift
        else:
            high = shift


@compiled
def _trade_places(
    x: Array, n_tries: int, relations: DrawnRelations, heat: float, evidence: RewardEvidence, stream: Array
) -> None:
    """Try `n_tries` times to swap two arms; moved one at a time, neither would get past the other."""
    n_arms = len(x)
    for _ in range(n_tries):
        one, other = int(uniform(stream) * n_arms), int(uniform(stream) * n_arms)
        gain = log_density(evidence, one, x[other]) + log_density(evidence, other, x[one])
        gain -= log_density(evidence, one, x[one]) + log_density(evidence, other, x[other])
        if one == other or uniform(stream) >= safe_exp(min(heat * gain, 0.0)):
            continue
        x[one], x[other] = x[other], x[one]
        if n_broken(x, one, x[one], relations, 0) > 0 or n_broken(x, other, x[other], relations, 0) > 0:
            x[one], x[other] = x[other], x[one]


@compiled
def move_all(
    draws: Array,
    floors: Array,
    width: float,
    floats: bool,
    relations: DrawnRelations,
    heat: float,
    evidence: RewardEvidence,
    sweeps: int,
    stream: Array,
) -> Array:
    """Move every arm of every draw `sweeps` times, and return the log-density of each draw by the evidence.

    All of them satisfy all relations, before and after. A draw lies in a box that begins at its floor. Where
    the box `floats`, the floor is drawn too: flat, as far as all means are in the box.
    """
    n_arms, n_components = draws.shape[1], len(relations.turns)
    room, y, fits = np.empty(2 * n_arms), np.empty(n_arms), np.zeros(len(draws))
    for number in range(len(draws)):
        x = draws[number]
        for _ in range(sweeps):
            floor, ceiling = floors[number], floors[number] + width
            for arm in range(n_arms):
                _move_arm(x, arm, floor, ceiling, relations, heat, evidence, room, stream)
            _trade_places(x, _TRADES * n_arms, relations, heat, evidence, stream)
            for which in range(n_components):
                _shift_component(x, y, which, floor, ceiling, relations, heat, evidence, stream)
            if n_components > 1:
                _shift_component(x, y, -1, floor, ceiling, relations, heat, evidence, stream)
            move_components(x, y, n_components, floor, ceiling, relations, heat, evidence, stream)
            if floats:
                low, high = x.max() - width, x.min()
                floors[number] = low + uniform(stream) * (high - low)
        for arm in range(n_arms):
            fits[number] += log_density(evidence, arm, x[arm])
    return fits


@compiled
def squeeze(x: Array, width: float, relations: DrawnRelations, most_sweeps: int, stream: Array) -> bool:
    """Move means that satisfy all relations together until they span at most `width`; say if they do."""
    n_arms, n_components = len(x), len(relations.turns)
    room, y, nothing = np.empty(2 * n_arms), np.empty(n_arms), RewardEvidence(np.zeros(0), np.zeros(0), False)
    for _ in range(most_sweeps):
        low, high = x.min(), x.max()
        if high - low <= width:
            return True
        for arm in range(n_arms):
            place = free_place(x, arm, low, high, relations, room, stream)
            if place == place:
                x[arm] = place
        move_components(x, y, n_components, low, high, relations, 0.0, nothing, stream)
    return False
