"""Decisions whose rewards are not known yet."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lsdt.agent.known_rewards import tallies
from lsdt.kernel.random import new_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.agent import Agent
    from lsdt.kernel.state import Packed


_TOSS_STREAM = 4  # purpose in the key of a stream; see `agent`
MOST_AHEAD = 1_000  # older decisions that are still pending are most likely lost


class Pending:
    """Decisions in the order in which they were asked for, and the state that runs ahead with them.

    While decisions are pending, the next arm is chosen on a copy of the policy's state that has learned, for
    each of them, the mean of its arm so far. So ten asks before the first tell do not all name the same arm,
    and nothing that was not observed enters the state itself. What runs ahead depends on the state and on
    what is pending alone, and is the same after a restart. Of very many, the newest are run ahead with.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def numbers(self) -> list[int]:
        """Return the numbers of the decisions, ascending."""
        return list(self._waiting)

    def entries(self) -> list[tuple[int, int]]:
        """Return number and arm of every decision."""
        return [(number, arm) for number, (arm, _) in self._waiting.items()]

    def put(self, number: int, arm: int, local: int) -> None:
        """Remember a decision: the arm, and the policy's number of it (-1 when it is not in play)."""
        self._waiting[number] = (arm, local)

    def get(self, number: int) -> tuple[int, int] | None:
        """Return arm and policy's number of a decision; None if it is not pending."""
        return self._waiting.get(number)

    def remove(self, number: int) -> None:
        """Forget a decision."""
        del self._waiting[number]

    def ahead(self, agent: Agent) -> Packed:
        """Return a state that has learned the means of what is pending."""
        packed: Packed = agent._player.packed.copy()
        newest = islice(reversed(self._waiting.values()), MOST_AHEAD)
        local = np.array([place for _, place in newest if place >= 0], np.int64)
        if len(local) == 0:
            return packed
        stream = packed.buffer[:4].copy()
        if agent.policy.randomised:  # a policy may toss for a mean: with a stream of its own
            packed.buffer[:4] = new_stream(agent.seed, agent.n_told, _TOSS_STREAM).view(np.float64)
        counts = np.bincount(local, minlength=len(agent._arms))
        agent._player.entries.absorb(*packed, counts, counts * _means_so_far(agent), False)
        packed.buffer[:4] = stream
        return packed


def _means_so_far(agent: Agent) -> NDArray[np.float64]:
    """Return the mean of every arm; of all arms where none is known, and 1/2 or 0 where nothing is."""
    all_counts, all_sums = tallies(agent)
    counts, sums = all_counts[agent._arms], all_sums[agent._arms]
    n_known = int(all_counts.sum())
    if n_known:
        overall = float(all_sums.sum() / n_known)
    else:
        overall = 0.5 if agent.rewards.family == "bernoulli" else 0.0
    return np.where(counts > 0, sums / np.maximum(counts, 1), overall)
