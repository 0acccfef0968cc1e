"""Are ratings missing at random? As far as the log itself can show.

Two items are compared by users who rated both, the co-raters. If co-raters like the two differently from
other raters, the difference that they measure is not that of the items. For a sample of items, the check
compares the ratings that co-raters gave each item with those of its other raters, corrected for kindness, and
measures how far the difference of the two moves; the part beyond chance is the *shift*. It also reports
whether users who rate more rate more kindly (which cancels in pairs, but not in means of items), and whether
items rated often are rated higher.

No log can show whether an item is liked less by those who did not rate it at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_kind
from lsdt.ratings.log import RatingLog
from lsdt.ratings.statistics.items import item_statistics, kindness_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Enough to see shifts far smaller than an epsilon: up to 780 pairs of items. On a log of Jester's size the
# check takes half a second.
MOST_USERS = 20_000
_MOST_ITEMS = 40
_LEAST = 30  # raters on either side of a comparison: a rule of thumb for nearly normal means
# Chosen by eye: a shift of less than a quarter of epsilon moves few pairs across it; and a mean square that
# chance alone would make about 1.
_NOTABLE = 0.25
_BEYOND_CHANCE = 1.5


@dataclass(frozen=True)
class Missingness:
    """The result of the check, on the scale from 0 to 1.

    Attributes
    ----------
    pairs : int
        The number of pairs of items compared.
    shift : float
        Typical size of the shift of a pair's difference among co-raters, beyond chance.
    excess : float
        Mean square of the shifts in units of their errors: about 1 by chance alone.
    activity : float
        Correlation of how much users rate (its logarithm) with how kindly.
    popularity : float
        Correlation of how often items are rated (its logarithm) with their mean rating.
    """

    pairs: int
    shift: float
    excess: float
    activity: float
    popularity: float

    def matters(self, epsilon: float) -> bool:
        """Return whether the shift exceeds chance and is not small compared with epsilon."""
        return self.excess > _BEYOND_CHANCE and self.shift > _NOTABLE * epsilon

    def note(self, epsilon: float, what: str = "epsilon") -> str:
        """Return the result in words, compared with `epsilon` or another length on the scale from 0 to 1."""
        about = (
            f"users who rate more rate {_tendency(self.activity, 'more kindly', 'more harshly')} "
            f"(correlation {self.activity:.2f}), items rated more often are rated "
            f"{_tendency(self.popularity, 'higher', 'lower')} ({self.popularity:.2f})"
        )
        if self.pairs == 0:
            return f"Too few ratings to check whether they are missing at random; {about}."
        found = (
            f"the difference of two items among those who rated both typically differs from that among all "
            f"their raters by {self.shift:.3f} of the scale (beyond chance, {self.pairs:,} pairs)"
        )
        if self.matters(epsilon):
            return (
                f"Ratings seem to be missing not at random: {found}, which is {self.shift / epsilon:.0%} of "
                f"{what}; {about}. Levels hold for those who rate both items of a pair, not for all users."
            )
        return (
            f"Comparing co-raters with the rest shows little: {found}; {about}. No log can tell what those "
            "think of an item who never rated it."
        )

    def _repr_html_(self) -> str:
        return fields_card(self)


def _tendency(correlation: float, more: str, less: str) -> str:
    if abs(correlation) < 0.1 or np.isnan(correlation):
        return "much the same"
    return more if correlation > 0 else less


def check_missingness(log: RatingLog, seed: int = 0) -> Missingness:
    """Compare co-raters with the other raters of items.

    Parameters
    ----------
    log : RatingLog
        Ratings; those of some ten thousand users are enough.
    seed : int
        Draws the items to compare, with a probability that grows with their ratings.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=3000)
    >>> found = lsdt.ratings.check_missingness(lsdt.ratings.read_log(log))
    >>> found.pairs > 100, found.matters(epsilon=.1)
    (True, False)
    """
    check_kind(log, RatingLog, "log must be a RatingLog, as lsdt.ratings.read_log returns it")
    statistics = item_statistics(log)
    kindness = kindness_of(log, statistics.effects)
    sizes = np.diff(log.starts)
    rated = statistics.ratings > 0
    shift, error = _shifts(log, kindness, _sample_items(statistics.ratings, seed))
    return Missingness(
        pairs=len(shift),
        shift=float(np.sqrt(max(0.0, (shift**2 - error**2).sum() / max(len(shift), 1)))),
        excess=float(((shift / error) ** 2).sum() / max(len(shift), 1)),
        activity=_correlation(np.log(sizes[sizes > 0]), kindness[sizes > 0]),
        popularity=_correlation(np.log(statistics.ratings[rated]), statistics.means[rated]),
    )


def _sample_items(counts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Draw some items that have enough raters, with a probability that grows with their raters."""
    enough = np.flatnonzero(counts >= 2 * _LEAST)
    if len(enough) <= _MOST_ITEMS:
        return enough
    rng = np.random.default_rng((seed, len(counts)))
    drawn = rng.choice(enough, _MOST_ITEMS, replace=False, p=counts[enough] / counts[enough].sum())
    return np.sort(drawn)


class _Shifts(NamedTuple):
    """How far co-raters move the differences of pairs, with standard errors."""

    shift: NDArray[np.float64]
    error: NDArray[np.float64]


def _shifts(log: RatingLog, kindness: NDArray[np.float64], chosen: NDArray[np.int64]) -> _Shifts:
    column = np.full(log.n_items, -1)
    column[chosen] = np.arange(len(chosen))
    wanted = column[log.items] >= 0
    users = np.repeat(np.arange(log.n_users), np.diff(log.starts))[wanted]
    rated, values = np.zeros((2, log.n_users, len(chosen)))
    rated[users, column[log.items[wanted]]] = 1.0
    values[users, column[log.items[wanted]]] = log.unit_ratings()[wanted] - kindness[users]
    both, sums, squares = rated.T @ rated, values.T @ rated, (values**2).T @ rated
    raters = both.diagonal()[:, None]
    rest = raters - both
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = sums / both, (sums.diagonal()[:, None] - sums) / rest
        spread_near = squares / both - near**2
        spread_far = (squares.diagonal()[:, None] - squares) / rest - far**2
        moved = (near - far) * rest / raters
        error = (spread_near / both + spread_far / rest) * (rest / raters) ** 2
    enough = (both >= _LEAST) & (rest >= _LEAST)
    pairs = np.triu(enough & enough.T, 1)
    # The variance of users who all agree may be rounded to less than 0.
    errors = np.sqrt(np.maximum((error + error.T)[pairs], 0.0))
    return _Shifts((moved - moved.T)[pairs][errors > 0], errors[errors > 0])


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    if len(first) < 3 or first.std() == 0.0 or second.std() == 0.0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
