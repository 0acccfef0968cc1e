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

from lsdt.kernel import BERNOULLI, Array, compiled, divergence, safe_sqrt
from lsdt.policies.parts.evidence_tangents import find_leader, rounded
from lsdt.policies.parts.gap_rows import row_span
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
    """Write into `low` and `high` bounds on the means of all arms if `arm` is the best with mean q."""
    low[:] = -math.inf
    high[:] = q
    if leader >= 0:
        high[leader] = q - state.tolerance
    rows, n_whole = state.rows, len(state.rows.played)
    others, lower, upper = rows.others, rows.lower, rows.upper
    first, size = row_span(rows.indptr, n_whole, arm)
    for number in range(size):
        other = number if n_whole > 0 else others[first + number]
        low[other] = q - upper[first + number]
        high[other] = min(high[other], q - lower[first + number])
    if state.family == BERNOULLI:
        for other in range(len(low)):
            low[other] = min(max(low[other], 0.0), 1.0)
            high[other] = min(max(high[other], low[other]), 1.0)


@compiled
def weigh_arms(state: Any, challenger: int) -> None:
    """Put what the next reward of every arm is expected to tell into ``state.worth``."""
    leader, family, variance = state.leader[0], state.family, state.variance
    low, high, near_low, near_high = state.low, state.high, state.near_low, state.near_high
    counts, means, worth = state.tallies.counts, state.tallies.means, state.worth
    q = least_evidence(state, leader, NOBODY, 0.0, math.nan)[0]
    put_interval(state, leader, NOBODY, q, low, high)
    put_interval(state, challenger, leader, state.cheapest[challenger], near_low, near_high)
    for arm in range(len(low)):
        if counts[arm] > 0:
            mean = min(max(seen_mean(family, means[arm]), low[arm]), high[arm])
        else:  # as near to what the rival allows as the leader does
            mean = low[arm] if low[arm] > near_high[arm] else min(high[arm], near_high[arm])
        other = min(max(mean, near_low[arm]), near_high[arm])
        if family == BERNOULLI:
            other = min(max(other, _EDGE), 1.0 - _EDGE)
        worth[arm] = rounded(divergence(family, mean, other, variance))


@compiled
def neglected_arm(state: Any, allowed: Allowed) -> int:
    """Return the arm with the fewest plays if it has fewer than required, else `NOBODY`."""
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
