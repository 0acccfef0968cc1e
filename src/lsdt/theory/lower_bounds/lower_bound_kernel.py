"""Linear programme P1 in closed form: how often, per log t, each arm must be played.

P1 separates. Every arm of the best arm's class must be distinguished from the best by its own plays: ``1 /
KL``. Every other class adds a single constraint, and the arm with the smallest gap per divergence meets it at
the least regret. KL is Gaussian: the mirrored means of the paper's Appendix D may leave [0, 1].

With several components, a class of another component can be the best if that component lies just above the
best mean, as it is or mirrored: its arms keep their distances, and stay epsilon away from all others. Here
the two classes of such a component are paid for separately, which meets both constraints and may cost more
than P1 needs; `lower_bound` lets them share.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import Array, compiled, inlined, ratio

if TYPE_CHECKING:
    from lsdt.kernel import FixedWholes


class EndClasses(NamedTuple):
    """The end classes of all components: ``class_of[arm]`` is -1 outside the candidate set.

    ``class_component[c]`` is the component of class c. The arms of component d are
    ``component_arms[component_starts[d]:component_starts[d + 1]]``.
    """

    class_of: FixedWholes
    component_of: FixedWholes
    class_component: FixedWholes
    component_starts: FixedWholes
    component_arms: FixedWholes


@inlined
def leading_candidate(class_of: Array, means: Array) -> int:
    """Return the candidate with the largest mean."""
    best = -1
    for arm in range(len(means)):
        if class_of[arm] >= 0 and (best < 0 or means[arm] > means[best]):
            best = arm
    return best


@inlined
def fill_rates(classes: EndClasses, means: Array, variance: float, epsilon: float, rates: Array) -> int:
    """Write the solution of P1 at the given means into `rates`, and return the leading candidate."""
    leader = leading_candidate(classes.class_of, means)
    own = classes.class_of[leader]
    lowest = means[leader]
    for arm in range(len(means)):
        rates[arm] = 0.0
        if classes.class_of[arm] == own:
            lowest = min(lowest, means[arm])
            gap = means[leader] - means[arm]
            if gap > 0.0:
                rates[arm] = ratio(2.0 * variance, gap * gap)
    for number in range(len(classes.class_component)):
        if number != own:
            if classes.class_component[number] == classes.component_of[leader]:
                add_mirrored(classes, number, means, leader, lowest, variance, rates)
            else:
                add_moved(classes, number, means, leader, epsilon, variance, rates)
    return leader


@inlined
def class_mean(classes: EndClasses, number: int, means: Array) -> float:
    """Return the average mean in a class."""
    total, count = 0.0, 0
    component = classes.class_component[number]
    for place in range(classes.component_starts[component], classes.component_starts[component + 1]):
        arm = classes.component_arms[place]
        if classes.class_of[arm] == number:
            total += means[arm]
            count += 1
    return total / count


@inlined
def keep_cheaper(gap: float, distance: float, arm: int, best: int, cost: float, far: float) -> bool:
    """Return whether an arm distinguishes two sets of means at less regret than the best one so far.

    Of arms that cost the same, the one with the larger distance is kept: it needs fewer plays.
    """
    if distance == 0.0:
        return False
    price = ratio(max(gap, 0.0), distance * distance)
    return best < 0 or price < cost or (price == cost and distance > far)


@inlined
def add_mirrored(
    classes: EndClasses, number: int, means: Array, leader: int, lowest: float, variance: float, rates: Array
) -> None:
    """Raise the rate of the arm that excludes the mirrored means of Appendix D at the least regret."""
    component = classes.class_component[number]
    first, last = classes.component_starts[component], classes.component_starts[component + 1]
    bottom = math.inf
    for place in range(first, last):
        arm = classes.component_arms[place]
        if classes.class_of[arm] == number:
            bottom = min(bottom, means[arm])
    best, cost, far = -1, math.inf, 0.0
    for place in range(first, last):
        arm = classes.component_arms[place]
        if classes.class_of[arm] == classes.class_of[leader]:
            continue
        reflected = bottom if classes.class_of[arm] == number else means[arm]
        distance = abs(means[leader] + lowest - reflected - means[arm])
        gap = means[leader] - means[arm]
        if keep_cheaper(gap, distance, arm, best, cost, far):
            best, cost, far = arm, ratio(max(gap, 0.0), distance * distance), distance
    if best >= 0:
        rates[best] = max(rates[best], ratio(2.0 * variance, far * far))


@inlined
def add_moved(
    classes: EndClasses, number: int, means: Array, leader: int, epsilon: float, variance: float, rates: Array
) -> None:
    """Raise the rate of the arm that refutes most cheaply that another component lies above the leader."""
    component = classes.class_component[number]
    first, last = classes.component_starts[component], classes.component_starts[component + 1]
    low, high, rival = math.inf, -math.inf, -1
    for place in range(first, last):
        arm = classes.component_arms[place]
        low, high = min(low, means[arm]), max(high, means[arm])
        if classes.class_of[arm] >= 0 and classes.class_of[arm] != number:
            rival = classes.class_of[arm]
    upright = rival < 0 or class_mean(classes, number, means) >= class_mean(classes, rival, means)
    best, cost, far = -1, math.inf, 0.0
    for place in range(first, last):
        arm = classes.component_arms[place]
        above = means[arm] - low if upright else high - means[arm]
        distance = abs(means[leader] + epsilon + above - means[arm])
        gap = means[leader] - means[arm]
        if keep_cheaper(gap, distance, arm, best, cost, far):
            best, cost, far = arm, ratio(max(gap, 0.0), distance * distance), distance
    if best >= 0:
        rates[best] = max(rates[best], ratio(2.0 * variance, far * far))


@compiled
def rates_at(classes: EndClasses, means: Array, variance: float, epsilon: float) -> Array:
    """Return the rates of `fill_rates` as a new array."""
    rates = np.zeros(len(means))
    fill_rates(classes, means, variance, epsilon, rates)
    return rates
