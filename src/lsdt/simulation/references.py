"""What one would do without a bandit: always the item that was best in training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.kernel.jit import Array
    from lsdt.kernel.rewards import RewardModel
    from lsdt.policies.policy import Begun
    from lsdt.side_information import SideInformation

BEST_TRAINING_MEAN = "best_training_mean"


class BestTrainingMean:
    """A policy that always plays the item that was best in training; see `best_training_mean`."""

    on, uses_horizon, uses_side, prior_weight, why_no_prior = "all", False, False, 0.0, ""
    label = BEST_TRAINING_MEAN

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data."""
        return {"policy": BEST_TRAINING_MEAN, "title": self.label, "on": self.on, "parameters": {}}

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        stream: Array,
        found: CandidateSet | None = None,
    ) -> Begun:
        """Refuse: a simulation has no training."""
        raise Unsupported(
            f"{BEST_TRAINING_MEAN} needs training ratings, which only lsdt.replay has; in a simulation name "
            "an arm, as in lsdt.policies.constant(arm)"
        )


def best_training_mean() -> BestTrainingMean:
    """Return a policy of `lsdt.replay` that always plays the item with the best mean in training.

    That is what one would do without a bandit, and the first thing to compare with. So that one lucky rating
    does not win, a mean is taken together with two ratings of the overall mean, as `Agent.best` does.
    """
    return BestTrainingMean()


def best_known(counts: NDArray[Any], sums: NDArray[np.float64], among: NDArray[Any] | None = None) -> int:
    """Return the arm with the best mean, two rewards of the overall mean added to each; -1 without rewards.

    Only arms with rewards can be it, and only those that `among` flags, where it is given.
    """
    known = counts > 0 if among is None else (counts > 0) & among
    if not known.any():
        return -1
    overall = sums.sum() / counts.sum()
    return int(np.argmax(np.where(known, (sums + 2.0 * overall) / (counts + 2.0), -math.inf)))
