"""D-UCB and C-UCB of Qi, Guo and Zhu (2024), which see the rewards of all arms similar to the one played.

With ``r_i = factor sqrt(log(sqrt(2) T^2) / O_i)``, O_i the number of rewards of arm i that were seen and T
the number of rounds, the index of an arm is ``mean_i + r_i``; the published factor is 1. First every arm of
an independent set is played: no two of its arms are similar, and every other arm is similar to one of them.
Then, among the arm of this set with the largest index and the arms similar to it, the one with the largest
index (D-UCB) or the largest ``mean_j - r_j`` (C-UCB) is played. The two are no policies of the package, whose
agents do not see such rewards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import compile_ahead, compiled, new_stream, normal, safe_log, safe_sqrt, uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import Array
    from lsdt.problems import Instance
    from lsdt.side_information import SideInformation

_REWARDS = 104  # the random stream of the rewards


def seen_with(side: SideInformation) -> list[NDArray[np.int64]]:
    """Return, for every arm, the arms whose rewards it shows: itself and those similar to it."""
    similar = side.store.listed_similar()
    return [np.sort(np.append(similar.neighbours(arm), arm)).astype(np.int64) for arm in range(side.n_arms)]


def independent_set(seen: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the arms that no arm of the set before them shows, in the order of their numbers."""
    free, chosen = np.ones(len(seen), np.bool_), []
    for arm, shown in enumerate(seen):
        if free[arm]:
            chosen.append(arm)
            free[shown] = False
    return np.array(chosen)


def regret_of(
    instance: Instance, horizon: int, conservative: bool, factor: float, key: tuple[int, ...]
) -> float:
    """Play C-UCB (`conservative`) or D-UCB on one problem, and return the regret."""
    law, means = instance.rewards, np.array(instance.means, np.float64)
    seen = seen_with(instance.side)
    with compile_ahead(horizon * len(means)):  # one call plays the whole run
        plays = play(
            means,
            law.model.family == "bernoulli",
            law.model.sigma,
            np.cumsum([0, *map(len, seen)]),
            np.concatenate(seen),
            independent_set(seen),
            conservative,
            factor,
            horizon,
            new_stream(*key, _REWARDS),
        )
    return float(plays @ (means.max() - means))


@compiled
def play(
    means: Array,
    is_coin: bool,
    sigma: float,
    starts: Array,
    seen: Array,
    chosen: Array,
    conservative: bool,
    factor: float,
    horizon: int,
    stream: Array,
) -> Array:
    """Return how often each arm is played; arm i shows rewards of ``seen[starts[i]:starts[i + 1]]``."""
    n_arms = len(means)
    plays, counts, sums = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    width = factor * safe_sqrt(safe_log(safe_sqrt(2.0) * horizon * horizon))
    sign = -1.0 if conservative else 1.0
    for t in range(horizon):
        if t < len(chosen):
            arm = chosen[t]
        else:
            centre, highest = 0, -math.inf
            for one in chosen:
                index = sums[one] / counts[one] + width / safe_sqrt(counts[one])
                if index > highest:
                    centre, highest = one, index
            arm, highest = 0, -math.inf
            for other in seen[starts[centre] : starts[centre + 1]]:
                index = sums[other] / counts[other] + sign * width / safe_sqrt(counts[other])
                if index > highest:
                    arm, highest = other, index
        plays[arm] += 1.0
        for other in seen[starts[arm] : starts[arm + 1]]:
            if is_coin:
                reward = 1.0 if uniform(stream) < means[other] else 0.0
            else:
                reward = means[other] + sigma * normal(stream)
            counts[other] += 1.0
            sums[other] += reward
    return plays
