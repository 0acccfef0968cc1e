"""Replay of one policy on recorded ratings (Li et al. 2010, 2011).

Users come in a given order. The policy chooses an item; the next user who has rated it answers with that
rating, and users passed over are not asked again. If the users come in a random order, and whether a user
rated an item has nothing to do with the rating, the expected reward per round is the one that the policy
would have earned live.

Logged events are handled as users with one rating each: the policy keeps its choice until an event shows that
item.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_choice
from lsdt.errors import InvalidInput
from lsdt.kernel import ReplayLog, ReplayTrace
from lsdt.policies import Player, checked_horizon
from lsdt.ratings import RatingLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from lsdt.policies import ReadyPolicy

_STEPS = 20_000_000  # rounds times arms between two calls of `stop`: well under a second for most policies


class UserRows(NamedTuple):
    """Ratings by user, or one event per row: those of row u are ``ratings[starts[u]:starts[u + 1]]``."""

    starts: NDArray[Any]
    items: NDArray[Any]
    ratings: NDArray[Any]


@dataclass(frozen=True, eq=False)
class ReplayHistory:
    """The history of a replay: one entry per round that was answered.

    Attributes
    ----------
    items : array of int
        The item played.
    users : array of int
        The user who answered, as a row of the log.
    rewards : array of float
        The ratings.
    spent : int
        Number of users consumed, including those passed over.
    horizon : int
        Number of rounds requested.
    """

    items: NDArray[np.int64]
    users: NDArray[np.int64]
    rewards: NDArray[np.float64]
    spent: int
    horizon: int

    @property
    def matched(self) -> int:
        """Rounds that were answered; fewer than the horizon when the users ran out."""
        return len(self.rewards)

    @property
    def mean(self) -> float:
        """Mean reward of a round; NaN when none was answered."""
        return float(self.rewards.mean()) if self.matched else math.nan


def replay_once(
    ready: ReadyPolicy,
    ratings: ArrayLike | RatingLog | UserRows,
    horizon: int,
    order: ArrayLike | None = None,
    stop: Callable[[], bool] | None = None,
) -> ReplayHistory:
    """Replay a policy once on recorded ratings; `lsdt.replay` does so for many policies and splits of users.

    Parameters
    ----------
    ready : ReadyPolicy
        A policy before its first round, as returned by `Policy.begin`, possibly after learning a prior. Its
        player is any object with ``select()`` and ``update(arm, reward)``; compiled players run in one loop.
    ratings : RatingLog, or array_like of shape (users, items)
        NaN where a user did not rate an item. A log is faster, as it needs no conversion.
    horizon : int
        Number of rounds; fewer are played when the users run out.
    order : array_like of int, optional
        The users in the order in which they come; by default all of them, in the order of the rows.
    stop : callable, optional
        Called from time to time; when it returns True the replay ends.

    Returns
    -------
    ReplayHistory
        ``items``, ``users``, ``rewards``, ``matched``, ``mean``.

    Examples
    --------
    >>> import numpy as np, lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.kernel.random import new_stream
    >>> from lsdt.replays import replay_once
    >>> nan = float("nan")
    >>> ratings = [[.1, .9], [nan, .8], [.3, nan], [.2, nan], [.4, .7]]
    >>> side = lsdt.SideInformation(2, epsilon=.5)
    >>> ready = lsdt.Policy("ucb1").begin(side, RewardModel("bernoulli", .5), 3, new_stream(0))
    >>> played = replay_once(ready, ratings, horizon=3)
    >>> played.items.tolist(), played.users.tolist(), played.rewards.tolist()
    ([0, 1, 1], [0, 1, 4], [0.1, 0.8, 0.7])
    >>> played.matched, played.spent
    (3, 5)
    """
    replay_log = _checked_log(ready.arms, ratings, order)
    rounds = checked_horizon(horizon)
    if rounds is None:
        raise InvalidInput("horizon must be a whole number of at least 1; got None")
    room = min(rounds, len(replay_log.order))  # a user answers once
    trace = ReplayTrace(
        np.zeros(2, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    )
    if isinstance(ready.player, Player):
        _replay_compiled(ready.player, replay_log, trace, stop)
    else:
        _replay_in_python(ready.player, replay_log, trace)
    answered, spent = map(int, trace.clock)
    if spent < 0:
        checked_choice(answered, len(ready.arms))  # compiled code reports an invalid arm here
    return ReplayHistory(
        trace.items[:answered], trace.users[:answered], trace.rewards[:answered], spent, rounds
    )


def _replay_compiled(
    player: Player, replay_log: ReplayLog, trace: ReplayTrace, stop: Callable[[], bool] | None
) -> None:
    """Play in one compiled loop; with `stop`, in several, between which it may interrupt."""
    room = len(trace.rewards)
    chunk = room if stop is None else max(_STEPS // len(replay_log.arms), 1)
    while True:
        aim = min(trace.clock[0] + chunk, room)
        player.replay(replay_log, trace, chunk)
        done = trace.clock[1] < 0 or trace.clock[0] < aim or aim == room  # bad arm, no users left, all played
        if done or (stop is not None and stop()):
            return


def _replay_in_python(player: Any, replay_log: ReplayLog, trace: ReplayTrace) -> None:
    """Play round by round, for a player in plain Python."""
    arms, gone, answered = replay_log.arms, 0, 0
    while answered < len(trace.rewards) and gone < len(replay_log.order):
        chosen = checked_choice(player.select(), len(arms))
        rating = math.nan
        while gone < len(replay_log.order) and math.isnan(rating):
            user = replay_log.order[gone]
            rating = _rating(replay_log, int(user), int(arms[chosen]))
            gone += 1
        if math.isnan(rating):
            break
        player.update(chosen, rating)
        trace.items[answered], trace.users[answered] = arms[chosen], user
        trace.rewards[answered] = rating
        answered += 1
    trace.clock[:] = answered, gone


def _rating(replay_log: ReplayLog, user: int, item: int) -> float:
    """Return a user's rating of an item; NaN if there is none."""
    first, last = replay_log.starts[user], replay_log.starts[user + 1]
    place = first + np.searchsorted(replay_log.items[first:last], item)
    return float(replay_log.ratings[place]) if place < last and replay_log.items[place] == item else math.nan


