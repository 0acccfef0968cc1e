"""Decisions whose rewards are not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel.streams import new_stream

if TYPE_CHECKING:
    from lsdt.agent.agent import Agent
    from lsdt.agent.decisions import Decision
    from lsdt.kernel.states import Packed


_TOSS_STREAM = 4  # purpose in the key of a stream; see `agent`


class Pending:
    """Decisions in the order in which they were asked for, and the state that runs ahead with them.

    While decisions are pending, the next arm is chosen on a copy of the policy's state that has learned, for
    each of them, the mean of its arm so far. So ten asks before the first tell do not all name the same arm,
    and nothing that was not observed enters the state itself.
    """

    __slots__ = ("_ahead", "_applied", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[int, int]] = {}
        self._ahead: Packed | None = None
        self._applied = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def numbers(self) -> list[int]:
        """Return the numbers of the decisions, ascending."""
        return list(self._waiting)

    def entries(self) -> list[tuple[int, int]]:
        """Return number and arm of every decision."""
        return [(number, arm) for number, (arm, _) in self._waiting.items()]

    def add(self, decision: Decision, local: int) -> None:
        """Remember a decision."""
        self._waiting[decision.number] = (decision.arm, local)

    def put(self, number: int, arm: int, local: int) -> None:
        """Remember a decision that was made before."""
        self._waiting[number] = (arm, local)

    def take(self, number: int) -> tuple[int, int] | None:
        """Forget a decision and return its arm and the policy's number of it; None if it is not pending."""
        found = self._waiting.pop(number, None)
        if found is not None:
            self._ahead = None
        return found

    def stale(self) -> None:
        """Begin the state ahead anew: something was learned."""
        self._ahead = None

    def ahead(self, agent: Agent) -> Packed:
        """Return the state that has learned the means of what is pending."""
        player = agent._player
        if self._ahead is None:
            self._ahead, self._applied = player.packed.copy(), 0
        waiting = list(self._waiting.items())[self._applied :]
        for number, (arm, local) in waiting:
            if local >= 0:
                if agent.policy.randomised:  # a policy may toss for a mean: with a coin of the decision's own
                    self._ahead.buffer[:4] = new_stream(agent.seed, number, _TOSS_STREAM).view(np.float64)
                player.entries.update(*self._ahead, local, _mean_so_far(agent, arm))
        self._applied += len(waiting)
        # A copy, because choosing may change a state: what runs ahead depends on what is known alone, and is
        # the same after a restart.
        copy = self._ahead.copy()
        copy.buffer[:4] = player.packed.buffer[:4]
        return copy


def _mean_so_far(agent: Agent, arm: int) -> float:
    """Return the mean of an arm; of all arms if it was never told, and 1/2 or 0 before the first reward."""
    if agent._counts[arm]:
        return float(agent._sums[arm] / agent._counts[arm])
    if agent.n_told:
        return float(agent._sums.sum() / agent.n_told)
    return 0.5 if agent.rewards.family == "bernoulli" else 0.0
