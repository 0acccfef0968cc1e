"""Decisions: what an agent hands out, what it takes back, and what it still waits for."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_list, checked_size
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lsdt.kernel.rewards import RewardModel
    from lsdt.side_information import SideInformation
    from lsdt.side_information.arms import ArmId


class Decision(NamedTuple):
    """An arm to play, with the number under which its reward is to be told.

    Attributes
    ----------
    number : int
        Numbers count up from 0.
    arm : int
        The index of the arm.
    arm_id : str or int
        Its id; the index where there are no ids.
    propensity : float or None
        The probability with which it was chosen: 1 for policies that do not draw, an estimate where it was
        asked for, else None.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.from_means([.2, .9], epsilon=.3, arm_ids=["tea", "juice"]), policy="ucb1")
    >>> decision = agent.ask()
    >>> decision.number, decision.arm_id in ("tea", "juice"), decision.propensity
    (0, True, 1.0)
    """

    number: int
    arm: int
    arm_id: ArmId
    propensity: float | None


_MOST_PENDING = 1_000  # older decisions that are still pending are most likely lost


class Pending:
    """Decisions whose rewards are not known yet, in the order in which they were asked for."""

    __slots__ = ("_arms",)

    def __init__(self, arms: Iterable[tuple[int, int]] = ()) -> None:
        self._arms = dict(arms)

    def __len__(self) -> int:
        return len(self._arms)

    def numbers(self) -> list[int]:
        """Return the numbers of the decisions, ascending."""
        return list(self._arms)

    def entries(self) -> list[tuple[int, int]]:
        """Return number and arm of every decision."""
        return list(self._arms.items())

    def newest(self) -> list[tuple[int, int]]:
        """Return number and arm of the decisions that the next choice takes into account."""
        if len(self._arms) <= _MOST_PENDING:
            return list(self._arms.items())
        return list(islice(reversed(self._arms.items()), _MOST_PENDING))[::-1]

    def put(self, number: int, arm: int) -> None:
        """Wait for the reward of a decision."""
        self._arms[number] = arm

    def arm(self, number: int) -> int | None:
        """Return the arm of a decision; None if it is not pending."""
        return self._arms.get(number)

    def remove(self, number: int) -> None:
        """Wait no longer."""
        del self._arms[number]


def decision_number(decision: Any) -> int:
    """Return the number of a decision given as a `Decision` or as its number."""
    if isinstance(decision, Decision):
        return decision.number
    if isinstance(decision, bool) or not isinstance(decision, (int, np.integer)):
        raise InvalidInput(f"a decision is what ask() returned, or its number; got {decision!r}")
    return int(decision)


def checked_reward(reward: Any, model: RewardModel) -> float:
    """Return a reward as a float, or say what is wrong with it."""
    if type(reward) is float and 0.0 <= reward <= 1.0:  # right for every law, and mostly so
        return reward
    try:
        value = math.nan if isinstance(reward, (str, bytes)) else float(reward)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"a reward must be a finite number; got {reward!r}") from None
    checked_size(value, "a reward")
    if model.family == "bernoulli" and not 0.0 <= value <= 1.0:
        raise InvalidInput(
            f"this agent's rewards lie between 0 and 1; got {reward!r}; put them on that scale, (reward - "
            "low) / (high - low), or make the agent with rewards='gaussian'"
        )
    return value


def allowed_flags(side: SideInformation, allowed: Any) -> NDArray[np.bool_]:
    """Return a flag for every arm from a list of arms, or from flags; at least one arm must be allowed."""
    values: Any = allowed
    if not isinstance(allowed, np.ndarray) or allowed.ndim == 0:
        values = checked_list(allowed, "allowed", "arms, or of one flag per arm")
    if len(values) and all(isinstance(value, (bool, np.bool_)) for value in values[:2]):
        values = np.array(values, bool)
    if isinstance(values, np.ndarray) and values.dtype == bool:
        if values.shape != (side.n_arms,):
            raise InvalidInput(f"allowed has {values.size} flags and there are {side.n_arms} arms")
        flags = values.copy()
    else:
        flags = np.zeros(side.n_arms, bool)
        for arm in values:
            flags[side.index(arm)] = True
    if not flags.any():
        raise InvalidInput("allowed names no arm; allow at least one")
    return flags
