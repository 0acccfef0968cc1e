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

**Pending decisions.** Rewards in [0, 1] may be told late because of what they are (a click at once, no click
an hour later), so every decision asked for counts, told or not. With n of them, p of these pending, and a sum
s of what was told, the mean of j in the end lies in [s / n, (s + p) / n] = [``means``, ``tops``]. Write g(m)
for log M at theta = m, where M is least for rewards of mean m. Then

    log M >= min(g(means), g(tops)) + n kl(theta clipped to [means, tops], theta),

which is convex in theta as log M is, and less than log(2) / 2 below what the worst rewards make it. Without
pending decisions both sides are the same.

States have the fields that `evidence_fields` returns, beside ``family``, ``variance`` and ``tallies``.

**Inner loops** read what they need of a state before they begin, and pass numbers on. Compiled code counts
the references of every array that it passes to a function, even to one that is merged into its caller: with
the forty arrays of a state that took ten times as long as the term.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, compiled, inlined, log_gamma, ratio, safe_exp, safe_log, safe_log1p
from lsdt.policies.parts.closure_costs import newton_step
from lsdt.policies.parts.gap_rows import row_span, rows_of

if TYPE_CHECKING:
    from lsdt.candidates import MutualBounds

_MOST_STEPS = 200  # a safety net: Newton steps that fall back to halving take a few dozen at most
_LOG_PI = math.log(math.pi)  # log B(1/2, 1/2)
NOBODY = -1  # in place of an arm
# Relations compare floats with a tolerance of 1e-9: bounds give way by as much.
_GIVE = 1e-9
SETTLED = 1.0 + 1e-8
# How many arms may be expected to speak against a rival.
_SPEAKERS = 4.0


class Seen(NamedTuple):
    """What counts for one arm: how many decisions, and the least and the largest mean that they can have.

    ``base`` and ``top_base`` are the parts of log M that do not depend on theta, where theta lies below
    ``mean``, and above ``top``.
    """

    plays: int
    mean: float
    base: float
    top: float
    top_base: float


class TermLaw(NamedTuple):
    """What the terms of all arms share: ``odds`` is log(c / (1 - c)), ``silence`` log(1 - c)."""

    family: int
    variance: float
    odds: float
    silence: float


def evidence_fields(bounds: MutualBounds, family: int, speakers: float = _SPEAKERS) -> dict[str, Any]:
    """Return the fields for bounds among arms, ``rows`` included, with nothing played yet.

    ``odds`` and ``silence`` are the logarithms of c / (1 - c) and of 1 - c, ``total`` is the number of
    rewards. The counts of ``tallies`` are decisions, of which ``pending`` have no reward yet (none, for the
    policy). ``lowest`` is the least that the term of each arm can be, ``lowest_sum`` the sum of these. The
    share c is `speakers`, how many arms may be expected to speak against a rival, over the number of arms.
    """
    n_arms = len(bounds.indptr) - 1
    none, share = np.zeros(n_arms), min(0.5, speakers / n_arms)
    rows = rows_of(bounds, family, by_columns=False)
    rows = rows._replace(lower=rows.lower * (1.0 - _GIVE), floor=rows.floor * (1.0 - _GIVE))
    rows = rows._replace(upper=rows.upper * (1.0 + _GIVE))  # by itself: each may be a large table
    return {
        "odds": math.log(share / (1.0 - share)),
        "silence": math.log1p(-share),
        "total": np.zeros(1),
        "pending": none,
        "tops": none,
        "base": none,
        "top_base": none,
        "lowest": none,
        "lowest_sum": np.zeros(1),
        "rows": rows,
    }


@inlined
def base_term(family: int, count: int, mean: float) -> float:
    """Return the part of log M that does not depend on theta."""
    if family == BERNOULLI:
        wins = count * mean
        logs = log_gamma(wins + 0.5) + log_gamma(count - wins + 0.5)
        return logs - log_gamma(count + 1.0) - _LOG_PI
    return -0.5 * safe_log1p(float(count))


@inlined
def seen_mean(family: int, mean: float) -> float:
    """Return a mean, clipped to [0, 1] for rewards in [0, 1]."""
    return min(max(mean, 0.0), 1.0) if family == BERNOULLI else mean


