"""What the policies of a study know before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_sizes
from lsdt.errors import InvalidInput
from lsdt.kernel.random import Purpose, new_stream, seed_words
from lsdt.policies.prior import Prior, checked_weight, learn_rewards, prior_of, weight_of_prior
from lsdt.simulation.single_reward_kernel import draw_several

if TYPE_CHECKING:
    from lsdt.policies.policy import Begun
    from lsdt.problems.problems import Instance, Problem
    from lsdt.simulation.competitors import Contender


class StudyPrior(NamedTuple):
    """Rewards drawn anew in every replication, as many of every arm, or those that are given."""

    per_arm: int
    given: Prior | None
    weight: float

    def describe(self) -> dict[str, Any]:
        """Return it as plain data."""
        what: dict[str, Any] = (
            {"rewards_per_arm": self.per_arm}
            if self.given is None
            else {"rewards_given": len(self.given.arms)}
        )
        return {**what, "weight": self.weight}


def checked_prior(
    prior: Any, weight: float, problem: Problem, contenders: list[Contender], seed: int
) -> StudyPrior | None:
    """Return what a study begins with, or None, or say what is wrong with it."""
    if prior is None:
        for contender in contenders:
            if getattr(contender, "prior_weight", None):
                raise InvalidInput(
                    f"{contender.label!r} has a prior_weight, and there is no prior; give one, or leave "
                    "prior_weight out"
                )
        return None
    weight = checked_weight(weight)
    for contender in contenders:
        weight_of_prior(contender, weight)
    if isinstance(prior, bool) or (isinstance(prior, (int, np.integer)) and prior < 1):
        raise InvalidInput(
            f"prior must be a number of rewards of every arm, at least 1, or known rewards; got {prior!r}"
        )
    if isinstance(prior, (int, np.integer)):
        return StudyPrior(int(prior), None, weight)
    if not getattr(problem, "fixed", True):
        raise InvalidInput(
            "this problem has other means in every replication, and known rewards fit one of them at most; "
            "give prior=n for n rewards of every arm, or use fixed=True"
        )
    instance = problem.draw(seed, 0)
    return StudyPrior(0, prior_of(prior, instance.side, instance.rewards.model), weight)


def drawn_prior(prior: StudyPrior, instance: Instance, seed: int, replication: int) -> Prior:
    """Return the known rewards of one replication: every arm once, then again, as often as is asked for."""
    rewards, n_arms = instance.rewards, len(instance.means)
    if prior.given is not None:
        return prior.given
    arms = np.tile(np.arange(n_arms), prior.per_arm)
    if rewards.draw is None:
        assert rewards.law is not None
        stream = new_stream(seed, replication, Purpose.PRIOR)
        means = np.array(instance.means)
        return Prior(arms, draw_several(rewards.law, means, rewards.scale, rewards.shape, stream, arms))
    rng = np.random.default_rng(seed_words(seed, replication, Purpose.PRIOR))
    values = np.array([float(rewards.draw(int(arm), rng)) for arm in arms])
    check_sizes(values, "what the reward function returns for the prior")
    return Prior(arms, values)


def learn_prior(
    begun: Begun, contender: Contender, prior: Prior, weight: float, seed: int, replication: int
) -> None:
    """Let a policy of a study learn what is known, as much of it as its weight says."""
    own = weight_of_prior(contender, weight)
    if own > 0.0:
        learn_rewards(begun, *prior.thinned(own, seed, replication, Purpose.THINNING))
