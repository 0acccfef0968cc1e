"""Decisions, and those that are pending."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, facts
from lsdt._validation import checked_list, checked_number, checked_size
from lsdt.errors import InvalidInput, LostDecision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lsdt.kernel import RewardModel
    from lsdt.side_information import ArmId, SideInformation
    from lsdt.storage import Event


class Decision(NamedTuple):
    """An arm to play, with the number under which its reward is to be told.

    Decisions are compared by all but their epoch: agents with the same seed, asks and tells make equal ones.

    Attributes
    ----------
    number : int
        Numbers count up from 0.
    arm : int
        The index of the arm.
    arm_id : str or int
        Its id; the index where there are no ids.
    propensity : float or None
        The probability with which it was chosen: 1 for policies that do not draw, an estimate where it was
        asked for, else None. Floors and holdouts are part of it.
    epoch : int or None
        Which opening of the agent made it: 64 random bits. After a backup or an old snapshot is restored
        numbers are given again, and the epoch tells the decisions apart. None stands for whichever opening
        asked that number.

    Examples
    --------
    >>> import lsdt
    >>> agent = lsdt.Agent(lsdt.from_means([.2, .9], epsilon=.3, arm_ids=["tea", "juice"]), policy="ucb1")
    >>> decision = agent.ask()
    >>> decision.number, decision.arm_id in ("tea", "juice"), decision.propensity
    (0, True, 1.0)
    """

    number: int
    arm: int
    arm_id: ArmId
    propensity: float | None
    epoch: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and self[:4] == other[:4]

    def __hash__(self) -> int:
        return hash(self[:4])

    def __repr__(self) -> str:
        return "Decision(number={!r}, arm={!r}, arm_id={!r}, propensity={!r})".format(*self)

    def _repr_html_(self) -> str:
        known = {"number": self.number, "propensity": self.propensity}
        return card("Decision", f"play arm {self.arm_id}", facts(known))


decision_of: Callable[[tuple[Any, ...]], Decision] = partial(tuple.__new__, Decision)  # fast
_LONGEST = 3_650 * 86_400  # seconds until a decision expires: ten years; more is most likely a wrong unit
# Only this many of the newest count when the next arm is chosen. Older ones are most likely lost, and each
# costs time: with 1,000, an ask and a tell take 1.7 times as long as with none (docs/performance.md).
MOST_PENDING = 1_000


class Pending:
    """Decisions whose rewards are not known yet, in the order in which they were asked for.

    Where several agents write one log, a decision may be closed before its ask is read; such numbers are
    remembered until it is. An agent's own decisions count before they are in the log: they are *reserved*.

    Attributes
    ----------
    arms : dict
        The arm of every pending decision, by number, in the order asked.
    reserved : dict
        The asks that are not in the log yet, by number.
    """

    __slots__ = ("_early", "_times", "arms", "reserved")

    def __init__(self, entries: Iterable[tuple[int, int, int]] = ()) -> None:
        self.arms: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self._early: set[int] = set()
        self.reserved: dict[int, Event] = {}
        for number, arm, time in entries:
            self.put(number, arm, time)

    def __len__(self) -> int:
        return len(self.arms)

    def __contains__(self, number: int) -> bool:
        return number in self.arms

    def numbers(self) -> list[int]:
        """Return the numbers of the decisions, in order."""
        return list(self.arms)

    def entries(self) -> list[tuple[int, int, int]]:
        """Return number, arm and time of every decision that is in the log."""
        return [
            (number, arm, self._times[number])
            for number, arm in self.arms.items()
            if number not in self.reserved
        ]

    def to_array(self) -> NDArray[np.int64]:
        """Return `entries` as rows of an array, quickly even for very many."""
        n, parts = len(self.arms), (self.arms, self.arms.values(), self._times.values())
        rows = np.stack([np.fromiter(part, np.int64, n) for part in parts], axis=1)
        return rows[~np.isin(rows[:, 0], list(self.reserved))] if self.reserved else rows

    def renumber(self, places: NDArray[np.int64]) -> Pending:
        """Return a copy with arms renumbered by `places`."""
        new = Pending()
        new.arms = {number: int(places[arm]) for number, arm in self.arms.items()}
        new._times, new._early = dict(self._times), set(self._early)
        new.reserved = {
            number: event._replace(arm=int(places[event.arm])) for number, event in self.reserved.items()
        }
        return new

    def newest(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers and arms of the decisions that the next choice takes into account."""
        arms, n = self.arms, len(self.arms)
        if n <= MOST_PENDING:
            return np.fromiter(arms, np.int64, n), np.fromiter(arms.values(), np.int64, n)
        last = [islice(reversed(part), MOST_PENDING) for part in (arms.keys(), arms.values())]
        numbers, chosen = (np.fromiter(part, np.int64, MOST_PENDING)[::-1] for part in last)
        return numbers, chosen

    def counts(self, n_arms: int) -> NDArray[np.int64]:
        """Return how many decisions of every arm are pending."""
        arms = np.fromiter(self.arms.values(), np.int64, len(self.arms))
        return np.bincount(arms, minlength=n_arms)

    def before(self, number: int) -> Iterator[int]:
        """Yield the numbers of the pending decisions below `number`."""
        return (pending for pending in self.arms if pending < number)

    def older_than(self, time: int) -> Iterator[int]:
        """Yield the numbers of the pending decisions that were asked for before `time`."""
        return (number for number, asked in self._times.items() if asked < time)

    def put(self, number: int, arm: int, time: int) -> None:
        """Add a pending decision."""
        if self._early and number in self._early:
            self._early.remove(number)
            return
        if self.reserved and self.reserved.pop(number, None) is not None:
            del self.arms[number], self._times[number]  # from now on it stands where the log has it
        self.arms[number] = arm
        self._times[number] = time

    def reserve(self, event: Event) -> None:
        """Add a pending decision that is not in the log yet."""
        self.arms[event.number] = event.arm
        self._times[event.number] = event.time
        self.reserved[event.number] = event

    def release(self, number: int) -> None:
        """Remove a reserved decision that will not be written."""
        if self.reserved.pop(number, None) is not None:
            del self.arms[number], self._times[number]

    def arm(self, number: int) -> int | None:
        """Return the arm of a decision; None if it is not pending."""
        return self.arms.get(number)

    def time(self, number: int) -> int:
        """Return when a pending decision was asked for, in microseconds since the epoch."""
        return self._times[number]

    def remove(self, number: int) -> None:
        """Remove a decision that was closed."""
        if self.arms.pop(number, None) is None:
            self._early.add(number)
            return
        del self._times[number]
        if self.reserved and self.reserved.pop(number, None) is not None:  # its ask is still to be read
            self._early.add(number)

    @property
    def early(self) -> set[int]:
        """The decisions that were closed before their asks were read."""
        return self._early

    def remember_closed(self, numbers: Iterable[int]) -> None:
        """Remember decisions that were closed before their asks were read."""
        self._early.update(numbers)


