"""An agent that goes on with other side information."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.agent.auto_policy import chosen_policy
from lsdt.agent.known_rewards import tallies
from lsdt.agent.pending import Pending
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.side_information import SideInformation
from lsdt.side_information.io.arrays import fingerprint
from lsdt.side_information.layouts.subset import with_known_epsilon

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.agent import Agent
    from lsdt.side_information.arms import ArmId


class Extension(NamedTuple):
    """What changed when an agent got other side information.

    Attributes
    ----------
    new_arms : list
        Arms that were not there before.
    in_play : list
        Arms that the policy plays on now, and did not before.
    out_of_play : list
        Arms that it played on before, and does not now.
    text : str
        The same in a sentence.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"]), policy="ucb1")
    >>> agent.extend(lsdt.SideInformation(3, arm_ids=["tea", "juice", "mate"])).new_arms
    ['mate']
    """

    new_arms: list[ArmId]
    in_play: list[ArmId]
    out_of_play: list[ArmId]
    text: str


def extend(agent: Agent, side: SideInformation) -> Extension:
    """Begin the policy anew on `side` and let it learn what the agent knows; see `Agent.extend`.

    A policy's state depends on rewards through counts and sums per arm, so learning these again loses nothing
    but the tosses of Thompson sampling, which are made anew. (Truncated means depend on more: refused.)
    """
    place = _places(agent, side)
    side = with_known_epsilon(side, agent.side.epsilon)
    if not agent.policy.learns_from_sums:
        raise Unsupported(
            f"{agent.policy.name} cannot go on with other side information: its truncated means need every "
            "single reward again"
        )
    before = {agent.side.label(int(arm)) for arm in agent._arms}
    old_side, old = agent.side, (agent._counts, agent._sums)
    pending = agent._pending.entries()
    kept = agent._player, agent._arms, agent._local, agent.policy, agent.policy_reason
    try:
        if agent._auto:
            agent.policy, agent.policy_reason = chosen_policy("auto", side, agent.rewards, agent.horizon)
        agent._start_policy(side)
        agent._journal.write({"event": "extend", "side": fingerprint(side)})
    except Exception:
        agent.side = old_side
        agent._player, agent._arms, agent._local, agent.policy, agent.policy_reason = kept
        raise
    agent._player.packed.buffer[:4] = kept[0].packed.buffer[:4]  # what was drawn is not drawn again
    agent._counts, agent._sums = np.zeros(side.n_arms, np.int64), np.zeros(side.n_arms)
    agent._counts[place], agent._sums[place] = old
    agent._prior = agent._prior.moved(place, side.n_arms)
    _relearn(agent)
    agent._pending = Pending()
    for number, arm in pending:
        moved = int(place[arm])
        local = moved if agent._local is None else int(agent._local[moved])
        agent._pending.put(number, moved, local)
    return _changes(agent, old_side, before)


def _places(agent: Agent, side: SideInformation) -> NDArray[np.int64]:
    """Return where each arm of the agent is among those of `side`."""
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"extend takes a SideInformation; got {type(side).__name__}")
    if (side.arm_ids is None) != (agent.side.arm_ids is None):
        raise InvalidInput("the side information must have arm ids if, and only if, the agent's has")
    if side.arm_ids is None:
        if side.n_arms < agent.side.n_arms:
            raise InvalidInput(
                f"the agent has {agent.side.n_arms} arms and the side information {side.n_arms}; none may go"
            )
        return np.arange(agent.side.n_arms)
    return np.array([side.index(arm) for arm in agent.side.arm_ids or ()], np.int64)


def _relearn(agent: Agent) -> None:
    counts, sums = (tally[agent._arms] for tally in tallies(agent))
    binary = agent.rewards.family == "bernoulli" and bool((sums == np.rint(sums)).all())
    agent._player.entries.absorb(*agent._player.packed, counts, sums, binary)


def _changes(agent: Agent, old_side: SideInformation, before: set[ArmId]) -> Extension:
    side = agent.side
    known = set(old_side.arm_ids or range(old_side.n_arms))
    everything = side.arm_ids or range(side.n_arms)
    new = [arm for arm in everything if arm not in known]
    now = [side.label(int(arm)) for arm in agent._arms]
    came = [arm for arm in now if arm not in before]
    gone = sorted(before - set(now), key=lambda arm: (str(type(arm)), arm))
    arms, in_play = counted(len(new), "new arm"), counted(len(now), "arm")
    text = f"{arms}; {in_play} in play, {len(came)} of them newly, {len(gone)} no more"
    return Extension(new, came, gone, text)
