"""Thompson sampling with a Gaussian posterior per arm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import normal, safe_sqrt
from lsdt.policies.parts.equal_posteriors import (
    Groups,
    fill_groups,
    largest_normal_group,
    move_arm,
    new_groups,
)
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import SIGMA, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class TsGaussianState(NamedTuple):
    """``centres`` and ``widths`` are the posterior's mean and standard deviation.

    Many arms are grouped by count and sum (`policies.parts.equal_posteriors`); those of few are
    empty.
    """

    sigma: Real
    counts: Wholes
    sums: Reals
    centres: Reals
    widths: Reals
    groups: Groups


def prepare(situation: Situation, parameters: SimpleNamespace) -> TsGaussianState:
    """Start every arm at the prior N(0, sigma^2)."""
    sigma, none = parameters.sigma, np.zeros(situation.n_arms)
    arms = np.arange(situation.n_arms)
    groups, _ = new_groups(0.0, 0.0, np.array([len(arms)]), arms)
    return TsGaussianState(sigma, none, none, none, np.full(situation.n_arms, sigma), groups)


def select(state: TsGaussianState, allowed: Allowed, stream: Array) -> int:
    """Draw a mean for every arm, or for all arms of a posterior at once, and play the largest."""
    groups = state.groups
    if groups.n_groups[0] > 0:
        return largest_normal_group(groups, len(groups.starts), state.centres, state.widths, allowed, stream)
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
    count, total = float(state.counts[arm]), state.sums[arm]
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.centres[arm] = state.sums[arm] / (state.counts[arm] + 1)
    state.widths[arm] = state.sigma / safe_sqrt(state.counts[arm] + 1)
    groups = state.groups
    if groups.n_groups[0] > 0:
        move_arm(groups, 0, len(groups.starts), 0, arm, count, total, count + 1.0, state.sums[arm])


def fill(state: TsGaussianState, counts: Array, sums: Array) -> None:
    """Start with rewards; counts are rounded, means stay."""
    whole = np.rint(counts)
    state.counts[:] = whole
    state.sums[:] = whole * np.divide(sums, counts, np.zeros(len(counts)), where=whole > 0.0)
    state.centres[:] = state.sums / (whole + 1.0)
    state.widths[:] = state.sigma / np.sqrt(whole + 1.0)
    fill_groups(state.groups, whole, state.sums)


def score(state: TsGaussianState, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    return state.centres[arm]


SPECIFICATION = Specification(
    name="ts_gaussian",
    title="TS (Gaussian)",
    rule="argmax of draws from N(sum_i / (n_i + 1), sigma^2 / (n_i + 1))",
    reference="Agrawal and Goyal (2013)",
    cost="O(K), one normal number an arm; from 500 arms on O(distinct posteriors)",
    state=TsGaussianState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(SIGMA,),
    score=score,
    score_name="posterior mean",
    randomised=True,
    fill=fill,
    places={
        "groups.order": "counts",
        "groups.place": "counts",
        "groups.starts": "groups.order",
        "groups.n_groups": "groups.starts",
    },
)