def decision_key(decision: Any) -> tuple[int, int | None]:
    """Return number and epoch of a decision given as a `Decision` or as its number, which has no epoch."""
    if isinstance(decision, Decision):
        return decision.number, decision.epoch
    if isinstance(decision, bool) or not isinstance(decision, (int, np.integer)):
        raise InvalidInput(f"a decision is what ask() returned, or its number; got {decision!r}")
    return int(decision), None


def lost_decisions(decisions: Sequence[Any], words: Sequence[str]) -> LostDecision:
    """Return the error for decisions that are not in the log; `words` has their names for the message."""
    few = ", ".join(words[:3]) + (f" and {len(words) - 3:,} more" if len(words) > 3 else "")
    were, rewards = ("was", "its reward") if len(words) == 1 else ("were", "their rewards")
    return LostDecision(
        f"{few} {were} made by a log that is not here (was a backup, or an old snapshot, restored?); "
        f"{rewards} cannot be learned: drop {rewards} and ask again",
        decisions,
    )


def checked_reward(reward: Any, model: RewardModel) -> float:
    """Return a reward as a float, or say what is wrong with it."""
    if (type(reward) is float or type(reward) is int) and 0.0 <= reward <= 1.0:  # right for every law
        return float(reward)
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"a reward must be a finite number; got {reward!r}") from None
    checked_size(value, "a reward")
    if model.family == "bernoulli" and not 0.0 <= value <= 1.0:
        raise InvalidInput(
            f"this agent's rewards lie between 0 and 1; got {reward!r}; put them on that scale, (reward - "
            "low) / (high - low), or make the agent with rewards='gaussian'"
        )
    return value


