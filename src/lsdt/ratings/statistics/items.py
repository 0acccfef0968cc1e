"""The quality of items, corrected for the kindness of their raters.

The fit is ``rating = effect of the item + kindness of the user + rest``, by least squares in alternating
sweeps. An item rated by kind users only does not pass for a good one. Users with a single rating say nothing
about items: their kindness absorbs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_kind
from lsdt.ratings.log import RatingLog
from lsdt.ratings.statistics import items_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


# 3 or 4 are enough with 20 ratings a user, 21 with 5 ratings a user and 5,000 items. With 3 ratings a user
# and 6 an item more would be needed, but effects are hardly known there anyway.
_MOST_SWEEPS = 50
_SETTLED = 1e-5  # as a share of the scale: far below any error of an effect
_CHANCES = 6.0  # standard errors beyond which an item has no chance: below 1e-8 for a normal error
_DRAWS = 10_000  # the standard error of a risk of 0.05 is then 0.002
_AT_A_TIME = 2**20  # normal numbers, 8 MB


@dataclass(frozen=True, eq=False)
class ItemStatistics:
    """Statistics of every item in a log.

    Attributes
    ----------
    ratings : array of int64
        The number of users who rated it.
    means : array of float64
        Mean rating on the original scale; NaN where nobody rated it.
    effects : array of float64
        Its quality on the scale from 0 to 1, corrected for the kindness of its raters.
    errors : array of float64
        Standard error of the effect; at most 1, for items with next to no ratings.
    squares, freedom : array of float64
        The sum of squared residuals of its ratings, and their degrees of freedom: a user who rated m items
        takes 1 / m from each.
    level_error : float
        Standard error that all effects share: that of the mean kindness of the users.
    """

    ratings: NDArray[np.int64]
    means: NDArray[np.float64]
    effects: NDArray[np.float64]
    errors: NDArray[np.float64]
    squares: NDArray[np.float64]
    freedom: NDArray[np.float64]
    level_error: float

    def best_chances(self, seed: int) -> NDArray[np.float64]:
        """Estimate the probability that each item is the best, by drawing effects within their errors.

        Normal approximation, 10,000 draws, independent items. Items more than six standard errors of both
        below the one with the best lower end have no chance.
        """
        low = np.max(self.effects - _CHANCES * self.errors)
        contenders = np.flatnonzero(self.effects + _CHANCES * self.errors >= low)
        rng = np.random.default_rng((seed, len(self.effects)))
        wins = np.zeros(len(self.effects))
        size = max(1, _AT_A_TIME // len(contenders))
        for done in range(0, _DRAWS, size):
            draws = min(size, _DRAWS - done)
            noise = rng.normal(size=(draws, len(contenders))) * self.errors[contenders]
            best = contenders[np.argmax(self.effects[contenders] + noise, axis=1)]
            wins += np.bincount(best, minlength=len(wins))
        return wins / _DRAWS

    def _repr_html_(self) -> str:
        return fields_card(self)


def item_statistics(log: RatingLog) -> ItemStatistics:
    """Fit items and users, and estimate the standard errors of the item effects.

    The errors are those of differences of effects in a balanced design (n items, m of them rated by a user,
    every two by as many users): the residual variance over the number of ratings times the efficiency
    ``(1 - 1 / m) / (1 - 1 / n)``; elsewhere they are an approximation.

    Examples
    --------
    >>> import lsdt
    >>> nan = float("nan")
    >>> kind, harsh = [.8, .9, nan], [nan, .3, .2]      # the last item is rated by the harsh only
    >>> log = lsdt.ratings.RatingLog.from_matrix([kind] * 20 + [harsh] * 20, scale=(0, 1))
    >>> found = lsdt.ratings.item_statistics(log)
    >>> found.means.round(2).tolist(), (found.effects - found.effects[1]).round(2).tolist()
    ([0.8, 0.6, 0.2], [-0.1, 0.0, -0.1])
    """
    check_kind(log, RatingLog, "log must be a RatingLog, as lsdt.ratings.read_log returns it")
    counts, means = log.counts(), log.means()
    known = counts > 0
    ratings = log.unit_ratings()
    effects = np.where(known, (means - log.low) / (log.high - log.low), 0.0)
    sums = np.empty(log.n_items)
    for _ in range(_MOST_SWEEPS):
        kernel.sweep(log.starts, log.items, ratings, effects, sums)
        moved = np.where(known, sums / np.maximum(counts, 1), 0.0)
        change = float(np.abs(moved - effects).max())
        effects = moved
        if change < _SETTLED:
            break
    kindness, squares, freedom = kernel.residuals(log.starts, log.items, ratings, effects)
    level_error = float(kindness.std() / np.sqrt(max(log.n_users, 1)))
    errors = standard_errors(squares, freedom, added=1.0)
    return ItemStatistics(counts, means, effects, errors, squares, freedom, level_error)


def kindness_of(log: RatingLog, effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much every user rates above the effects of their items, on the scale from 0 to 1."""
    kindness: NDArray[np.float64]
    kindness, *_ = kernel.residuals(log.starts, log.items, log.unit_ratings(), effects)
    return kindness


def standard_errors(
    squares: NDArray[np.float64], freedom: NDArray[np.float64], added: float
) -> NDArray[np.float64]:
    """Return standard errors of the effects, at most 1.

    Each item's variance is estimated from its residuals and from `added` more ratings of average variance;
    with infinitely many, all items have the average variance.
    """
    average = squares.sum() / max(freedom.sum() - len(freedom), 1.0)
    own = np.maximum(freedom - 1.0, 0.0)
    variance = average if np.isinf(added) else (squares + added * average) / (own + added)
    efficient = np.maximum(freedom, 1e-9) / max(1.0 - 1.0 / len(freedom), 0.5)
    return np.asarray(np.minimum(1.0, np.sqrt(variance / efficient)))