@inlined
def own_log_m(family: int, count: int, mean: float, base: float) -> float:
    """Return log M at the mean of the rewards themselves, where it is least."""
    log_m = base
    if family == BERNOULLI:
        if mean > 0.0:
            log_m -= count * mean * safe_log(mean)
        if mean < 1.0:
            log_m -= count * (1.0 - mean) * safe_log1p(-mean)
    return log_m


@inlined
def seen_of(state: Any, arm: int) -> Seen:
    """Return what counts of an arm now."""
    family = state.family
    mean, top = seen_mean(family, state.tallies.means[arm]), seen_mean(family, state.tops[arm])
    return Seen(state.tallies.counts[arm], mean, state.base[arm], top, state.top_base[arm])


@inlined
def term_law(state: Any) -> TermLaw:
    """Return what the terms of all arms share."""
    return TermLaw(state.family, state.variance, state.odds, state.silence)


@inlined
def evidence_term(law: TermLaw, seen: Seen, low: float, high: float) -> tuple[float, float, float]:
    """Return the least log(1 - c + c M) for theta in [low, high]; slope and bend as that moves up."""
    count, mean, base = seen.plays, seen.mean, seen.base
    theta = min(mean, high)
    if low > seen.top:
        mean, base, theta = seen.top, seen.top_base, min(low, high)
    slope, bend, log_m = 0.0, 0.0, base
    if law.family == BERNOULLI:
        if (theta <= 0.0 and mean > 0.0) or (theta >= 1.0 and mean < 1.0):
            return math.inf, -math.inf if theta <= 0.0 else math.inf, math.inf
        if mean > 0.0:
            log_m -= count * mean * safe_log(theta)
        if mean < 1.0:
            log_m -= count * (1.0 - mean) * safe_log1p(-theta)
        if theta != mean:
            slope = count * (theta - mean) / (theta * (1.0 - theta))
            bend = count * (ratio(mean, theta * theta) + (1.0 - mean) / ((1.0 - theta) * (1.0 - theta)))
    elif theta != mean:
        weight, apart = float(count / (law.variance * (1.0 + 1.0 / count))), float(theta - mean)
        slope = weight * apart
        log_m += 0.5 * slope * apart
        bend = weight
    log_m += law.odds
    share = safe_exp(-abs(log_m))
    value = max(log_m, 0.0) + safe_log1p(share) + law.silence
    share = 1.0 / (1.0 + share) if log_m > 0.0 else share / (1.0 + share)
    return value, share * slope, share * (bend + (1.0 - share) * slope * slope)


@inlined
def lowest_term(state: Any, arm: int) -> float:
    """Return the least that the term of an arm can be: that of its own mean; nothing without decisions."""
    if state.tallies.counts[arm] == 0:
        return 0.0
    return evidence_term(term_law(state), seen_of(state, arm), -math.inf, math.inf)[0]


@compiled
def count_arm(state: Any, arm: int) -> None:
    """Update the constants of an arm's term after its count, its sum or its pending decisions changed."""
    family, count = state.family, state.tallies.counts[arm]
    state.tallies.means[arm] = state.tallies.sums[arm] / count
    state.tops[arm] = (state.tallies.sums[arm] + state.pending[arm]) / count
    mean, top = seen_mean(family, state.tallies.means[arm]), seen_mean(family, state.tops[arm])
    base = base_term(family, count, mean)
    top_base = base
    if mean != top:
        top_base = base_term(family, count, top)
        least, other = own_log_m(family, count, mean, base), own_log_m(family, count, top, top_base)
        if other < least:
            base += other - least
        else:
            top_base += least - other
    state.base[arm], state.top_base[arm] = base, top_base
    state.lowest[arm] = lowest_term(state, arm)


@inlined
def reach_up(lower: float, is_leader: bool, tolerance: float) -> float:
    """Return the least that a rival lies above an arm: more than the tolerance above the leader."""
    return max(lower, tolerance) if is_leader else lower


