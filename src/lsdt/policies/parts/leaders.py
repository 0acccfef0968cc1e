"""Which arm to name: of all leaders, the one whose strongest rival has the most evidence against it.

The rule of docs/theory/stopping.md holds for all leaders at once, so all of them may be tried. Few have to be
solved for. Let g_i be the least of f_i without a leader, reached at q_i. For every leader l,

    g_i <= min f_i with leader l <= f_i(q_i) with leader l = g_i + what the term of l gains at q_i,

as the leader changes one term of f_i only. The right-hand side takes one or two logarithms. The bound of a
leader is the least of them over the rivals that relations leave open; a leader whose bound is no more than
what another one has is done with. The rest are solved for, rivals in ascending order of g_i, up to the first
whose g_i is no less than what was found.

**Not yet.** Most looks find that no leader has enough evidence, and the rivals of an earlier look say so. The
right-hand side above bounds the evidence of l at *any* q, so f_i is computed at the q_i found then, once for
each of a few rivals: where these bounds leave no leader with enough, none is solved for (`none_can_reach`).

**Very many rivals.** Whole rows of 10^4 candidates that were all played are 10^8 terms, for one q each. Then
`narrow` is a state with the same rewards whose rows hold the arms played most alone: such rows find less
evidence, never more. Only the strongest rivals of the leader are solved for on whole rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, inlined
from lsdt.policies.parts.evidence_tangents import best_mean, rounded
from lsdt.policies.parts.gap_rows import narrow_rows, row_span
from lsdt.policies.parts.mixture_evidence import (
    NOBODY,
    SETTLED,
    Seen,
    TermLaw,
    evidence_term,
    least_evidence,
    reach_up,
    row_evidence,
    seen_of,
    term_law,
)

# Terms of all rows up to which they stay whole: each is evaluated some twenty times, in a second at most.
_MOST_TERMS = 2_000_000
_COLUMNS = 64  # arms in a narrow row: fewer find less evidence, more take longer
_MOST_LEADERS = 1_000  # solved for, and rivals solved for again on whole rows; tens are common
_SLACK = 1e-8  # of bounds; what is certified has 1e-9 taken off for rounding


@compiled
def put_row(state: Any, arm: int, lower: Array, upper: Array) -> None:
    """Put the bounds of an arm's row into arrays with a place for every arm; infinite outside of the row."""
    rows, n_whole = state.rows, len(state.rows.played)
    others, lowest, highest = rows.others, rows.lower, rows.upper
    first, size = row_span(rows.indptr, n_whole, arm)
    if n_whole == 0:
        lower[:] = -math.inf
        upper[:] = math.inf
    for number in range(size):
        other = number if n_whole > 0 else others[first + number]
        lower[other] = lowest[first + number]
        upper[other] = highest[first + number]


@inlined
def leader_gain(law: TermLaw, seen: Seen, q: float, lower: float, upper: float, tolerance: float) -> float:
    """Return what the term of an arm gains at q when the arm leads."""
    high = q - reach_up(lower, True, tolerance)
    if seen.plays == 0 or seen.mean <= high:
        return 0.0
    low = q - upper
    return evidence_term(law, seen, low, high)[0] - evidence_term(law, seen, low, q - lower)[0]


@compiled
def put_free_evidence(state: Any, free: Array, point: Array) -> None:
    """Put the least evidence against every arm without a leader into `free`, and where it is into `point`."""
    for arm in range(len(free)):
        kind = state.rows.equivalence_class[arm]
        if kind < arm:
            free[arm], point[arm] = free[kind], point[kind]
        else:
            point[arm], free[arm] = least_evidence(state, arm, NOBODY, 0.0, math.nan)[:2]


