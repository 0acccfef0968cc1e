"""KL-UCB: the largest mean that the rewards do not yet contradict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES, safe_log
from lsdt.policies.parts.equal_tallies import HEAP_PLACES, Heaps, change_group, new_heaps
from lsdt.policies.parts.tallies import (
    Tallies,
    add_reward,
    is_allowed,
    kl_index,
    new_tallies,
    next_unplayed,
    surely_below,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Whole, Wholes
    from lsdt.policies.situation import Situation


class KlUcbState(NamedTuple):
    """``last`` is the arm played last, where the search for the best one starts.

    Many arms are grouped by count and sum (`policies.parts.equal_tallies`); those of few are empty.
    """

    family: Whole
    variance: Real
    c: Real
    total: Wholes
    cursor: Wholes
    last: Wholes
    tallies: Tallies
    heaps: Heaps


def prepare(situation: Situation, parameters: SimpleNamespace) -> KlUcbState:
    """Start with nothing played."""
    n_arms, zero = situation.n_arms, np.zeros(1)
    family, variance = FAMILIES[parameters.divergence], parameters.sigma**2
    tallies, heaps = new_tallies(n_arms), new_heaps(n_arms)
    return KlUcbState(family, variance, parameters.c, zero, zero, zero, tallies, heaps)


def select(state: KlUcbState, allowed: Allowed, stream: Array) -> int:
    """Play every arm once, then the largest index; most arms are ruled out without solving for theirs."""
    arm = next_unplayed(state.tallies.counts, state.cursor, allowed)
    if arm < len(state.tallies.counts):
        return arm
    time = float(state.total[0])
    level = safe_log(time)
    if state.c > 0.0:
        level += state.c * safe_log(max(level, 1.0))
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    best = state.last[0]
    highest = -math.inf
    if is_allowed(allowed, best):
        highest = kl_index(family, means[best], counts[best], level, variance)
    is_grouped = allowed.everything and state.heaps.n_groups[0] > 0
    for place in range(state.heaps.n_groups[0] - 1 if is_grouped else len(counts)):
        arm = state.heaps.roots[place] - 1 if is_grouped else place
        if not is_allowed(allowed, arm):
            continue
        if surely_below(family, means[arm], counts[arm], level, variance, highest):
            continue
        value = kl_index(family, means[arm], counts[arm], level, variance)
        if value > highest or (value == highest and arm < best):
            best, highest = arm, value
    return best


def update(state: KlUcbState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    state.last[0] = arm
    count, total = float(state.tallies.counts[arm]), state.tallies.sums[arm]
    add_reward(state.tallies, arm, reward)
    if state.heaps.n_groups[0] > 0:
        change_group(state.heaps, arm, count, total, count + 1.0, state.tallies.sums[arm])


def score(state: KlUcbState, arm: int) -> float:
    """Return the index of an arm, the term of log log t left out."""
    level = safe_log(max(float(state.total[0]), 1.0))
    return kl_index(state.family, state.tallies.means[arm], state.tallies.counts[arm], level, state.variance)


SPECIFICATION = Specification(
    name="kl_ucb",
    title="KL-UCB",
    rule="argmax of the largest q with n_i KL(mean_i, q) <= log t + c log log t",
    reference="Garivier and Cappé (2011)",
    cost="O(K) divergences; from 500 arms on one for every distinct (n_i, sum of rewards)",
    state=KlUcbState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number("c", 0.0, "weight of log log t; the proof asks for 3, practice for 0", at_least=0.0),
        DIVERGENCE,
        SIGMA,
    ),
    score=score,
    score_name="index",
    places={"last": "tallies.counts", **HEAP_PLACES},
)
