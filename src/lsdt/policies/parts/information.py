"""Which arm to play to tell the leader from its strongest rival: the one whose next reward says most.

The leader explains the rewards with means in [q - upper, q - lower], q where there is least evidence against
it; the rival does with other intervals. An arm is expected to pay its mean clipped to what the leader allows,
and a reward is worth its divergence from what the rival allows. Means of arms never played are taken as near
to the rival's as the leader allows.

An arm that was played less than sqrt(t / K) - 12 times in t rounds, among K arms, is played first (forced
exploration, after Garivier and Kaufmann 2016). So every arm is played again and again, and a leader is known
in the end: docs/theory/stopping.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, divergence, inlined, safe_sqrt
from lsdt.policies.parts.evidence_tangents import find_leader, rounded
from lsdt.policies.parts.gap_rows import entry_of, row_of
from lsdt.policies.parts.mixture_evidence import NOBODY, least_evidence, seen_mean
from lsdt.policies.parts.tallies import is_allowed

if TYPE_CHECKING:
    from lsdt.kernel import Allowed

_EDGE = 1e-9  # means of 0 and 1 exactly would be told apart by one reward
# Nothing is forced before its square in rounds for each arm: every arm played for the first time takes some
# evidence off, and most runs are over by then (docs/theory/stopping.md).
_GRACE = 12.0


@compiled
def put_interval(state: Any, arm: int, leader: int, q: float, low: Array, high: Array) -> None:
    """Put into `low` and `high` what the means of all arms may be if `arm` is the best with mean q."""
    low[:] = -math.inf
    high[:] = q
    if leader >= 0:
        high[leader] = q - state.tolerance
    row = row_of(state, arm)
    for number in range(np.uint64(row.size)):
        place, other = entry_of(row, number)
        low[other] = q - state.rows.upper[place]
        high[other] = min(high[other], q - state.rows.lower[place])
    if state.family == BERNOULLI:
        for other in range(len(low)):
            low[other] = min(max(low[other], 0.0), 1.0)
            high[other] = min(max(high[other], low[other]), 1.0)


@inlined
def expected_mean(state: Any, arm: int, low: float, high: float, near_low: float, near_high: float) -> float:
    """Return the mean of an arm as the leader explains it, inside [low, high]."""
    if state.tallies.counts[arm] > 0:
        return min(max(seen_mean(state.family, state.tallies.means[arm]), low), high)
    return low if low > near_high else min(high, near_high)


@compiled
def weigh_arms(state: Any, challenger: int) -> None:
    """Put what the next reward of every arm is expected to tell into ``state.worth``."""
    leader = state.leader[0]
    low, high, near_low, near_high = state.low, state.high, state.near_low, state.near_high
    q = least_evidence(state, leader, NOBODY, 0.0, math.nan)[0]
    put_interval(state, leader, NOBODY, q, low, high)
    put_interval(state, challenger, leader, state.cheapest[challenger], near_low, near_high)
    for arm in range(len(low)):
        mean = expected_mean(state, arm, low[arm], high[arm], near_low[arm], near_high[arm])
        other = min(max(mean, near_low[arm]), near_high[arm])
        if state.family == BERNOULLI:
            other = min(max(other, _EDGE), 1.0 - _EDGE)
        state.worth[arm] = rounded(divergence(state.family, mean, other, state.variance))


@compiled
def neglected_arm(state: Any, allowed: Allowed) -> int:
    """Return the arm that was played least if that is less than it must be, else nobody."""
    fewest, counts = NOBODY, state.tallies.counts
    for arm in range(len(counts)):
        if is_allowed(allowed, arm) and (fewest == NOBODY or counts[arm] < counts[fewest]):
            fewest = arm
    share = float(state.total[0]) / len(counts)
    return fewest if counts[fewest] < safe_sqrt(share) - _GRACE else NOBODY


@compiled
def most_telling(state: Any, allowed: Allowed, challenger: int) -> int:
    """Return the arm whose reward tells most about a rival; of equals, the one played most."""
    if challenger == NOBODY:
        state.worth[:] = 0.0
        state.worth[state.leader[0]] = 1.0
    else:
        weigh_arms(state, challenger)
    best, worth, counts = NOBODY, state.worth, state.tallies.counts
    for arm in range(len(counts)):
        if is_allowed(allowed, arm) and (
            best == NOBODY
            or worth[arm] > worth[best]
            or (worth[arm] == worth[best] and counts[arm] > counts[best])
        ):
            best = arm
    return best


@compiled
def arm_to_play(state: Any, allowed: Allowed) -> int:
    """Return the arm to play next."""
    challenger, forced = find_leader(state), neglected_arm(state, allowed)
    return most_telling(state, allowed, challenger) if forced == NOBODY else forced
