"""Rewards that the policies of a study know before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_sizes, checked_replications
from lsdt.errors import InvalidInput
from lsdt.kernel import Purpose, new_stream, seed_words
from lsdt.policies import Prior, checked_weight, learn_rewards, prior_of, weight_of_prior
from lsdt.simulation.single_reward_kernel import draw_several, draw_several_recorded

if TYPE_CHECKING:
    from lsdt.policies import ReadyPolicy
    from lsdt.problems import Instance, Problem
    from lsdt.simulation.competitors import Competitor


class StudyPrior(NamedTuple):
    """Known rewards: those `given`, or `per_arm` of every arm, drawn in each replication."""

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
    prior: Any, weight: float, problem: Problem, competitors: list[Competitor], seed: int
) -> StudyPrior | None:
    """Return the prior of a study, checked, or None if there is none."""
    if prior is None:
        for competitor in competitors:
            if getattr(competitor, "prior_weight", None):
                raise InvalidInput(
                    f"{competitor.label!r} has a prior_weight, and there is no prior; give one, or leave "
                    "prior_weight out"
                )
        return None
    weight = checked_weight(weight)
    for competitor in competitors:
        weight_of_prior(competitor, weight)
    if isinstance(prior, (int, np.integer)):
        per_arm = checked_replications(prior, "prior, where it says how many rewards of every arm are known,")
        return StudyPrior(per_arm, None, weight)
    if not getattr(problem, "fixed", True):
        raise InvalidInput(
            "this problem draws other means in every replication, so the same known rewards cannot fit them; "
            "give prior=n for n rewards of every arm, or use fixed=True"
        )
    instance = problem.draw(seed, 0)
    return StudyPrior(0, prior_of(prior, instance.side, instance.rewards.model), weight)


def draw_prior(prior: StudyPrior, instance: Instance, seed: int, replication: int) -> Prior:
    """Return the known rewards of one replication: those given, or drawn in turn from every arm."""
    rewards, n_arms = instance.rewards, len(instance.means)
    if prior.given is not None:
        return prior.given
    arms = np.tile(np.arange(n_arms), prior.per_arm)
    if rewards.draw is None:
        assert rewards.law is not None
        stream = new_stream(seed, replication, Purpose.PRIOR)
        if rewards.records is not None:
            return Prior(arms, draw_several_recorded(*rewards.records, stream, arms))
        means = np.array(instance.means)
        return Prior(arms, draw_several(rewards.law, means, rewards.scale, rewards.shape, stream, arms))
    rng = np.random.default_rng(seed_words(seed, replication, Purpose.PRIOR))
    values = np.array([float(rewards.draw(int(arm), rng)) for arm in arms])
    check_sizes(values, "what the reward function returns for the prior")
    return Prior(arms, values)


def learn_prior(
    ready: ReadyPolicy, competitor: Competitor, prior: Prior, weight: float, seed: int, replication: int
) -> None:
    """Let a policy learn each known reward with a probability equal to its weight."""
    own = weight_of_prior(competitor, weight)
    if own > 0.0:
        learn_rewards(ready, *prior.thinned(own, seed, replication, Purpose.THINNING))
