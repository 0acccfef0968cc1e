"""CKL-UCB: the largest mean that neither an arm's rewards nor its neighbours' contradict.

Solving for every index in every round is what made this policy slow. An index is the root q of a convex cost
f(q) = log t. From any point p a Newton step bounds it: ``q <= p + (log t - f(p)) / f'(p)``. So every arm
keeps a point with its cost and slope; a reward changes one term in the costs of the arm's neighbours, which
is added and taken off in place; and a round solves only for arms whose bound is above the best index, mostly
one or two. The choices are those of solving for all, ties included, because an index is always solved from
the same start.

**Two readings.** The index is the largest q whose cost is at most log t. Where the neighbours contradict an
arm's own mean m_i, that q lies below m_i. Magureanu et al. may take the supremum over [m_i, 1] instead, so
that no index is below the arm's mean; we know their definition from memory only. ``floor="mean"`` is that
reading, ``floor="none"`` the other. The default is the one with less regret in the paper's settings, so that
it is the harder rival.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, FAMILIES, divergence, inlined, ratio, safe_log, upper_mean
from lsdt.policies.parts.tallies import Tallies, add_reward, is_allowed, new_tallies, next_unplayed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Choice, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

# Room for rounding in the bounds: an arm whose bound is that close to the best index is solved for.
_SLACK = 1e-8
_BELOW_ONE = 1.0 - 2.0**-53


class CklUcbState(NamedTuple):
    """``point``, ``cost`` and ``slope`` bound an index; ``solved`` is the log t at which it is exact."""

    family: Whole
    variance: Real
    epsilon: Real
    has_floor: Whole
    total: Wholes
    cursor: Wholes
    tallies: Tallies
    point: Reals
    cost: Reals
    slope: Reals
    solved: Reals
    indptr: FixedWholes
    indices: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> CklUcbState:
    """Start with nothing played and no index known."""
    none, zero, n_arms = np.zeros(situation.n_arms), np.zeros(1), situation.n_arms
    assert situation.epsilon is not None
    return CklUcbState(
        FAMILIES[parameters.divergence],
        parameters.sigma**2,
        situation.epsilon,
        parameters.floor == "mean",
        zero,
        zero,
        new_tallies(n_arms),
        np.full(n_arms, math.inf),
        none,
        none,
        np.full(n_arms, -1.0),
        *situation.similar,
    )


@inlined
def term_cost(family: int, variance: float, count: int, mean: float, q: float) -> float:
    """Return ``n KL+(mean, q)``: what it costs to believe that the mean is at least q."""
    return count * divergence(family, mean, q, variance) if q > mean else 0.0


@inlined
def term_slope(family: int, variance: float, count: int, mean: float, q: float) -> float:
    """Return the derivative of :func:`term_cost` in q."""
    if family == BERNOULLI:
        mean = min(max(mean, 0.0), 1.0)
        if q <= mean:
            return 0.0
        return count * (q - mean) / (q * (1.0 - q)) if q < 1.0 else math.inf
    return count * (q - mean) / variance if q > mean else 0.0


@inlined
def solve_index(state: CklUcbState, arm: int, level: float) -> float:
    """Solve for one index by Newton steps from above, and keep its cost and slope."""
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    q = upper_mean(family, means[arm], level / counts[arm], variance)
    if family == BERNOULLI and q >= 1.0 and means[arm] < 1.0:
        q = _BELOW_ONE  # at 1 itself the cost is infinite, and no step leads down
    while True:
        cost = term_cost(family, variance, counts[arm], means[arm], q)
        slope = term_slope(family, variance, counts[arm], means[arm], q)
        near = q - state.epsilon
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            other = state.indices[place]
            cost += term_cost(family, variance, counts[other], means[other], near)
            slope += term_slope(family, variance, counts[other], means[other], near)
        lower = float(q) - ratio(float(cost) - level, slope) if slope < math.inf else q
        if cost <= level or not lower < q:
            break
        q = lower
    state.point[arm] = q
    state.cost[arm] = cost
    state.slope[arm] = slope
    state.solved[arm] = level
    return q


@inlined
def index_bound(state: CklUcbState, arm: int, level: float) -> float:
    """Return an upper bound on the largest q that costs at most `level`."""
    highest = 1.0 if state.family == BERNOULLI else math.inf
    if state.point[arm] == math.inf or not state.slope[arm] > 0.0:
        return highest
    bound = state.point[arm] + ratio(level - state.cost[arm], state.slope[arm])
    return min(bound + _SLACK * (1.0 + abs(bound)), highest)


@inlined
def floored(state: CklUcbState, arm: int, q: float) -> float:
    """Return q, or the arm's mean if that is larger and the index has a floor."""
    return max(q, state.tallies.means[arm]) if state.has_floor else q


