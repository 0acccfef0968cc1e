"""Clustered Thompson sampling: first a cluster of similar arms, then an arm of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import BERNOULLI, FAMILIES, beta, inlined, normal, safe_sqrt
from lsdt.policies.parts.beta_posteriors import toss
from lsdt.policies.parts.tallies import Tallies, add_reward, any_allowed, is_allowed, new_tallies
from lsdt.policies.specification import DIVERGENCE, SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Whole
    from lsdt.policies.situation import Situation


class ClusteredTsState(NamedTuple):
    """Cluster c is ``members[starts[c]:starts[c + 1]]``; ``pooled`` counts the rewards of all its arms."""

    family: Whole
    sigma: Real
    tallies: Tallies
    pooled: Tallies
    cluster: FixedWholes
    starts: FixedWholes
    members: FixedWholes


def prepare(situation: Situation, parameters: SimpleNamespace) -> ClusteredTsState:
    """Start with nothing played; the clusters are the components of the similarity graph."""
    cluster = situation.components
    sizes = np.bincount(cluster)
    return ClusteredTsState(
        FAMILIES[parameters.divergence],
        parameters.sigma,
        new_tallies(situation.n_arms),
        new_tallies(len(sizes)),
        cluster,
        np.concatenate([[0], np.cumsum(sizes)]),
        np.argsort(cluster, kind="stable"),
    )


@inlined
def draw_mean(family: int, sigma: float, count: int, total: float, stream: Array) -> float:
    """Draw from Beta(1 + wins, 1 + losses), or from N(sum / (n + 1), sigma^2 / (n + 1))."""
    if family == BERNOULLI:
        return beta(stream, 1.0 + total, 1.0 + count - total)
    return total / (count + 1.0) + sigma * normal(stream) / safe_sqrt(count + 1.0)


def select(state: ClusteredTsState, allowed: Allowed, stream: Array) -> int:
    """Play the largest draw in the cluster with the largest draw."""
    family, sigma, counts, sums = state.family, state.sigma, state.pooled.counts, state.pooled.sums
    chosen, highest = 0, -math.inf
    for at in range(len(counts)):
        if not any_allowed(allowed, state.members, state.starts[at], state.starts[at + 1]):
            continue
        value = draw_mean(family, sigma, counts[at], sums[at], stream)
        if value > highest:
            chosen, highest = at, value
    best, highest = state.members[state.starts[chosen]], -math.inf
    for place in range(state.starts[chosen], state.starts[chosen + 1]):
        arm = state.members[place]
        if not is_allowed(allowed, arm):
            continue
        value = draw_mean(family, sigma, state.tallies.counts[arm], state.tallies.sums[arm], stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: ClusteredTsState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward for the arm and its cluster; with Beta posteriors toss for those between 0 and 1."""
    if state.family == BERNOULLI:
        reward = 1.0 if toss(reward, stream) else 0.0
    add_reward(state.tallies, arm, reward)
    add_reward(state.pooled, state.cluster[arm], reward)


def score(state: ClusteredTsState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    count, total = state.tallies.counts[arm], state.tallies.sums[arm]
    if state.family == BERNOULLI:
        return (1.0 + total) / (2.0 + count)
    return total / (count + 1.0)


SPECIFICATION = Specification(
    name="clustered_ts",
    title="Clustered TS",
    rule="argmax of posterior draws in the cluster with the largest draw from the posterior of its pooled "
    "rewards; clusters are the connected components of the similar pairs",
    reference="Carlsson, Dubhashi and Johansson (2021), TSC; for Gaussian rewards with the posterior of "
    "ts_gaussian in the place of Beta",
    cost="a draw per cluster, and one per arm of the chosen cluster",
    state=ClusteredTsState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(DIVERGENCE, SIGMA),
    needs=frozenset({"pairs"}),
    score=score,
    score_name="posterior mean",
    randomised=True,
)
