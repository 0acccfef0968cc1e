"""An agent that begins with known rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.checksums import checksum
from lsdt.policies.policy import Begun
from lsdt.policies.prior import learn_rewards, prior_of, weight_of_prior
from lsdt.problems.problems import THINNING_STREAM
from lsdt.side_information.io.arrays import as_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.agent import Agent


class Known(NamedTuple):
    """What an agent knew before its first decision: how many rewards of every arm, and their sums.

    The arrays are empty where nothing was known. ``mark`` is a checksum of the single rewards.
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    weight: float
    mark: str

    def __bool__(self) -> bool:
        return len(self.counts) > 0

    def moved(self, place: NDArray[np.int64], n_arms: int) -> Known:
        """Return the same of arms that have other numbers now, among `n_arms`."""
        if not self:
            return self
        counts, sums = np.zeros(n_arms, np.int64), np.zeros(n_arms)
        counts[place], sums[place] = self.counts, self.sums
        return self._replace(counts=counts, sums=sums)


NOTHING_KNOWN = Known(np.zeros(0, np.int64), np.zeros(0), 0.0, "")


def learn_prior(agent: Agent, prior: Any, weight: float) -> None:
    """Let an agent learn what is known before its first decision."""
    if prior is None:
        if agent.policy.prior_weight:
            raise InvalidInput(
                f"{agent.policy.label!r} has a prior_weight, and there is no prior; give one, or leave "
                "prior_weight out"
            )
        return
    own = weight_of_prior(agent.policy, weight)
    if own == 0.0:
        return
    known = prior_of(prior, agent.side, agent.rewards).thinned(own, agent.seed, 0, THINNING_STREAM)
    mark = f"{checksum([as_words(part) for part in known]):016x}"
    agent._prior = Known(*known.tallies(agent.side.n_arms), own, mark)
    learn_rewards(Begun(agent._player, agent._arms, 0.0), *known)


def start_again(agent: Agent, prior: Any, recorded: dict[str, Any] | None) -> None:
    """Let an agent that is rebuilt from its record learn what it knew then, and nothing else."""
    if recorded is None:
        if prior is not None:
            raise InvalidInput("the agent of this record began with no prior; leave prior out")
        return
    if prior is None:
        raise InvalidInput(
            "the agent of this record began with known rewards, which the record does not hold; give them "
            "again as prior"
        )
    learn_prior(agent, prior, float(recorded["weight"]))
    if agent._prior.mark != recorded["mark"]:
        raise InvalidInput(
            "this is not the prior that the record was made with; give the same rewards in the same order"
        )


def tallies(agent: Agent) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of rewards of every arm and their sum, those known before included."""
    if not agent._prior:
        return agent._counts, agent._sums
    return agent._counts + agent._prior.counts, agent._sums + agent._prior.sums
