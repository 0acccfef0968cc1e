"""Soft closure: how likely an arm is the best among all means that the relations allow, within sound limits.

Two costs of "arm i is the best" are put together. The closure cost h_i is the evidence of all rewards against
it, given the bounds on the gaps below i (`closure_costs`); it says what cannot be, and knows nothing of what
is likely. Draws of mean vectors that satisfy all relations (`mean_draws`) do: P_i is the share of the
draws in which i is the best, each weighed by its likelihood given the rewards. But draws are finitely many,
and uniform where the truth need not be. So the cost is -log P_i as far as it lies between h_i - min h and
``most`` above it. The arm with the least cost + log n_i is played, which plays arms in proportion to P_i, as
Thompson sampling would.

Where no draws are to be had (relations that contradict one another, more than 1,000 candidates) the cost is
h_i alone: IMED with the bounds of propagation, as with ``most=0``. The level of Gaussian rewards is not
known, and every draw is moved to where it fits best. An arm never played counts as played once.

When only some arms may be played, the rewards may refute that any of them is the best of all. Then these
are compared among themselves, by IMED as published.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import (
    BERNOULLI,
    FAMILIES,
    compiled,
    divergence,
    inlined,
    nearest_multiple,
    safe_exp,
    safe_log,
)
from lsdt.policies.parts.closure_costs import entropy, inside
from lsdt.policies.parts.closure_tangents import (
    COST_PLACES,
    ClosureCosts,
    fill_costs,
    find_least,
    learn_reward,
    least_bounds,
    least_of_all,
    new_costs,
)
from lsdt.policies.parts.mean_draws import MOST_CANDIDATES, draws_of
from lsdt.policies.parts.tallies import empirical_best, is_allowed
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_FINEST = 2.0**-36  # costs are rounded to this, so that equal ones tie whatever the course of the solver
_EDGE = 1e-4  # no draw of a mean is nearer to 0 or 1: it would be out after one reward
_NOTHING = 60.0  # a draw that costs more has no weight


class SoftClosureState(NamedTuple):
    """Draws are sorted by their best arm: those of arm i are ``begin[i]`` to ``begin[i + 1]``.

    ``first`` and ``second`` hold, arm by arm, the logarithms of the drawn means and of 1 less these for
    coins, the means themselves and nothing for others. ``fit`` is the log-likelihood of every draw but for
    what is the same for all, and ``base`` that of the means seen. ``lean`` is the sum of the means drawn over
    all plays and ``rest`` the sum of all rewards, both for the level of rewards, which are counted from
    ``origin``, the first. ``surprise`` is -log P.
    """

    most: Real
    n_draws: Whole
    total: Wholes
    log_counts: Reals
    surprise: Reals
    origin: Reals
    rest: Reals
    base: Reals
    fit: Reals
    lean: Reals
    first: Reals
    second: Reals
    begin: FixedWholes
    costs: ClosureCosts


def prepare(situation: Situation, parameters: SimpleNamespace) -> SoftClosureState:
    """Draw means, and start with nothing played and no cost known."""
    n_arms, family = situation.n_arms, FAMILIES[parameters.divergence]
    none, one = np.zeros(n_arms), np.zeros(1)
    assert situation.offline is not None
    draws = np.zeros((0, n_arms))
    if parameters.most > 0.0:
        draws = draws_of(situation.offline, bounded=family == BERNOULLI)
    best = draws.argmax(axis=1)
    by_best = np.argsort(best, kind="stable")
    draws, nothing = draws[by_best], np.zeros(len(draws))
    if family == BERNOULLI:
        draws = np.clip(draws, _EDGE, 1.0 - _EDGE)
    is_coin = family == BERNOULLI
    return SoftClosureState(
        most=parameters.most,
        n_draws=len(draws),
        total=one,
        log_counts=none,
        surprise=none,
        origin=one,
        rest=one,
        base=one,
        fit=nothing,
        lean=nothing,
        first=(np.log(draws) if is_coin else draws).T.ravel(),
        second=np.log1p(-draws).T.ravel() if is_coin else np.zeros(0),
        begin=np.searchsorted(best[by_best], np.arange(n_arms + 1)),
        costs=new_costs(situation.mutual_bounds, family, parameters.sigma**2),
    )


@compiled
def find_surprises(state: SoftClosureState) -> None:
    """Put -log P into ``state.surprise``, infinite for arms that are the best in no draw with any weight."""
    surprise, begin, fit, lean = state.surprise, state.begin, state.fit, state.lean
    base, rest, is_coin = state.base[0], state.rest[0], state.costs.family == BERNOULLI
    share = 0.5 / state.total[0] if state.total[0] > 0 else 0.0
    precision, whole = 1.0 / state.costs.variance, 0.0
    for arm in range(len(surprise)):
        weight = 0.0
        for draw in range(np.uint64(begin[arm]), np.uint64(begin[arm + 1])):
            misfit = base - fit[draw]
            if not is_coin:
                beyond = float(rest - lean[draw])
                misfit = (float(misfit) - float(share) * beyond * beyond) * float(precision)
            if misfit < _NOTHING:
                weight += safe_exp(-max(misfit, 0.0))
        surprise[arm] = weight
        whole += weight
    for arm in range(len(surprise)):
        surprise[arm] = safe_log(whole / surprise[arm]) if surprise[arm] > 0.0 else math.inf


@inlined
def index_value(state: SoftClosureState, arm: int, excess: float) -> float:
    """Return an index, rounded so that arms with the same evidence tie; `excess` is h_i - min h."""
    cost = min(max(state.surprise[arm], excess), excess + state.most) + state.log_counts[arm]
    return nearest_multiple(cost, _FINEST)


@inlined
def best_of_allowed(state: SoftClosureState, allowed: Allowed) -> int:
    """Return IMED's choice among the allowed arms: the least n_i KL(mean_i, best mean) + log n_i."""
    costs, counts, means = state.costs, state.costs.tallies.counts, state.costs.tallies.means
    leader = empirical_best(costs.tallies, allowed)
    best, lowest = -1, math.inf
    for arm in range(len(counts)):
        if not is_allowed(allowed, arm):
            continue
        value = -math.inf
        if counts[arm] > 0:
            value = counts[arm] * divergence(costs.family, means[arm], means[leader], costs.variance)
            value += state.log_counts[arm]
        if best < 0 or value < lowest:
            best, lowest = arm, value
    return best


