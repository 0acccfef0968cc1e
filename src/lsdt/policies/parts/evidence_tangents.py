"""Tangents of the evidence against every rival, kept from round to round, so that few rivals are solved for.

A tangent lies below the convex evidence of `mixture_evidence`. Every arm keeps two, on both sides of where
its evidence was least. A reward changes one term in the rows that hold the played arm; so does a new leader
in the rows that hold it or the old one. The tangents are brought up to date in place, and the rival with the
least evidence is found by solving for those that may be it. What is found of one arm holds for all of its
kind (see `GapRows`): among very many candidates most were never played, and nearly all of these tie.

Which arm leads depends on which one led before: a rival must have less evidence against it than the leader.
So the leader is part of the state; the tangents are a cache. ``stands`` is 1 where the leader is known to
stay for the rewards so far.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, copy_into, inlined, nearest_multiple, safe_sqrt
from lsdt.policies.parts.gap_rows import begin_plays, column_entry, column_of, columns_of
from lsdt.policies.parts.mixture_evidence import (
    NOBODY,
    SETTLED,
    Seen,
    count_arm,
    evidence_term,
    least_evidence,
    reach_up,
    row_evidence,
    seen_of,
    term_law,
)

_SLACK = 1e-8  # far above rounding, far below what changes a choice: bounds stay bounds
_DEPTH = 0.03  # how far below the least evidence the two tangents meet
_MOST_SWITCHES = 8  # of the leader in one round; a safety net against going round in circles
_FINEST = 2.0**-36  # evidence is rounded to this, so that equal evidence ties


def tangent_fields(n_arms: int) -> dict[str, Any]:
    """Return the fields for tangents, the leader and the evidence against its strongest rival."""
    none = np.zeros(n_arms)
    return {
        "point": np.full(2 * n_arms, math.nan),
        "value": np.zeros(2 * n_arms),
        "slope": np.zeros(2 * n_arms),
        "cheapest": np.full(n_arms, math.nan),
        "least": none,
        "known": none,
        "bound": none,
        "settled": none,
        "leader": np.zeros(1),
        "stands": np.zeros(1),
        "evidence": np.zeros(1),
    }


@inlined
def rounded(value: float) -> float:
    """Return a value rounded so that what differs by rounding alone ties."""
    return nearest_multiple(value, _FINEST)


@compiled
def tangent_bound(family: int, floor: float, point: Array, value: Array, slope: Array, arm: int) -> float:
    """Return a lower bound on the least evidence against an arm, from its tangents.

    The mean of an arm that is better than the leader is no less than `floor`, if rewards lie in [0, 1].
    """
    shown = -math.inf
    one, two = 2 * arm, 2 * arm + 1
    for at in range(one, two + 1):
        q, steep = point[at], slope[at]
        if q == q:
            if steep == 0.0:
                shown = max(shown, value[at])
            elif family == BERNOULLI:
                end = floor if steep > 0.0 else 1.0
                shown = max(shown, value[at] + steep * (end - q))
    q, q_2, steep, steep_2 = point[one], point[two], slope[one], slope[two]
    if q == q and q_2 == q_2 and steep < 0.0 < steep_2:
        over = (value[two] - value[one] - steep_2 * (q_2 - q)) / (steep - steep_2)
        shown = max(shown, value[one] + steep * over)
    return shown - _SLACK * (1.0 + abs(shown)) if shown > -math.inf else shown


@compiled
def keep_tangent(state: Any, arm: int, at: int, q: float) -> None:
    """Keep the tangent at q, or none where the evidence is infinite."""
    value, slope, _ = row_evidence(state, arm, state.leader[0], state.tolerance, q)
    state.point[at] = q if abs(value) < math.inf and abs(slope) < math.inf else math.nan
    state.value[at], state.slope[at] = value, slope


@compiled
def solve_least(state: Any, arm: int) -> None:
    """Find the least evidence against a rival of the leader, and keep tangents around it."""
    q, value, _, bend = least_evidence(state, arm, state.leader[0], state.tolerance, state.cheapest[arm])
    state.known[arm], state.cheapest[arm], state.least[arm] = 1, q, value
    state.point[2 * arm] = state.point[2 * arm + 1] = math.nan
    if value < math.inf:
        reach = safe_sqrt(_DEPTH / bend) if 0.0 < bend < math.inf else 0.0
        left, right = q - reach, q + reach
        if state.family == BERNOULLI:
            floor = max(state.rows.floor[arm], state.tolerance)
            left, right = max(left, 0.5 * (floor + q)), min(right, 0.5 * (q + 1.0))
        keep_tangent(state, arm, 2 * arm, left)
        keep_tangent(state, arm, 2 * arm + 1, right)


@compiled
def find_least(state: Any, arm: int) -> None:
    """Find the least evidence against a rival, and against its equivalents that may be better too."""
    solve_least(state, arm)
    equivalence_class, kind, bound = (
        state.rows.equivalence_class,
        state.rows.equivalence_class[arm],
        rounded(state.least[arm]),
    )
    state.bound[arm] = bound
    for other in range(len(state.rows.played)):  # in cut rows no two are equivalent
        if equivalence_class[other] == kind and state.settled[other] == 0:
            for which in range(2):
                here, there = 2 * arm + which, 2 * other + which
                state.point[there] = state.point[here]
                state.value[there] = state.value[here]
                state.slope[there] = state.slope[here]
            state.cheapest[other] = state.cheapest[arm]
            state.least[other] = state.least[arm]
            state.known[other] = 1
            state.bound[other] = bound


@compiled
def change_terms(state: Any, source: int, then: Seen, led: bool, leads: bool) -> None:
    """Update the terms of an arm, given what was seen of it before and whether it led."""
    tolerance, now, column = state.tolerance, seen_of(state, source), column_of(state.rows, source)
    known, point, values, slopes = state.known, state.point, state.value, state.slope
    if (led or leads) and column.size < len(known):  # rows without the leader have a term for it too
        point[:] = math.nan
        known[:] = 0
        return
    law, (lower, upper) = term_law(state), columns_of(state.rows)
    size, start, step, arms, places = column
    for number in range(np.uint64(size)):
        arm, place = np.uint64(number), np.uint64(start) + np.uint64(step) * np.uint64(number)
        if step == 0:
            arm, place = np.uint64(arms[place + arm]), np.uint64(places[place + arm])
        known[arm] = 0
        for which in range(np.uint64(2)):
            at = np.uint64(2) * arm + which
            q = point[at]
            if q != q:
                continue
            low, least = q - upper[place], lower[place]
            if then.plays > 0:
                high = q - reach_up(least, led, tolerance)
                value, slope, _ = evidence_term(law, then, low, high)
                values[at] -= value
                slopes[at] -= slope
            if now.plays > 0:
                high = q - reach_up(least, leads, tolerance)
                value, slope, _ = evidence_term(law, now, low, high)
                values[at] += value
                slopes[at] += slope
            if not (abs(values[at]) < math.inf and abs(slopes[at]) < math.inf):
                point[at] = math.nan


@compiled
def change_others(state: Any, source: int, more: float) -> None:
    """Add the increase in an arm's least term to the evidence of rows that do not hold the arm."""
    column = column_of(state.rows, source)
    if column.size == len(state.known):
        return
    for at in range(len(state.value)):
        state.value[at] += more
    for number in range(np.uint64(column.size)):
        arm, _ = column_entry(column, number)
        state.value[np.uint64(2) * arm] -= more
        state.value[np.uint64(2) * arm + np.uint64(1)] -= more
    state.known[:] = 0


