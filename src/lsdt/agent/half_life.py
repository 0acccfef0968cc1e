"""Rewards that fade: after a half-life they count half.

They fade in steps of a quarter of the half-life. Between two steps rewards are learned as always; at a step
all tallies shrink, and the policy starts again from them. When a step is due depends on the rewards learned
(a half-life in rounds), or on the times of the events (in seconds), and so a log that is folded again gives
the same state.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import is_number
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner

# In a half-life. The state is rebuilt at every step; with 4, weights are off by at most 2^(1/4) = 1.19.
_STEPS = 4
# What is left of a reward after six half-lives. An arm with less counts as never played, and is tried again.
_LEAST = 1.0 / 64.0
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}
_LONGEST = 1e12  # rounds, or 30,000 years: nothing would fade, and 10^18 microseconds still fit in 64 bits
_WORDS = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:(round|second|minute|hour|day|week)s?)?\s*")
_ACCEPTED = (
    "forget is a half-life: a number of rounds of at least 1, a text such as '500 rounds' or '3 days' "
    "(seconds, minutes, hours, days, weeks), or a timedelta"
)


class HalfLife(NamedTuple):
    """After how many rounds, or seconds, a reward counts half; a round is a reward that was learned.

    Examples
    --------
    >>> from lsdt.agent.half_life import checked_half_life
    >>> str(checked_half_life(500)), str(checked_half_life("3 days"))
    ('500 rounds', '259200 seconds')
    """

    length: float
    in_seconds: bool

    @property
    def step(self) -> int:
        """How many rounds, or microseconds, lie between two steps."""
        return max(1, round((1e6 if self.in_seconds else 1.0) * self.length / _STEPS))

    def share_left(self, n_steps: int) -> float:
        """Return the remaining weight of a reward after a number of steps."""
        length = (1e6 if self.in_seconds else 1.0) * self.length
        return math.pow(2.0, -min(n_steps * self.step / length, 1000.0))

    def __str__(self) -> str:
        return f"{self.length:.15g} {'seconds' if self.in_seconds else 'rounds'}"


def checked_half_life(value: Any) -> HalfLife | None:
    """Return a half-life as users give it, or say what is accepted."""
    if value is None or isinstance(value, HalfLife):
        return value
    if isinstance(value, timedelta):
        length, in_seconds = value.total_seconds(), True
    elif isinstance(value, str):
        read = _WORDS.fullmatch(value.lower())
        if read is None:
            raise InvalidInput(f"{_ACCEPTED}; got {value!r}")
        length, in_seconds = float(read[1]), read[2] in _SECONDS
        length *= _SECONDS.get(read[2], 1.0)
    elif is_number(value) and not isinstance(value, (bool, np.bool_)):
        length, in_seconds = float(value), False
    else:
        raise InvalidInput(f"{_ACCEPTED}; got {value!r}")
    least = 1e-3 if in_seconds else 1.0
    if not least <= length <= _LONGEST:
        shortest = "a millisecond" if in_seconds else "one round"
        raise InvalidInput(f"{_ACCEPTED}; the shortest is {shortest}; got {value!r}")
    return HalfLife(length, in_seconds)


class Fading:
    """What is left of the rewards of a learner.

    Attributes
    ----------
    half_life : HalfLife
        How fast they fade.
    clock : int
        The last step: how many rewards had been learned, or the time; -1 before the first event.
    left, since : list of three arrays
        Of counts, sums and squares of every arm: what the last step left, and the learner's tallies then.
    """

    __slots__ = ("clock", "half_life", "left", "since")

    def __init__(self, half_life: HalfLife, left: list[NDArray[np.float64]]) -> None:
        self.half_life, self.left = half_life, left
        self.since: list[NDArray[np.float64]] = [np.zeros(len(each)) for each in left]
        self.clock = -1 if half_life.in_seconds else 0

    def steps_due(self, time: int, n_told: int) -> int:
        """Return how many steps are due at an event."""
        at = time if self.half_life.in_seconds else n_told
        # Below 0 where the clock of the machine was set back.
        return 0 if self.clock < 0 else max(0, (at - self.clock) // self.half_life.step)

    def take_steps(self, time: int, n_told: int) -> int:
        """Return how many steps are due at an event, and move the clock past them."""
        if self.clock < 0:
            self.clock = time if self.half_life.in_seconds else n_told
        n_steps = self.steps_due(time, n_told)
        self.clock += n_steps * self.half_life.step
        return n_steps

    def now(self, learner: Learner) -> list[NDArray[np.float64]]:
        """Return counts, sums and squares of all arms as they count now."""
        tallies: tuple[NDArray[Any], ...] = (learner.counts, learner.sums, learner.squares)
        each = zip(self.left, tallies, self.since, strict=True)
        return [left + (tally - before) for left, tally, before in each]

    def known_of(self, learner: Learner, arms: Any) -> tuple[Any, Any]:
        """Return the faded count and sum of one arm, or of several."""
        counts = self.left[0][arms] + (learner.counts[arms] - self.since[0][arms])
        return counts, self.left[1][arms] + (learner.sums[arms] - self.since[1][arms])

    def fade(self, learner: Learner, n_steps: int) -> None:
        """Fade all tallies by a number of steps."""
        share = self.half_life.share_left(n_steps)
        self.keep(learner, [share * each for each in self.now(learner)])

    def keep(self, learner: Learner, left: list[NDArray[np.float64]]) -> None:
        """Set the faded tallies of everything learned so far."""
        forgotten = left[0] < _LEAST
        for each in left:
            each[forgotten] = 0.0
        self.left = left
        self.since = [tally.astype(np.float64) for tally in (learner.counts, learner.sums, learner.squares)]
