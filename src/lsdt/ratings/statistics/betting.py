"""E-values against the claim that an item is at least as good as a rival, by betting.

Ratings lie between 0 and 1, and users are drawn independently. Let ``d_u`` be the rating that user u gives
item i minus the one for its rival j. Someone who doubts that i is at least as good as j starts with one coin
and bets the fraction f of the wealth on each user in turn, which multiplies it by ``1 - f d_u``. If the claim
is true, the mean of ``d_u`` is at least 0, and no bet is expected to win: the wealth is a nonnegative
supermartingale. It exceeds 1 / delta at any time with probability at most delta (Ville), whatever the
distribution of ratings and however few the users (Waudby-Smith and Ramdas, Estimating means of bounded random
variables by betting, JRSS B 2024).

**Fractions.** The best fraction depends on the unknown distribution, so the coin is divided over several
fractions, and the e-value is what they are worth together. Each part bets the same fraction on every user, so
the product does not depend on the order of users. A log that grows therefore needs no state: computing the
e-value of the grown log from scratch is the same as continuing yesterday's bets, and looking every day costs
nothing. Which users come next must not depend on their ratings.

**Rivals.** If an item is the best, the claim is true for all its rivals, so the mean of its e-values over all
rivals is an e-value too. The item is beaten when this mean reaches 1 / delta. Only comparisons with the
best item can go wrong in a way that matters, so nothing else is paid for: the best item is lost with
probability at most delta. That is all: a beaten item may be better than another beaten item, or even than the
item that beat it.

**Missing ratings.** A pair is compared on users who rated both, and the claim is about these. A rival that is
left out counts as an e-value of 0, which only keeps more items. So the bets are placed only for pairs
that can matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import require_memory
from lsdt.ratings.statistics import betting_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.statistics.pairs import PairStatistics

    Numbers = NDArray[np.float64]

# Twelve fractions, 1 / 1.52 of one another. The smallest one is best for differences that about 10^6 users
# can just show. Weights in proportion to the fractions are a uniform density from 0 to 1. On Jester, at .5, 1
# and 2% of the users (10, 10 and 6 splits that no reported figure uses), they left 46, 25 and 14 jokes; equal
# weights 55, 29 and 16; eight fractions 45, 25 and 14; sixteen 47, 25 and 14.
FRACTIONS: Numbers = np.geomspace(0.99, 0.01, 12)
WEIGHTS: Numbers = FRACTIONS / FRACTIONS.sum()
_MOST_PAIRS = 2**20  # bets are placed for: 100 MB
_FEWEST_RIVALS = 16  # of an item, however many items there are


@dataclass(frozen=True, eq=False)
class BetResults:
    """E-values of pairs, by item.

    Attributes
    ----------
    items, rivals : array of int32
        The claim is that the item is at least as good as the rival; items ascend.
    raters : array of int64
        The number of users who rated both.
    log_e : array of float64
        The logarithm of the e-value against the claim.
    n_items : int
        The number of items.
    """

    items: NDArray[np.int32]
    rivals: NDArray[np.int32]
    raters: NDArray[np.int64]
    log_e: Numbers
    n_items: int

    def means(self) -> Numbers:
        """Return the logarithm of each item's mean e-value over all rivals, listed or not."""
        sums = np.full(self.n_items, -np.inf)
        np.logaddexp.at(sums, self.items, self.log_e)
        return np.asarray(sums - np.log(max(self.n_items - 1, 1)))


def mixed(log_wealth: Numbers) -> Numbers:
    """Return the logarithm of what the bets of all fractions, in the last axis, are worth together.

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(mixed(np.zeros(12))) < 1e-12)
    True
    """
    weighed: Numbers = np.logaddexp.reduce(log_wealth + np.log(WEIGHTS), axis=-1)
    return weighed


def expected_gain(raters: NDArray[np.int32], difference: Numbers, variance: Numbers) -> Numbers:
    """Estimate the logarithm of the e-value of a pair from its statistics.

    The best fraction is near the mean over the mean square of the differences, and gains half their product
    per user.

    Examples
    --------
    >>> import numpy as np
    >>> expected_gain(np.array([100]), np.array([-.1]), np.array([.04])).round(2).tolist()
    [10.0]
    """
    squares = np.nan_to_num(variance, nan=np.inf) + difference**2
    return np.asarray(raters * difference**2 / np.maximum(2.0 * squares, 1e-300))


def select_rivals(listed: PairStatistics, most_pairs: int = _MOST_PAIRS) -> tuple[NDArray[np.int32], ...]:
    """Return the items and rivals to bet on: of each item, those rivals that seem better by most."""
    gain = expected_gain(listed.raters, listed.difference, listed.variance)
    worse = listed.difference < 0.0
    items = np.where(worse, listed.first, listed.second)
    rivals = np.where(worse, listed.second, listed.first)
    order = np.lexsort((rivals, -gain, items))
    place = np.arange(len(order)) - np.searchsorted(items[order], items[order])
    kept = order[place < max(_FEWEST_RIVALS, most_pairs // listed.n_items)]
    return items[kept].astype(np.int32), rivals[kept].astype(np.int32)


def place_bets(log: RatingLog, items: NDArray[np.int32], rivals: NDArray[np.int32]) -> BetResults:
    """Return the e-values of pairs: each against the claim that an item is at least as good as its rival.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .6], [.4, .6], [.3, .7]] * 10, scale=(0, 1))
    >>> found = place_bets(log, np.array([0, 1]), np.array([1, 0]))
    >>> found.raters.tolist(), found.log_e.round(2).tolist()
    ([30, 30], [7.46, -2.61])
    """
    require_memory(16.0 * len(items) * len(FRACTIONS), f"bets on {len(items):,} pairs of items", "use fewer")
    order = np.lexsort((rivals, items))
    items, rivals = items[order].astype(np.int32), rivals[order].astype(np.int32)
    begins = np.searchsorted(items, np.arange(log.n_items + 1))
    log_wealth, raters = np.zeros((len(items), len(FRACTIONS))), np.zeros(len(items), np.int64)
    rows = log.starts.copy(), log.items.copy(), log.unit_ratings()
    kernel.add_bets(rows, begins, rivals, FRACTIONS, (log_wealth, raters))
    return BetResults(items, rivals, raters, mixed(log_wealth), log.n_items)
