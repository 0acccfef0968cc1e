"""Tangents of the costs of `closure_costs`, kept from round to round, so that few arms are solved for.

A tangent lies below the convex cost. Every arm keeps three, each as a point with the cost and slope there:
one where its index was solved for, two around its least cost. So the cost can be at most a level only where
all three tangents are; if they are nowhere, the data refute the arm. A reward changes one term in the costs
of the arms that have the played arm in their row; the tangents are updated in place. What is found of one
arm holds for all equivalent arms (see `GapRows`): among very many candidates most were never played, and
nearly all of these tie.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, inlined, safe_log, safe_log1p, safe_sqrt
from lsdt.policies.parts.closure_costs import (
    cheapest_mean,
    entropy,
    inside,
    minimum_between,
    row_cost,
    term_cost,
    term_slope,
)
from lsdt.policies.parts.cost_order import (
    TANGENTS,
    costs_no_less,
    least_between,
    leave_out,
    narrow_ends,
    new_order,
)
from lsdt.policies.parts.gap_rows import (
    ROW_PLACES,
    GapRows,
    begin_plays,
    column_entry,
    column_of,
    column_places,
    columns_of,
    fill_plays,
    row_of,
    rows_of,
)
from lsdt.policies.parts.tallies import Tallies, add_rewards, fill_tallies, new_tallies

if TYPE_CHECKING:
    from lsdt.candidates import MutualBounds
    from lsdt.kernel import Real, Reals, Whole, Wholes

_INDEX, _LEFT, _RIGHT = 0, 1, 2
# Room for rounding: what the tangents leave open by so little is solved for.
SLACK = 1e-8
_MOST_STEPS = 200
# How much below the least cost the two tangents around it meet: narrow ones say more, wide ones for longer.
_DEPTH = 0.03


class ClosureCosts(NamedTuple):
    """All that is known about the costs of arms being the best.

    ``point``, ``cost`` and ``slope`` are the tangents. Where ``known`` is 1, ``least`` is the least cost of
    an arm, reached at ``cheapest``. ``champion`` is the arm of least cost as last found, ``bound`` is scratch
    space, and ``dominated_by`` with its ends is explained in `cost_order`.
    """

    family: Whole
    variance: Real
    tallies: Tallies
    champion: Wholes
    point: Reals
    cost: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    bound: Reals
    dominated_by: Wholes
    dominated_from: Reals
    dominated_to: Reals
    rows: GapRows


# Where the fields that change point, for a policy that has ``costs`` in its state.
COST_PLACES = {
    "costs.champion": "costs.least",
    "costs.dominated_by": "costs.least",
    **{f"costs.{name}": f"costs.{room}" for name, room in ROW_PLACES.items()},
}


def new_costs(bounds: MutualBounds, family: int, variance: float) -> ClosureCosts:
    """Return the costs of arms with these bounds on gaps, before any play."""
    rows = rows_of(bounds, family)
    n_arms = len(rows.floor)
    none = np.zeros(n_arms)
    return ClosureCosts(
        family=family,
        variance=variance,
        tallies=new_tallies(n_arms),
        champion=np.zeros(1),
        point=np.full(TANGENTS * n_arms, math.nan),
        cost=np.zeros(TANGENTS * n_arms),
        slope=np.zeros(TANGENTS * n_arms),
        cheapest=np.full(n_arms, math.nan),
        least=none,
        known=none,
        bound=none,
        **new_order(family, rows.played),
        rows=rows,
    )


@inlined
def keep_tangent(costs: ClosureCosts, arm: int, which: int, q: float, cost: float, slope: float) -> None:
    """Keep a tangent, or none where the cost is infinite."""
    at = TANGENTS * arm + which
    costs.point[at] = q if cost < math.inf and abs(slope) < math.inf else math.nan
    costs.cost[at] = cost
    costs.slope[at] = slope


@inlined
def crossing_cost(q: float, cost: float, slope: float, q_2: float, cost_2: float, slope_2: float) -> float:
    """Return the cost at which a falling and a rising tangent meet; 0 for others."""
    if not (slope < 0.0 < slope_2 and q == q and q_2 == q_2):
        return 0.0
    over = (cost_2 - cost - slope_2 * (q_2 - q)) / (slope - slope_2)
    return cost + slope * over


@compiled
def index_bounds(
    family: int, floor: Array, point: Array, cost: Array, slope: Array, level: float, bound: Array
) -> None:
    """Write into `bound` upper bounds on the largest q that costs at most `level`, from the tangents.

    Minus infinity where they show that there is no such q.
    """
    for arm in range(np.uint64(len(bound))):
        low, high = floor[arm], math.inf
        for which in range(np.uint64(TANGENTS)):
            at = np.uint64(TANGENTS) * arm + which
            q, steep = point[at], slope[at]
            if q != q:
                continue
            room = level - cost[at] + SLACK * (1.0 + cost[at])
            if steep > 0.0:
                high = min(high, q + float(room) / float(steep))
            elif steep < 0.0:
                low = max(low, q + float(room) / float(steep))
            elif room < 0.0:
                high = -math.inf
        if high < math.inf:
            high += SLACK * (1.0 + abs(high))
        elif family == BERNOULLI and point[np.uint64(TANGENTS) * arm] <= 1.0:
            high = 1.0  # some arm spoke against means above 1 when this one was solved for, and still does
        if not low <= high + SLACK * (1.0 + abs(low)) or (family == BERNOULLI and low > 1.0 + SLACK):
            high = -math.inf
        elif family == BERNOULLI and high < math.inf:
            high = min(high, 1.0)
        bound[arm] = high


@compiled
def least_bounds(
    family: int,
    floor: Array,
    point: Array,
    cost: Array,
    slope: Array,
    first: int,
    last: int,
    bound: Array,
) -> None:
    """Write lower bounds on the least costs of the arms into ``bound[first:last]``."""
    for arm in range(np.uint64(first), np.uint64(last)):
        at = np.uint64(TANGENTS) * arm
        q_0, q_1, q_2 = point[at], point[at + np.uint64(1)], point[at + np.uint64(2)]
        c_0, c_1, c_2 = cost[at], cost[at + np.uint64(1)], cost[at + np.uint64(2)]
        s_0, s_1, s_2 = slope[at], slope[at + np.uint64(1)], slope[at + np.uint64(2)]
        shown = max(0.0, crossing_cost(q_1, c_1, s_1, q_2, c_2, s_2))
        shown = max(shown, crossing_cost(q_1, c_1, s_1, q_0, c_0, s_0))
        shown = max(shown, crossing_cost(q_2, c_2, s_2, q_0, c_0, s_0))
        for which in range(np.uint64(TANGENTS)):
            q, steep = point[at + which], slope[at + which]
            if q != q:
                continue
            if steep == 0.0:
                shown = max(shown, cost[at + which])
            elif steep > 0.0:
                shown = max(shown, cost[at + which] + steep * (floor[arm] - q))
            elif family == BERNOULLI:
                shown = max(shown, cost[at + which] + steep * (1.0 - q))
        bound[arm] = shown - SLACK * (1.0 + shown)


@inlined
def least_bound(costs: ClosureCosts, arm: int) -> float:
    """Return a lower bound on the least cost of an arm, and write it into ``costs.bound``."""
    floor, bound = costs.rows.floor, costs.bound
    least_bounds(costs.family, floor, costs.point, costs.cost, costs.slope, arm, arm + 1, bound)
    return float(costs.bound[arm])


@inlined
def left_open(costs: ClosureCosts, arm: int) -> float:
    """Return how far the least cost of an arm may be above its bound: at tangent points costs are known."""
    least = math.inf
    for which in range(TANGENTS):
        at = TANGENTS * arm + which
        if costs.point[at] == costs.point[at]:
            least = min(least, costs.cost[at])
    return least - costs.bound[arm]


@inlined
def share_tangents(costs: ClosureCosts, arm: int) -> None:
    """Copy the tangents and the least cost of an arm to its equivalents."""
    equivalence_class, kind = costs.rows.equivalence_class, costs.rows.equivalence_class[arm]
    for other in range(len(equivalence_class)):
        if equivalence_class[other] == kind:
            for which in range(TANGENTS):
                here, there = TANGENTS * arm + which, TANGENTS * other + which
                costs.point[there] = costs.point[here]
                costs.cost[there] = costs.cost[here]
                costs.slope[there] = costs.slope[here]
            costs.cheapest[other] = costs.cheapest[arm]
            costs.least[other] = costs.least[arm]
            costs.known[other] = costs.known[arm]


@compiled
def find_least(costs: ClosureCosts, arm: int) -> None:
    """Find the least cost of an arm and its equivalents, and keep tangents on both sides of it."""
    solve_least(costs, arm)
    share_tangents(costs, arm)


@compiled
def solve_least(costs: ClosureCosts, arm: int) -> None:
    """Find the least cost of an arm alone."""
    costs.known[arm] = 1
    if costs.rows.floor[arm] > 1.0:
        costs.least[arm] = math.inf
        return
    row = row_of(costs, arm)
    left, right = minimum_between(row)
    q, bend = left, 0.0
    if left < right:
        q, bend = cheapest_mean(row, left, right, costs.cheapest[arm])
    cost, slope = row_cost(row, q)
    costs.cheapest[arm], costs.least[arm] = q, cost
    if left == right:
        keep_tangent(costs, arm, _LEFT, q, cost, slope)
    elif least_bound(costs, arm) < cost - _DEPTH:
        # For a parabola, tangents so far from the least cost meet _DEPTH / 2 below it.
        reach = safe_sqrt(_DEPTH / bend) if 0.0 < bend < math.inf else 0.0
        left, right = max(q - reach, 0.5 * (left + q)), min(q + reach, 0.5 * (q + right))
        keep_tangent(costs, arm, _LEFT, left, *row_cost(row, left))
        keep_tangent(costs, arm, _RIGHT, right, *row_cost(row, right))


@inlined
def is_dominated(costs: ClosureCosts, arm: int, other: int) -> bool:
    """Mark an arm as dominated by another if it is sure to cost no less (`cost_order`); say whether it is."""
    counts, means, played = costs.tallies.counts, costs.tallies.means, costs.rows.played
    lower, upper = costs.rows.lower, costs.rows.upper
    left, right = least_between(costs.point, costs.slope, arm)
    dominated, begin, end = costs_no_less(arm, other, played, counts, means, lower, upper, left, right)
    if dominated:
        costs.dominated_by[arm], costs.dominated_from[arm], costs.dominated_to[arm] = other, begin, end
    return dominated


@compiled
def least_of_all(costs: ClosureCosts) -> float:
    """Return the least cost of any arm: what the best explanation leaves unexplained."""
    row = row_of(costs, costs.champion[0])
    left, right = minimum_between(row)
    if left == right and row_cost(row, left)[0] == 0.0:  # mostly, once there are many rewards
        return 0.0
    bound, known, least = costs.bound, costs.known, costs.least
    champion, is_ordered = costs.champion[0], len(costs.dominated_by) > 0
    least_bounds(costs.family, costs.rows.floor, costs.point, costs.cost, costs.slope, 0, len(bound), bound)
    for arm in range(len(bound)):
        if known[arm] == 1:
            bound[arm] = least[arm]
    if is_ordered:
        costs.dominated_by[champion] = champion
        leave_out(
            costs.dominated_by, costs.dominated_from, costs.dominated_to, costs.point, costs.slope, bound
        )
    while True:
        best = 0
        for arm in range(len(bound)):
            if bound[arm] < bound[best]:
                best = arm
        if known[best] == 1:
            costs.champion[0] = best
            return float(least[best])
        if is_ordered and best != champion and is_dominated(costs, best, champion):
            bound[best] = math.inf
            continue
        find_least(costs, best)
        for arm in range(len(bound)):
            if costs.rows.equivalence_class[arm] == costs.rows.equivalence_class[best]:
                bound[arm] = least[best]
        if bound[best] < bound[champion]:
            champion = best


@compiled
def keep_refuted(costs: ClosureCosts, arm: int, level: float) -> None:
    """Keep tangents that show that an arm costs more than `level`, by at least half of the true margin.

    Tangents that lie further apart show less, but stay valid for longer.
    """
    if costs.rows.floor[arm] > 1.0:
        return
    row = row_of(costs, arm)
    left, right = minimum_between(row)
    cost, slope = row_cost(row, left)
    keep_tangent(costs, arm, _LEFT, left, cost, slope)
    if left == right:
        return
    least = cost
    cost, slope = row_cost(row, right)
    keep_tangent(costs, arm, _RIGHT, right, cost, slope)
    least = min(least, cost)
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (left + right)
        if not left < middle < right or least_bound(costs, arm) >= 0.5 * (level + least):
            return
        cost, slope = row_cost(row, middle)
        least = min(least, cost)
        if slope > 0.0:
            right = middle
            keep_tangent(costs, arm, _RIGHT, middle, cost, slope)
        else:
            left = middle
            keep_tangent(costs, arm, _LEFT, middle, cost, slope)


def fill_costs(costs: ClosureCosts, counts: Array, sums: Array) -> None:
    """Put counts and sums into a state before its first round, when no cost is cached yet."""
    fill_tallies(costs.tallies, counts, sums)
    fill_plays(costs.rows, costs.tallies.counts)


@inlined
def learn_reward(costs: ClosureCosts, arm: int, reward: float) -> None:
    """Count a reward, and update the costs that it changes."""
    learn_rewards(costs, arm, reward, 1)


@inlined
def learn_rewards(costs: ClosureCosts, arm: int, reward: float, times: int) -> None:
    """Count the same reward `times` times, and update the costs that this changes."""
    count, mean = costs.tallies.counts[arm], costs.tallies.means[arm]
    add_rewards(costs.tallies, arm, reward, times)
    change_terms(costs, arm, count, mean)


@compiled
def change_terms(costs: ClosureCosts, source: int, count: int, mean: float) -> None:
    """Update the terms of an arm; `count` and `mean` are those before its last rewards.

    For coins, two divergences to the same point differ by what is the same for all points and one logarithm.
    """
    family, variance, both = costs.family, costs.variance, costs.tallies.counts[source]
    now, then = inside(family, costs.tallies.means[source]), inside(family, mean)
    point, cost, slope, known = costs.point, costs.cost, costs.slope, costs.known
    lower, upper = columns_of(costs.rows)
    if count == 0:
        begin_plays(costs.rows, costs.tallies.counts, source)
    if len(costs.dominated_by) > 0:
        start, step = column_places(costs.rows, source)
        narrow_ends(
            costs.dominated_by, costs.dominated_from, costs.dominated_to, lower, upper, start, step, now
        )
    more, reward, same = both - count, both * now - count * then, 0.0
    quick = family == BERNOULLI and count > 0
    if family == BERNOULLI:
        same = both * entropy(now) - count * entropy(then)
    column = column_of(costs.rows, source)
    for number in range(np.uint64(column.size)):
        arm, place = column_entry(column, number)
        known[arm] = 0
        for which in range(np.uint64(TANGENTS)):
            at = np.uint64(TANGENTS) * arm + which
            q = point[at]
            low, high = q - upper[place], q - lower[place]
            if q != q or (low <= now <= high and low <= then <= high):
                continue
            near = low if now < low else high
            if quick and 0.0 < near < 1.0 and ((now < near and then < low) or (now > near and then > high)):
                # One logarithm, as rewards of coins are mostly 0 or 1.
                if reward != 0.0:
                    cost[at] -= reward * safe_log(near)
                if reward != more:
                    cost[at] -= (more - reward) * safe_log1p(-near)
                cost[at] += same
                slope[at] += (more * near - reward) / (near * (1.0 - near))
                continue
            cost[at] += term_cost(family, variance, both, now, low, high)
            slope[at] += term_slope(family, variance, both, now, low, high)
            if count > 0:
                cost[at] -= term_cost(family, variance, count, then, low, high)
                slope[at] -= term_slope(family, variance, count, then, low, high)
            if not (cost[at] < math.inf and abs(slope[at]) < math.inf):
                point[at] = math.nan
