"""The largest mean with which an arm may be the best, as the evidence of `mixture_evidence` allows.

The evidence f_i(q) is convex in q, so the largest q with f_i(q) at most a level is found by Newton steps from
above. Every arm keeps tangents, which lie below its evidence and bound its index, in the layout of
`closure_tangents.index_bounds`: one where its index was solved for; or, where the rewards refute that it is
the best, two around the least evidence. A reward changes one term of each, in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsdt.kernel import BERNOULLI, compiled, inlined, nearest_multiple, safe_exp, safe_sqrt
from lsdt.policies.parts.cost_order import TANGENTS
from lsdt.policies.parts.gap_rows import begin_plays, column_entry, column_of, columns_of, row_of, term_of
from lsdt.policies.parts.mixture_evidence import (
    NOBODY,
    Seen,
    count_arm,
    evidence_term,
    least_evidence,
    own_log_m,
    row_evidence,
    seen_of,
    term_law,
)

_PRECISION = 1e-12  # of evidence, which is compared with log t: rounding is some 1e-14
_FINEST = 2.0**-40  # indices are rounded to this, so that equal ones tie whatever the course of the solver
_BELOW_ONE = 1.0 - 2.0**-53  # the largest float below 1


@inlined
def farthest(state: Any, seen: Seen, log_m: float) -> float:
    """Return a theta above the mean of an arm from which on its log M is at least `log_m`."""
    count, mean = float(seen.plays), seen.mean
    if state.family != BERNOULLI:
        room = max(log_m - seen.base, 0.0)
        return mean + safe_sqrt(2.0 * state.variance * room * (count + 1.0)) / count
    room = max(log_m - own_log_m(state.family, seen.plays, mean, seen.base), 0.0)
    reach = mean + safe_sqrt(0.5 * room / count)  # Pinsker's inequality
    if mean < 1.0 <= reach:  # a sharper bound near 1: the failures alone say as much
        reach = 1.0 - safe_exp(min((seen.base - log_m) / (count * (1.0 - mean)), 0.0))
    return reach


@compiled
def highest_mean(state: Any, arm: int, level: float) -> float:
    """Return a mean from which on one arm makes the evidence exceed `level`; infinite if there is none.

    The other terms are no less than they are at the means of the rewards.
    """
    row, highest = row_of(state, arm), math.inf
    for number in range(np.uint64(row.size)):
        place, other, count = term_of(row, number)
        if count < 0:
            break
        if count > 0 and row.upper[place] < math.inf:
            needed = level - float(state.lowest_sum[0]) + float(state.lowest[other])
            log_m = max(needed, 0.0) - state.odds - state.silence  # of M, where c M is that large by itself
            highest = min(highest, farthest(state, seen_of(state, other), log_m) + row.upper[place])
    return highest


@compiled
def largest_mean(state: Any, arm: int, level: float, start: float) -> tuple[float, float, float]:
    """Return the largest mean with evidence of at most `level`, with the evidence and its slope there.

    `start`, which may be infinite, is an upper bound. Minus infinity when there is none; infinity when
    nothing speaks against large means.
    """
    bernoulli, floor = state.family == BERNOULLI, state.rows.floor[arm]
    known = start < 1.0 or (start < math.inf and not bernoulli)
    q = start if known else highest_mean(state, arm, level)
    if q == math.inf and not bernoulli:
        return q, 0.0, 0.0
    unlimited = q == math.inf
    if bernoulli:
        q = min(q, 1.0)
    # It ends: every step leads to a smaller float. A dozen steps are common, as each divides the excess times
    # the slope by four or more. A limit on steps could return a mean with too much evidence.
    while q >= floor:
        value, slope, _ = row_evidence(state, arm, NOBODY, 0.0, q)
        if value <= level + _PRECISION * (1.0 + abs(level)):
            return math.inf if unlimited else q, value, slope
        if slope == math.inf and q > _BELOW_ONE:  # at 1 itself no step leads down
            q = _BELOW_ONE
            continue
        if not 0.0 < slope < math.inf:
            return -math.inf, 0.0, 0.0
        if not q - (value - level) / slope < q:
            return q, value, slope
        q -= (value - level) / slope
    return -math.inf, 0.0, 0.0


@inlined
def keep_tangent(state: Any, at: int, q: float, value: float, slope: float) -> None:
    """Keep a tangent, or none where the evidence is infinite."""
    state.point[at] = q if abs(value) < math.inf and abs(slope) < math.inf else math.nan
    state.value[at], state.slope[at] = value, slope


@compiled
def keep_refuted(state: Any, arm: int, level: float) -> None:
    """Keep two tangents that show that an arm is refuted; far from each other they show it for longer."""
    q, value, _, bend = least_evidence(state, arm, NOBODY, 0.0, state.cheapest[arm])
    at = TANGENTS * arm
    state.cheapest[arm] = q
    state.point[at] = state.point[at + 1] = state.point[at + 2] = math.nan
    if not value < math.inf:
        return
    # Those of a parabola that far apart would meet half-way between the level and the least evidence.
    reach = safe_sqrt((value - level) / bend) if value > level and 0.0 < bend < math.inf else 0.0
    left, right = q - reach, q + reach
    if state.family == BERNOULLI:
        left, right = max(left, 0.5 * (state.rows.floor[arm] + q)), min(right, 0.5 * (q + 1.0))
    value, slope, _ = row_evidence(state, arm, NOBODY, 0.0, left)
    keep_tangent(state, at + 1, left, value, slope)
    value, slope, _ = row_evidence(state, arm, NOBODY, 0.0, right)
    keep_tangent(state, at + 2, right, value, slope)


@compiled
def solve_index(state: Any, arm: int, level: float) -> None:
    """Solve for the index of an arm and its equivalents, from its bound; keep tangents that bound it."""
    equivalence_class, bound = state.rows.equivalence_class, state.bound
    q, value, slope = largest_mean(state, arm, level, bound[arm])
    if q == -math.inf:
        keep_refuted(state, arm, level)
    elif q < math.inf:
        keep_tangent(state, TANGENTS * arm, q, value, slope)
        q = nearest_multiple(q, _FINEST)
    for other in range(len(equivalence_class)):
        if equivalence_class[other] == equivalence_class[arm]:
            for which in range(TANGENTS):
                here, there = TANGENTS * arm + which, TANGENTS * other + which
                state.point[there] = state.point[here]
                state.value[there] = state.value[here]
                state.slope[there] = state.slope[here]
            if bound[other] > -math.inf:  # it is allowed
                state.largest[other] = bound[other] = q
                state.solved[other] = level


@compiled
def learn_reward(state: Any, source: int, reward: float) -> None:
    """Count a reward, and update the tangents that it changes."""
    then, lowest = seen_of(state, source), state.lowest[source]
    state.total[0] += 1
    state.tallies.counts[source] += 1
    state.tallies.sums[source] += reward
    count_arm(state, source)
    now, more = seen_of(state, source), float(state.lowest[source] - lowest)
    state.lowest_sum[0] += more
    if then.plays == 0:
        begin_plays(state.rows, state.tallies.counts, source)
    law, (lower, upper) = term_law(state), columns_of(state.rows)
    column = column_of(state.rows, source)
    is_whole = column.size == len(state.solved)
    if not is_whole:  # rows without the arm have its least term
        state.solved[:] = -1.0
        for at in range(len(state.value)):
            state.value[at] += more
    for number in range(np.uint64(column.size)):
        arm, place = column_entry(column, number)
        state.solved[arm] = -1.0
        for which in range(np.uint64(TANGENTS)):
            at = np.uint64(TANGENTS) * arm + which
            q = state.point[at]
            if q != q:
                continue
            if not is_whole:
                state.value[at] -= more
            low, high = q - upper[place], q - lower[place]
            if then.plays > 0:
                value, slope, _ = evidence_term(law, then, low, high)
                state.value[at] -= value
                state.slope[at] -= slope
            value, slope, _ = evidence_term(law, now, low, high)
            state.value[at] += value
            state.slope[at] += slope
            if not (abs(state.value[at]) < math.inf and abs(state.slope[at]) < math.inf):
                state.point[at] = math.nan
