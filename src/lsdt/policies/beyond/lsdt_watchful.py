"""LSDT-Watchful: relations may be wrong, and are believed as far as other relations and rewards allow.

Every hypothesis "arm i is the best, with mean q" has a price. It has three parts.

- The relations, before the first reward. The arms are laid out on a line on which few relations break
  (`lsdt.candidates.seriation`). If k more of the n relations that place arm i must be wrong for it to stand
  at an end, the price is -log P(Bin(n, wrong rate) >= k). If the other arms are placed correctly, the best
  arm then costs more than log t with probability at most 1/t.
- The arm's own rewards: n_i KL(mean_i, q).
- The rewards of the arms related to it, for every relation that holds on the line: n_j KL(mean_j, at least
  q - epsilon) if j is similar, n_j KL(mean_j, at most q - epsilon) if it is dissimilar. None costs more
  than w = log((1 - rate) / rate): beyond that the relation is called wrong.

The index of i is the largest q with a price of at most log t. No arm is out for good: it returns when log t
reaches its price. About ``audit * log t`` rounds are spent on arms that are out, those closest to coming
back first. An arm whose mean rises above all others gets its price back as fast as its rewards tell it from
the second best.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates import fit_line
from lsdt.kernel import BERNOULLI, FAMILIES, divergence, inlined, safe_log, upper_mean
from lsdt.policies.parts.tallies import Tallies, add_reward, fill_tallies, is_allowed, new_tallies
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from numpy.typing import NDArray

    from lsdt.candidates import Seriation
    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

_MOST_STEPS = 60  # towards the largest q; where these do not do, the price is flat within rounding
_MOST_SECANTS = 150  # one in three halves, so that these do for any price
_SAME = 1e-10  # prices closer than this are one, far below what a reward changes
_CLOSE = 1e-14  # a bracket this narrow, relative to its end, is a point


class WatchfulState(NamedTuple):
    """``price`` is what an arm costs before any reward, ``most`` the price of calling a relation wrong.

    ``ends[i]`` is where the similar arms in row i end and the dissimilar ones begin.
    """

    family: Whole
    variance: Real
    epsilon: Real
    audit: Real
    most: Real
    total: Wholes
    audited: Wholes
    last: Wholes
    tallies: Tallies
    price: Reals
    indptr: FixedWholes
    ends: FixedWholes
    indices: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> WatchfulState:
    """Lay the arms out on a line, and keep the relations that hold on it."""
    zero = np.zeros(1)
    line = fit_line(situation.side)
    rate = min(max(parameters.wrong_rate, line.share_broken), 0.5)
    owner = np.repeat(np.arange(situation.n_arms), np.diff(line.rows.indptr))[line.holds]
    others, similar = line.rows.indices[line.holds], line.rows.signs[line.holds] > 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=situation.n_arms))])
    ends = indptr[:-1] + np.bincount(owner[similar], minlength=situation.n_arms)
    assert situation.epsilon is not None
    return WatchfulState(
        FAMILIES[parameters.divergence],
        parameters.sigma**2,
        situation.epsilon,
        parameters.audit,
        math.log((1.0 - rate) / rate),
        zero,
        zero,
        zero,
        new_tallies(situation.n_arms),
        prices(line, rate, parameters.doubt),
        indptr,
        ends,
        others[np.lexsort((others, ~similar, owner))],
    )


def prices(line: Seriation, rate: float, doubt: float) -> NDArray[np.float64]:
    """Return -log of the probability that this many relations of an arm break, or the line is no good."""
    from scipy.special import betainc

    costs, near = line.costs, np.maximum(line.near, line.costs)
    chance = np.where(costs > 0, betainc(np.maximum(costs, 1), near - np.maximum(costs, 1) + 1, rate), 1.0)
    return -np.log(doubt + (1.0 - doubt) * chance)


@inlined
def rising_cost(state: WatchfulState, arm: int, q: float, enough: float) -> float:
    """Return the cost that rises with q, of the arm's rewards and similar arms; it ends beyond `enough`."""
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    cost = 0.0
    if counts[arm] > 0 and q > means[arm]:
        cost += counts[arm] * divergence(family, means[arm], q, variance)
    near = q - state.epsilon
    for place in range(state.indptr[arm], state.ends[arm]):
        if cost > enough:
            break
        other = state.indices[place]
        if counts[other] > 0 and near > means[other]:
            cost += min(counts[other] * divergence(family, means[other], near, variance), state.most)
    return cost


