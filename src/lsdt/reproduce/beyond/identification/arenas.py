"""The settings of the contest: problems, and the tolerance required in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt import problems
from lsdt.kernel import seed_words
from lsdt.problems import Instance
from lsdt.ratings import from_ratings, make_log, read_log
from lsdt.reproduce.beyond.wrong_relations.wrong_problems import WrongProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.problems import Problem, Rewards

_LOGS = 102  # the random stream that draws logs


@dataclass(frozen=True)
class LogProblem:
    """Items with ranges for their differences, estimated from a log; each pays 0 or 1 with its true mean.

    Attributes
    ----------
    n_arms, n_users : int
        Number of items and users.
    rewards : Rewards
        The reward law.
    """

    n_arms: int
    n_users: int
    rewards: Rewards

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication: a new log."""
        key = int(np.random.default_rng(seed_words(seed, replication, _LOGS)).integers(2**31))
        log, means = make_log(self.n_users, self.n_arms, seed=key)
        side = from_ratings(read_log(log, scale=(1.0, 5.0)), relations="ranges")
        unit = (means.to_numpy(np.float64) - 1.0) / 4.0
        order = [int(side.label(arm)) for arm in range(side.n_arms)]
        return Instance(unit[order], side, self.rewards)

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {"kind": "log", "n_arms": self.n_arms, "n_users": self.n_users}


@dataclass(frozen=True)
class Arena:
    """A setting: the problem, and the tolerance required.

    Attributes
    ----------
    title : str
        Its name in tables and figures.
    problem : function
        Makes the problem.
    tolerance : float
        How far below the best mean the mean of the arm that a method names may be.
    is_cheap : bool
        Whether our runs take so few tries that five times as many are played, to count errors.
    on : tuple of str
        The arms that the other methods play on. All of 1,000 arms would take them too many tries, as they
        repeat choices.
    is_wrong : bool
        Whether some relations are wrong, so that nothing is guaranteed.
    """

    title: str
    problem: Callable[[], Problem]
    tolerance: float
    is_cheap: bool = False
    on: tuple[str, ...] = ("all arms", "candidates")
    is_wrong: bool = False


def _partial(n_arms: int, revealed: float) -> Problem:
    return problems.uniform(n_arms, 0.1, 0.9, 0.1, "bernoulli", revealed, revealed)


def _wrong(share: float) -> Problem:
    return WrongProblem(problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli"), 0.5, share)


ARENAS = {
    "complete": Arena("complete, K = 100", lambda: problems.uniform(100, 0.1, 1.0, 0.1), 0.1, is_cheap=True),
    "half": Arena("half known, K = 100", lambda: _partial(100, 0.5), 0.1, is_cheap=True),
    "fifth": Arena("a fifth known, K = 100", lambda: _partial(100, 0.2), 0.1),
    "thousand": Arena("half known, K = 1,000", lambda: _partial(1_000, 0.5), 0.1, True, ("candidates",)),
    "pieces": Arena("in pieces, K = 100", lambda: problems.uniform(100, 0.1, 1.0, 0.03), 0.1),
    "log": Arena(
        "ranges from a log, K = 40", lambda: LogProblem(40, 2_000, problems.rewards.bernoulli()), 0.05
    ),
    "wrong": Arena("half known, 0.1% wrong, K = 100", lambda: _wrong(0.001), 0.1, is_wrong=True),
}
