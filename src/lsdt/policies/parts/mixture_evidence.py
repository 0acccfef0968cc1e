"""Evidence against an arm being the best, valid at any time and for any way of sampling.

For every played arm j, M_j(theta) is a mixture martingale: the likelihood ratio of a mixture of means against
theta. If theta is the mean of j, M_j is a nonnegative supermartingale that starts at 1, whichever arms are
played and why. With n rewards of mean m,

    rewards with a sub-Gaussian parameter sigma (the mixture is N(theta, sigma^2)):
        log M = n^2 (m - theta)^2 / (2 sigma^2 (n + 1)) - log(1 + n) / 2
    rewards in [0, 1] (the mixture is Beta(1/2, 1/2), s = n m):
        log M = log B(s + 1/2, n - s + 1/2) - log B(1/2, 1/2) - s log theta - (n - s) log(1 - theta)

The product over all arms of 1 - c + c M_j is one too, for any share c: without it every arm whose rewards
agree would cost log(1 + n) / 2, with it no more than -log(1 - c). The share is 1/2, and less for many arms.
A rival i is the best with mean q, and the leader lies more than the tolerance below
it, only if every mean theta_j lies in [q - upper_ij, q - lower_ij]. So

    f_i(q) = sum over j of log(1 - c + c M_j(theta_j)), theta_j the mean of j clipped to that interval,

is the least that the logarithm of the product can be then. It is convex in q. See docs/theory/stopping.md.

**Rows that are cut.** Among very many arms a row may hold some arms only. The sum over these alone would not
do: terms may be negative, and which arm leads, whose term every row must have, depends on the rewards. So it
would be another product for every row and leader, and no single one would cover all of them. The arms that
are left out count with the least that their terms can be, those of their own means (``lowest``): the sum is
still no more than the logarithm of the one product over all arms, and what is promised holds as it does with
whole rows. Cut rows find less evidence, never more.

States have the fields that `evidence_fields` returns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel.jit import compiled, inlined
from lsdt.kernel.special import BERNOULLI
from lsdt.policies.parts.gap_rows import row_of, rows_of, term_of

if TYPE_CHECKING:
    from lsdt.candidates import MutualBounds

_MOST_STEPS = 200
_PRECISION = 1e-12
_LOG_PI = math.log(math.pi)  # log B(1/2, 1/2)
NOBODY = -1
# Relations compare floats with a tolerance of 1e-9: bounds give way by as much.
_GIVE = 1e-9
SETTLED = 1.0 + 1e-8
# How many arms may be expected to speak against a rival: the share is this over the number of arms.
_SPEAKERS = 4.0


def evidence_fields(bounds: MutualBounds, family: int) -> dict[str, Any]:
    """Return the fields for bounds among arms, those of `rows_of` included, with nothing played yet.

    ``odds`` and ``silence`` are the logarithms of c / (1 - c) and of 1 - c, ``total`` is the number of
    rewards. ``lowest`` is the least that the term of each arm can be, ``lowest_sum`` the sum of these.
    """
    n_arms = len(bounds.indptr) - 1
    none, share = np.zeros(n_arms), min(0.5, _SPEAKERS / n_arms)
    rows = rows_of(bounds, family, by_columns=False)
    for name, factor in (("lower", 1.0 - _GIVE), ("floor", 1.0 - _GIVE), ("upper", 1.0 + _GIVE)):
        rows[name] = rows[name] * factor  # one after the other: each may be a large table
    return {
        "odds": math.log(share / (1.0 - share)),
        "silence": math.log1p(-share),
        "total": np.zeros(1),
        "counts": none,
        "sums": none,
        "means": none,
        "base": none,
        "lowest": none,
        "lowest_sum": np.zeros(1),
        **rows,
    }


@inlined
def base_term(family: int, count: int, mean: float) -> float:
    """Return the part of log M that does not depend on theta."""
    if family == BERNOULLI:
        wins = count * mean
        logs = math.lgamma(wins + 0.5) + math.lgamma(count - wins + 0.5)
        return logs - math.lgamma(count + 1.0) - _LOG_PI
    return -0.5 * math.log1p(float(count))


@inlined
def evidence_term(
    state: Any, count: int, mean: float, base: float, low: float, high: float
) -> tuple[float, float, float]:
    """Return log(1 - c + c M) at the mean clipped to [low, high]; slope and bend as the interval moves up."""
    theta = min(max(mean, low), high)
    slope, bend, log_m = 0.0, 0.0, base
    if state.family == BERNOULLI:
        if (theta <= 0.0 and mean > 0.0) or (theta >= 1.0 and mean < 1.0):
            return math.inf, -math.inf if theta <= 0.0 else math.inf, math.inf
        if mean > 0.0:
            log_m -= count * mean * math.log(theta)
        if mean < 1.0:
            log_m -= count * (1.0 - mean) * math.log1p(-theta)
        if theta != mean:
            slope = count * (theta - mean) / (theta * (1.0 - theta))
            bend = count * (mean / (theta * theta) + (1.0 - mean) / ((1.0 - theta) * (1.0 - theta)))
    elif theta != mean:
        weight = count / (state.variance * (1.0 + 1.0 / count))
        slope = weight * (theta - mean)
        log_m += 0.5 * slope * (theta - mean)
        bend = weight
    log_m += state.odds
    share = math.exp(-abs(log_m))
    value = max(log_m, 0.0) + math.log1p(share) + state.silence
    share = 1.0 / (1.0 + share) if log_m > 0.0 else share / (1.0 + share)
    return value, share * slope, share * (bend + (1.0 - share) * slope * slope)


@inlined
def seen_mean(family: int, mean: float) -> float:
    """Return a mean as its family sees it: there is none outside [0, 1] for rewards in it."""
    return min(max(mean, 0.0), 1.0) if family == BERNOULLI else mean


@inlined
def lowest_term(state: Any, arm: int) -> float:
    """Return the least that the term of an arm can be: that of its own mean; nothing without rewards."""
    if state.counts[arm] == 0:
        return 0.0
    mean = seen_mean(state.family, state.means[arm])
    return evidence_term(state, state.counts[arm], mean, state.base[arm], mean, mean)[0]


@inlined
def reach_up(lower: float, is_leader: bool, tolerance: float) -> float:
    """Return the least that a rival lies above an arm: more than the tolerance above the leader."""
    return max(lower, tolerance) if is_leader else lower


@inlined
def least_mean(state: Any, arm: int, leader: int, tolerance: float) -> float:
    """Return the least mean of an arm that is the best, by more than the tolerance if there is a leader."""
    return max(state.floor[arm], tolerance) if leader >= 0 else state.floor[arm]


@compiled
def row_evidence(state: Any, arm: int, leader: int, tolerance: float, q: float) -> tuple[float, float, float]:
    """Return the evidence against `arm` being the best with mean q, its slope and its bend."""
    family, means, lowest = state.family, state.means, state.lowest
    row, is_cut = row_of(state, arm), len(state.played) == 0
    value, slope, bend, met = state.lowest_sum[0] if is_cut else 0.0, 0.0, 0.0, False
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        is_leader = other == leader
        met = met or is_leader
        if count > 0:
            if is_cut:
                value -= lowest[other]
            low, high = q - state.upper[place], q - reach_up(state.lower[place], is_leader, tolerance)
            mean = seen_mean(family, means[other])
            if low <= mean <= high:
                value += lowest[other]
            else:
                terms = evidence_term(state, count, mean, state.base[other], low, high)
                value += terms[0]
                slope += terms[1]
                bend += terms[2]
    if leader >= 0 and not met and state.counts[leader] > 0:  # rows of very many arms hold near ones only
        mean = seen_mean(family, means[leader])
        terms = evidence_term(state, state.counts[leader], mean, state.base[leader], -math.inf, q - tolerance)
        value += terms[0] - lowest[leader]
        slope += terms[1]
        bend += terms[2]
    return value, slope, bend


@compiled
def least_between(state: Any, arm: int, leader: int, tolerance: float) -> tuple[float, float]:
    """Return two points between which the evidence is least; if they are equal, it is least there."""
    family, means, row = state.family, state.means, row_of(state, arm)
    left, right, met = math.inf, -math.inf, False
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        is_leader = other == leader
        met = met or is_leader
        if count > 0:
            mean = seen_mean(family, means[other])
            left = min(left, mean + state.upper[place])
            right = max(right, mean + reach_up(state.lower[place], is_leader, tolerance))
    if leader >= 0 and not met and state.counts[leader] > 0:
        right = max(right, seen_mean(family, means[leader]) + tolerance)
    if left >= right:  # nothing speaks against the means in between; the least is nearest to the leader's
        left = right if right > -math.inf else min(left, 0.0)
        right = left
    if family == BERNOULLI:
        floor = least_mean(state, arm, leader, tolerance)
        left = min(max(left, floor), 1.0)
        right = min(max(right, floor), 1.0)
    return left, right


@compiled
def least_evidence(
    state: Any, arm: int, leader: int, tolerance: float, guess: float
) -> tuple[float, float, float, float]:
    """Return where the evidence is least, how much it is there, a number it is nowhere below, and its bend.

    Newton steps on the slope, kept between two points. The tangent at the last point bounds the least value:
    the evidence is convex, and the least lies between the two. Rounding takes its part off.
    """
    if state.family == BERNOULLI and least_mean(state, arm, leader, tolerance) > 1.0:
        return 1.0, math.inf, math.inf, 0.0
    left, right = least_between(state, arm, leader, tolerance)
    q = guess if left < guess < right else 0.5 * (left + right)
    value, slope, bend = row_evidence(state, arm, leader, tolerance, q)
    for _ in range(_MOST_STEPS):
        if slope == 0.0 or not left < right:
            break
        if slope > 0.0:
            right = q
        else:
            left = q
        step = q - slope / bend if 0.0 < bend < math.inf else math.nan
        following = step if left < step < right else 0.5 * (left + right)
        if not left < following < right or abs(slope * (following - q)) <= _PRECISION:
            break
        q = following
        value, slope, bend = row_evidence(state, arm, leader, tolerance, q)
    bound = value
    if left < right and abs(slope) < math.inf:
        bound += min(slope * (left - q), slope * (right - q), 0.0)
    if bound < math.inf:
        bound -= rounding(state, arm, leader, value)
    return q, value, bound, bend


@compiled
def rounding(state: Any, arm: int, leader: int, value: float) -> float:
    """Return more than rounding can have added to a sum of terms: logarithms of gamma lose some digits."""
    if len(state.played) == 0:  # terms of arms outside the row count too
        return 1e-9 * (1.0 + abs(value)) + 1e-13 * float(state.total[0])
    size, row = float(state.counts[leader]) if leader >= 0 else 0.0, row_of(state, arm)
    for number in range(np.uint64(row.size)):
        count = term_of(row, number)[2]
        if count < 0:
            break
        size += float(count)
    return 1e-9 * (1.0 + abs(value)) + 1e-13 * size
