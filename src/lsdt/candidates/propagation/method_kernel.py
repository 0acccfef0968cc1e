"""Can one arm be the best? Assume that it is and narrow the depths of the others (see `method`).

Depths below the arm are whole steps. The depths of a similar pair differ by at most its `steps`, those of a
dissimilar pair by at least its `steps`, in either direction. A range bounds the difference of two depths,
each way by a number of its own, which may be negative. `lower` and `upper` enclose every depth; they only
ever narrow, so stopping early is sound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.candidates.propagation.queues_kernel import dequeue, enqueue, new_queues
from lsdt.kernel import Array, compiled, inlined

FAR = np.int64(2**60)  # no upper bound
_UNKNOWN, _BOUNDED, _NEAR = 0, 1, 2  # states of an arm: no bounds yet, bounds, bounds that it passes on
# Visits per arm, on average. Bounds that contradict one another by a single step would need far more to show
# it; stopping then only leaves the arm in.
_MOST_VISITS = 100


class Constraints(NamedTuple):
    """Both relations as rows with the steps of every pair; a single entry in `steps` applies to all pairs.

    Ranges are listed among the similar pairs. An entry for b in the row of a says ``x_b - x_a <=
    similar_steps`` and ``x_a - x_b <= similar_back``, `FAR` where that is open; without ranges the two are
    the same array. Bounds that would narrow by less than `least_gain` steps stay as they are: the single
    steps that strict inequalities add would otherwise circulate for long, and on large graphs they hardly
    ever matter. Arms whose bounds are at most one or two `unit` apart come before others.
    """

    similar_starts: Array
    similar: Array
    similar_steps: Array
    similar_back: Array
    dissimilar_starts: Array
    dissimilar: Array
    dissimilar_steps: Array
    least_gain: int = 1
    unit: int = 1


class Scratch(NamedTuple):
    """Working memory for one hypothesis: bounds, state and list of the arms reached, queues of arms to visit.

    `waiting`, `queues` and `ends` are explained in `queues_kernel`.
    """

    lower: Array
    upper: Array
    status: Array
    reached: Array
    waiting: Array
    queues: Array
    ends: Array


@compiled
def new_scratch(n_arms: int) -> Scratch:
    """Return working memory for hypotheses about `n_arms` arms."""
    waiting, queues, ends = new_queues(n_arms)
    return Scratch(
        np.zeros(n_arms, np.int64),
        np.full(n_arms, FAR, np.int64),
        np.zeros(n_arms, np.int8),
        np.empty(n_arms, np.int32),
        waiting,
        queues,
        ends,
    )


@inlined
def clear(scratch: Scratch, n_reached: int) -> None:
    """Reset the working memory after a hypothesis that reached `n_reached` arms."""
    for place in range(n_reached):
        arm = scratch.reached[place]
        scratch.lower[arm] = 0
        scratch.upper[arm] = FAR
        scratch.status[arm] = _UNKNOWN
        scratch.waiting[arm] = 0
    scratch.ends[:] = 0


@inlined
def reach_all(scratch: Scratch, n_reached: int) -> int:
    """Count all arms as reached, so that `clear` resets the bounds of all."""
    for arm in range(len(scratch.lower)):
        if scratch.status[arm] == _UNKNOWN:
            scratch.status[arm] = _BOUNDED
            scratch.reached[n_reached] = arm
            n_reached += 1
    return n_reached


@inlined
def _enqueue(s: Scratch, arm: int, unit: int) -> None:
    """Put an arm whose bounds changed in a queue; the narrower they are, the sooner it is visited."""
    width = s.upper[arm] - s.lower[arm]
    queue = 0 if width <= unit else (1 if width <= 2 * unit else 2)
    enqueue(s.waiting, s.queues, s.ends, arm, queue)


@compiled
def narrow(constraints: Constraints, best: int, most_near: int, scratch: Scratch) -> tuple[bool, int]:
    """Narrow the depths below `best` until nothing changes; return False when a depth has no room left.

    At most `most_near` arms pass on their bounds. Arms with narrow bounds go first, because contradictions
    arise among them. `scratch` must be clear, and holds the bounds afterwards.

    Returns
    -------
    (bool, int)
        Whether the arm can still be the best, and how many arms were reached.
    """
    c, s = constraints, scratch
    lower, upper, status = s.lower, s.upper, s.status
    one_near = 0 if len(c.similar_steps) == 1 else 1
    one_far = 0 if len(c.dissimilar_steps) == 1 else 1
    least, unit = c.least_gain, c.unit
    upper[best], status[best], s.reached[0] = 0, _BOUNDED, best
    _enqueue(s, best, unit)
    n_reached, n_near, visits = 1, 0, 0
    while visits <= _MOST_VISITS * n_near:
        a = dequeue(s.waiting, s.queues, s.ends)
        if a < 0:
            break
        if status[a] != _NEAR:
            if n_near == most_near:
                continue
            status[a] = _NEAR
            n_near += 1
        visits += 1
        again = False
        for place in range(c.similar_starts[a], c.similar_starts[a + 1]):
            b = c.similar[place]
            steps, back = c.similar_steps[place * one_near], c.similar_back[place * one_near]
            changed = False
            if upper[a] + steps + least <= upper[b]:
                upper[b] = upper[a] + steps
                changed = True
            if lower[a] - back - least >= lower[b]:
                lower[b] = lower[a] - back
                changed = True
            if changed:
                if status[b] == _UNKNOWN:
                    status[b] = _BOUNDED
                    s.reached[n_reached] = b
                    n_reached += 1
                if lower[b] > upper[b]:
                    return False, n_reached
                if upper[b] < FAR:  # else b has nothing to pass on but what a knows already
                    _enqueue(s, b, unit)
        for place in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            b = c.dissimilar[place]
            steps = c.dissimilar_steps[place * one_far]
            if status[b] == _UNKNOWN and upper[a] >= steps:  # either may lie below the other
                continue
            changed = False
            if upper[a] - lower[b] < steps:  # a cannot lie below b, so b lies below a
                if lower[a] + steps - least >= lower[b]:
                    lower[b] = lower[a] + steps
                    changed = True
                if upper[b] < FAR and upper[b] - steps + least <= upper[a]:
                    upper[a] = upper[b] - steps
                    again = True
            elif upper[b] - lower[a] < steps:  # a lies below b
                if lower[b] + steps - least >= lower[a]:
                    lower[a] = lower[b] + steps
                    again = True
                if upper[a] - steps + least <= upper[b]:
                    upper[b] = upper[a] - steps
                    changed = True
            if lower[a] > upper[a]:
                return False, n_reached
            if changed:
                if status[b] == _UNKNOWN:
                    status[b] = _BOUNDED
                    s.reached[n_reached] = b
                    n_reached += 1
                if lower[b] > upper[b]:
                    return False, n_reached
                if upper[b] < FAR:
                    _enqueue(s, b, unit)
        if again:
            _enqueue(s, a, unit)
    return True, n_reached


@compiled
def eliminate_by_intervals(
    constraints: Constraints, arms: Array, first: int, last: int, most_near: int, possible: Array
) -> None:
    """Write into `possible` whether each of ``arms[first:last]`` can still be the best."""
    scratch = new_scratch(len(constraints.similar_starts) - 1)
    for place in range(first, last):
        possible[place], n_reached = narrow(constraints, arms[place], most_near, scratch)
        clear(scratch, n_reached)
