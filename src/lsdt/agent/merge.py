"""Merging agents: which may be merged, and their joint tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.agent import snapshot
from lsdt.errors import InvalidInput, Unsupported
from lsdt.policies import BUILT_IN, specification_of

if TYPE_CHECKING:
    from lsdt.agent.learner import Learner
    from lsdt.agent.tally_delta import TallyDelta
    from lsdt.kernel import RewardModel
    from lsdt.side_information import SideInformation


class RewardTally(NamedTuple):
    """The tallies of an agent, with its arms and reward model."""

    side: SideInformation
    rewards: RewardModel
    delta: TallyDelta


def checked_agents(others: Any, agent_class: type) -> list[RewardTally]:
    """Return the tallies of agents, given as agents or snapshots."""
    listed = [others] if isinstance(others, (agent_class, bytes, bytearray)) else others
    try:
        agents = list(listed)
    except TypeError:
        agents = [listed]
    if not agents:
        raise InvalidInput("merge takes at least one other agent; got none")
    told = []
    for each in agents:
        if isinstance(each, (bytes, bytearray)):
            learner = snapshot.from_bytes(bytes(each))
            told.append(RewardTally(learner.side, learner.rewards, learner.tally_delta()))
        elif isinstance(each, agent_class):
            told.append(each._tally())  # type: ignore[attr-defined]
        else:
            raise InvalidInput(f"merge takes agents, or their snapshots; got {type(each).__name__}")
    return told


def joint_delta(learner: Learner, others: list[RewardTally]) -> TallyDelta:
    """Return the joint tallies of other agents by this agent's arms; refuse agents that do not fit."""
    policy = learner.policy
    if not policy.learns_from_sums or policy.why_no_prior:
        able = [name for name in BUILT_IN if _can_merge(name)]
        why = policy.why_no_prior or "its truncated means need every single reward"
        raise Unsupported(
            f"{policy.name} cannot learn what others were told: {why}; those that can are {', '.join(able)}"
        )
    known, joint = {learner.identity, *learner.merged}, None
    for other in others:
        again = known & set(other.delta.agents)
        if again:
            raise InvalidInput(_why_twice(learner, other, again))
        known |= set(other.delta.agents)
        _check_fits(learner, other)
        more = other.delta.renumber(_places(other.side, learner.side), learner.side.n_arms)
        joint = more if joint is None else joint.plus(more)
    assert joint is not None
    return joint


def _can_merge(name: str) -> bool:
    declared = specification_of(name)
    return declared.learns_from_sums and not declared.why_no_prior


def _why_twice(learner: Learner, other: RewardTally, again: set[str]) -> str:
    what = "an agent cannot be merged with itself, or with a copy of itself"
    if learner.identity not in again:
        what = "one of the agents is named twice, or was merged before, itself or through another"
    elif other.delta.agents[0] != learner.identity:
        what = "one of the agents holds what this one was told: merge this one into it, or neither"
    return f"{what}; its rewards would count twice"


def _check_fits(learner: Learner, other: RewardTally) -> None:
    if other.rewards != learner.rewards:
        raise InvalidInput(
            f"the agents have other rewards: {_law(learner.rewards)} here and {_law(other.rewards)} there; "
            "only what is measured alike adds up"
        )
    mine, theirs = learner.side.scale, other.side.scale
    if mine is not None and theirs is not None and mine != theirs:
        raise InvalidInput(
            f"the agents rest on ratings of other scales: from {mine[0]:g} to {mine[1]:g} here and from "
            f"{theirs[0]:g} to {theirs[1]:g} there; only what is measured alike adds up"
        )


def _law(rewards: RewardModel) -> str:
    return f"{rewards.family} (sigma={rewards.sigma:g})"


def _places(theirs: SideInformation, mine: SideInformation) -> Any:
    """Return the index here of each arm of another agent."""
    if (theirs.arm_ids is None) != (mine.arm_ids is None):
        raise InvalidInput("agents that are merged must all have arm ids, or none of them")
    if theirs.arm_ids is None:
        if theirs.n_arms > mine.n_arms:
            raise InvalidInput(
                f"the other agent has {theirs.n_arms} arms and this one {mine.n_arms}; extend this one first"
            )
        return np.arange(theirs.n_arms)
    index = {arm: at for at, arm in enumerate(mine.arm_ids or ())}
    unknown = [arm for arm in theirs.arm_ids if arm not in index]
    if unknown:
        raise InvalidInput(
            f"the other agent has the arm {unknown[0]!r}, and this one has not; extend this one first"
        )
    return np.array([index[arm] for arm in theirs.arm_ids], np.int64)
