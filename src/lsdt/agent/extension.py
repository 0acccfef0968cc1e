"""An agent that goes on with other side information."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import card, fold, name_list
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.policies import Policy
    from lsdt.policies.offline import OfflineSteps
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

    def _repr_html_(self) -> str:
        lists = {"new": self.new_arms, "now in play": self.in_play, "out of play": self.out_of_play}
        folds = (fold(name, name_list(arms, len(arms))) for name, arms in lists.items())
        return card("Extension", self.text, *folds)


def extend(
    learner: Learner, side: SideInformation, policy: Policy, places: NDArray[np.int64], steps: OfflineSteps
) -> Learner:
    """Return a learner on `side` that knows the rewards `learner` knows, or say why there is none."""
    if not policy.learns_from_sums:
        raise Unsupported(
            f"{policy.name} cannot go on with other side information: its truncated means need every single "
            "reward again"
        )
    return learner.transfer(side, policy, places, steps)


def places_of_arms(before: SideInformation, side: SideInformation) -> NDArray[np.int64]:
    """Return where each arm of the agent is among those of `side`."""
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"extend takes a SideInformation; got {type(side).__name__}")
    if (side.arm_ids is None) != (before.arm_ids is None):
        raise InvalidInput("the side information must have arm ids if, and only if, the agent's has")
    if side.arm_ids is None:
        if side.n_arms < before.n_arms:
            raise InvalidInput(
                f"the agent has {before.n_arms} arms and the side information {side.n_arms}; none may go"
            )
        return np.arange(before.n_arms)
    return np.array([side.index(arm) for arm in before.arm_ids or ()], np.int64)


def changes(before: Learner, after: Learner) -> Extension:
    """Say what is different."""
    side = after.side
    known = set(before.side.arm_ids or range(before.side.n_arms))
    new = [arm for arm in side.arm_ids or range(side.n_arms) if arm not in known]
    then = {before.side.label(int(arm)) for arm in before.arms}
    now = [side.label(int(arm)) for arm in after.arms]
    came = [arm for arm in now if arm not in then]
    gone = sorted(then - set(now), key=lambda arm: (str(type(arm)), arm))
    arms, in_play = counted(len(new), "new arm"), counted(len(now), "arm")
    text = f"{arms}; {in_play} in play, {len(came)} of them newly, {len(gone)} no more"
    return Extension(new, came, gone, text)
