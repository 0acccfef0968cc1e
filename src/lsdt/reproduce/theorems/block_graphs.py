"""Graphs made of blocks of equal arms, the simplest that meet Assumptions 3 to 5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel import Purpose, seed_words
from lsdt.problems import Instance, Rewards, checked_rewards
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPARE = 1e-12  # keeps a rounded probability at or above its limit: some thousand rounding errors


def block_means(n_classes: int, size: int, step: float, low: float = 0.0) -> NDArray[np.float64]:
    """Return the means of `n_classes` blocks of `size` equal arms, `step` apart, ascending."""
    return np.repeat(low + step * np.arange(n_classes), size)


def least_product(n_arms: int, size: int) -> float:
    """Return the least p_S^2 p_D for which Assumptions 4 and 5 hold with classes of `size` arms.

    Assumption 4 allows kappa up to size / log K; Assumption 5 then asks for 1 - exp(-2 / kappa).
    """
    return min(-math.expm1(-2.0 * math.log(n_arms) / size) + _SPARE, 1.0)


@dataclass(frozen=True)
class BlockProblem:
    """Blocks of equal arms with Bernoulli rewards; every replication reveals its own random relations."""

    n_classes: int
    size: int
    step: float
    low: float
    epsilon: float
    share: float

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.n_classes * self.size

    @property
    def rewards(self) -> Rewards:
        """The reward law."""
        return checked_rewards("bernoulli")

    @property
    def complete(self) -> SideInformation:
        """The complete side information, of which every replication reveals a part."""
        return from_means(self.means, self.epsilon)

    @property
    def means(self) -> NDArray[np.float64]:
        """The means, ascending: the first `size` arms are the bottom class, the last `size` are best."""
        return block_means(self.n_classes, self.size, self.step, self.low)

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        rng = np.random.default_rng(seed_words(seed, replication, Purpose.PROBLEM))
        coins = int(rng.integers(2**63))
        side = self.complete.reveal(self.share, self.share, seed=coins)
        return Instance(self.means, side, self.rewards)

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {"kind": "blocks", **vars(self), "rewards": self.rewards.describe()}
