"""An agent that goes on with other side information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, fold, name_list
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.policies.offline import OfflineSteps
from lsdt.side_information import SideInformation, merge
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.layouts.subset import with_known_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.policies import Policy
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
    retired : list
        Arms that retired because they are missing in the new side information.

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
    retired: list[ArmId] = []  # noqa: RUF012

    def _repr_html_(self) -> str:
        lists = {"new": self.new_arms, "now in play": self.in_play, "out of play": self.out_of_play}
        if self.retired:
            lists["retired"] = self.retired
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
    _check_ids(before, side)
    if side.arm_ids is None:
        return np.arange(before.n_arms)
    return np.array([side.index(arm) for arm in before.arm_ids or ()], np.int64)


def _check_ids(before: SideInformation, side: SideInformation) -> None:
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"extend takes a SideInformation; got {type(side).__name__}")
    if (side.arm_ids is None) != (before.arm_ids is None):
        raise InvalidInput("the side information must have arm ids if, and only if, the agent's has")
    if side.arm_ids is None and side.n_arms < before.n_arms:
        raise InvalidInput(
            f"the agent has {before.n_arms} arms and the side information {side.n_arms}; without ids nobody "
            "knows which are missing, and none may go: use agent.retire"
        )


def with_missing(
    learner: Learner, side: SideInformation, plan: Callable[[SideInformation, OfflineSteps], Any]
) -> tuple[SideInformation, list[int]]:
    """Return side information that has the agent's missing arms too, and which these are.

    The agent's arms come first, in their order. Relations of a missing arm are kept, as long as they do not
    keep other arms out: an arm that only a retired one is better than may be the best of those left.
    """
    before = learner.side
    _check_ids(before, side)
    if side.arm_ids is None:
        return side, []
    there = set(side.arm_ids)
    missing = np.array([arm not in there for arm in before.arm_ids or ()])
    if not missing.any():
        return side, []
    if missing.all():
        raise InvalidInput("none of the agent's arms is in the side information; begin a new agent")
    side = with_known_epsilon(side, before.epsilon)
    alone = merge([_relations_of(before, np.zeros(len(missing), bool), side.epsilon), side])
    gone = np.flatnonzero(missing)
    if before.epsilon not in (None, side.epsilon) or before.store.thresholds is not None:
        return alone, gone.tolist()  # relations at another threshold say something else
    together = merge([_relations_of(before, missing, side.epsilon), side])
    found = []
    for each in (alone, together):
        steps = OfflineSteps(each)
        found.append(steps.of(plan(each, steps)[0].on))
    if found[0] is not None and found[1] is not None:
        freed = np.setdiff1d(np.setdiff1d(found[0].arms, gone), found[1].arms)
        if len(freed):
            return alone, gone.tolist()
    return together, gone.tolist()


def _relations_of(side: SideInformation, arms: NDArray[np.bool_], epsilon: float | None) -> SideInformation:
    """Return the relations of some arms, among all arms."""
    n_arms, ranges = side.n_arms, None
    graphs = []
    for pairs in (side.similar_pairs, side.dissimilar_pairs):
        listed = pairs() if arms.any() else np.zeros((0, 2), np.int64)
        graphs.append(adjacency_of_pairs(listed[arms[listed].any(axis=1)], n_arms))
    if side.ranges is not None and arms.any():
        ranges = side.ranges.select(np.asarray(arms[side.ranges.pairs].any(axis=1)))
    store = known_store(n_arms, *graphs).with_ranges(ranges)
    some = SideInformation._of(store, side._names, epsilon)
    return some._with_source(side.scale, side.fingerprint)


def changes(before: Learner, after: Learner) -> Extension:
    """Say what is different."""
    side = after.side
    known = set(before.side.arm_ids or range(before.side.n_arms))
    new = [arm for arm in side.arm_ids or range(side.n_arms) if arm not in known]
    then = {before.side.label(arm) for arm in before.in_play().tolist()}
    now = [side.label(arm) for arm in after.in_play().tolist()]
    came = [arm for arm in now if arm not in then]
    gone = sorted(then - set(now), key=lambda arm: (str(type(arm)), arm))
    retired = _retired(after) - _retired(before)
    arms, in_play = counted(len(new), "new arm"), counted(len(now), "arm")
    text = f"{arms}; {in_play} in play, {len(came)} of them newly, {len(gone)} no more"
    if retired:
        text += f"; {counted(len(retired), 'arm')} retired"
    return Extension(new, came, gone, text, sorted(retired, key=lambda arm: (str(type(arm)), arm)))


def _retired(learner: Learner) -> set[ArmId]:
    if learner.retired is None:
        return set()
    return {learner.side.label(arm) for arm in np.flatnonzero(learner.retired).tolist()}
