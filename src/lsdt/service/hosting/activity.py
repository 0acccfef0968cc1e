"""What the page of an experiment shows of its log: the newest events, the reward rate, and curves over time.

Live events, events of other services and events read back at the start all come through `Activity.see`, so a
page shows the same before and after a restart.

**The rate counts decisions, not messages.** Where an expiry closes decisions with a reward, clicks come at
once and zeros come later, in bursts: the last 200 rewards to arrive may be all ones or all zeros. The rate is
therefore that of the newest decisions that nothing older waits for: of those asked before the oldest pending
one. Without such an expiry a decision may stay open for ever, and the rate is that of the newest rewards.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter, deque
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from lsdt.agent import SIGNED, SharedJournal, Signature, signature_of
from lsdt.storage import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.agent import Agent
    from lsdt.service.messages import Expiry
    from lsdt.side_information import SideInformation
    from lsdt.storage import Entry, Event, Store

# Rewards in the rate, and plays in the shares. With this many, the standard error of a share is at most
# 0.035; with more, the curves would follow a change more slowly.
RECENT = 200
READ_BACK = 20_000  # events that are read at the start, which takes a quarter of a second
_FURTHEST = 200_000  # events that are read where decisions are open for long: ten times as many, some seconds
_SHOWN = 12  # rows of the log, by eye
# Points of the curves: one a second for six minutes, and older ones further apart. More than a curve of a few
# hundred pixels can show.
_FINE, _COARSE = 360, 360
_CURVES = 5  # arms whose share is drawn: by eye, as many as can be told apart
_TRACKED = 10_000  # decisions that the rate keeps in memory: a megabyte or two
_WORDS = {int(kind): kind.name.lower() for kind in Kind if kind != Kind.SNAPSHOT}
_ENDS = (Kind.TELL, Kind.CANCEL, Kind.EXPIRE)


class Point(NamedTuple):
    """A moment: numbers so far, the reward rate with its 95% interval, shares of arms, what is pending."""

    time: float
    n_asked: int
    n_told: int
    mean: float | None
    low: float | None
    high: float | None
    shares: dict[str, float]
    n_pending: int


class Rate(NamedTuple):
    """The mean of `n` rewards with a 95% interval; those of decisions asked before `before`, if not None."""

    n: int
    mean: float
    low: float
    high: float
    before: float | None


class LogRow(NamedTuple):
    """An event for people: when (in seconds), what; its decision, arm and reward, and by whom, if known."""

    time: float
    event: str
    decision: int | None
    arm: int | None
    reward: float | None
    by: str = ""


class Activity:
    """The newest part of a log, as a page shows it.

    Parameters
    ----------
    expiry : Expiry, optional
        What closes the decisions of the experiment.
    is_bounded : bool
        Whether rewards lie between 0 and 1, so that the interval of their mean must too.
    """

    def __init__(self, expiry: Expiry | None = None, is_bounded: bool = True) -> None:
        self._waits = expiry is not None and expiry.reward is not None
        self.resumed = Signature()  # who resumed the experiment last, and why
        self._since = 0  # of decisions asked before this not all is known
        self._is_bounded = is_bounded
        self._lock = Lock()
        self._rows: deque[LogRow] = deque(maxlen=_SHOWN)
        self._plays: deque[int] = deque(maxlen=RECENT)
        self._ends: deque[int] = deque(maxlen=RECENT)
        self._open: dict[int, int] = {}  # when pending decisions were asked for, the oldest first
        self._early: set[int] = set()  # decisions that another replica closed before their ask was written
        self._known: list[tuple[int, int, float]] = []  # when asked, number, reward; ascending
        self._stride = 1  # one decision in this many is tracked, whatever its reward
        self._n_observed = 0
        self._fine: deque[Point] = deque()
        self._coarse: list[Point] = []
        self._apart = 1.0  # seconds between two coarse points

    @classmethod
    def read(
        cls,
        store: Store,
        name: str,
        agent: Agent,
        expiry: Expiry | None,
        n_events: int = READ_BACK,
        n_most: int = _FURTHEST,
    ) -> Activity:
        """Return the activity up to where an agent is, from the last events of its log.

        It reads `n_events`, and up to `n_most` if some open decisions are older than these.
        """
        made = cls(expiry, agent.rewards.family == "bernoulli")
        upto = log_position(agent)
        entries = store.last(name, n_events, upto)
        while made._waits and len(entries) == n_events < n_most and not _reaches(entries, agent):
            n_events = min(4 * n_events, n_most)
            entries = store.last(name, n_events, upto)
        made._replay(entries, agent)
        return made

    def _replay(self, entries: Sequence[Entry], agent: Agent) -> None:
        """Go through past events, with a point on the curves every now and then."""
        start = entries[0].time if entries else 0
        asked = {entry.number for entry in entries if entry.kind == Kind.ASK}
        # Decisions that were open when these events began: those closed here, and those open to this day.
        before = [(time, number) for number, time in agent.pending_times() if number not in asked]
        before += [(start - 1, each.number) for each in entries if _is_end(each) and each.number not in asked]
        self._since = start if before else 0
        n_told = agent.n_told - sum(_is_reward(entry) for entry in entries)
        n_asked, n_pending = agent.n_asked - len(asked), len(before)
        for time, number in sorted(before):
            self._track(number, time)
        first, span = 0, entries[-1].time - start if entries else 0
        step = max(1_000_000, span // (_FINE + _COARSE))
        for at, entry in enumerate(entries):
            n_asked += entry.kind == Kind.ASK
            n_told += _is_reward(entry)
            n_pending += (entry.kind == Kind.ASK) - _is_end(entry)
            if at + 1 == len(entries) or entry.time >= start + step:
                start = entry.time
                self.see(entries[first : at + 1])
                self.sample(start / 1e6, agent.side, n_asked, n_told, n_pending)
                first = at + 1

    # ---------------------------------------------------------------- events

    def see(self, events: Sequence[Event | Entry]) -> None:
        """Take in events, in the order of the log."""
        with self._lock:
            for event in events[-2 * _SHOWN :]:  # snapshots, which are rare, are not shown
                self._show(event)
            for event in events:
                if event.kind == Kind.ASK:
                    self._plays.append(event.arm)
                    self._track(event.number, event.time)
                elif event.kind in _ENDS:
                    self._ends.append(event.kind)
                    self._close(event)
                elif event.kind == Kind.RESUME:
                    self.resumed = signature_of(event.data)
                elif event.kind == Kind.REPLACE and event.reward is not None:
                    self._correct(event.number, event.reward)
                elif event.kind == Kind.OBSERVE and event.reward is not None:
                    self._n_observed += 1
                    self._learn(event.time, -self._n_observed, event.reward)

    def _show(self, event: Event | Entry) -> None:
        word = _WORDS.get(event.kind)
        if word is None:
            return
        is_decision = event.kind in (Kind.ASK, *_ENDS, Kind.REPLACE)
        # The propensity of an ask lies where others have the reward.
        reward = None if event.kind in (Kind.ASK, Kind.RETIRE, Kind.TOLERANCE) else event.reward
        by = signature_of(event.data).by if event.kind in SIGNED else ""
        if event.kind == Kind.RETIRE and event.reward == 0.0:
            word = "reinstate"
        number, arm = event.number if is_decision else None, event.arm if event.arm >= 0 else None
        self._rows.append(LogRow(event.time / 1e6, word, number, arm, reward, by))

    def _track(self, number: int, time: int) -> None:
        if not self._waits or number % self._stride:
            return
        if number in self._early:
            self._early.discard(number)
            return
        self._open[number] = time
        self._bound()

    def _close(self, event: Event | Entry) -> None:
        asked: int | None = event.time
        if self._waits:
            asked = self._open.pop(event.number, None)
            if asked is None and event.number % self._stride == 0:
                self._early.add(event.number)
                asked = event.time
        if asked is not None and asked >= self._since and event.reward is not None:
            self._learn(asked, event.number, event.reward)

    def _learn(self, asked: int, number: int, reward: float) -> None:
        if number % self._stride == 0:
            insort(self._known, (asked, number, reward))
            self._bound()

    def _correct(self, number: int, reward: float) -> None:
        """Replace the reward of a decision, if it is still tracked."""
        for at, (asked, each, _) in enumerate(self._known):
            if each == number:
                self._known[at] = (asked, number, reward)
                return

    def _bound(self) -> None:
        """Track fewer decisions where they become too many: every second one, by number."""
        if not self._waits:
            if len(self._known) >= 2 * RECENT:
                del self._known[:-RECENT]
            return
        if len(self._open) + len(self._known) <= _TRACKED:
            return
        self._drop_old()
        while len(self._open) + len(self._known) > _TRACKED:
            self._stride *= 2
            self._open = {number: at for number, at in self._open.items() if number % self._stride == 0}
            self._known = [each for each in self._known if each[1] % self._stride == 0]

    def _drop_old(self) -> int:
        """Forget decisions that no rate will need; return how many are settled of those left."""
        oldest = next(iter(self._open.values()), None)
        n_settled = len(self._known) if oldest is None else bisect_left(self._known, (oldest,))
        n_gone = max(0, n_settled - RECENT)
        del self._known[:n_gone]
        return n_settled - n_gone

    # ---------------------------------------------------------------- what it comes to

    def rate(self) -> Rate | None:
        """Return the mean reward of the newest decisions whose rewards are all known, and observations."""
        with self._lock:
            return self._rate()

    def _rate(self) -> Rate | None:
        n_settled = self._drop_old()
        rewards = [reward for _, _, reward in self._known[:n_settled][-RECENT:]]
        if not rewards:
            return None
        oldest = next(iter(self._open.values()), None)
        before = None if oldest is None else oldest / 1e6
        return Rate(len(rewards), *_interval(rewards, self._is_bounded), before)

    @property
    def n_tracked(self) -> int:
        """How many decisions are kept in memory for the rate."""
        return len(self._open) + len(self._known)

    def rows(self) -> list[LogRow]:
        """Return the last events, the newest first."""
        with self._lock:
            return list(reversed(self._rows))

    def n_expired(self) -> tuple[int, int]:
        """Return how many of the last closed decisions expired, and of how many that is."""
        with self._lock:
            return self._ends.count(Kind.EXPIRE), len(self._ends)

    def history(self) -> list[Point]:
        """Return the points of the curves, the oldest first."""
        with self._lock:
            return [*self._coarse, *self._fine]

    @property
    def newest(self) -> float:
        """The time of the last point; 0 before the first."""
        with self._lock:
            return self._fine[-1].time if self._fine else 0.0

    def sample(self, time: float, side: SideInformation, n_asked: int, n_told: int, n_pending: int) -> None:
        """Put a point on the curves, at most one a second."""
        with self._lock:
            if self._fine and time - self._fine[-1].time < 1.0:
                return
            rate, n = self._rate(), len(self._plays)
            counts = Counter(self._plays).most_common(_CURVES)
            shares = {side.show(arm): number / n for arm, number in counts if arm < side.n_arms}
            mean, low, high = (None, None, None) if rate is None else (rate.mean, rate.low, rate.high)
            self._fine.append(Point(time, n_asked, n_told, mean, low, high, shares, n_pending))
            if len(self._fine) > _FINE:
                oldest = self._fine.popleft()
                if not self._coarse or oldest.time - self._coarse[-1].time >= self._apart:
                    self._coarse.append(oldest)
            if len(self._coarse) > _COARSE:
                self._coarse, self._apart = self._coarse[::2], 2.0 * self._apart


def log_position(agent: Agent) -> int | None:
    """Return up to where an agent has read its log; None for the only writer, which knows all of it."""
    return agent.journal.cursor.position if isinstance(agent.journal, SharedJournal) else None


def _reaches(entries: Sequence[Entry], agent: Agent) -> bool:
    """Return whether events reach back to enough decisions before the oldest open one."""
    oldest = min((time for _, time in agent.pending_times()), default=entries[-1].time)
    return sum(entry.kind == Kind.ASK and entry.time < oldest for entry in entries) >= 2 * RECENT


def _is_end(entry: Entry) -> bool:
    return entry.kind in _ENDS


def _is_reward(entry: Entry) -> bool:
    return entry.kind in (Kind.TELL, Kind.OBSERVE, Kind.EXPIRE) and entry.reward is not None


def _interval(rewards: list[float], is_bounded: bool) -> tuple[float, float, float]:
    """Return the mean and a 95% interval: Wilson's for rewards from 0 to 1, which never leaves that range."""
    n, z = len(rewards), 1.96
    mean = math.fsum(rewards) / n
    if is_bounded:
        share = z**2 / n
        half = z / math.sqrt(n) * math.sqrt(mean * (1.0 - mean) + share / 4.0) / (1.0 + share)
        middle = (mean + share / 2.0) / (1.0 + share)
        return mean, max(0.0, middle - half), min(1.0, middle + half)
    half = z * math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards)) / n
    return mean, mean - half, mean + half
