"""Problems of contests: means uniform on an interval, as in the paper, or of another shape.

A policy may lead on uniform means only because they are uniform. *Clustered* means lie in ten groups, *bell*
means are normal, those of a *grid* are evenly spaced, and *two-level* means lie close to one of two values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel import Purpose, seed_words
from lsdt.problems import Instance, Problem, Rewards, checked_rewards
from lsdt.reproduce.framework.regret_figures import problem_of
from lsdt.side_information import from_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Setting

UNIFORM = "uniform"
SHAPES = ("clustered", "bell", "grid", "two-level")
_LEAST, _MOST = 0.02, 0.98  # limits of a mean: normal means, too, must be probabilities of a reward


@dataclass(frozen=True)
class ShapedProblem:
    """Arms whose means have a shape; a share of their similar and dissimilar pairs is revealed."""

    shape: str
    n_arms: int
    low: float
    high: float
    epsilon: float
    rewards: Rewards
    revealed: float
    fixed: bool = False

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        key = (seed, 0 if self.fixed else replication, Purpose.PROBLEM)
        rng = np.random.default_rng(seed_words(*key))
        means = np.clip(self._means(rng), _LEAST, _MOST)
        side = from_means(means, self.epsilon)
        if self.revealed < 1.0:
            side = side.reveal(self.revealed, self.revealed, seed=int(rng.integers(2**63)))
        return Instance(means, side, self.rewards)

    def _means(self, rng: np.random.Generator) -> NDArray[np.float64]:
        n_arms, low, high = self.n_arms, self.low, self.high
        width = high - low
        if self.shape == "clustered":
            centres = rng.uniform(low, high, 10)
            return centres[rng.integers(0, 10, n_arms)] + rng.normal(0.0, 0.02, n_arms)
        if self.shape == "bell":
            return rng.normal(0.5 * (low + high), 0.1875 * width, n_arms)
        if self.shape == "grid":
            return rng.permutation(np.linspace(low, high, n_arms))
        levels = np.array([low + 0.25 * width, low + 0.625 * width])
        return levels[rng.integers(0, 2, n_arms)] + rng.uniform(-0.02, 0.02, n_arms)

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        plain = {key: value for key, value in vars(self).items() if key != "rewards"}
        return {"kind": "shaped", **plain, "rewards": self.rewards.describe()}


def contest_problem(setting: Setting) -> Problem:
    """Return the random problem of a contest.

    Examples
    --------
    >>> from lsdt.reproduce import Request
    >>> from lsdt.reproduce.beyond.contests.contest import contest_setting
    >>> from lsdt.reproduce.beyond.contests.shapes import contest_problem
    >>> setting = contest_setting(Request(), revealed=1., rewards="bernoulli", arms=5, shape="grid")
    >>> sorted(contest_problem(setting).draw(0, 0).means.round(1).tolist())
    [0.1, 0.3, 0.5, 0.7, 0.9]
    """
    if setting["shape"] == UNIFORM:
        return problem_of(setting)
    low, high = setting["means"]
    return ShapedProblem(
        setting["shape"],
        setting["arms"],
        low,
        high,
        setting["epsilon"],
        checked_rewards(setting["rewards"]),
        setting["revealed"],
        setting["fixed_draw"],
    )