@compiled
def learn_rewards(state: Any, arm: int, count: int, total: float) -> None:
    """Count rewards of an arm, and update the evidence that they change."""
    before, lowest = seen_of(state, arm), state.lowest[arm]
    state.stands[0] = 0
    state.total[0] += count
    state.tallies.counts[arm] += count
    state.tallies.sums[arm] += total
    count_arm(state, arm)
    state.lowest_sum[0] += state.lowest[arm] - lowest
    if before.plays == 0:
        begin_plays(state.rows, state.tallies.counts, arm)
    leads = state.leader[0] == arm
    change_terms(state, arm, before, leads, leads)
    change_others(state, arm, state.lowest[arm] - lowest)


@compiled
def learn_all(state: Any) -> None:
    """Find what follows from the counts and sums of a state that was given them at once."""
    counts = state.tallies.counts
    for arm in range(len(counts)):
        if counts[arm] > 0:
            count_arm(state, arm)
            state.lowest_sum[0] += state.lowest[arm]
            state.total[0] += counts[arm]


@compiled
def change_leader(state: Any, leader: int) -> None:
    """Make another arm the leader, and say which rivals the relations keep within the tolerance of it."""
    before = state.leader[0]
    state.leader[0] = leader
    change_terms(state, before, seen_of(state, before), True, False)
    change_terms(state, leader, seen_of(state, leader), False, True)
    state.settled[:] = 0
    upper, column = columns_of(state.rows)[1], column_of(state.rows, leader)
    for number in range(np.uint64(column.size)):
        arm, place = column_entry(column, number)
        if upper[place] <= state.tolerance * SETTLED:
            state.settled[arm] = 1
    state.settled[leader] = 1


