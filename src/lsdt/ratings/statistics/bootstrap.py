"""How much the intervals of all pairs of items must allow for their number: a multiplier bootstrap.

Bonferroni lets each of M intervals fail with probability error / M, as if no two had anything in common. But
pairs share items and users, and their errors go together: those of (a, b), (b, c) and (a, c) are two numbers,
not three. The bootstrap finds out how far the largest of all errors really goes.

Let ``d_up`` be the difference that user u gives pair p, ``D_p`` its mean and ``S_p`` the sum of ``(d_up -
D_p)^2`` over the users of the pair. A draw gives every user a standard normal weight ``e_u``, the same for
all pairs: users are what is independent. Then ``t_p = sum of e_u (d_up - D_p) / sqrt(S_p)`` is standard
normal, and the t of two pairs are correlated as their errors are. The quantile q of the largest ``|t_p|`` at
1 - error says how far a normal error of any pair goes; it is that of one interval that fails with
probability ``2 P(N > q)``. That is the level at which every pair then gets its interval. (Chernozhukov,
Chetverikov and Kato, Annals of Statistics 2013, prove that such quantiles are right as the number of users
grows, for a number of pairs that may grow far faster.)

**Few common raters.** The bootstrap sees normal errors and estimates how they correlate. With few raters
neither is good. So the bootstrap decides one number only, the level; the interval of a pair at that level is
that of `intervals`: Student's quantile for its own number of raters, and the guard against a small variance.
And pairs with fewer than 100 common raters, or whose raters all agree, are none of its business: they keep
Bonferroni's level error / M and use up their share of the error. The others have the rest, error times their
share of all pairs. By the sum of the two, all intervals hold together at the level asked for.

**Few draws.** Of B draws the quantile is the ceil((B + 1) (1 - error))-th smallest, which is exceeded by a
further draw with probability error at most. If B is too small for that, and never else, Bonferroni's level is
all there is. The level is never below Bonferroni's and never above that of a single interval.

It takes a multiplication per draw, user and pair that the user rated.
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
    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.statistics.pairs import PairStatistics

FEW_RATERS = 100
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
    level = _level(largest_errors(log, listed, seed, draws), error * len(listed) / n_pairs)
    return LevelledIntervals("student", max(level, bonferroni), bonferroni, FEW_RATERS)


def largest_errors(log: RatingLog, listed: PairStatistics, seed: int, draws: int) -> NDArray[np.float64]:
    """Return the largest ``|t|`` over the listed pairs in every draw."""
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
        return np.asarray((np.abs(sums) / roots[:, None]).max(axis=0))

    pool = ThreadPoolExecutor(workers)
    try:
        found = list(track(pool.map(largest, range(blocks)), "parts of the bootstrap", blocks))
    finally:
        pool.shutdown(cancel_futures=True)
    return np.concatenate(found)[:draws]


def _level(largest: NDArray[np.float64], error: float) -> float:
    """Return the level of one interval that reaches as far as the largest of all errors, at 1 - error."""
    from scipy.special import ndtr

    place = ceil((len(largest) + 1) * (1.0 - error))
    if place > len(largest):
        return 0.0
    quantile = float(np.sort(largest)[place - 1])
    return min(2.0 * float(ndtr(-quantile)), error)
