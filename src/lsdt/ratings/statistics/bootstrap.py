"""A multiplier bootstrap: how wide the intervals of all pairs must be to hold together.

Bonferroni lets each of M intervals fail with probability error / M, as if all were unrelated. But pairs share
items and users, so their errors are correlated: those of (a, b), (b, c) and (a, c) are two numbers, not
three. The bootstrap estimates how large the largest of all errors really gets.

Let ``d_up`` be the difference that user u gives pair p, ``D_p`` its mean and ``S_p`` the sum of ``(d_up -
D_p)^2`` over the users of the pair. A draw gives every user a standard normal weight ``e_u``, the same for
all pairs: users are what is independent. Then ``t_p = sum of e_u (d_up - D_p) / sqrt(S_p)`` is standard
normal, and the t of two pairs are correlated as their errors are. Let q be the quantile of the largest
``|t_p|`` at 1 - error. An interval with this quantile fails with probability ``2 P(N > q)``, and that is the
level at which every pair gets its interval. (Chernozhukov,
Chetverikov and Kato, Annals of Statistics 2013, prove that such quantiles are right as the number of users
grows, for a number of pairs that may grow far faster.)

**Few common raters.** The bootstrap assumes normal errors and estimates how they correlate. With few raters
neither works well. So the bootstrap only decides the level; the interval of a pair at that level is that of
`intervals`, with Student's quantile for its own number of raters and the guard against a small variance.
Pairs with fewer than 100 common raters, or whose raters all agree, are left out: they keep Bonferroni's level
error / M and use up their share of the error. The others get the rest, error times their share of all pairs.
The two shares add up to the error, so all intervals hold together at the requested level.

**Few draws.** Of B draws the quantile is the ceil((B + 1) (1 - error))-th smallest, which is exceeded by a
further draw with probability error at most. If B is too small for that, and only then, Bonferroni's level is
used. The level is never below Bonferroni's and never above that of a single interval.

The cost is one multiplication per draw, user and pair that the user rated.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from lsdt._progress import track
from lsdt.kernel import available_cores, require_memory
from lsdt.ratings.statistics import bootstrap_kernel as kernel
from lsdt.ratings.statistics.intervals import DifferenceIntervals, LevelledIntervals
from lsdt.ratings.statistics.pairs import compare_items
from lsdt.side_information import all_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.statistics.pairs import PairStatistics

# By rule of thumb: with fewer raters, errors are not normal enough for the bootstrap, see above.
FEW_RATERS = 100
# The 95% quantile is then the 974th, and is exceeded with probability 0.05 give or take 0.007. On a log of
# Jester's size all draws took 20 s on two busy cores. Those made at a time fill 4 cache lines for each pair.
_DRAWS, _AT_A_TIME = 1024, 64
_FEWER = "use interval='student', or fewer items (min_ratings or top of read_log)"


def bootstrap_intervals(log: RatingLog, error: float, seed: int, draws: int = _DRAWS) -> DifferenceIntervals:
    """Return intervals that hold for all pairs of items at once, with probability 1 - error.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=3000, n_items=12, ratings_per_user=8).log)
    >>> found = bootstrap_intervals(log, .05, seed=0)
    >>> .05 / 66 < found.delta < .05          # 66 pairs, worth fewer
    True
    """
    n_pairs = all_pairs(log.n_items)
    bonferroni = error / n_pairs
    listed = compare_items(log, FEW_RATERS, lambda raters, difference, variance: variance > 0.0)
    if len(listed) == 0:
        return DifferenceIntervals("student", bonferroni)
    level = 2.0 * tail_of(largest_errors(log, listed, seed, draws), error * len(listed) / n_pairs, sides=2)
    return LevelledIntervals("student", max(level, bonferroni), bonferroni, FEW_RATERS)


def largest_errors(log: RatingLog, listed: PairStatistics, seed: int, draws: int) -> NDArray[np.float64]:
    """Return the largest ``|t|`` over the listed pairs in every draw."""
    return drawn_errors(log, listed, seed, draws, lambda errors: np.abs(errors).max(axis=0))


def drawn_errors(
    log: RatingLog,
    listed: PairStatistics,
    seed: int,
    draws: int,
    reduce: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Draw ``t`` of the listed pairs, and return what `reduce` makes of them; draws are the last axis.

    `reduce` gets a row per pair and a column per draw, some draws at a time.
    """
    n_items, columns = log.n_items, min(draws, _AT_A_TIME)
    blocks = ceil(draws / columns)
    workers = min(available_cores(), blocks)
    bytes_ = 4.0 * n_items**2 + 4.0 * columns * workers * (len(listed) + log.n_users)
    require_memory(bytes_, f"a bootstrap of {len(listed):,} pairs of items", _FEWER)
    number_of = np.full((n_items, n_items), -1, np.int32)
    number_of[listed.first, listed.second] = np.arange(len(listed))
    rows = log.starts.copy(), log.items.copy(), log.unit_ratings().astype(np.float32)
    means = listed.difference.astype(np.float32)
    roots = np.sqrt(listed.variance * (listed.raters - 1.0))

    def largest(block: int) -> NDArray[np.float64]:
        rng = np.random.default_rng((seed, block))
        weights = rng.standard_normal((log.n_users, columns), np.float32)
        sums = np.zeros((len(listed), columns), np.float32)
        kernel.add_weighted(rows, number_of, means, weights, sums)
        return reduce(sums / roots[:, None])

    pool = ThreadPoolExecutor(workers)
    try:
        found = list(track(pool.map(largest, range(blocks)), "parts of the bootstrap", blocks))
    finally:
        pool.shutdown(cancel_futures=True)
    return np.concatenate(found, axis=-1)[..., :draws]


def tail_of(largest: NDArray[np.float64], error: float, sides: int = 1) -> float:
    """Return how likely a single error exceeds the quantile of the largest one at 1 - error, on one side.

    It is at most the error divided by the number of sides that `largest` is taken over.
    """
    from scipy.special import ndtr

    place = ceil((len(largest) + 1) * (1.0 - error))
    if place > len(largest):
        return 0.0
    quantile = float(np.sort(largest)[place - 1])
    return min(float(ndtr(-quantile)), error / sides)