@compiled
def find_challenger(state: Any) -> int:
    """Return the rival of the leader with the least evidence against it; `NOBODY` if none is open."""
    bound, known, settled, least = state.bound, state.known, state.settled, state.least
    family, floor, tolerance = state.family, state.rows.floor, state.tolerance
    point, value, slope = state.point, state.value, state.slope
    for arm in range(len(bound)):
        if settled[arm] == 0:
            if known[arm] == 1:
                bound[arm] = rounded(least[arm])
            else:
                bound[arm] = tangent_bound(family, max(floor[arm], tolerance), point, value, slope, arm)
    while True:
        best = NOBODY
        for arm in range(len(bound)):
            if settled[arm] == 0 and (best == NOBODY or bound[arm] < bound[best]):
                best = arm
        if best == NOBODY or known[best] == 1:
            return best
        find_least(state, best)


@inlined
def best_mean(state: Any) -> int:
    """Return the played arm with the largest mean; without plays, the first of all."""
    best, counts, means = 0, state.tallies.counts, state.tallies.means
    for arm in range(len(counts)):
        if counts[arm] > 0 and (counts[best] == 0 or means[arm] > means[best]):
            best = arm
    return best


@compiled
def begin_leader(state: Any) -> None:
    """Let the played arm with the largest mean lead at first; without plays, the first of all."""
    if state.settled[state.leader[0]] == 0:  # it is 1 for every arm that leads
        change_leader(state, best_mean(state))


@compiled
def find_leader(state: Any) -> int:
    """Find the leader, and return its strongest rival, or `NOBODY` if none can be better.

    A rival takes the lead if there is less evidence against it than there is against the leader with that
    rival in the lead.
    """
    begin_leader(state)
    challenger = find_challenger(state)
    for _ in range(_MOST_SWITCHES):
        if challenger == NOBODY:
            state.stands[0] = 1
            break
        leader = state.leader[0]
        own = least_evidence(state, leader, challenger, state.tolerance, math.nan)[1]
        if not rounded(state.least[challenger]) < rounded(own):
            state.stands[0] = 1
            break
        change_leader(state, challenger)
        challenger = find_challenger(state)
    state.evidence[0] = math.inf if challenger == NOBODY else state.least[challenger]
    return NOBODY if state.evidence[0] == math.inf else int(challenger)


class Lead(NamedTuple):
    """The leader and its tangents."""

    leader: int
    stands: int
    settled: Array
    point: Array
    value: Array
    slope: Array
    cheapest: Array
    least: Array
    known: Array


@inlined
def lead_of(state: Any) -> Lead:
    """Return a copy of the leader and its tangents."""
    return Lead(
        state.leader[0],
        state.stands[0],
        state.settled.copy(),
        state.point.copy(),
        state.value.copy(),
        state.slope.copy(),
        state.cheapest.copy(),
        state.least.copy(),
        state.known.copy(),
    )


@inlined
def put_back(state: Any, lead: Lead) -> None:
    """Restore a saved leader and its tangents, unless it still leads and they were settled."""
    if state.leader[0] == lead.leader and lead.settled[lead.leader] == 1:
        return
    state.leader[0], state.stands[0] = lead.leader, lead.stands
    copy_into(state.settled, lead.settled)
    copy_into(state.point, lead.point)
    copy_into(state.value, lead.value)
    copy_into(state.slope, lead.slope)
    copy_into(state.cheapest, lead.cheapest)
    copy_into(state.least, lead.least)
    copy_into(state.known, lead.known)