def select(state: SoftClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the smallest index, at equal indices the arm of fewer plays; few arms are solved for."""
    find_surprises(state)
    costs, equivalence_class, counts = (
        state.costs,
        state.costs.rows.equivalence_class,
        state.costs.tallies.counts,
    )
    lowest = least_of_all(costs)
    bound, known, least, floor = costs.bound, costs.known, costs.least, costs.rows.floor
    least_bounds(costs.family, floor, costs.point, costs.cost, costs.slope, 0, len(bound), bound)
    for arm in range(len(bound)):
        excess = float(least[arm] if known[arm] == 1 else bound[arm]) - lowest
        bound[arm] = index_value(state, arm, max(excess, 0.0))
    while True:
        best = -1
        for arm in range(len(bound)):
            if is_allowed(allowed, arm) and (
                best < 0
                or bound[arm] < bound[best]
                or (bound[arm] == bound[best] and counts[arm] < counts[best])
            ):
                best = arm
        if known[best] == 1:
            break
        find_least(costs, best)
        excess = max(float(least[best]) - lowest, 0.0)
        for arm in range(len(bound)):
            if equivalence_class[arm] == equivalence_class[best]:
                bound[arm] = index_value(state, arm, excess)
    if not allowed.everything and float(least[best]) - lowest > safe_log(1.0 + state.total[0]) + state.most:
        return best_of_allowed(state, allowed)
    return best


@compiled
def weigh_draws(state: SoftClosureState, arm: int, reward: float, count: int, mean: float) -> None:
    """Update the likelihoods of the draws; `count` and `mean` are those before the reward."""
    family, now = state.costs.family, state.costs.tallies.means[arm]
    n_draws, fit, lean = np.uint64(state.n_draws), state.fit, state.lean
    first, second, at = state.first, state.second, np.uint64(arm) * np.uint64(state.n_draws)
    if family == BERNOULLI:
        now, then, share = inside(BERNOULLI, now), inside(BERNOULLI, mean), inside(1, reward)
        state.base[0] += (count + 1) * entropy(now) - count * entropy(then)
        for draw in range(n_draws):
            fit[draw] += share * first[at + draw] + (1.0 - share) * second[at + draw]
        return
    if state.total[0] == 1:
        state.origin[0] = reward
    origin = state.origin[0]
    now, then, beyond = now - origin, mean - origin if count > 0 else 0.0, reward - origin
    state.rest[0] += beyond
    state.base[0] += 0.5 * ((count + 1) * now * now - count * then * then)
    for draw in range(n_draws):
        drawn = first[at + draw]
        fit[draw] += (beyond - 0.5 * drawn) * drawn
        lean[draw] += drawn


def update(state: SoftClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward; update the costs of the arms and the likelihoods of the draws."""
    count, mean = state.costs.tallies.counts[arm], state.costs.tallies.means[arm]
    state.total[0] += 1
    learn_reward(state.costs, arm, reward)
    state.log_counts[arm] = safe_log(float(count + 1))
    weigh_draws(state, arm, reward, count, mean)


def fill(state: SoftClosureState, counts: Array, sums: Array) -> None:
    """Start with rewards; no cost is known yet."""
    fill_costs(state.costs, counts, sums)
    plays, means = state.costs.tallies.counts.astype(np.float64), state.costs.tallies.means
    state.total[0] = state.costs.tallies.counts.sum()
    state.log_counts[:] = np.log(np.maximum(plays, 1.0))
    first = state.first.reshape(len(plays), -1)
    if state.costs.family == BERNOULLI:
        from scipy.special import xlogy

        means = np.clip(means, 0.0, 1.0)
        second = state.second.reshape(len(plays), -1)
        state.fit[:] = (plays * means) @ first + (plays * (1.0 - means)) @ second
        state.base[0] = np.sum(plays * (xlogy(means, means) + xlogy(1.0 - means, 1.0 - means)))
        return
    state.origin[0] = plays @ means / max(state.total[0], 1)
    beyond = plays * (means - state.origin[0])
    state.fit[:] = beyond @ first - 0.5 * plays @ first**2
    state.lean[:] = plays @ first
    state.rest[0] = beyond.sum()
    state.base[0] = 0.5 * beyond @ (means - state.origin[0])


def score(state: SoftClosureState, arm: int) -> float:
    """Return the index of an arm; the smallest is played."""
    find_surprises(state)
    lowest = least_of_all(state.costs)
    find_least(state.costs, arm)
    return index_value(state, arm, max(float(state.costs.least[arm]) - lowest, 0.0))


def remark(state: SoftClosureState) -> str:
    """Say that no means are drawn where there are too many arms for it."""
    if state.most == 0.0 or len(state.surprise) <= MOST_CANDIDATES:
        return ""
    return (
        f"soft_closure draws means for up to {MOST_CANDIDATES:,} candidates, and more are left: it plays by "
        "the bounds of propagation alone, as with most=0; lsdt_closure is made for so many"
    )


SPECIFICATION = Specification(
    name="soft_closure",
    title="Soft closure",
    rule="argmin of cost_i + log n_i, cost_i = -log P(i is the best) under means drawn from all that "
    "satisfy the relations, clipped to [h_i, h_i + most], h_i the least over q of the sum over j of n_j "
    "KL(mean_j, [q - upper_ij, q - lower_ij]) less that of the arm with the least, gaps mu_i - mu_j bounded "
    "by propagation",
    reference="this library; log n_i is of IMED, Honda and Takemura (2015)",
    cost="O(K) bounds and changed terms, 500 draws, O(row) divergences for the arms solved for, mostly one "
    "or two",
    state=SoftClosureState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number(
            "most",
            3.0,
            "what draws may add to the cost of an arm; 0 plays by the bounds alone, without draws; so are "
            f"more than {MOST_CANDIDATES:,} candidates, always",
            at_least=0.0,
            at_most=100.0,
        ),
        DIVERGENCE,
        SIGMA,
    ),
    needs=frozenset({"distances"}),
    offline="propagation",
    score=score,
    score_name="index (smallest is played)",
    fill=fill,
    remark=remark,
    places=COST_PLACES,
)