@compiled
def put_settled(state: Any, leader: int, settled: Array) -> None:
    """Mark the leader and the arms that relations keep within the tolerance of it."""
    settled[:] = False
    settled[leader] = True
    rows, n_arms, most = state.rows, len(settled), state.tolerance * SETTLED
    for arm in range(n_arms):
        if len(rows.played) > 0:
            settled[arm] |= rows.upper[arm * n_arms + leader] <= most
    if len(rows.played) == 0:
        for column in range(rows.starts[leader], rows.starts[leader + 1]):
            settled[rows.rows[column]] |= rows.upper[rows.places[column]] <= most


@compiled
def leader_evidence(
    state: Any, leader: int, enough: float, order: Array, free: Array, point: Array, settled: Array
) -> float:
    """Return the evidence against the strongest rival of a leader; at most `enough` ends the search.

    Rivals come in ascending order of their evidence without a leader, a lower bound of that with one.
    """
    least, equivalence_class = math.inf, state.rows.equivalence_class
    solved = np.full(len(free), math.nan)  # by kind
    for arm in order:
        if settled[arm]:
            continue
        if rounded(free[arm]) >= rounded(least) or least <= enough:
            break
        if math.isnan(solved[equivalence_class[arm]]):
            solved[equivalence_class[arm]] = least_evidence(state, arm, leader, state.tolerance, point[arm])[
                2
            ]
        least = min(least, solved[equivalence_class[arm]])
    return least


@compiled
def put_leader_bounds(
    state: Any, narrow: Any, enough: float, order: Array, free: Array, point: Array, bound: Array
) -> None:
    """Put an upper bound on the evidence of each leader into `bound`; up to `enough` it may be loose."""
    n_arms = len(bound)
    bound[:] = math.inf
    open_, n_open = np.arange(n_arms), n_arms
    lower, upper, spare = np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    is_whole = len(narrow.rows.others) == len(state.rows.others)
    gaps = upper if is_whole else np.empty(n_arms)
    law, tolerance = term_law(state), state.tolerance
    for arm in order:
        if n_open == 0 or free[arm] == math.inf:
            break
        q = point[arm]
        if law.family == BERNOULLI and q < tolerance:  # below where f_i with a leader begins
            continue
        put_row(narrow, arm, lower, upper)
        if not is_whole:
            put_row(state, arm, spare, gaps)
        kept = 0
        for number in range(n_open):
            leader = open_[number]
            if leader != arm and gaps[leader] > tolerance * SETTLED:
                seen = seen_of(narrow, leader)
                gain = leader_gain(law, seen, q, lower[leader], upper[leader], tolerance)
                bound[leader] = min(bound[leader], free[arm] + gain)
            if rounded(bound[leader]) > rounded(enough):
                open_[kept] = leader
                kept += 1
        n_open = kept


@compiled
def none_can_reach(state: Any, goal: float, rivals: Array, point: Array) -> bool:
    """Say whether these rivals, with means at their `point`, leave every leader less evidence than `goal`.

    False does not say that some leader has as much. Rows are whole, since narrow ones find less evidence.
    """
    n_arms = len(point)
    open_, n_open = np.arange(n_arms), n_arms
    lower, upper = np.empty(n_arms), np.empty(n_arms)
    law, tolerance = term_law(state), state.tolerance
    for arm in rivals:
        q = point[arm]
        if law.family == BERNOULLI and q < tolerance:  # below where f_i with a leader begins
            continue
        value = row_evidence(state, arm, NOBODY, 0.0, q)[0]
        if not value + _SLACK * (1.0 + abs(value)) < goal:
            continue
        put_row(state, arm, lower, upper)
        kept = 0
        for number in range(n_open):
            leader = open_[number]
            bound = math.inf
            if leader != arm and upper[leader] > tolerance * SETTLED:
                seen = seen_of(state, leader)
                bound = value + leader_gain(law, seen, q, lower[leader], upper[leader], tolerance)
            if not bound + _SLACK * (1.0 + abs(bound)) < goal:
                open_[kept] = leader
                kept += 1
        n_open = kept
        if n_open == 0:
            return True
    return False