def select(state: CklUcbState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index."""
    arm = next_unplayed(state.tallies.counts, state.cursor, allowed)
    if arm < len(state.tallies.counts):
        return arm
    level = safe_log(float(state.total[0]))
    while True:
        best, highest = -1, -math.inf
        for arm in range(len(state.tallies.counts)):
            if not is_allowed(allowed, arm):
                continue
            exact = state.solved[arm] == level
            bound = floored(state, arm, state.point[arm] if exact else index_bound(state, arm, level))
            # At equal values an arm that is not solved for comes first: its index may be as large.
            if bound > highest or (bound == highest and not exact and state.solved[best] == level):
                best, highest = arm, bound
        if state.solved[best] == level:
            return best
        solve_index(state, best, level)


@inlined
def change_term(state: CklUcbState, arm: int, shift: float, sign: float, source: int) -> None:
    """Add or subtract the term of arm `source` in the cost of `arm`."""
    q, count, mean = state.point[arm] - shift, state.tallies.counts[source], state.tallies.means[source]
    state.cost[arm] += sign * term_cost(state.family, state.variance, count, mean, q)
    state.slope[arm] += sign * term_slope(state.family, state.variance, count, mean, q)
    state.solved[arm] = -1.0


@inlined
def change_terms(state: CklUcbState, arm: int, sign: float) -> None:
    """Add or subtract the terms of an arm in its own cost and in those of its neighbours."""
    if state.point[arm] < math.inf:
        change_term(state, arm, 0.0, sign, arm)
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        other = state.indices[place]
        if state.point[other] < math.inf:
            change_term(state, other, state.epsilon, sign, arm)


def update(state: CklUcbState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and update the costs of the neighbours."""
    state.total[0] += 1
    change_terms(state, arm, -1.0)
    add_reward(state.tallies, arm, reward)
    change_terms(state, arm, 1.0)
    if not state.cost[arm] < math.inf:  # a first failure at index 1 costs infinitely much: start again
        state.point[arm] = math.inf


def score(state: CklUcbState, arm: int) -> float:
    """Return the index of an arm."""
    if state.tallies.counts[arm] == 0:
        return math.inf
    return floored(state, arm, solve_index(state, arm, safe_log(max(float(state.total[0]), 1.0))))


SPECIFICATION = Specification(
    name="ckl_ucb",
    title="CKL-UCB",
    rule="argmax of the largest q with n_i KL+(mean_i, q) + sum over similar j of n_j KL+"
    "(mean_j, q - epsilon) <= log t; with a floor, no less than mean_i",
    reference="Magureanu, Combes and Proutiere (2014), on the similarity graph",
    cost="O(K) bounds, O(degree) divergences for the arms solved for, mostly one or two",
    state=CklUcbState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Choice(
            "floor",
            "none",
            "whether an index may lie below its arm's mean: the two readings of the published index",
            ("none", "mean"),
        ),
        DIVERGENCE,
        SIGMA,
    ),
    needs=frozenset({"epsilon"}),
    score=score,
    score_name="index",
)
