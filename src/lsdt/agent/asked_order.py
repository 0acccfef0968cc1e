"""Each arm's rewards in the order asked, up to the first decision that is still open.

Rewards often come late *because* of what they are: a click is told at once, its absence when the decision
expires. In the order told, every launch then begins with ones and goes on with zeros, although no mean
changes. In the order asked it does not, whatever the delays:

Let X_1, X_2, ... be the rewards of one arm in the order in which its plays were asked for, known or not.
Which arm is asked for, and what is known then, depends on earlier plays and on their delays, not on the
reward to come. So each X_k has the arm's mean given all earlier plays, whenever each of them is told, and
every process M_k that is a nonnegative supermartingale in X_1, X_2, ... stays one. By Ville's inequality,
the probability that M_k reaches 1 / risk for *any* k is at most `risk`. A look sees M at one k, the number of
rewards before the first open decision. That k may depend on delays and rewards in any way: M there is at most
the largest of all M_k.

Three kinds of plays need a rule.

- *Cancelled decisions* leave the sequence. Whether one is cancelled must not depend on its reward.
- *Observed rewards* were not asked for, and stand where they were observed. Whether and when one is observed
  must not depend on its value.
- *Plays beyond the limit.* Behind an open decision at most `most` plays of its arm are kept. Later plays are
  left out for good, until there is room again. That is decided when the play is asked for, from earlier plays
  and what was told by then, so the rewards that stay in have the arm's mean given all that came before.

Several writers share the order of their log, in which an ask stands behind every reward that it rests on. A
reward that is read before its ask is kept until the ask is read.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.agent.cuts import BELOW_CUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

# Plays of an arm behind an open decision: at most some 600 kB for each arm. With more, the test for changes
# would leave out fewer plays behind a decision that stays open for long.
MOST_WAITING = 4_096
_FEW = 100  # by eye: plays that have to wait before an arm counts as blocked; fewer are ordinary delay


class Waiting(NamedTuple):
    """A play that is not counted yet: its arm, its number, and its reward.

    An observed reward has a negative number. The reward is NaN if the decision is open or was cancelled. The
    arm is -1 where a decision was closed before its ask was read.
    """

    arm: int
    number: int
    reward: float


class AskedOrder:
    """The rewards of every arm before its first open decision, and the plays that wait behind it.

    Parameters
    ----------
    n_arms : int
        How many arms there are.
    most : int
        How many plays of an arm may wait behind an open decision.

    Attributes
    ----------
    counts, sums : list
        How many rewards of each arm come before its first open decision, and their sum.
    cut_sums : dict
        By arm, that sum at each of its cuts (see `lsdt.agent.cuts`) so far.
    """

    __slots__ = ("_behind", "_closed", "_first", "_left_out", "counts", "cut_sums", "most", "sums")

    def __init__(self, n_arms: int, most: int = MOST_WAITING) -> None:
        # Plain lists: one element of them is read and written several times as fast as that of an array.
        self.counts, self.sums = [0] * n_arms, [0.0] * n_arms
        self.cut_sums: dict[int, list[float]] = {}
        self.most = most
        self._first: dict[int, int] = {}  # the first open decision of an arm
        self._behind: dict[int, deque[int]] = {}  # the numbers of the plays behind it; never empty
        self._closed: dict[int, float] = {}  # what is known of these: the reward, NaN if cancelled
        self._left_out: set[int] = set()  # open decisions that do not count

    def open(self, number: int, arm: int) -> None:
        """Append a decision to the sequence of its arm."""
        if arm in self._first:
            queue = self._behind.get(arm)
            if queue is None:
                self._behind[arm] = deque((number,))
            elif len(queue) < self.most:
                queue.append(number)
            elif self._closed.pop(number, None) is None:
                self._left_out.add(number)
        elif self._closed and number in self._closed:  # it was closed before its ask was read
            self._count(arm, self._closed.pop(number))
        else:
            self._first[arm] = number

    def close(self, number: int, arm: int, reward: float | None) -> None:
        """Close a decision, with its reward or None."""
        if self._first.get(arm) == number:
            if reward is not None:
                self._count(arm, reward)
            if arm in self._behind:
                self._advance(arm)
            else:
                del self._first[arm]
        elif self._left_out and number in self._left_out:
            self._left_out.remove(number)
        else:
            self._closed[number] = math.nan if reward is None else reward

    def observe(self, arm: int, reward: float, n_told: int) -> None:
        """Append a reward that came without an ask; `n_told` is how many rewards were learned before."""
        if arm in self._first:
            self._closed[-1 - n_told] = reward
            self.open(-1 - n_told, arm)
        else:
            self._count(arm, reward)

    def _count(self, arm: int, reward: float) -> None:
        """Count the next reward of an arm; nothing if it was cancelled."""
        if reward == reward:
            count, total = self.counts[arm] + 1, self.sums[arm] + reward
            self.counts[arm], self.sums[arm] = count, total
            if not count & BELOW_CUT[count.bit_length()]:
                self.cut_sums.setdefault(arm, []).append(total)

    def _advance(self, arm: int) -> None:
        """Count rewards up to the next open decision."""
        queue, closed = self._behind[arm], self._closed
        count, total = self.counts[arm], self.sums[arm]
        while queue:
            number = queue.popleft()
            reward = closed.pop(number, None)
            if reward is None:
                self._first[arm] = number
                break
            if reward == reward:  # `_count`, written out: a restored log comes through here
                count, total = count + 1, total + reward
                if not count & BELOW_CUT[count.bit_length()]:
                    self.cut_sums.setdefault(arm, []).append(total)
        else:
            del self._first[arm]
        self.counts[arm], self.sums[arm] = count, total
        if not queue:
            del self._behind[arm]

    def blocked(self) -> list[tuple[int, int, int]]:
        """Return the blocked arms, with the open decision and the number of plays behind it, largest first.

        These plays are at least 100, and at least as many as those counted.
        """
        found = [
            (arm, self._first[arm], len(queue))
            for arm, queue in self._behind.items()
            if len(queue) >= max(_FEW, self.counts[arm])
        ]
        return sorted(found, key=lambda each: (-each[2], each[0]))

    def renumber(self, places: NDArray[np.int64], n_arms: int) -> AskedOrder:
        """Return a copy with arms renumbered by `places`, among `n_arms`."""
        new, place = AskedOrder(n_arms, self.most), places.tolist()
        for arm, at in enumerate(place):
            new.counts[at], new.sums[at] = self.counts[arm], self.sums[arm]
        new.cut_sums = {place[arm]: list(sums) for arm, sums in self.cut_sums.items()}
        new._first = {place[arm]: number for arm, number in self._first.items()}
        new._behind = {place[arm]: queue.copy() for arm, queue in self._behind.items()}
        new._closed, new._left_out = dict(self._closed), set(self._left_out)
        return new

    # ---------------------------------------------------------------- snapshots

    def waiting(self) -> list[Waiting]:
        """Return the plays that are not counted yet, by arm, in order."""
        found, early = [], dict(self._closed)
        for arm in sorted(self._first):
            for number in (self._first[arm], *self._behind.get(arm, ())):
                found.append(Waiting(arm, number, early.pop(number, math.nan)))
        return found + [Waiting(-1, number, early[number]) for number in sorted(early)]

    def wait(self, plays: Iterable[Waiting], is_open: Any) -> None:
        """Restore the output of `waiting`; `is_open` has the numbers of all open decisions."""
        inside = set()
        for arm, number, reward in plays:
            inside.add(number)
            if number not in is_open:
                self._closed[number] = reward
            if arm in self._first:
                self._behind.setdefault(arm, deque()).append(number)
            elif arm >= 0:
                self._first[arm] = number
        self._left_out = {number for number in is_open if number not in inside}
