"""Synthetic ratings of the size and shape of Jester's, for those who do not have the file.

They are not Jester, and nothing is fitted to it: the numbers below are round guesses in keeping with what is
published of it (users, jokes, ratings per user, the ten jokes that everybody is shown).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt._validation import checked_seed, checked_whole
from lsdt.ratings.log import RatingLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOK_ALIKE = "synthetic look-alike, not Jester"
# Of jester-data-1, as published.
USERS, ITEMS = 24_983, 100
_LOW, _HIGH = -10.0, 10.0
_LEAST_RATED = 36  # items that every user rated, at least

# Round guesses, in points on the scale from -10 to 10.
_QUALITY = (0.8, 1.6)  # mean and spread of the items' quality
_BIAS = 2.5  # spread of how kindly users rate
_NOISE = 4.5  # spread of what is left: taste

_SHOWN_TO_ALL = (5, 7, 8, 13, 15, 16, 17, 18, 19, 20)  # as published
_SHARE_OF_SHOWN = 0.9997  # of users who rated these: nearly all
_SHARES = (0.34, 0.95)  # of users who rated the others, from the rarest to the most common
_APPETITE = 1.5  # spread of how much users rate, in log odds
_LIKING = 0.1  # log odds that a user rated an item, per `_NOISE` of liking it


def look_alike(seed: int = 0, n_users: int = USERS) -> RatingLog:
    """Draw ratings that look like Jester's: a synthetic look-alike, not Jester.

    A rating is the item's quality, the user's kindness and taste, clipped to [-10, 10], with two decimals.
    Ten items are rated by nearly everybody, the others by about a third of the users up to nearly all; every
    user rated 36 or more, and slightly more of what they like.

    Parameters
    ----------
    seed : int
        The same seed gives the same ratings.
    n_users : int
        By default as many as in ``jester-data-1``.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.look_alike(n_users=500)
    >>> log.n_users, log.n_items, log.low, log.high
    (500, 100, -10.0, 10.0)
    """
    n_users = checked_whole(n_users, "n_users", 1)
    rng = np.random.default_rng((checked_seed(seed), ITEMS))
    quality = rng.normal(*_QUALITY, ITEMS)
    shares = rng.permutation(np.linspace(*_SHARES, ITEMS))
    shares[np.array(_SHOWN_TO_ALL) - 1] = _SHARE_OF_SHOWN
    taste = rng.normal(0.0, 1.0, (n_users, ITEMS))
    bias = rng.normal(0.0, _BIAS, (n_users, 1))
    ratings: NDArray[np.float64] = quality + bias + _NOISE * taste
    ratings = np.clip(ratings, _LOW, _HIGH).round(2)
    ratings[~_draw_rated(shares, taste, rng)] = np.nan
    return RatingLog.from_matrix(ratings, range(1, ITEMS + 1), (_LOW, _HIGH))


def _draw_rated(
    shares: NDArray[np.float64], taste: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw who rated what from a logistic model; users with too few ratings rate their likeliest items."""
    appetite = rng.normal(0.0, _APPETITE, (len(taste), 1))
    odds = np.log(shares / (1.0 - shares)) + appetite + _LIKING * taste
    odds += rng.logistic(0.0, 1.0, taste.shape)
    least = np.partition(odds, ITEMS - _LEAST_RATED, axis=1)[:, ITEMS - _LEAST_RATED, None]
    rated: NDArray[np.bool_] = odds >= np.minimum(0.0, least)
    return rated
