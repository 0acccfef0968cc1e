"""Priors: rewards that are known before the first round, learned as if they had been played.

They are learned one by one, because a policy that tosses for rewards between 0 and 1, as Thompson sampling
does, learns something else from their mean. A weight below 1 discounts them: each reward is learned with
that probability, so that n rewards count as about ``weight * n``. Which ones depends on the seed alone, and
a larger weight learns all that a smaller one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import check_sizes, checked_share
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import Purpose, seed_words
from lsdt.policies.policy import Player
from lsdt.policies.registry import refuse_prior
from lsdt.ratings import RatingLog, as_log, share_of_prior, warn_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.kernel import RewardModel
    from lsdt.policies.policy import ReadyPolicy
    from lsdt.side_information import SideInformation


_UNIT = (0.0, 1.0)
_CALLERS = 5  # between the warning and who gave the prior


class Prior(NamedTuple):
    """Known rewards, and the arms that paid them."""

    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]

    def thinned(self, weight: float, *key: int) -> Prior:
        """Return each reward with probability `weight`; the coins are those of the key."""
        if weight == 1.0:
            return self
        kept = np.random.default_rng(seed_words(*key)).random(len(self.arms)) < weight
        return Prior(self.arms[kept], self.rewards[kept])

    def tallies(self, n_arms: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the number of rewards of every arm, and their sum."""
        counts = np.bincount(self.arms, minlength=n_arms)
        return counts, np.bincount(self.arms, self.rewards, n_arms).astype(np.float64)


def prior_of(source: Any, side: SideInformation, model: RewardModel) -> Prior:
    """Return known rewards as users give them: ratings, or a list of arms and one of their rewards.

    Ratings are a `RatingLog`, or what `read_log` reads with its default names. They are put on the scale from
    0 to 1 where rewards are bounded (``'bernoulli'``), and left alone otherwise, where side information from
    ratings refuses them: its epsilon is on the scale from 0 to 1. Ratings of items that are no arms are left
    out. Arms in a list are ids or indices; their rewards are taken as they are, and must lie
    between 0 and 1 where rewards are bounded.
    """
    bounded = model.family == "bernoulli"
    if not isinstance(source, (tuple, list)):
        log = _read(source, side)
        if not bounded:
            _refuse_units(log, side, model.family)
        _warn_of_same_ratings(log, side)
        return _prior_of_log(log, bounded, side)
    if len(source) != 2:
        raise InvalidInput(
            f"a prior is a log of ratings, or two lists, the arms and the reward of each; got {len(source)}"
        )
    rewards = _checked_rewards(source[1], bounded)
    arms = source[0].tolist() if isinstance(source[0], np.ndarray) else list(source[0])
    if len(arms) != len(rewards):
        raise InvalidInput(
            f"a prior names one arm for every reward; got {len(arms)} arms and {len(rewards)} rewards"
        )
    index = {arm: side.index(arm) for arm in dict.fromkeys(arms)}
    return Prior(np.array([index[arm] for arm in arms], np.int64), rewards)


def _read(source: Any, side: SideInformation) -> RatingLog:
    """Read a prior, on the scale of the ratings that the side information comes from, if it does."""
    if isinstance(source, RatingLog) and (
        side.scale is None or (source.low, source.high) in (side.scale, _UNIT)
    ):
        return source
    try:
        return as_log(source, side.scale)
    except InvalidInput as error:
        raise type(error)(f"the prior: {error}") from None


def _refuse_units(log: RatingLog, side: SideInformation, family: str) -> None:
    """Refuse ratings in their own units beside an epsilon that is a share of their scale."""
    if side.scale in (None, _UNIT) or (log.low, log.high) == _UNIT:
        return
    assert side.scale is not None
    low, high = side.scale
    raise InvalidInput(
        f"the prior has ratings from {log.low:g} to {log.high:g}, which rewards={family!r} takes as they "
        "are, and epsilon is a share of that scale, as in all side information from ratings. Give "
        f"prior=lsdt.ratings.read_log(...).unit() and tell rewards as (rating - {low:g}) / {high - low:g}, "
        "or use rewards='bernoulli', which is for all rewards from 0 to 1"
    )


