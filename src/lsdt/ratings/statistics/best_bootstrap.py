"""How far a rival must lie above an item for the item not to be the best: a bootstrap for each item.

If an item is the best, no rival lies above it, and what the largest Studentised difference over its rivals
exceeds with probability error is what chance explains. That largest difference is drawn as in `bootstrap`,
over the rivals of one item and on one side only: K - 1 tests for K items instead of K (K - 1) / 2. Each item
is tested at the full error, because only one of them is the best.

As in `bootstrap`, the draws only decide the level of a single test. The test itself is Student's, for the
pair's own number of raters. Pairs with fewer than 100 raters, or whose raters all agree, are left out
of the draws and get Bonferroni's level, error / (K - 1).

**A guard.** Where nearly all raters agree, the variance is underestimated. One more rater is added to the sum
of squares, who says the opposite: ``(1 + |m|)^2``. On known truth (1,000 logs of 20 items with equal means,
30 to 400 raters; ratings binary, skewed, heavy in ties, one item with rare high ratings), the level of 5% was
exceeded without it (up to 26% with 30 raters), and kept with it (3.8% at most).

All this is right for many raters. `betting` needs no such assumption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings.statistics.bootstrap import FEW_RATERS, drawn_errors, tail_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.statistics.pairs import PairStatistics

    Numbers = NDArray[np.float64]

_DRAWS = 1024  # as in `bootstrap`
_GUARD = 1.0  # raters who say the opposite, see above


def margins(
    log: RatingLog, listed: PairStatistics, error: float, seed: int, draws: int = _DRAWS
) -> tuple[Numbers, Numbers]:
    """Return the differences that chance explains if the first, or the second, item of a pair is the best.

    Parameters
    ----------
    log : RatingLog
        The ratings.
    listed : PairStatistics
        Its pairs with at least two common raters.
    error : float
        The accepted probability of losing the best item.
    seed : int
        Of the draws.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=3000, n_items=12, ratings_per_user=8).log)
    >>> first, second = margins(log, lsdt.ratings.pair_statistics(log, 2), .05, seed=0)
    >>> bool((first > 0).all()), len(first)
    (True, 66)
    """
    from scipy.special import stdtrit

    rivals = max(listed.n_items - 1, 1)
    many = (listed.raters >= FEW_RATERS) & (listed.variance > 0.0)
    levels = _levels(log, listed.select(many), error, seed, draws)
    freedom = listed.raters - 1.0
    squares = freedom * listed.variance + _GUARD * (1.0 + np.abs(listed.difference)) ** 2
    errors = np.sqrt(squares / (freedom * listed.raters))
    first, second = (
        -stdtrit(freedom, np.where(many, levels[items], error / rivals)) * errors
        for items in (listed.first, listed.second)
    )
    return first, second


def _levels(log: RatingLog, listed: PairStatistics, error: float, seed: int, draws: int) -> Numbers:
    """Return the level of a single test of every item against a rival."""
    n_items, rivals = listed.n_items, max(listed.n_items - 1, 1)
    levels = np.full(n_items, error / rivals)
    if len(listed) == 0:
        return levels
    by_second = np.argsort(listed.second, kind="stable")
    firsts, first_starts = np.unique(listed.first, return_index=True)
    seconds, second_starts = np.unique(listed.second[by_second], return_index=True)

    def largest(errors: Numbers) -> Numbers:
        """Return, for every item and draw, how far the rivals that seem best lie above it."""
        found = np.full((n_items, errors.shape[1]), -np.inf)
        found[firsts] = np.maximum.reduceat(-errors, first_starts)
        found[seconds] = np.maximum(found[seconds], np.maximum.reduceat(errors[by_second], second_starts))
        return found

    largest_by_item = drawn_errors(log, listed, seed, draws, largest)
    n_rivals = np.bincount(np.concatenate((listed.first, listed.second)), minlength=n_items)
    for item in np.flatnonzero(n_rivals).tolist():
        share = error * n_rivals[item] / rivals  # the other rivals use up the rest
        levels[item] = max(tail_of(largest_by_item[item], share), error / rivals)
    return levels