@compiled
def find_best_leader(
    state: Any, narrow: Any, order: Array, free: Array, point: Array, most_solved: int
) -> int:
    """Return the leader with the most evidence against its strongest rival.

    The arm with the largest mean is always tried, and leads if no other has more. At most `most_solved`
    others are solved for.
    """
    n_arms = len(free)
    settled, bound = np.zeros(n_arms, np.bool_), np.empty(n_arms)
    best = best_mean(state)
    put_settled(state, best, settled)
    most = leader_evidence(narrow, best, -math.inf, order, free, point, settled)
    put_leader_bounds(state, narrow, most, order, free, point, bound)
    bound[best] = -math.inf
    for _ in range(most_solved):
        leader = 0
        for arm in range(n_arms):
            if bound[arm] > bound[leader]:
                leader = arm
        if rounded(bound[leader]) <= rounded(most):
            break
        put_settled(state, leader, settled)
        value = leader_evidence(narrow, leader, most, order, free, point, settled)
        if rounded(value) > rounded(most):
            best, most = leader, value
        bound[leader] = -math.inf
    return best


@compiled
def put_evidence(
    state: Any, narrow: Any, leader: int, point: Array, evidence: Array, most_solved: int
) -> float:
    """Put certified evidence against every rival into `evidence`; return the evidence against the leader.

    Infinite for the leader, and where relations keep a rival within the tolerance of it. Where rows are
    narrow, at most `most_solved` of the strongest rivals are solved for on whole rows.
    """
    n_arms = len(evidence)
    settled, solved = np.zeros(n_arms, np.bool_), np.full(n_arms, math.nan)  # the latter by kind
    put_settled(state, leader, settled)
    for arm in range(n_arms):
        evidence[arm] = math.inf
        if not settled[arm]:
            kind = narrow.rows.equivalence_class[arm]
            if math.isnan(solved[kind]):
                solved[kind] = least_evidence(narrow, arm, leader, state.tolerance, point[arm])[2]
            evidence[arm] = solved[kind]
    if len(narrow.rows.others) != len(state.rows.others):
        settled[:] = False  # from here on: whether it was solved for on its whole row
        for _ in range(most_solved):
            strongest = 0
            for arm in range(n_arms):
                if evidence[arm] < evidence[strongest]:
                    strongest = arm
            if settled[strongest] or evidence[strongest] == math.inf:
                break
            settled[strongest] = True
            whole = least_evidence(state, strongest, leader, state.tolerance, point[strongest])[2]
            evidence[strongest] = max(evidence[strongest], whole)
    return float(least_evidence(narrow, leader, NOBODY, 0.0, math.nan)[1])


class Named(NamedTuple):
    """The leader, the certified evidence against every rival, and the evidence against the leader.

    ``order`` are all arms in ascending order of the evidence against them without a leader, which is least at
    their ``point``.
    """

    leader: int
    evidence: Array
    own: float
    order: Array
    point: Array


def name_leader(state: Any, most_terms: int = _MOST_TERMS, n_columns: int = _COLUMNS) -> Named:
    """Return which arm to name, from a state that has learned all rewards.

    Rows with more than `most_terms` terms in all are cut to the `n_columns` arms that were played most.
    """
    rows, counts, n_arms = state.rows, state.tallies.counts, len(state.tallies.counts)
    n_terms = len(rows.others) if len(rows.played) == 0 else n_arms * np.count_nonzero(counts)
    narrow = state
    if n_terms > most_terms:
        narrow = state._replace(rows=narrow_rows(rows, counts, n_columns))
    free, point, evidence = np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    put_free_evidence(narrow, free, point)
    order = np.argsort(free, kind="stable")
    leader = find_best_leader(state, narrow, order, free, point, _MOST_LEADERS)
    own = put_evidence(state, narrow, leader, point, evidence, _MOST_LEADERS)
    return Named(leader, evidence, own, order, point)
