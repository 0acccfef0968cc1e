"""Logs with a known truth: for examples, tests and measurements.

How much a user likes an item is its quality plus the user's kindness plus the user's taste; the rating is the
nearest level. Kindness and taste are normal, so the mean rating of an item over all users is known exactly.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._files import checked_path
from lsdt._validation import (
    LARGEST_REWARD,
    checked_between,
    checked_list,
    checked_seed,
    checked_size,
    checked_spread,
    checked_whole,
)
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

# Round guesses, not fitted to any log. As shares of the scale:
_QUALITY = (0.3, 0.8)  # the worst and the best item
_KINDNESS = 0.15  # spread of how kindly users rate
_TASTE = 0.2  # spread of what is left

_APPETITE = 0.5  # spread of the logarithm of how much users rate
_MOST_LIKELY = 0.95  # no item is rated by everybody
_MOST_RATED = 0.9  # nor all items by a user, on average
_CHUNK = 2**22  # users times items drawn at a time: some 100 MB. The draws depend on it, so it stays


class GeneratedLog(NamedTuple):
    """A log and its truth.

    Attributes
    ----------
    log : pandas.DataFrame or pathlib.Path
        Columns ``user``, ``item``, ``rating``; or the Parquet file that they were written to.
    means : pandas.Series
        The mean rating of every item if every user rated it.
    """

    log: pd.DataFrame | Path
    means: pd.Series


def make_log(
    n_users: int = 2_000,
    n_items: int = 40,
    ratings_per_user: float = 20.0,
    levels: Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0),
    skew: float = 0.7,
    liking: float = 0.0,
    path: str | PathLike[str] | None = None,
    seed: int = 0,
) -> GeneratedLog:
    """Draw a log of ratings with known true means.

    Parameters
    ----------
    n_users, n_items : int
        How many there are; items are numbered from 0, in no order of quality.
    ratings_per_user : float
        About how many items a user rates, on average.
    levels : sequence of float
        The ratings that can be given, ascending; ``(0, 1)`` for clicks.
    skew : float
        How popularity falls: the k-th most popular item is rated in proportion to ``k ** -skew``. Popularity
        has nothing to do with quality.
    liking : float
        0: whether a user rates an item does not depend on how they like it. Otherwise ratings are missing not
        at random: every standard deviation of liking makes a rating ``exp(liking)`` times as likely.
    path : path, optional
        Write the log to this Parquet file, some users at a time, instead of returning it: for logs too large
        for memory. Its name ends in ``.parquet``.
    seed : int
        The same seed gives the same log.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=500, n_items=10, ratings_per_user=5)
    >>> log.columns.tolist(), len(means)
    (['user', 'item', 'rating'], 10)
    >>> bool(log.groupby("item")["rating"].mean().sub(means).abs().max() < .5)
    True
    """
    made = _LogPlan(n_users, n_items, ratings_per_user, levels, skew, liking, checked_seed(seed))
    import pandas as pd

    means = pd.Series(made.true_means(), pd.RangeIndex(n_items, name="item"), name="mean")
    if path is None:
        return GeneratedLog(pd.DataFrame(made.columns()), means)
    target = checked_path(path)
    if target.suffix != ".parquet":
        raise InvalidInput(f"path must end in .parquet, which is what is written; got {str(path)!r}")
    return GeneratedLog(_write(made, target), means)


def _write(plan: _LogPlan, path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"user": pa.int32(), "item": pa.int32(), "rating": pa.float64()}
    with pq.ParquetWriter(path, pa.schema(kinds.items())) as writer:
        for chunk in plan.chunks():
            writer.write_table(pa.table(dict(zip(kinds, chunk, strict=True))))
    return path


class _LogPlan:
    """The checked parameters and the items, which are drawn once."""

    def __init__(
        self,
        n_users: int,
        n_items: int,
        ratings_per_user: float,
        levels: Sequence[float],
        skew: float,
        liking: float,
        seed: int,
    ) -> None:
        self.n_users = checked_whole(n_users, "n_users", 1)
        n_items = checked_whole(n_items, "n_items", 1)
        ratings_per_user = checked_spread(ratings_per_user, "ratings_per_user", most=_MOST_RATED * n_items)
        skew = checked_between(skew, "skew", 0.0, LARGEST_REWARD)
        self.liking, self.seed = checked_between(liking, "liking", -3.0, 3.0), seed
        self.levels = _checked_levels(levels)
        self.low, self.high = self.levels[[0, -1]]
        rng = np.random.default_rng((seed, n_items))
        self.quality = rng.uniform(*_QUALITY, n_items)
        shares = rng.permutation(np.arange(1.0, n_items + 1) ** -skew)
        self.shares = _scale_to(shares, ratings_per_user)
        self.limits = ((self.levels[1:] + self.levels[:-1]) / 2 - self.low) / (self.high - self.low)

    def true_means(self) -> NDArray[np.float64]:
        """Return the mean rating of every item over all users, from the probability of passing each limit."""
        from scipy.special import ndtr

        spread = np.hypot(_KINDNESS, _TASTE)
        above = ndtr((self.quality[:, None] - self.limits) / spread)
        means: NDArray[np.float64] = self.low + above @ np.diff(self.levels)
        return means

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all ratings."""
        parts = list(self.chunks())
        names = ("user", "item", "rating")
        return {name: np.concatenate([part[at] for part in parts]) for at, name in enumerate(names)}

    def chunks(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]:
        """Yield users, items and ratings, some users at a time."""
        size = max(1, _CHUNK // len(self.quality))
        for number, first in enumerate(range(0, self.n_users, size)):
            rng = np.random.default_rng((self.seed, len(self.quality), number))
            users, items, ratings = self._chunk(min(size, self.n_users - first), rng)
            yield (users + first).astype(np.int32), items.astype(np.int32), ratings

    def _chunk(
        self, n_users: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        kindness = rng.normal(0.0, _KINDNESS, n_users)
        appetite = np.exp(rng.normal(-(_APPETITE**2) / 2, _APPETITE, n_users))
        likely = np.minimum(
            appetite[:, None].astype(np.float32) * self.shares.astype(np.float32), _MOST_LIKELY
        )
        taste = None
        if self.liking:
            taste = rng.normal(0.0, _TASTE, likely.shape)
            liked = (kindness[:, None] + taste) / np.hypot(_KINDNESS, _TASTE)
            likely = likely * np.exp(self.liking * liked - self.liking**2 / 2)
        users, items = np.nonzero(rng.random(likely.shape, dtype=np.float32) < likely)
        own = rng.normal(0.0, _TASTE, len(users)) if taste is None else taste[users, items]
        reached = np.searchsorted(self.limits, self.quality[items] + kindness[users] + own, side="right")
        return users, items, self.levels[reached]


def _checked_levels(levels: Any) -> NDArray[np.float64]:
    values = [checked_size(level, "a level") for level in checked_list(levels, "levels", "numbers")]
    if len(values) < 2 or any(first >= second for first, second in pairwise(values)):
        raise InvalidInput(f"levels must be two or more numbers, ascending; got {levels!r}")
    return np.array(values)


def _scale_to(shares: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Scale the shares so that users rate `total` items on average."""
    from scipy.special import ndtri

    appetites = np.exp(_APPETITE * ndtri((np.arange(50) + 0.5) / 50) - _APPETITE**2 / 2)
    scale = total / shares.sum()
    for _ in range(100):
        rated = np.minimum(np.outer(appetites, scale * shares), _MOST_LIKELY).sum() / len(appetites)
        scale *= total / rated
    return np.asarray(scale * shares)
