"""OSUB: climb the similarity graph, KL-UCB around the arm that leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES, below, inlined, safe_log
from lsdt.policies.parts.tallies import (
    Tallies,
    add_reward,
    empirical_best,
    first_allowed,
    is_allowed,
    kl_index,
    new_tallies,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Whole, Wholes
    from lsdt.policies.situation import Situation


class OsubState(NamedTuple):
    """``led`` counts in how many asks an arm was the leader; ``gamma`` is the largest degree."""

    family: Whole
    variance: Real
    gamma: Whole
    tallies: Tallies
    led: Wholes
    indptr: FixedWholes
    indices: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> OsubState:
    """Start with nothing played."""
    n_arms, rows = situation.n_arms, situation.similar
    family, variance = FAMILIES[parameters.divergence], parameters.sigma**2
    gamma = int(np.diff(rows.indptr).max())
    return OsubState(family, variance, gamma, new_tallies(n_arms), np.zeros(n_arms), *rows)


@inlined
def leader_of(state: OsubState, allowed: Allowed, stream: Array) -> int:
    """Return the arm with the best mean so far; before the first reward, one drawn at random."""
    leader = empirical_best(state.tallies, allowed)
    if leader < 0:
        n_arms = len(state.led)
        leader = first_allowed(allowed, below(stream, n_arms), n_arms)
    return leader


def select(state: OsubState, allowed: Allowed, stream: Array) -> int:
    """Play the leader every ``gamma + 1`` times that it leads, otherwise the largest index around it."""
    leader = leader_of(state, allowed, stream)
    led = state.led[leader] + 1
    if (led - 1) % (state.gamma + 1) == 0:
        return leader
    family, variance, counts, means = state.family, state.variance, state.tallies.counts, state.tallies.means
    best, level = leader, safe_log(led)
    highest = kl_index(family, means[leader], counts[leader], level, variance)
    for place in range(state.indptr[leader], state.indptr[leader + 1]):
        arm = state.indices[place]
        if not is_allowed(allowed, arm):
            continue
        value = kl_index(family, means[arm], counts[arm], level, variance)
        if value > highest or (value == highest and arm < best):
            best, highest = arm, value
    return best


def asked(state: OsubState, arm: int, allowed: Allowed, stream: Array) -> None:
    """Count that the leader led."""
    state.led[leader_of(state, allowed, stream)] += 1


def update(state: OsubState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    add_reward(state.tallies, arm, reward)


SPECIFICATION = Specification(
    name="osub",
    title="OSUB",
    rule="leader = best mean so far, l = times it led; the leader when (l - 1) / (gamma + 1) is whole, else "
    "the largest KL-UCB index with log l among it and its neighbours",
    reference="Combes and Proutiere (2014)",
    cost="O(K) comparisons, an index per neighbour of the leader",
    state=OsubState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"complete", "connected"}),
    why_no_prior="its index grows with how often an arm led in rounds of its own",
)
