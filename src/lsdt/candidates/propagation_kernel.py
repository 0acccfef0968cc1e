"""Can one arm be the best? What follows from supposing it, step by step; see `propagation` for the argument.

Depths below the arm are whole steps. Of a similar pair of arms the depths differ by at most its `steps`, of a
dissimilar one by at least its `steps`, one way or the other. `lower` and `upper` enclose every depth; they
only ever narrow, so stopping early is sound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.kernel.compiling import Array, compiled, inlined

FAR = np.int64(2**60)  # no upper bound
_UNKNOWN, _FAR_OFF, _NEAR = 0, 1, 2
_MOST_VISITS = 100  # of an arm, on average: a contradiction of one step is closed in on slowly


class Constraints(NamedTuple):
    """Both relations as rows, and how far apart they keep arms; one entry in `steps` serves all pairs."""

    similar_starts: Array
    similar: Array
    similar_steps: Array
    dissimilar_starts: Array
    dissimilar: Array
    dissimilar_steps: Array


class Scratch(NamedTuple):
    """Room for one hypothesis: bounds, which arms were reached and how, and those waiting to be looked at."""

    lower: Array
    upper: Array
    status: Array
    reached: Array
    waiting: Array
    queue: Array


@compiled
def new_scratch(n_arms: int) -> Scratch:
    """Return room for hypotheses about `n_arms` arms."""
    return Scratch(
        np.zeros(n_arms, np.int64),
        np.full(n_arms, FAR, np.int64),
        np.zeros(n_arms, np.int8),
        np.empty(n_arms, np.int64),
        np.zeros(n_arms, np.bool_),
        np.empty(n_arms, np.int64),
    )


@inlined
def clear(scratch: Scratch, n_reached: int) -> None:
    """Forget a hypothesis that reached so many arms."""
    for place in range(n_reached):
        arm = scratch.reached[place]
        scratch.lower[arm] = 0
        scratch.upper[arm] = FAR
        scratch.status[arm] = _UNKNOWN
        scratch.waiting[arm] = False


@inlined
def reach_all(scratch: Scratch, n_reached: int) -> int:
    """Count all arms as reached, so that bounds of all are forgotten in the end."""
    for arm in range(len(scratch.lower)):
        if scratch.status[arm] == _UNKNOWN:
            scratch.status[arm] = _FAR_OFF
            scratch.reached[n_reached] = arm
            n_reached += 1
    return n_reached


@compiled
def narrow(constraints: Constraints, best: int, most_near: int, scratch: Scratch) -> tuple[bool, int]:
    """Narrow the depths below `best` until nothing changes; False when one has no room left.

    Only the `most_near` arms that are reached first along similar pairs pass on what is learnt of them;
    others that are dissimilar to one of these are bounded from below. `scratch` must be clear, and holds the
    bounds after.

    Returns
    -------
    (bool, int)
        Whether the arm can still be the best, and how many arms were reached.
    """
    c, s = constraints, scratch
    lower, upper, status, reached, waiting, queue = s.lower, s.upper, s.status, s.reached, s.waiting, s.queue
    n_arms = len(lower)
    one_near = 0 if len(c.similar_steps) == 1 else 1
    one_far = 0 if len(c.dissimilar_steps) == 1 else 1
    status[best], upper[best], reached[0] = _NEAR, 0, best
    queue[0], waiting[best] = best, True
    n_reached, n_near, head, n_waiting, visits = 1, 1, 0, 1, 0
    while n_waiting > 0 and visits < _MOST_VISITS * n_near:
        a = queue[head]
        head = head + 1 if head + 1 < n_arms else 0
        n_waiting -= 1
        waiting[a] = False
        visits += 1
        again = False
        for place in range(c.similar_starts[a], c.similar_starts[a + 1]):
            b = c.similar[place]
            steps = c.similar_steps[place * one_near]
            if status[b] != _NEAR:
                if n_near == most_near:
                    continue
                if status[b] == _UNKNOWN:
                    reached[n_reached] = b
                    n_reached += 1
                status[b] = _NEAR
                n_near += 1
            changed = False
            if upper[a] + steps < upper[b]:
                upper[b] = upper[a] + steps
                changed = True
            if lower[a] - steps > lower[b]:
                lower[b] = lower[a] - steps
                changed = True
            if changed:
                if lower[b] > upper[b]:
                    return False, n_reached
                if not waiting[b]:
                    waiting[b] = True
                    tail = head + n_waiting
                    queue[tail if tail < n_arms else tail - n_arms] = b
                    n_waiting += 1
        for place in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            b = c.dissimilar[place]
            steps = c.dissimilar_steps[place * one_far]
            changed = False
            if upper[a] - lower[b] < steps:  # a cannot lie below b, so b lies below a
                if lower[a] + steps > lower[b]:
                    lower[b] = lower[a] + steps
                    changed = True
                if upper[b] < FAR and upper[b] - steps < upper[a]:
                    upper[a] = upper[b] - steps
                    again = True
            elif upper[b] - lower[a] < steps:  # a lies below b
                if lower[b] + steps > lower[a]:
                    lower[a] = lower[b] + steps
                    again = True
                if upper[a] < FAR and upper[a] - steps < upper[b]:
                    upper[b] = upper[a] - steps
                    changed = True
            if lower[a] > upper[a]:
                return False, n_reached
            if changed:
                if lower[b] > upper[b]:
                    return False, n_reached
                if status[b] == _UNKNOWN:
                    status[b] = _FAR_OFF
                    reached[n_reached] = b
                    n_reached += 1
                if status[b] == _NEAR and not waiting[b]:
                    waiting[b] = True
                    tail = head + n_waiting
                    queue[tail if tail < n_arms else tail - n_arms] = b
                    n_waiting += 1
        if again and not waiting[a]:
            waiting[a] = True
            tail = head + n_waiting
            queue[tail if tail < n_arms else tail - n_arms] = a
            n_waiting += 1
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