@inlined
def falling_cost(state: WatchfulState, arm: int, q: float) -> float:
    """Return the cost that falls with q: of dissimilar arms with means above q - epsilon."""
    counts, means, far, cost = state.tallies.counts, state.tallies.means, q - state.epsilon, 0.0
    for place in range(state.ends[arm], state.indptr[arm + 1]):
        other = state.indices[place]
        if counts[other] > 0 and means[other] > far:
            contradicted = counts[other] * divergence(state.family, means[other], far, state.variance)
            cost += min(contradicted, state.most)
    return cost


@inlined
def highest_mean(state: WatchfulState, arm: int, level: float) -> float:
    """Return a mean that the index cannot be above, infinite if there is none."""
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    if family == BERNOULLI:
        return 1.0
    if counts[arm] > 0:
        return upper_mean(family, means[arm], level / counts[arm], variance)
    highest, paid = -math.inf, 0.0
    for place in range(state.indptr[arm], state.ends[arm]):
        other = state.indices[place]
        if counts[other] > 0:  # beyond this the relation is called wrong, and costs no more
            end = upper_mean(family, means[other], state.most / counts[other], variance)
            highest, paid = max(highest, end + state.epsilon), paid + state.most
    return highest if paid > level else math.inf


@inlined
def lowest_mean(state: WatchfulState, arm: int) -> float:
    """Return a mean at and below which nothing rises."""
    counts, means = state.tallies.counts, state.tallies.means
    lowest = means[arm] if counts[arm] > 0 else math.inf
    for place in range(state.indptr[arm], state.ends[arm]):
        other = state.indices[place]
        if counts[other] > 0:
            lowest = min(lowest, means[other] + state.epsilon)
    return lowest


@inlined
def largest_fit(
    state: WatchfulState, arm: int, room: float, below: float, above: float, least: float, most: float
) -> float:
    """Return the largest q whose rising cost is at most `room`: `below` is such a q, `above` is not.

    Secants with Illinois' rule, and every third step halves.
    """
    left, right, moved = least - room, most - room, 0
    for step in range(_MOST_SECANTS):
        width = above - below
        if width <= _CLOSE * max(1.0, abs(below)):
            break
        share = 0.5 if step % 3 == 2 or right - left <= 0.0 else left / (left - right)
        middle = below + width * min(max(share, 1e-4), 1.0 - 1e-4)
        if not below < middle < above:
            break
        excess = rising_cost(state, arm, middle, room) - room
        if excess <= 0.0:
            below, left = middle, excess
            if moved < 0:
                right *= 0.5
            moved = -1
        else:
            above, right = middle, excess
            if moved > 0:
                left *= 0.5
            moved = 1
    return below


@inlined
def index_above(state: WatchfulState, arm: int, level: float, floor: float) -> float:
    """Return the largest q with a price of at most `level`, or -infinity if there is none from `floor` on.

    The cost is the sum of a part that rises with q and one that falls. Start from an upper bound q on the
    answer, and keep the falling part at its value there: the largest point with a price of at most `level` is
    then a better upper bound. Repeating this converges to the answer.
    """
    if level < 0.0:
        return -math.inf
    if floor > -math.inf and rising_cost(state, arm, floor, level) > level:
        return -math.inf  # nearly all arms end here: they are compared with the best one so far
    high = highest_mean(state, arm, level)
    if high == math.inf:
        return high
    low = min(max(lowest_mean(state, arm), floor), high)
    for _ in range(_MOST_STEPS):
        if high < floor:
            return -math.inf
        room = level - falling_cost(state, arm, high)
        if room < 0.0:
            return -math.inf
        least = rising_cost(state, arm, low, room)
        if least > room:
            return -math.inf
        most = rising_cost(state, arm, high, room)
        if most <= room:
            break
        below = largest_fit(state, arm, room, low, high, least, most)
        done = high - below <= _SAME
        high = below
        if done:
            break
    return high if high >= floor else -math.inf


@inlined
def best_two(state: WatchfulState) -> tuple[int, float, float]:
    """Return the played arm with the largest mean, that mean, and the largest of the others."""
    counts, means = state.tallies.counts, state.tallies.means
    leader, first, second = -1, -math.inf, -math.inf
    for arm in range(len(counts)):
        if counts[arm] > 0:
            if means[arm] > first:
                leader, first, second = arm, means[arm], first
            elif means[arm] > second:
                second = means[arm]
    return leader, first, second