@inlined
def least_mean(state: Any, arm: int, leader: int, tolerance: float) -> float:
    """Return the least mean of an arm that is the best, by more than the tolerance if there is a leader."""
    return max(state.rows.floor[arm], tolerance) if leader >= 0 else state.rows.floor[arm]


@compiled
def row_evidence(state: Any, arm: int, leader: int, tolerance: float, q: float) -> tuple[float, float, float]:
    """Return the evidence against `arm` being the best with mean q, its slope and its bend."""
    law, rows, tallies, lowest = term_law(state), state.rows, state.tallies, state.lowest
    family, counts, means, bases = law.family, tallies.counts, tallies.means, state.base
    tops, top_bases = state.tops, state.top_base
    played, others, lower, upper = rows.played, rows.others, rows.lower, rows.upper
    is_cut, met = len(played) == 0, False
    first, size = row_span(rows.indptr, len(played), arm)
    value, slope, bend = state.lowest_sum[0] if is_cut else 0.0, 0.0, 0.0
    for number in range(np.uint64(size)):
        other = others[np.uint64(first) + np.uint64(number)] if is_cut else played[np.uint64(number)]
        other, count = np.uint64(other), counts[np.uint64(other)]
        if count == 0 and not is_cut:  # arms with rewards come first
            break
        is_leader = other == leader
        met = met or is_leader
        if count > 0:
            place = np.uint64(first) + (np.uint64(number) if is_cut else other)
            if is_cut:
                value -= lowest[other]
            low, high = q - upper[place], q - reach_up(lower[place], is_leader, tolerance)
            mean, top = seen_mean(family, means[other]), seen_mean(family, tops[other])
            if low <= top and mean <= high:
                value += lowest[other]
            else:
                seen = Seen(count, mean, bases[other], top, top_bases[other])
                terms = evidence_term(law, seen, low, high)
                value += float(terms[0])
                slope += float(terms[1])
                bend += float(terms[2])
    if leader >= 0 and not met and counts[leader] > 0:  # rows of very many arms are cut
        terms = evidence_term(law, seen_of(state, leader), -math.inf, q - tolerance)
        value += float(terms[0]) - lowest[leader]
        slope += float(terms[1])
        bend += float(terms[2])
    return value, slope, bend


@compiled
def least_between(state: Any, arm: int, leader: int, tolerance: float) -> tuple[float, float]:
    """Return two points between which the evidence is least; if they are equal, it is least there."""
    family, rows, counts = state.family, state.rows, state.tallies.counts
    means, tops = state.tallies.means, state.tops
    played, others, lower, upper = rows.played, rows.others, rows.lower, rows.upper
    is_cut, met = len(played) == 0, False
    first, size = row_span(rows.indptr, len(played), arm)
    left, right = math.inf, -math.inf
    for number in range(np.uint64(size)):
        other = others[np.uint64(first) + np.uint64(number)] if is_cut else played[np.uint64(number)]
        other, count = np.uint64(other), counts[np.uint64(other)]
        if count == 0 and not is_cut:
            break
        is_leader = other == leader
        met = met or is_leader
        if count > 0:
            place = np.uint64(first) + (np.uint64(number) if is_cut else other)
            left = min(left, seen_mean(family, tops[other]) + upper[place])
            reach = reach_up(lower[place], is_leader, tolerance)
            right = max(right, seen_mean(family, means[other]) + reach)
    if leader >= 0 and not met and counts[leader] > 0:
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
    """Return where the evidence is least, its value there, a lower bound on it, and its bend.

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
        following, left, right = newton_step(q, slope, bend, left, right)
        if following != following:
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
    """Return an upper bound on what rounding adds to a sum of terms; logarithms of gamma lose digits."""
    if len(state.rows.played) == 0:  # terms of arms outside the row count too
        return 1e-9 * (1.0 + abs(value)) + 1e-13 * float(state.total[0])
    counts, played = state.tallies.counts, state.rows.played
    size = float(counts[leader]) if leader >= 0 else 0.0
    for number in range(np.uint64(len(played))):
        count = counts[np.uint64(played[number])]
        if count == 0:
            break
        size += float(count)
    return 1e-9 * (1.0 + abs(value)) + 1e-13 * size
