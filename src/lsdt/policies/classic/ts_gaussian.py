"""Thompson sampling with a Gaussian posterior per arm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.random import normal
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class TsGaussianState(NamedTuple):
    """``centres`` and ``widths`` are the posterior's mean and standard deviation."""

    sigma: Real
    counts: Wholes
    sums: Reals
    centres: Reals
    widths: Reals


def prepare(situation: Situation, parameters: SimpleNamespace) -> TsGaussianState:
    """Start every arm at the prior N(0, sigma^2)."""
    sigma, none = parameters.sigma, np.zeros(situation.n_arms)
    return TsGaussianState(sigma, none, none, none, np.full(situation.n_arms, sigma))


def select(state: TsGaussianState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every arm and play the largest."""
    best, highest = 0, -math.inf
    for arm in range(len(state.centres)):
        if not is_allowed(allowed, arm):
            continue
        value = state.centres[arm] + state.widths[arm] * normal(stream)
        if value > highest:
            best, highest = arm, value
    return best


def update(state: TsGaussianState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.centres[arm] = state.sums[arm] / (state.counts[arm] + 1)
    state.widths[arm] = state.sigma / math.sqrt(state.counts[arm] + 1)


def score(state: TsGaussianState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return state.centres[arm]


SPECIFICATION = Specification(
    name="ts_gaussian",
    title="TS (Gaussian)",
    rule="argmax of draws from N(sum_i / (n_i + 1), sigma^2 / (n_i + 1))",
    reference="Agrawal and Goyal (2013)",
    cost="O(K), one normal number an arm",
    state=TsGaussianState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(SIGMA,),
    score=score,
    score_name="posterior mean",
    randomised=True,
)
