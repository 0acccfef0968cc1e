"""User-defined problems: checks of what they provide, and defaults for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsdt._validation import checked_whole
from lsdt.errors import InvalidInput
from lsdt.problems.problems import Instance, Problem
from lsdt.problems.rewards import Rewards, checked_rewards
from lsdt.side_information import SideInformation

_NEEDED = ("n_arms", "rewards", "draw")


def is_problem(value: Any) -> bool:
    """Return whether a value has the attributes of a problem."""
    return all(hasattr(value, name) for name in _NEEDED)


def checked_problem(problem: Any) -> Problem:
    """Return a built-in or user-defined problem, or raise an `InvalidInput` that says what it lacks.

    A user-defined problem may name its reward law (``'gaussian'``), and need not have ``describe()``.

    Examples
    --------
    >>> import numpy as np, lsdt
    >>> class Coins:
    ...     n_arms, rewards = 2, "bernoulli"
    ...     def draw(self, seed, replication):
    ...         means = np.random.default_rng([seed, replication]).uniform(size=2)
    ...         return lsdt.problems.Instance(means, lsdt.SideInformation(2), self.rewards)
    >>> result = lsdt.simulate(Coins(), ["ts"], horizon=10, replications=2)
    >>> result.problem["kind"]
    'Coins'
    """
    missing = [name for name in _NEEDED if not hasattr(problem, name)]
    if missing or isinstance(problem, type):
        what = f"{type(problem).__name__} has no {missing[0]}" if missing else f"got the class {problem!r}"
        raise InvalidInput(
            "a problem is one of lsdt.problems, or an object with n_arms, rewards and draw(seed, "
            f"replication); {what}"
        )
    if isinstance(problem.rewards, Rewards) and _description(problem) is not None:
        return problem  # type: ignore[no-any-return]
    n_arms = checked_whole(problem.n_arms, "n_arms of the problem", 1)
    return OwnProblem(problem, n_arms, checked_rewards(problem.rewards))


def _description(problem: Any) -> dict[str, Any] | None:
    """Return what ``describe()`` returns; None without one, or with the empty one of `Problem`."""
    found = problem.describe() if hasattr(problem, "describe") else None
    if found is not None and not isinstance(found, dict):
        raise InvalidInput(f"describe() of a problem returns a dict of plain data; got {found!r}")
    return found


@dataclass(frozen=True)
class OwnProblem:
    """A user-defined problem, with its reward law as a `Rewards` value and with a description."""

    problem: Any
    n_arms: int
    rewards: Rewards

    @property
    def fixed(self) -> bool:
        """Whether all replications have the same means."""
        return bool(getattr(self.problem, "fixed", True))

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        return checked_instance(self.problem.draw(seed, replication))

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data: its own description, or else its class, arms and rewards."""
        kind = type(self.problem).__name__
        plain = {"kind": kind, "n_arms": self.n_arms, "rewards": self.rewards.describe()}
        return _description(self.problem) or plain


def checked_instance(instance: Any) -> Instance:
    """Return a drawn instance with its law as a `Rewards` value; raise `InvalidInput` if it is not valid."""
    try:
        means, side, rewards = instance
    except (TypeError, ValueError):
        means = side = rewards = None
    if not isinstance(side, SideInformation):
        raise InvalidInput(
            "draw(seed, replication) of a problem returns an lsdt.problems.Instance(means, side, rewards); "
            f"got {instance!r}"
        )
    return Instance(means, side, checked_rewards(rewards))
