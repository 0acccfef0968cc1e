"""Continue an agent with other side information.

`prepare` finds out what the change would lead to, or why it is impossible; `extension_event` makes the event
for the log, and `apply_extension` makes the new learner from that event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsdt._html import card, fold, name_list
from lsdt.agent.auto_policy import AS_TOLD, choose_policy, with_remark
from lsdt.agent.binary_format import encode_frame, own_errors, parse
from lsdt.errors import InvalidFile, InvalidInput, Unsupported, counted
from lsdt.policies import OfflineSteps
from lsdt.side_information import (
    SideInformation,
    adjacency_of_pairs,
    fingerprint,
    known_store,
    merge,
    side_as_arrays,
    side_of_arrays,
    with_known_epsilon,
)
from lsdt.storage import Event, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.halt import Signature
    from lsdt.agent.learner import Learner
    from lsdt.policies import Policy
    from lsdt.side_information import ArmId

_MAGIC, _FORMAT = b"LSDTSIDE", 1
# The last side information without some beaters, and its candidates, which take longest: the same arms are
# out of stock in many asks.
_CANDIDATES: WeakKeyDictionary[Learner, tuple[bytes, SideInformation, OfflineSteps]] = WeakKeyDictionary()


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


def prepare(learner: Learner, side: SideInformation) -> tuple[Learner, list[int]]:
    """Return the learner on other side information, and the arms that retire because `side` lacks them."""
    wider, gone = with_missing(learner, side)
    after = extended(learner, wider, gone)
    left = set(after.in_play().tolist())
    if learner.halt is not None and learner.halt.arm in gone:
        raise InvalidInput(
            f"the experiment is stopped with {learner.side.label(learner.halt.arm)!r}, which this side "
            "information lacks; stop it with another arm first"
        )
    if not left or left & set(gone):
        raise InvalidInput("all arms that would be in play have retired; reinstate some before")
    return after, gone


def prepare_retirement(learner: Learner, arm: int) -> Learner | None:
    """Return the learner with the arms that come into play when an arm retires; None if there are none.

    A beaten arm is out because of the arms that beat it in a log. Once these have retired, it may be the best
    of those that are left. Relations are facts about means, which still hold.
    """
    gone = np.zeros(learner.side.n_arms, bool)
    gone[arm] = True
    return _without_beaters(learner, gone)


def prepare_allowed(learner: Learner, allowed: NDArray[np.bool_]) -> Learner | None:
    """Return a learner that can choose where only beaten arms are allowed; None if there is none.

    An arm that was beaten may be the best of the allowed ones if those that beat it are not among them. The
    copy knows all rewards and is used to choose only; `learner` goes on to record decisions and rewards.
    """
    after = _without_beaters(learner, ~allowed)
    return after if after is not None and allowed[after.in_play()].any() else None


def _without_beaters(learner: Learner, gone: NDArray[np.bool_]) -> Learner | None:
    """Return the learner with the arms that come into play without some beaters; None if there are none."""
    side = learner.side
    if side.beaten is None:
        return None
    if learner.retired is not None:
        gone = gone | learner.retired
    beaten = side.beaten.without_beaters(gone)
    out = np.zeros(side.n_arms, bool) if beaten is None else beaten.is_out(side.n_arms)
    if not (side.beaten.is_out(side.n_arms) & ~out & ~gone).any():
        return None
    mark, known = gone.tobytes(), _CANDIDATES.get(learner)
    if known is None or known[0] != mark:
        without = side._with_origin(side._origin._replace(beaten=beaten))
        known = _CANDIDATES[learner] = mark, without, OfflineSteps(without)
    try:
        after = extended(learner, known[1], [], known[2])
    except Unsupported:  # the policy cannot go on with other candidates, so these stay
        return None
    return after if set(after.in_play().tolist()) - set(learner.in_play().tolist()) else None


def extended(
    learner: Learner, side: SideInformation, gone: list[int], steps: OfflineSteps | None = None
) -> Learner:
    """Return a learner on `side` that knows what `learner` knows, with some arms retired."""
    places = places_of_arms(learner.side, side)
    side = with_known_epsilon(side, learner.side.epsilon)
    steps = OfflineSteps(side) if steps is None else steps
    policy, reason = _policy_for(learner, side, steps)
    if not policy.learns_from_sums:
        raise Unsupported(
            f"{policy.name} cannot go on with other side information: its truncated means need every single "
            "reward again"
        )
    after = learner.transfer(side, policy, places, steps, gone)
    after.policy_reason = with_remark(reason, after.remark)
    return after


def _policy_for(learner: Learner, side: SideInformation, steps: OfflineSteps) -> tuple[Policy, str]:
    """Return the policy for other side information, and why."""
    if not learner.is_auto:
        return learner.policy, AS_TOLD
    forgets = learner.fading is not None
    return choose_policy("auto", side, learner.rewards, learner.horizon, steps, forgets=forgets)


def extension_event(
    before: Learner, after: Learner, gone: list[int], time: int, signature: Signature
) -> Event:
    """Return the event of an extension: the new side information, and a mark of the one it extends."""
    arrays, about = side_as_arrays(after.side)
    data = encode_frame(_MAGIC, _FORMAT, {"side": about, "gone": gone, **signature.known()}, arrays)
    return Event(int(Kind.EXTEND), time, side_mark(before.side), -1, None, data)


def apply_extension(learner: Learner, event: Event) -> Learner:
    """Return the learner after the event of an extension.

    The event names the side information that it extends. If another replica extended that first, every
    replica ignores the event.
    """
    if event.number >= 0 and event.number != side_mark(learner.side):
        return learner
    if event.data is None:
        raise InvalidFile("the log has an extension without side information")
    head, arrays = parse(event.data, _MAGIC, _FORMAT)
    with own_errors():
        side = side_of_arrays({name: array.copy() for name, array in arrays.items()}, head["side"])
        gone = head.get("gone", [])
        if not all(type(arm) is int and 0 <= arm < side.n_arms for arm in gone):
            raise InvalidFile("the log retires unknown arms")
    return extended(learner, side, gone)


def side_mark(side: SideInformation) -> int:
    """Return a hash of side information that fits into the `number` of an event."""
    return int(fingerprint(side), 16) >> 1


def places_of_arms(before: SideInformation, side: SideInformation) -> NDArray[np.int64]:
    """Return the index in `side` of each arm of the agent."""
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
            f"the agent has {before.n_arms} arms and the side information {side.n_arms}; without ids "
            "it is not clear which are missing, and none may go: use agent.retire"
        )


def keeps_numbers(before: Learner, after: Learner) -> bool:
    """Return whether all arms have the same numbers as before."""
    places = places_of_arms(before.side, after.side)
    return bool((places == np.arange(len(places))).all())


def with_missing(learner: Learner, side: SideInformation) -> tuple[SideInformation, list[int]]:
    """Return side information that has the agent's missing arms too, and which these are.

    The agent's arms come first, in their order. Relations of a missing arm are kept, unless they exclude an
    arm that may be best among the rest: an arm that is worse only than a retired one may be.
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
        found.append(steps.of(_policy_for(learner, each, steps)[0].on))
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
    risks = side._origin.risks if arms.any() else ()  # without relations there is nothing to be wrong
    return some._with_origin(side._origin._replace(beaten=None, risks=risks))


def changes(before: Learner, after: Learner) -> Extension:
    """Return the differences between two learners."""
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
