"""A yardstick for other policies: always the same arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel import pack
from lsdt.policies.policy import Player, ReadyPolicy
from lsdt.policies.specification import Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.candidates import CandidateSet
    from lsdt.kernel import Allowed, Array, RewardModel, Whole
    from lsdt.policies.situation import Situation
    from lsdt.side_information import ArmId, SideInformation

ALWAYS = "always"


class AlwaysState(NamedTuple):
    """The arm."""

    arm: Whole


def prepare(situation: Situation, parameters: SimpleNamespace) -> AlwaysState:
    """Keep the arm."""
    return AlwaysState(parameters.arm)


def select(state: AlwaysState, allowed: Allowed, stream: Array) -> int:
    """Play the arm."""
    return state.arm


def update(state: AlwaysState, arm: int, reward: float, stream: Array) -> None:
    """Learn nothing."""


_SPECIFICATION = Specification(
    name=ALWAYS,
    title="always the same",
    rule="the arm that was named",
    reference="",
    cost="O(1)",
    state=AlwaysState,
    prepare=prepare,
    select=select,
    update=update,
)


class Always:
    """A policy that always plays one arm; see `constant`."""

    on, uses_horizon, uses_side, prior_weight, why_no_prior = "all", False, False, 0.0, ""

    def __init__(self, arm: ArmId, label: str | None = None) -> None:
        self.arm = arm
        self.label = f"{ALWAYS} {arm}" if label is None else label

    def index(self, side: SideInformation) -> int:
        """Return the number of the arm; a word of digits is a number where arms are called by numbers."""
        numbered = side.arm_ids is None or isinstance(side.arm_ids[0], int)
        if numbered and isinstance(self.arm, str) and self.arm.lstrip("-").isdecimal():
            return side.index(int(self.arm))
        return side.index(self.arm)

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data."""
        return {"policy": ALWAYS, "title": self.label, "on": self.on, "parameters": {"arm": self.arm}}

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        key: Array,
        found: CandidateSet | None = None,
    ) -> ReadyPolicy:
        """Return a player."""
        packed = pack(AlwaysState(self.index(side)), key)
        player = Player(_SPECIFICATION.entries(), packed, AlwaysState, side.n_arms)
        return ReadyPolicy(player, np.arange(side.n_arms), 0.0)


def constant(arm: ArmId, label: str | None = None) -> Always:
    """Return a policy that always plays one arm, given by id or index; in words ``always:arm``.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.given([.2, .5], rewards="bernoulli")
    >>> result = lsdt.simulate(problem, [lsdt.policies.constant(1), "ucb1"], horizon=100, replications=2)
    >>> result.regret("always 1")[:, -1].tolist()
    [0.0, 0.0]
    """
    return Always(arm, label)
