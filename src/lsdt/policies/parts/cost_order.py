"""Which arms cost no less than another (`closure_costs`): they need not be solved for to know the least cost.

Among very many candidates, hundreds may explain all rewards equally well: their bounds to the arms whose
rewards matter are the same. Their least costs tie, and no bound from below tells a tie from being a little
less. So costs are compared term by term. A narrower interval of means costs no less than one around it; over
all arms that were played, one arm costs no less than another for q between two ends. If its least cost lies
there, it is *dominated* by the other, whose least cost is at most its own. A reward moves one mean, and with
it only the ends of those arms whose bounds to that mean are the wider ones.

A dominated arm may dominate others. Only undominated arms are linked, so there are no cycles.

`ClosureCosts` has the fields of `new_order`. They are empty where nothing would be gained: with coins, whose
least cost is mostly 0, and with few arms; and where rows hold some arms alone. The loops take arrays, not
states: a state is passed on field by field, which takes a microsecond.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel import BERNOULLI, Array, compiled, inlined

TANGENTS = 3  # for each arm: at its index, left and right of its least cost
_FEWEST_ARMS = 200  # with fewer, solving for every arm is as fast


def new_order(family: int, played: Array, fewest: int = _FEWEST_ARMS) -> dict[str, Array]:
    """Return the fields that say which arm dominates which; at first, every arm only itself.

    `played` are the arms as `GapRows` lists them; the fields are empty with less than `fewest`.
    """
    n_arms = len(played) if family != BERNOULLI and len(played) >= fewest else 0
    return {
        "dominated_by": np.arange(n_arms),
        "dominated_from": np.full(n_arms, -math.inf),
        "dominated_to": np.full(n_arms, math.inf),
    }


@inlined
def least_between(point: Array, slope: Array, arm: int) -> tuple[float, float]:
    """Return two means between which the tangents of an arm show its cost to be least."""
    left, right = -math.inf, math.inf
    for which in range(np.uint64(TANGENTS)):
        at = np.uint64(TANGENTS) * np.uint64(arm) + which
        if slope[at] < 0.0 and point[at] > left:  # a point that is not a number is neither
            left = point[at]
        elif slope[at] > 0.0 and point[at] < right:
            right = point[at]
    return left, right


@compiled
def costs_no_less(
    arm: int,
    other: int,
    played: Array,
    counts: Array,
    means: Array,
    lower: Array,
    upper: Array,
    left: float,
    right: float,
) -> tuple[bool, float, float]:
    """Say whether an arm costs no less than another at least from `left` to `right`; between which ends."""
    n_arms = np.uint64(len(played))
    begin, end = -math.inf, math.inf
    for number in range(n_arms):
        source = np.uint64(played[number])
        if counts[source] == 0 or not (begin <= left and right <= end):
            break
        here, there = np.uint64(arm) * n_arms + source, np.uint64(other) * n_arms + source
        if lower[here] < lower[there]:
            begin = max(begin, means[source] + lower[there])
        if upper[here] > upper[there]:
            end = min(end, means[source] + upper[there])
    return begin <= left and right <= end, begin, end


@compiled
def leave_out(
    dominated_by: Array, begin: Array, end: Array, point: Array, slope: Array, bound: Array
) -> None:
    """Set `bound` to infinity for every arm that is still dominated.

    An arm becomes undominated if its least cost may lie outside [begin, end], where domination is known.
    """
    for arm in range(np.uint64(len(dominated_by))):
        if dominated_by[arm] != arm:
            left, right = least_between(point, slope, arm)
            if begin[arm] <= left and right <= end[arm]:
                bound[arm] = math.inf
            else:
                dominated_by[arm] = arm


@compiled
def narrow_ends(
    dominated_by: Array,
    begin: Array,
    end: Array,
    lower: Array,
    upper: Array,
    start: int,
    step: int,
    mean: float,
) -> None:
    """Update the intervals in which arms cost no less than the arms that dominate them.

    An arm has a new mean; bounds to it begin at `start` in the tables, one every `step`. Intervals are only
    narrowed: one that could be widened stays as it is, which is safe.
    """
    for arm in range(len(dominated_by)):
        if dominated_by[arm] != arm:
            here, there = start + step * arm, start + step * dominated_by[arm]
            if lower[here] < lower[there]:
                begin[arm] = max(begin[arm], mean + lower[there])
            if upper[here] > upper[there]:
                end[arm] = min(end[arm], mean + upper[there])
