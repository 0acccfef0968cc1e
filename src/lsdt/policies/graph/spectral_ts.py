"""SpectralTS: Thompson sampling with means that are drawn together, smooth along similar pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import normal
from lsdt.policies.parts.graph_estimate import RIDGE, WEIGHT, GraphEstimate, learn_mean, new_estimate
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals
    from lsdt.policies.situation import Situation


class SpectralTsState(NamedTuple):
    """``spread`` is what the posterior's widths are multiplied by; ``noise`` is room for the draws."""

    spread: Real
    estimate: GraphEstimate
    noise: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> SpectralTsState:
    """Start at the prior."""
    n_arms = situation.n_arms
    spread = parameters.width * parameters.sigma
    return SpectralTsState(spread, new_estimate(situation, parameters), np.zeros(n_arms))


def select(state: SpectralTsState, allowed: Allowed, stream: Array) -> int:
    """Draw all means together, m + spread F z with z normal, and play the largest."""
    estimate, noise = state.estimate, state.noise
    means, factor = estimate.means, estimate.factor
    for place in range(len(noise)):
        noise[place] = normal(stream)
    best, highest = 0, -math.inf
    for arm in range(len(means)):
        if not is_allowed(allowed, arm):
            continue
        first, end, row, drawn = estimate.first[arm], estimate.end[arm], estimate.row[arm], 0.0
        for place in range(first, end):
            drawn += factor[row + place - first] * noise[place]
        value = means[arm] + state.spread * drawn
        if value > highest:
            best, highest = arm, value
    return best


def update(state: SpectralTsState, arm: int, reward: float, stream: Array) -> None:
    """Learn the reward, for the arm and all that are connected to it."""
    learn_mean(state.estimate, arm, reward)


def score(state: SpectralTsState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return state.estimate.means[arm]


SPECIFICATION = Specification(
    name="spectral_ts",
    title="SpectralTS",
    rule="argmax of one draw of all means from N(m, (width sigma)^2 P), m and P as for laplacian_ucb",
    reference="Kocák, Valko, Munos and Agrawal (2014), in the basis of the arms",
    cost="a normal number an arm, and the squares of the sizes of the similarity graph's components",
    state=SpectralTsState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        WEIGHT,
        RIDGE,
        Number(
            "width",
            1.0,
            "what the posterior's standard deviations are multiplied by; 1 is the posterior of normal "
            "rewards, and the published sqrt(6 d log((ridge + T) / (delta ridge))) + norm / sigma, d the "
            "effective dimension, is far larger",
            above=0.0,
        ),
        SIGMA,
    ),
    needs=frozenset({"epsilon"}),
    score=score,
    score_name="posterior mean",
    randomised=True,
)
