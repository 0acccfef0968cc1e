"""IMED-UB: IMED among the arm with the best mean so far and its neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES, safe_log
from lsdt.policies.classic.imed import imed_index
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

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole
    from lsdt.policies.situation import Situation


class ImedUbState(NamedTuple):
    """The neighbours of arm i are ``indices[indptr[i]:indptr[i + 1]]``."""

    family: Whole
    variance: Real
    tallies: Tallies
    log_counts: Reals
    indptr: FixedWholes
    indices: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> ImedUbState:
    """Start with nothing played."""
    n_arms, family, variance = situation.n_arms, FAMILIES[parameters.divergence], parameters.sigma**2
    return ImedUbState(family, variance, new_tallies(n_arms), np.zeros(n_arms), *situation.similar)


def select(state: ImedUbState, allowed: Allowed, stream: Array) -> int:
    """Play a neighbour of the leader that was never played, or else the smallest index around the leader."""
    leader = empirical_best(state.tallies, allowed)
    if leader < 0:
        return first_allowed(allowed, 0, len(state.tallies.counts))
    counts, means, top = state.tallies.counts, state.tallies.means, state.tallies.means[leader]
    best, lowest = leader, state.log_counts[leader]
    for place in range(state.indptr[leader], state.indptr[leader + 1]):
        arm = state.indices[place]
        if not is_allowed(allowed, arm):
            continue
        value = -math.inf
        if counts[arm] > 0:
            logarithm = state.log_counts[arm]
            value = imed_index(state.family, means[arm], top, state.variance, counts[arm], logarithm)
        if value < lowest or (value == lowest and arm < best):
            best, lowest = arm, value
    return best


def update(state: ImedUbState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    add_reward(state.tallies, arm, reward)
    state.log_counts[arm] = safe_log(state.tallies.counts[arm])


SPECIFICATION = Specification(
    name="imed_ub",
    title="IMED-UB",
    rule="leader = best mean so far; argmin of n_i KL(mean_i, best mean) + log n_i over the leader and "
    "its neighbours",
    reference="Saber, Ménard and Maillard (2021)",
    cost="O(K) comparisons, a divergence per neighbour of the leader",
    state=ImedUbState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"complete", "connected"}),
)
