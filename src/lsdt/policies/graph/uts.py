"""UTS: Thompson sampling around the arm that leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, FAMILIES, beta, inlined, normal, safe_sqrt
from lsdt.policies.parts.beta_posteriors import toss
from lsdt.policies.parts.tallies import (
    Tallies,
    add_reward,
    empirical_best,
    first_allowed,
    is_allowed,
    new_tallies,
)
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Whole, Wholes
    from lsdt.policies.situation import Situation


class UtsState(NamedTuple):
    """``led`` counts in how many asks an arm was the leader."""

    family: Whole
    sigma: Real
    tallies: Tallies
    led: Wholes
    indptr: FixedWholes
    indices: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> UtsState:
    """Start with nothing played."""
    n_arms, family = situation.n_arms, FAMILIES[parameters.divergence]
    return UtsState(family, parameters.sigma, new_tallies(n_arms), np.zeros(n_arms), *situation.similar)


@inlined
def posterior_draw(state: UtsState, arm: int, stream: Array) -> float:
    """Draw a mean of an arm: Beta(1 + wins, 1 + losses), or N(sum / (n + 1), sigma^2 / (n + 1))."""
    count, total = state.tallies.counts[arm], state.tallies.sums[arm]
    if state.family == BERNOULLI:
        return beta(stream, 1.0 + total, 1.0 + count - total)
    return total / (count + 1.0) + state.sigma * normal(stream) / safe_sqrt(count + 1.0)


@inlined
def leader_of(state: UtsState, allowed: Allowed) -> int:
    """Return the arm with the best mean so far; before the first reward, the first that may be played."""
    leader = empirical_best(state.tallies, allowed)
    return leader if leader >= 0 else first_allowed(allowed, 0, len(state.tallies.counts))


def select(state: UtsState, allowed: Allowed, stream: Array) -> int:
    """Play the leader every so often, otherwise the largest draw among it and its neighbours."""
    leader = leader_of(state, allowed)
    first, last = state.indptr[leader], state.indptr[leader + 1]
    if state.led[leader] % (last - first + 1) == 0:
        return leader
    best, highest = leader, posterior_draw(state, leader, stream)
    for place in range(first, last):
        arm = state.indices[place]
        if not is_allowed(allowed, arm):
            continue
        value = posterior_draw(state, arm, stream)
        if value > highest:
            best, highest = arm, value
    return best


def asked(state: UtsState, arm: int, allowed: Allowed, stream: Array) -> None:
    """Count that the leader led."""
    state.led[leader_of(state, allowed)] += 1


def update(state: UtsState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward; with Beta posteriors one that is neither 0 nor 1 is clipped and tossed for."""
    if state.family == BERNOULLI:
        reward = 1.0 if toss(reward, stream) else 0.0
    add_reward(state.tallies, arm, reward)


def score(state: UtsState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    count, total = state.tallies.counts[arm], state.tallies.sums[arm]
    if state.family == BERNOULLI:
        return (1.0 + total) / (2.0 + count)
    return total / (count + 1.0)


SPECIFICATION = Specification(
    name="uts",
    title="UTS",
    rule="leader = best mean so far, l = times it led; the leader when (l - 1) / (degree + 1) is whole, else "
    "the largest posterior draw among it and its neighbours",
    reference="Paladino, Trovò, Restelli and Gatti (2017)",
    cost="O(K) comparisons, a draw per neighbour of the leader",
    state=UtsState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"complete", "connected"}),
    score=score,
    score_name="posterior mean",
    randomised=True,
)