def _warn_of_same_ratings(log: RatingLog, side: SideInformation) -> None:
    """Warn of a prior that holds the ratings which the relations rest on."""
    share = share_of_prior(side, log)
    if share > 0.0:
        marks = len(side.fingerprint)
        warn_of(
            [
                "the prior holds the ratings that the relations rest on (of "
                f"{counted(marks, 'user')} looked up, {round(share * marks)} are in both): what they say, "
                "and what they get wrong by chance, counts twice. Let one half of the users make the "
                "relations and the other half the prior (first, second = log.halves()), or use one of the two"
            ],
            stacklevel=_CALLERS,
        )


def _prior_of_log(log: RatingLog, bounded: bool, side: SideInformation) -> Prior:
    known = {side.label(arm): arm for arm in range(side.n_arms)}
    arm_of = np.array([known.get(item, -1) for item in log.item_ids], np.int64)
    arms = arm_of[log.items]
    if len(arms) and (arms < 0).all():
        raise InvalidInput(
            f"none of the items rated is an arm: items are {_few(log.item_ids)}, arms are {_few(known)}"
        )
    return Prior(arms[arms >= 0], (log.unit_ratings() if bounded else log.ratings)[arms >= 0])


def _few(names: Any) -> str:
    shown = list(names)
    return ", ".join(map(repr, shown[:3])) + (", ..." if len(shown) > 3 else "")


def _checked_rewards(values: Any, bounded: bool) -> NDArray[np.float64]:
    try:
        rewards = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"the rewards of a prior must be numbers; got {values!r}") from None
    if rewards.ndim != 1 or not np.isfinite(rewards).all():
        raise InvalidInput("the rewards of a prior must be a list of finite numbers")
    check_sizes(rewards, "the rewards of a prior")
    outside = (rewards < 0.0) | (rewards > 1.0)
    if bounded and outside.any():
        raise InvalidInput(
            f"these rewards lie between 0 and 1, and the prior has {rewards[outside][0]:g}; scale it, give "
            "ratings with their scale, or use rewards='gaussian'"
        )
    return rewards


def checked_weight(value: Any) -> float:
    """Return the weight of a prior, or say what is accepted."""
    weight = checked_share(value, "prior_weight")
    if weight == 0.0:
        raise InvalidInput("prior_weight must be above 0 and at most 1; leave the prior out to start without")
    return weight


def weight_of_prior(contender: Any, default: float) -> float:
    """Return the weight with which a policy learns what is known; 0 where it learns nothing of it.

    It is the policy's own, or the default; a policy that cannot start with known rewards is refused.
    """
    own = getattr(contender, "prior_weight", None)
    weight = default if own is None else float(own)
    reason = getattr(contender, "why_no_prior", "")
    if weight > 0.0 and reason:
        refuse_prior(contender.name, reason)
    return weight


def learn_rewards(ready: ReadyPolicy, items: ArrayLike, rewards: ArrayLike) -> int:
    """Let a policy learn known rewards before its first round, and return how many.

    Rewards of items that it does not play are left out.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> from lsdt.kernel.random import new_stream
    >>> from lsdt.policies.prior import learn_rewards
    >>> side = lsdt.SideInformation(3, epsilon=.5)
    >>> ready = lsdt.Policy("ucb1").begin(side, RewardModel("bernoulli", .5), 9, new_stream(0))
    >>> learn_rewards(ready, [0, 0, 1, 2], [.1, .3, .5, .4])
    4
    >>> ready.player.state.tallies.means.tolist()
    [0.2, 0.5, 0.4]
    """
    which, values = np.asarray(items, np.int64), np.array(rewards, np.float64)
    if which.ndim != 1 or which.shape != values.shape or not np.isfinite(values).all():
        raise InvalidInput(
            f"items and rewards must be two lists of the same length, rewards finite; got the shapes "
            f"{which.shape} and {values.shape}"
        )
    by_item = np.argsort(ready.arms)
    ascending = ready.arms[by_item]
    places = np.minimum(np.searchsorted(ascending, which), len(ascending) - 1)
    kept = ascending[places] == which
    arms, values = by_item[places[kept]], values[kept]
    if isinstance(ready.player, Player):
        rounds = np.arange(len(arms))
        ready.player.entries.teach(*ready.player.packed, rounds, int(Purpose.PRIOR), arms, values)
    else:
        for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
            ready.player.update(arm, value)
    return len(arms)