def _checked_log(
    arms: NDArray[np.int64],
    ratings: ArrayLike | RatingLog | UserRows,
    order: ArrayLike | None,
) -> ReplayLog:
    rows = _rows_of(ratings, int(arms.max()))
    n_users = len(rows.starts) - 1
    users = np.arange(n_users) if order is None else np.array(order)
    if users.ndim != 1 or users.dtype.kind not in "iu":
        raise InvalidInput(f"order must be a list of users by number; got an array of {users.dtype}")
    users = users.astype(np.int64)
    if len(users) and not (users.min() >= 0 and users.max() < n_users):
        wrong = users[(users < 0) | (users >= n_users)][0]
        raise InvalidInput(f"order names user {wrong}; there are users 0 to {n_users - 1}")
    return ReplayLog(np.array(arms, np.int64), *compiled_rows(rows), users)


def _rows_of(ratings: Any, last: int) -> UserRows:
    """Return ratings by user; `last` is the largest item number that the policy plays."""
    if isinstance(ratings, UserRows):  # internal, already checked
        return ratings
    if isinstance(ratings, RatingLog):
        rows, n_items = UserRows(ratings.starts, ratings.items, ratings.ratings), ratings.n_items
    else:
        rows, n_items = _rows_of_table(ratings)
    if n_items <= last:
        raise InvalidInput(f"the policy plays item {last}, but the ratings are of {n_items} items")
    return rows


def _rows_of_table(ratings: ArrayLike) -> tuple[UserRows, int]:
    table = np.asarray(ratings, np.float64)
    if table.ndim != 2 or 0 in table.shape or np.isinf(table).any():
        wrong = "an infinite number" if np.isinf(table).any() else f"the shape {table.shape}"
        raise InvalidInput(
            f"ratings must be a table of users by items, of finite numbers and NaN; got {wrong}"
        )
    rated = ~np.isnan(table)
    starts = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    return UserRows(starts, np.nonzero(rated)[1], table[rated]), table.shape[1]


def compiled_rows(rows: UserRows) -> UserRows:
    """Return read-only rows with the dtypes that compiled code expects."""
    return UserRows(
        _read_only(rows.starts, np.int64),
        _read_only(rows.items, np.int32),
        _read_only(rows.ratings, np.float64),
    )


def _read_only(array: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return a read-only array, so that one compiled version serves writable and read-only input."""
    view = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view
