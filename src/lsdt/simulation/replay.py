"""A policy judged on ratings that were given before it existed (Li et al. 2010, 2011).

Users come in a given order. The policy chooses an item; the next user who has rated it answers with that
rating, and the users passed over are spent. If the users come in a random order, and whether a user rated an
item has nothing to do with the rating, what a policy earns per round is what it would have earned live.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.rounds import Crowd, Diary
from lsdt.policies.player import Player
from lsdt.policies.situation import checked_horizon

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.policies.policy import Begun


@dataclass(frozen=True, eq=False)
class Replayed:
    """What came of a replay: one entry per round that was answered.

    Attributes
    ----------
    items : array of int
        What was played.
    users : array of int
        Who answered.
    rewards : array of float
        The ratings.
    spent : int
        Users that came by, those passed over included.
    asked : int
        Rounds asked for.
    """

    items: NDArray[np.int64]
    users: NDArray[np.int64]
    rewards: NDArray[np.float64]
    spent: int
    asked: int

    @property
    def matched(self) -> int:
        """Rounds that were answered; fewer than were asked for when the users ran out."""
        return len(self.rewards)

    @property
    def mean(self) -> float:
        """Mean reward of a round; NaN when none was answered."""
        return float(self.rewards.mean()) if self.matched else math.nan


def replay(begun: Begun, ratings: ArrayLike, rounds: int, order: ArrayLike | None = None) -> Replayed:
    """Play a policy on recorded ratings.

    Parameters
    ----------
    begun : Begun
        A policy before its first round, as `Policy.begin` returns it, or after it was taught (`teach`). Its
        player is any object with ``select()`` and ``update(arm, reward)``; compiled ones run in one loop.
    ratings : array_like of shape (users, items)
        NaN where a user did not rate an item.
    rounds : int
        Rounds to play; there are fewer when the users run out.
    order : array_like of int, optional
        The users that come, in that order; by default all of them in the order of the rows.

    Returns
    -------
    Replayed
        ``items``, ``users``, ``rewards``, ``matched``, ``mean``.

    Examples
    --------
    >>> import numpy as np, lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.kernel.streams import new_stream
    >>> from lsdt.simulation import replay
    >>> nan = float("nan")
    >>> ratings = [[.1, .9], [nan, .8], [.3, nan], [.2, nan], [.4, .7]]
    >>> side = lsdt.SideInformation(2, epsilon=.5)
    >>> begun = lsdt.Policy("ucb1").begin(side, RewardModel("bernoulli", .5), 3, new_stream(0))
    >>> played = replay(begun, ratings, rounds=3)
    >>> played.items.tolist(), played.users.tolist(), played.rewards.tolist()
    ([0, 1, 1], [0, 1, 4], [0.1, 0.8, 0.7])
    >>> played.matched, played.spent
    (3, 5)
    """
    crowd = _checked_crowd(begun.arms, ratings, order)
    asked = checked_horizon(rounds)
    if asked is None:
        raise InvalidInput("rounds must be a whole number of at least 1; got None")
    room = min(asked, len(crowd.order))  # a user answers once
    diary = Diary(np.zeros(2, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room))
    if isinstance(begun.player, Player):
        begun.player.entries.replay(*begun.player.packed, crowd, diary, room)
    else:
        _replay_in_python(begun.player, crowd, diary)
    answered, spent = map(int, diary.clock)
    if spent < 0:
        raise _no_such_arm(answered, len(begun.arms))
    return Replayed(diary.items[:answered], diary.users[:answered], diary.rewards[:answered], spent, asked)


def teach(begun: Begun, items: ArrayLike, rewards: ArrayLike) -> int:
    """Let a policy learn known rewards before its first round, and return how many.

    Rewards of items that it does not play are left out. They are learned one by one: a policy that tosses for
    rewards between 0 and 1, as Thompson sampling does, learns something else from their mean.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.kernel.streams import new_stream
    >>> from lsdt.simulation import teach
    >>> side = lsdt.SideInformation(3, epsilon=.5)
    >>> begun = lsdt.Policy("ucb1").begin(side, RewardModel("bernoulli", .5), 9, new_stream(0))
    >>> teach(begun, [0, 0, 1, 2], [.1, .3, .5, .4])
    4
    >>> begun.player.state.means.tolist()
    [0.2, 0.5, 0.4]
    """
    which, values = np.asarray(items, np.int64), np.array(rewards, np.float64)
    if which.ndim != 1 or which.shape != values.shape or not np.isfinite(values).all():
        raise InvalidInput(
            f"items and rewards must be two lists of the same length, rewards finite; got the shapes "
            f"{which.shape} and {values.shape}"
        )
    kept = np.isin(which, begun.arms)
    by_item = np.argsort(begun.arms)
    arms = by_item[np.searchsorted(begun.arms, which[kept], sorter=by_item)]
    values = values[kept]
    if isinstance(begun.player, Player):
        begun.player.entries.teach(*begun.player.packed, arms, values)
    else:
        for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
            begun.player.update(arm, value)
    return len(arms)


def _replay_in_python(player: Any, crowd: Crowd, diary: Diary) -> None:
    """Play round by round, for players in plain Python."""
    arms, gone, answered = crowd.arms, 0, 0
    while answered < len(diary.rewards) and gone < len(crowd.order):
        chosen = player.select()
        if isinstance(chosen, bool) or not isinstance(chosen, (int, np.integer)):
            raise _no_such_arm(chosen, len(arms))
        if not 0 <= chosen < len(arms):
            raise _no_such_arm(chosen, len(arms))
        item = arms[chosen]
        while gone < len(crowd.order) and math.isnan(crowd.ratings[crowd.order[gone], item]):
            gone += 1
        if gone == len(crowd.order):
            break
        user = crowd.order[gone]
        reward = float(crowd.ratings[user, item])
        player.update(chosen, reward)
        diary.items[answered], diary.users[answered], diary.rewards[answered] = item, user, reward
        answered, gone = answered + 1, gone + 1
    diary.clock[:] = answered, gone


def _checked_crowd(arms: NDArray[np.int64], ratings: ArrayLike, order: ArrayLike | None) -> Crowd:
    table = np.ascontiguousarray(ratings, np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InvalidInput(
            "ratings must be a table of users by items, of finite numbers and NaN; "
            f"got {'an infinite number' if table.ndim == 2 else f'the shape {table.shape}'}"
        )
    if table.shape[1] <= arms.max():
        raise InvalidInput(f"the policy plays item {arms.max()} and there are {table.shape[1]} items rated")
    users = np.arange(len(table)) if order is None else np.array(order)
    if users.ndim != 1 or users.dtype.kind not in "iu":
        raise InvalidInput(f"order must be a list of users by number; got an array of {users.dtype}")
    users = users.astype(np.int64)
    if len(users) and not (users.min() >= 0 and users.max() < len(table)):
        wrong = users[(users < 0) | (users >= len(table))][0]
        raise InvalidInput(f"order names user {wrong}; there are users 0 to {len(table) - 1}")
    seen = table.view()
    seen.flags.writeable = False  # one compiled version, whether or not the user's array may be written
    return Crowd(np.array(arms, np.int64), seen, users)


def _no_such_arm(arm: Any, n_arms: int) -> InvalidInput:
    return InvalidInput(f"the policy selected {arm!r}; arms are 0 to {n_arms - 1}")
