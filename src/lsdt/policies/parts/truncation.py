"""Truncated means with fixed memory: Bubeck, Cesa-Bianchi and Lugosi, "Bandits with heavy tail" (2013).

With E |X|^order <= bound, the estimator of their Lemma 1 for the probability exp(-level) leaves out the s-th
reward if it is beyond (bound s / level)^(1/order); it is at most 4 bound^(1/order) (level / n)^(1 - 1/order)
above the mean. They take level = log t^2. Thresholds then fall as t grows: rewards kept once are left out
later, and all of them would have to be remembered.

Here the level climbs a ladder: it is the lowest rung of ``LADDER`` that is at least log t^2, rungs being a
factor sqrt 2 apart. A reward is put down, when it comes, at the highest rung that still keeps it, so one
sum for every rung is all there is to remember. After t rounds the mean is exactly the published estimator
for the probability exp(-level) <= t^-2, and the lemma holds as it stands. The price is a width larger than
the published one by a factor of at most sqrt 2^(1 - 1/order), 1.19 for order 2 and less for others.

In a pool of arms with different means s counts the rewards of the pool. Thresholds depend on s alone, so they
are known before the reward comes; the lemma's inequality of Bernstein becomes Freedman's, and bounds the
distance to the average of the means of the arms played.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel import Array, compiled, inlined, safe_log, safe_pow
from lsdt.policies.specification import Number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import SimpleNamespace

    from lsdt.kernel import Real, Reals, RewardModel, Wholes
    from lsdt.policies.parts.tallies import Tallies

# The last one is above log t^2 for every t that fits into 64 bits.
RUNGS = 14
LADDER = 2.0 ** (np.arange(RUNGS) / 2.0)


class Truncation(NamedTuple):
    """Sums of truncated rewards, for heavy tails; ``kept`` has one per arm and rung, none for others."""

    order: Real
    bound: Real
    width: Real
    rung: Wholes
    kept: Reals


# Where the fields point, for a policy that has ``truncation`` in its state.
TRUNCATION_PLACES = {"truncation.rung": RUNGS}


def new_truncation(parameters: SimpleNamespace, kept: Any) -> Truncation:
    """Return the lowest rung, with room for the sums that are kept."""
    zero: Any = 0
    if parameters.tails != "heavy":
        return Truncation(0.0, 0.0, 0.0, zero, kept)
    return Truncation(parameters.order, parameters.bound, parameters.width, zero, kept)


@inlined
def rung_at(rung: int, time: int) -> int:
    """Return the rung after `time` rounds, from the one before."""
    while rung < RUNGS - 1 and LADDER[rung] < 2.0 * safe_log(time):
        rung += 1
    return rung


@inlined
def add_truncated(
    tallies: Tallies,
    widths: Array,
    kept: Array,
    at: int,
    reward: float,
    rung: int,
    order: float,
    bound: float,
) -> None:
    """Count a reward of arm or class `at`; ``widths`` are one over ``n^(1 - 1/order)``."""
    counts, sums = tallies.counts, tallies.sums
    counts[at] += 1
    highest = RUNGS - 1
    while highest >= 0 and abs(reward) > safe_pow(bound * counts[at] / LADDER[highest], 1.0 / order):
        highest -= 1
    if highest >= 0:
        kept[at * RUNGS + highest] += reward
    if highest >= rung:
        sums[at] += reward
    tallies.means[at] = sums[at] / counts[at]
    widths[at] = safe_pow(counts[at], 1.0 / order - 1.0)


@inlined
def add_up(tallies: Tallies, kept: Array, rung: int) -> None:
    """Recompute the sums and means from the rewards that are still kept at a rung."""
    counts, sums, means = tallies.counts, tallies.sums, tallies.means
    for at in range(len(sums)):
        sums[at] = 0.0
        for step in range(rung, RUNGS):
            sums[at] += kept[at * RUNGS + step]
        means[at] = sums[at] / max(counts[at], 1)


@compiled
def learn_truncated(
    truncation: Truncation, tallies: Tallies, widths: Array, time: int, arm: int, reward: float
) -> None:
    """Count a reward of an arm; a new rung, which comes a dozen times at most, changes all means."""
    order, bound, rung = truncation.order, truncation.bound, rung_at(truncation.rung[0], time)
    add_truncated(tallies, widths, truncation.kept, arm, reward, rung, order, bound)
    if rung > truncation.rung[0]:
        truncation.rung[0] = rung
        add_up(tallies, truncation.kept, rung)


@inlined
def steepness(truncation: Truncation) -> float:
    """Return what one over ``n^(1 - 1/order)`` is multiplied by in the index."""
    order, level = truncation.order, LADDER[truncation.rung[0]]
    return truncation.width * safe_pow(truncation.bound, 1.0 / order) * safe_pow(level, 1.0 - 1.0 / order)


@inlined
def truncated_mean(tallies: Tallies, arm: int) -> float:
    """Return the truncated mean of an arm, not a number if it was never played."""
    return tallies.means[arm] if tallies.counts[arm] > 0 else math.nan


def moment_bound(rewards: RewardModel, values: Mapping[str, Any]) -> float:
    """Return a bound of E |X|^order for means from -1 to 1, from a known moment around the mean."""
    tails, order = rewards.tails, values["order"]
    if order > tails.order:
        raise InvalidInput(
            f"of these rewards the moment of order {tails.order:g} is known, which says nothing of "
            f"order={order:g}; give a bound as well"
        )
    if tails.order == 2.0:
        whole = 1.0 + tails.moment
    else:  # Minkowski's inequality
        whole = math.pow(1.0 + math.pow(tails.moment, 1.0 / tails.order), tails.order)
    return math.pow(whole, order / tails.order)  # Lyapunov's inequality, for a smaller order


_HEAVY = ("tails", ("heavy",))
ORDER = Number(
    "order",
    None,
    "order of the moment that is bounded; by default the problem's, 2 where the variance is known",
    above=1.0,
    at_most=2.0,
    derive=lambda rewards, _: rewards.tails.order,
    goes_with=_HEAVY,
)
BOUND = Number(
    "bound",
    None,
    "bound of E |X|^order; by default the problem's, for means from -1 to 1",
    above=0.0,
    derive=moment_bound,
    goes_with=_HEAVY,
)
WIDTH = Number("width", 4.0, "width of the index; 4 as published", above=0.0, goes_with=_HEAVY)
HEAVY_TAILS = (ORDER, BOUND, WIDTH)
