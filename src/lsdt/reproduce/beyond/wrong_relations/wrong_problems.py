"""Problems with wrong relations, and a policy that allows for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.kernel import seed_words
from lsdt.policies import Policy
from lsdt.problems import Instance, UniformProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import Array, RewardModel
    from lsdt.policies import ReadyPolicy
    from lsdt.problems import Rewards
    from lsdt.side_information import SideInformation

_COINS = 101  # the random stream that decides what is revealed and what is wrong


def near_first(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that a pair is revealed, by its distance in units of epsilon: exp(-d / 2)."""
    near: NDArray[np.float64] = np.exp(-0.5 * distance)
    return near


@dataclass(frozen=True)
class WrongProblem:
    """A problem in which a share of the revealed relations is wrong.

    Attributes
    ----------
    complete : UniformProblem
        The problem with all relations revealed and correct.
    revealed : float or None
        The share of relations that is revealed; None to favour near pairs (`near_first`).
    wrong : float
        The probability with which each revealed relation is flipped. A relation that is wrong at one
        probability is wrong at every larger one too.
    """

    complete: UniformProblem
    revealed: float | None
    wrong: float

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.complete.n_arms

    @property
    def rewards(self) -> Rewards:
        """The reward law."""
        return self.complete.rewards

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        means, side, rewards = self.complete.draw(seed, replication)
        run = 0 if self.complete.fixed else replication
        first, second = np.random.default_rng(seed_words(seed, run, _COINS)).integers(2**62, size=2).tolist()
        share = near_first if self.revealed is None else self.revealed
        return Instance(means, side.reveal(share, share, seed=first).corrupt(self.wrong, second), rewards)

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {**self.complete.describe(), "revealed": self.revealed, "wrong": self.wrong}


class RobustPolicy(Policy):
    """A policy on the arms left by the triangle rule with the smallest `max_wrong` that leaves any arm."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, label=f"{name} on robust triangles")

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        stream: Array,
        found: Any = None,
        content: Array | None = None,
    ) -> ReadyPolicy:
        """Find the robust candidates, and start the policy on them."""
        robust = candidate_set(side, "triangles", max_wrong="auto")
        inside = Policy(self.name, on="paper")
        return inside.begin(side, rewards, horizon, stream, robust, content)

    def __reduce__(self) -> tuple[Any, ...]:
        return RobustPolicy, (self.name,)