@inlined
def price_left(state: WatchfulState, arm: int, leader: int, second: float) -> float:
    """Return an arm's price, less what its rewards say for it if its mean is above all others."""
    if arm != leader or second == -math.inf:
        return state.price[arm]
    count, mean = state.tallies.counts[arm], state.tallies.means[arm]
    gain = count * divergence(state.family, mean, second, state.variance)
    return max(state.price[arm] - gain, 0.0)


@inlined
def least_refuted(
    state: WatchfulState, allowed: Allowed, q: float, leader: int, second: float, out: float
) -> int:
    """Return the arm with the least cost of a mean q, plus log plays, among those priced above `out`."""
    best, least = -1, math.inf
    for arm in range(len(state.tallies.counts)):
        price = price_left(state, arm, leader, second)
        if price <= out or not is_allowed(allowed, arm):
            continue
        price += safe_log(1.0 + state.tallies.counts[arm])
        if q > -math.inf and price < least:
            price += rising_cost(state, arm, q, least) + falling_cost(state, arm, q)
        if best < 0 or price < least:
            best, least = arm, price
    return best


def select(state: WatchfulState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index; an arm that is out when an audit is due; the least refuted if all are."""
    level = safe_log(1.0 + state.total[0])
    leader, first, second = best_two(state)
    if state.audited[0] < state.audit * level - 1.0:
        arm = least_refuted(state, allowed, first, leader, second, level)
        if arm >= 0:
            return arm
    best, highest = -1, -math.inf
    start = state.last[0]  # mostly the best again: the others need only be compared with it
    if is_allowed(allowed, start):
        highest = index_above(state, start, level - price_left(state, start, leader, second), -math.inf)
        if highest > -math.inf:
            best = start
    for arm in range(len(state.tallies.counts)):
        if arm == start or not is_allowed(allowed, arm):
            continue
        index = index_above(state, arm, level - price_left(state, arm, leader, second), highest)
        if index > highest or (index == highest and index > -math.inf and arm < best):
            best, highest = arm, index
    return best if best >= 0 else least_refuted(state, allowed, first, leader, second, -1.0)


def update(state: WatchfulState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward, and the round as an audit if the arm was out."""
    leader, _, second = best_two(state)
    if price_left(state, arm, leader, second) > safe_log(1.0 + state.total[0]):
        state.audited[0] += 1
    state.total[0] += 1
    state.last[0] = arm
    add_reward(state.tallies, arm, reward)


def fill(state: WatchfulState, counts: Array, sums: Array) -> None:
    """Start with rewards; no audit was made yet."""
    fill_tallies(state.tallies, counts, sums)
    state.total[0] = state.tallies.counts.sum()


def score(state: WatchfulState, arm: int) -> float:
    """Return the index of an arm, -infinity where it is out for now."""
    level = safe_log(1.0 + state.total[0])
    leader, _, second = best_two(state)
    return index_above(state, arm, level - price_left(state, arm, leader, second), -math.inf)


SPECIFICATION = Specification(
    name="lsdt_watchful",
    title="LSDT-Watchful",
    rule="argmax of the largest q with price_i + n_i KL(mean_i, q) + sum over relations of i of min(n_j "
    "KL(mean_j, what the relation allows), w) <= log t; price_i = -log P(as many wrong relations as i needs "
    "to be the best)",
    reference="this project: docs/handbook/policies.md, Relations that may be wrong",
    cost="O(K) prices, O(degree) divergences for each arm that is not out",
    state=WatchfulState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number(
            "wrong_rate",
            0.01,
            "share of the relations that may be wrong; more if the relations themselves show more",
            above=0.0,
            at_most=0.4,
        ),
        Number(
            "doubt",
            0.001,
            "probability that the line is no good: -log of it is the most that an arm costs before rewards",
            above=0.0,
            at_most=1.0,
        ),
        Number("audit", 1.0, "rounds on arms that are out, in units of log t", at_least=0.0),
        DIVERGENCE,
        SIGMA,
    ),
    needs=frozenset({"epsilon"}),
    score=score,
    score_name="index",
    fill=fill,
    places={"last": "tallies.counts"},
)