def checked_age(seconds: Any, name: str) -> float:
    """Return after how many seconds a decision expires, or say what is accepted."""
    return checked_number(seconds, f"{name}, in seconds,", above=0.0, at_most=_LONGEST)


def allowed_flags(side: SideInformation, allowed: Any) -> NDArray[np.bool_]:
    """Return a flag for every arm from a list of arms, or from flags; at least one arm must be allowed."""
    values: Any = allowed
    if not isinstance(allowed, np.ndarray) or allowed.ndim == 0:
        values = checked_list(allowed, "allowed", "arms, or of one flag per arm")
    if len(values) and all(isinstance(value, (bool, np.bool_)) for value in values[:2]):
        values = np.array(values, bool)
    if isinstance(values, np.ndarray) and values.dtype == bool:
        if values.shape != (side.n_arms,):
            raise InvalidInput(f"allowed has {values.size} flags and there are {side.n_arms} arms")
        flags = values.copy()
    else:
        flags = np.zeros(side.n_arms, bool)
        for arm in values:
            flags[side.index(arm)] = True
    if not flags.any():
        raise InvalidInput("allowed names no arm; allow at least one")
    return flags


def pack_flags(flags: NDArray[np.bool_]) -> bytes:
    """Return the mask of an ask in few bytes: a list of the fewer arms, or a bit for each."""
    few = bool(2 * flags.sum() <= len(flags))
    listed = np.flatnonzero(flags if few else ~flags).astype("<i4").tobytes()
    bits = np.packbits(flags).tobytes()
    return b"\x02" + bits if len(bits) <= len(listed) else (b"\x01" if few else b"\x00") + listed


# The first byte of the data of an ask whose arm the policy did not choose; the mask follows, if there is one.
_FORCED = b"\x03"
# Of an ask of a unit that was there before: the number of the unit's first decision follows.
_LATER = b"\x04"
_NUMBER = 8  # bytes
_MOVED = b"\x01"  # stands behind the number if the unit got another arm with this ask
LATER_END = b"\x01"  # the data of the end of such a decision


def mark_forced(data: bytes | None) -> bytes:
    """Return the data of an ask whose arm the policy did not choose."""
    return _FORCED + (data or b"")


def mark_later(first: int, *, moved: bool = False) -> bytes:
    """Return the data of an ask of a unit whose first decision has this number.

    `moved` says that the unit has another arm from this ask on.
    """
    return _LATER + first.to_bytes(_NUMBER, "little") + (_MOVED if moved else b"")


def is_forced(data: bytes | None) -> bool:
    """Return whether the policy did not choose the arm of an ask with this data."""
    return data is not None and data[:1] in (_FORCED, _LATER)


def is_later(data: bytes | None) -> bool:
    """Return whether an ask with this data is of a unit that was there before."""
    return data is not None and data[:1] == _LATER


def first_decision(data: bytes | None) -> int | None:
    """Return the number of the first decision of the unit of an ask; None if this may be the first."""
    return int.from_bytes(data[1 : 1 + _NUMBER], "little") if data is not None and is_later(data) else None


def first_of_moved(data: bytes | None) -> int | None:
    """Return the number of the first decision of a unit that got another arm with this ask, else None."""
    return first_decision(data) if data is not None and data[1 + _NUMBER :] == _MOVED else None


def unpack_flags(data: bytes, n_arms: int) -> NDArray[np.bool_]:
    """Return the mask of an ask, which may have been made for another number of arms."""
    if data[:1] == b"\x02":
        return np.unpackbits(np.frombuffer(data, np.uint8, offset=1), count=n_arms).astype(bool)
    flags, listed = np.full(n_arms, data[:1] == b"\x00"), np.frombuffer(data, "<i4", offset=1)
    flags[listed[(listed >= 0) & (listed < n_arms)]] = data[:1] == b"\x01"
    return flags
