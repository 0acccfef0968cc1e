"""Derivations among few arms: which orders of dissimilar pairs follow, until they contradict each other.

``bounds[a, b]`` is the largest that x_b - x_a may be, as in `closure_kernel`.
"""

from __future__ import annotations

import numpy as np

from lsdt.candidates.propagation.closure_kernel import place_below
from lsdt.candidates.propagation.method_kernel import FAR
from lsdt.kernel import Array, compiled, least_of

_HALF = FAR // 2


@compiled
def similar_closure(n_arms: int, pairs: Array, steps: Array, links: Array, link_steps: Array) -> Array:
    """Return the closed bounds implied by similar pairs and by links from their first arm to their second."""
    bounds = np.full((n_arms, n_arms), FAR, np.int64)
    for arm in range(n_arms):
        bounds[arm, arm] = 0
    for number in range(len(pairs)):
        a, b = pairs[number, 0], pairs[number, 1]
        bounds[a, b], bounds[b, a] = min(bounds[a, b], steps[number]), min(bounds[b, a], steps[number])
    for number in range(len(links)):
        a, b = links[number, 0], links[number, 1]
        bounds[a, b] = min(bounds[a, b], link_steps[number])
    for middle in range(n_arms):
        for row in range(n_arms):
            first = bounds[row, middle]
            if first < _HALF:
                for column in range(n_arms):
                    through = max(first + bounds[middle, column], -_HALF)
                    if through < bounds[row, column]:
                        bounds[row, column] = through
    return bounds


@compiled
def arm_below_itself(bounds: Array) -> int:
    """Return an arm whose bounds contradict one another, or -1."""
    for arm in range(len(bounds)):
        if bounds[arm, arm] < 0:
            return arm
    return -1


@compiled
def suppose_best(bounds: Array, best: int) -> None:
    """Add the constraint that no arm lies above `best`."""
    onward = bounds[best].copy()
    for row in range(len(bounds)):
        least = least_of(bounds, row)  # every path can be extended to `best` at no cost, and on from there
        for column in range(len(bounds)):
            if onward[column] < _HALF and least + onward[column] < bounds[row, column]:
                bounds[row, column] = least + onward[column]


@compiled
def forced_orders(bounds: Array, pairs: Array, steps: Array) -> tuple[bool, Array]:
    """Order dissimilar pairs, round by round, where the bounds of the round before exclude the other order.

    Returns
    -------
    (bool, ndarray)
        Whether the last order contradicts those before it; and a row for every order: the pair's number, 1 if
        its second arm lies above its first, the round.
    """
    orders = np.empty((len(pairs), 3), np.int64)
    done = np.zeros(len(pairs), np.bool_)
    n_orders, n_before, number_of_round = 0, -1, 0
    while n_orders > n_before:
        n_before = n_orders
        for number in range(len(pairs)):
            a, b, apart = pairs[number, 0], pairs[number, 1], steps[number]
            if done[number]:
                continue
            turned = bounds[a, b] < apart  # b cannot lie below a
            if turned or bounds[b, a] < apart:
                done[number] = True
                if (bounds[a, b] if turned else bounds[b, a]) > -apart:  # else it follows from the others
                    orders[n_orders, 0], orders[n_orders, 1] = number, turned
                    orders[n_orders, 2] = number_of_round
                    n_orders += 1
        for at in range(n_before, n_orders):
            number = orders[at, 0]
            first, second = pairs[number, 0], pairs[number, 1]
            upper, lower = (second, first) if orders[at, 1] else (first, second)
            if not place_below(bounds, upper, lower, steps[number]):
                return True, orders[: at + 1].copy()
        number_of_round += 1
    return False, orders[:n_orders].copy()
