"""The rating log: the one form in which the package holds ratings."""

from __future__ import annotations

from itertools import pairwise
from os import PathLike
from os.path import exists
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lsdt._progress import progress_of
from lsdt._validation import LARGEST_REWARD, checked_seed, checked_share, checked_word
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import require_memory
from lsdt.ratings import log_kernel as kernel
from lsdt.ratings.card import log_card
from lsdt.ratings.selection import ItemSelection, select_items
from lsdt.side_information import ArmNames, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from lsdt._progress import Progress
    from lsdt.ratings.reading.columns import LogColumns, TextLayout
    from lsdt.ratings.reading.triples import Triples
    from lsdt.side_information import ArmId

_SAMPLE = 10_000  # ratings whose median is taken; the share near it is then known to half a percent
# Of the scale: ratings from 1 to 5 are this close only beside a typing error such as 1e10.
_SAME = 1e-9
DUPLICATES = ("error", "last", "mean")
READING = {"parts of the log": (0.0, 1.0)}
_Read = TypeVar("_Read")


class RatingLog:
    """Ratings of items by users; an immutable value.

    The ratings of user u are ``ratings[starts[u]:starts[u + 1]]``, of ``items[starts[u]:starts[u + 1]]``. A
    rating takes 12 bytes, 20 with its time. Read one with `read_log`, or make one of a matrix with
    `RatingLog.from_matrix`.

    Attributes
    ----------
    starts : array of int64
        Where the ratings of every user begin, and where those of the last one end.
    items : array of int32
        What was rated, as indices; ascending within a user.
    ratings : array of float64
        On the original scale.
    item_ids : tuple of str or of int
        Names of the items, ascending.
    low, high : float
        The ends of the scale.
    times : array of float64 or None
        When each rating was given, if that is known: in seconds since 1970 where the log had dates.
    note : str
        Which items were left out when the log was read, in words; empty if none were.

    Examples
    --------
    >>> import lsdt
    >>> nan = float("nan")
    >>> log = lsdt.ratings.RatingLog.from_matrix([[1., 5.], [3., nan]], ["cocoa", "tea"], scale=(1, 5))
    >>> log
    RatingLog(2 users, 2 items, 3 ratings from 1 to 5)
    >>> log.means().tolist(), log.counts().tolist()
    ([2.0, 5.0], [2, 1])
    >>> log.unit_ratings().tolist()
    [0.0, 1.0, 0.5]
    """

    __slots__ = ("high", "item_ids", "items", "low", "note", "ratings", "starts", "times")

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    ratings: NDArray[np.float64]
    item_ids: tuple[ArmId, ...]
    low: float
    high: float
    times: NDArray[np.float64] | None
    note: str

    def __new__(
        cls,
        starts: ArrayLike,
        items: ArrayLike,
        ratings: ArrayLike,
        item_ids: Iterable[ArmId],
        low: float,
        high: float,
        times: ArrayLike | None = None,
    ) -> RatingLog:
        """Check the arrays, and make a log of copies of them."""
        ids = tuple(item_ids)
        rows = np.array(starts, np.int64), np.array(items, np.int32), np.array(ratings, np.float64)
        _check_ids(ids)
        _check_rows(*rows, len(ids))
        scale = checked_scale((low, high), rows[2], lambda at: f"rating number {at}")
        moments = None if times is None else np.array(times, np.float64)
        if moments is not None and not (moments.shape == rows[2].shape and np.isfinite(moments).all()):
            raise InvalidInput("times must be a list of finite numbers, one for every rating")
        return cls._of(*rows, ids, *scale, moments)

    @classmethod
    def _of(
        cls,
        starts: NDArray[np.int64],
        items: NDArray[np.int32],
        ratings: NDArray[np.float64],
        item_ids: tuple[ArmId, ...],
        low: float,
        high: float,
        times: NDArray[np.float64] | None = None,
        note: str = "",
    ) -> RatingLog:
        """Make a log from arrays known to be valid, without a copy."""
        log = object.__new__(cls)
        for name, array in (("starts", starts), ("items", items), ("ratings", ratings), ("times", times)):
            object.__setattr__(log, name, None if array is None else frozen(array))
        for name, value in (("item_ids", item_ids), ("low", low), ("high", high), ("note", note)):
            object.__setattr__(log, name, value)
        return log

    def _with(self, **changes: Any) -> RatingLog:
        """Return a copy with other attributes, known to be valid."""
        return self._of(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})

    @classmethod
    def from_matrix(
        cls,
        values: ArrayLike,
        item_ids: Iterable[ArmId] | None = None,
        scale: tuple[float, float] | None = None,
    ) -> RatingLog:
        """Make a log from a table of users by items, with NaN where a user did not rate an item.

        Parameters
        ----------
        values : array_like of shape (users, items)
            Ratings.
        item_ids : sequence of str or of int, optional
            Names of the items; by default they are numbered from 0. Items are kept in the order of their ids.
        scale : tuple of float, optional
            Its ends; by default the smallest and the largest rating.
        """
        try:
            matrix = np.asarray(values, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"ratings must be a table of numbers, users by items; got {values!r}"
            ) from None
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InvalidInput(f"ratings must be a table of users by items; got the shape {matrix.shape}")
        ids = tuple(range(matrix.shape[1])) if item_ids is None else tuple(item_ids)
        if len(ids) != matrix.shape[1]:
            raise InvalidInput(
                f"there are {matrix.shape[1]} items and {len(ids)} item ids; give one for each"
            )
        ArmNames(len(ids), ids)  # refuses what cannot be an id
        order = sorted(range(len(ids)), key=ids.__getitem__)
        if order != list(range(len(ids))):
            matrix = matrix[:, order]
        rated = ~np.isnan(matrix)
        starts = np.zeros(len(matrix) + 1, np.int64)
        np.cumsum(rated.sum(axis=1), out=starts[1:])
        users, items = np.nonzero(rated)
        sorted_ids = tuple(ids[item] for item in order)
        low, high = checked_scale(
            scale,
            matrix[rated],
            lambda at: f"the rating of item {sorted_ids[items[at]]!r} by user {users[at]}",
        )
        return cls._of(starts, items.astype(np.int32), matrix[rated], sorted_ids, low, high)

    @property
    def n_users(self) -> int:
        """Number of users; they are numbered in the order of their ids."""
        return len(self.starts) - 1

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.ratings)

    def counts(self) -> NDArray[np.int64]:
        """Return how many users rated every item."""
        return np.bincount(self.items, minlength=self.n_items)

    def means(self) -> NDArray[np.float64]:
        """Return the mean rating of every item over those who rated it; NaN where nobody did."""
        counts = self.counts()
        sums = np.bincount(self.items, self.ratings, self.n_items)
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return means

    def unit_ratings(self) -> NDArray[np.float64]:
        """Return the ratings on the scale from 0 to 1."""
        return (self.ratings - self.low) / (self.high - self.low)

    def unit(self) -> RatingLog:
        """Return the same log on the scale from 0 to 1."""
        return self._with(ratings=self.unit_ratings(), low=0.0, high=1.0)

    def of_users(self, users: ArrayLike) -> RatingLog:
        """Return the ratings of some of the users, by number, in the order given; the items stay the same."""
        chosen = np.array(users, np.int64)
        if chosen.ndim != 1 or (len(chosen) and not 0 <= chosen.min() <= chosen.max() < self.n_users):
            raise InvalidInput(f"users must be numbers from 0 to {self.n_users - 1}; got {users!r}")
        starts, items, ratings = kernel.rows_of_users(self.starts, self.items, self.ratings, chosen)
        times = self.times
        if times is not None:
            times = kernel.rows_of_users(self.starts, self.items, times, chosen)[2]
        return self._with(starts=starts, items=items, ratings=ratings, times=times)

    def halves(self, seed: int = 0) -> tuple[RatingLog, RatingLog]:
        """Return two logs with half of the users each, dealt out at random; the items stay the same.

        Use them where relations and a prior, or a choice and its test, must come from different ratings.

        Examples
        --------
        >>> import lsdt
        >>> log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=100, n_items=9, ratings_per_user=5).log)
        >>> log.n_users, [half.n_users for half in log.halves()]     # two of the hundred rated nothing
        (98, [49, 49])
        """
        order = np.random.default_rng(checked_seed(seed)).permutation(self.n_users)
        first = (self.n_users + 1) // 2
        return self.of_users(np.sort(order[:first])), self.of_users(np.sort(order[first:]))

    def of_items(self, items: ArrayLike) -> RatingLog:
        """Return the ratings of some of the items, by index; users who rated none of them are left out."""
        chosen = np.unique(np.array(items, np.int64))
        if len(chosen) == 0 or not 0 <= chosen[0] <= chosen[-1] < self.n_items:
            raise InvalidInput(f"items must be numbers from 0 to {self.n_items - 1}; got {items!r}")
        place = np.full(self.n_items, -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        some = self._among(place[self.items] >= 0)
        ids = tuple(self.item_ids[item] for item in chosen)
        return some._with(items=place[some.items], item_ids=ids)

    def _among(self, kept: NDArray[np.bool_]) -> RatingLog:
        """Return some of the ratings; users who gave none of them are left out."""
        before = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        starts = np.concatenate(([0], before[1:][np.diff(before) > 0]))
        times = None if self.times is None else self.times[kept]
        return self._with(starts=starts, items=self.items[kept], ratings=self.ratings[kept], times=times)

    def in_order_of_time(self) -> RatingLog:
        """Return the same ratings, users ordered by their first rating; users without any come last."""
        times = checked_times(self.times, "read_log")
        rated = np.diff(self.starts) > 0
        first = np.full(self.n_users, np.inf)
        first[rated] = np.minimum.reduceat(times, self.starts[:-1][rated])
        return self.of_users(np.argsort(first, kind="stable"))

    def divide_by_time(self, share: float) -> tuple[RatingLog, RatingLog]:
        """Return the earliest ratings, about this share of them, and all later ones.

        A user may be in both logs. Each log numbers its users by their first rating in it. Ratings with the
        same time stay together.

        Examples
        --------
        >>> import lsdt, pandas as pd
        >>> frame = pd.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rating": [1, 5, 2]})
        >>> log = lsdt.ratings.read_log(frame.assign(t=[30, 10, 20]), time="t")
        >>> earlier, later = log.divide_by_time(.5)
        >>> earlier, later.times.tolist()
        (RatingLog(2 users, 2 items, 2 ratings from 1 to 5), [30.0])
        """
        is_early = is_earlier(checked_times(self.times, "read_log"), share)
        return self._among(is_early).in_order_of_time(), self._among(~is_early).in_order_of_time()

    def matrix(self) -> NDArray[np.float64]:
        """Return users by items on the original scale, NaN where there is no rating."""
        shape = self.n_users, self.n_items
        what = f"a table of {shape[0]:,} users by {shape[1]:,} items"
        require_memory(8.0 * shape[0] * shape[1], what, "use fewer users or items")
        table = np.full(shape, np.nan)
        table[np.repeat(np.arange(shape[0]), np.diff(self.starts)), self.items] = self.ratings
        return table

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a RatingLog cannot be changed; make another with another {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        rows = (self.starts, self.items, self.ratings, self.item_ids, self.low, self.high, self.times)
        return RatingLog._of, (*rows, self.note)

    def __repr__(self) -> str:
        sizes = ", ".join(
            counted(number, noun)
            for number, noun in ((self.n_users, "user"), (self.n_items, "item"), (self.n_ratings, "rating"))
        )
        return f"RatingLog({sizes} from {self.low:g} to {self.high:g})"

    def _repr_html_(self) -> str:
        return log_card(self, self.ratings, "ratings")


def read_log(
    log: Any,
    user: str | int = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    duplicates: str = "error",
    scale: tuple[float, float] | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    min_ratings: int | None = None,
    top: int | None = None,
    time: str | int | None = None,
    progress: Progress = None,
) -> RatingLog:
    r"""Read ratings, one a row, from a file or a dataframe.

    Functions that take a log (`lsdt.from_ratings`, `lsdt.replay`, `lsdt.check_side`, ...) accept the result;
    given a path, dataframe or array instead, they call this function with its defaults. `read_events` reads
    events, of which a user may have several with one item.

    Parameters
    ----------
    log : path, dataframe, array or RatingLog
        A file of text with columns (``.csv``, ``.tsv``, ``.dat``), of JSON lines (``.jsonl``), any of these
        compressed (``.csv.gz``) or alone in a ``.zip``; a Parquet file, a folder of Parquet files; or any
        dataframe that narwhals knows (pandas, polars, pyarrow, ...). An array is a table of users by items,
        as of `RatingLog.from_matrix`. A `RatingLog` comes back as it is, but for `scale`, `min_ratings` and
        `top`.
    user, item, rating : str or int
        Names of the columns, or their places, counted from 0. Ids are text or whole numbers; dates and times
        become ISO text. Ratings are numbers; true and false are 1 and 0.
    duplicates : {'error', 'last', 'mean'}
        What to do where a user rated an item more than once: refuse the log, keep the last of them, or take
        their mean.
    scale : tuple of float, optional
        The ends of the scale of ratings; by default the smallest and the largest rating in the log.
    sep : str, optional
        What separates the columns of text, one or more characters; by default a comma, a tab in ``.tsv`` and
        ``::`` in ``.dat``. With it, a file of any ending is read as text.
    header : bool, optional
        Whether the first line of text names the columns; by default it does, except in ``.dat``. Without, the
        first three columns are called ``user``, ``item`` and ``rating``.
    min_ratings : int, optional
        Items with fewer ratings are left out, and users who rated no others. Pairs of fewer items have
        shorter intervals in `lsdt.from_ratings`.
    top : int, optional
        Keep only this many items, those with the most ratings; among equals, the first ids. The scale stays
        that of all ratings.
    time : str or int, optional
        The column of times: numbers, dates, or text in ISO form (``2024-05-01 12:30:00``). The log keeps
        them, and ``duplicates='last'`` means the latest.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal when reading takes more than two seconds. A
        function is called with the share that is done.

    Returns
    -------
    RatingLog
        Users and items in ascending order of their ids: the order of rows does not matter (but for
        ``duplicates='last'``).

    Raises
    ------
    InvalidInput, InvalidFile
        With the row (the line of a CSV file) and the value that is wrong.
    TooLarge
        When the log does not fit in memory.

    Examples
    --------
    >>> import lsdt, pandas as pd
    >>> frame = pd.DataFrame({
    ...     "user": ["ann", "ann", "bob"], "item": ["tea", "cocoa", "tea"], "rating": [4, 5, 2],
    ... })
    >>> log = lsdt.ratings.read_log(frame, scale=(1, 5))
    >>> log, log.item_ids
    (RatingLog(2 users, 2 items, 3 ratings from 1 to 5), ('cocoa', 'tea'))

    A file without names of columns, whose second column is of no use:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ratings.txt"
    >>> _ = path.write_text("ann;mon;tea;4\nann;mon;cocoa;5\nbob;tue;tea;2\n")
    >>> lsdt.ratings.read_log(path, sep=";", header=False, item=2, rating=3, user=0)
    RatingLog(2 users, 2 items, 3 ratings from 2 to 5)
    """
    from lsdt.ratings.reading.columns import LogColumns, TextLayout

    checked_word(duplicates, "duplicates", DUPLICATES)
    layout, selection = TextLayout(sep, header).checked_for(log), ItemSelection(min_ratings, top).checked()
    columns = LogColumns(user, item, rating, time=time).with_users()
    with progress_of(progress, READING):
        return select_items(_read_all(log, columns, duplicates, scale, layout), selection)


def as_log(log: Any, scale: tuple[float, float] | None = None) -> RatingLog:
    """Return a `RatingLog` as it is; read anything else by `read_log` with its defaults."""
    if isinstance(log, RatingLog):
        return read_log(log, scale=scale)
    return read_by_default(log, read_log, scale=scale)


def read_by_default(log: Any, reader: Callable[..., _Read], **options: Any) -> _Read:
    """Read a log for a function without options of reading; errors point to `read_log`.

    Examples
    --------
    >>> import pandas as pd
    >>> read_by_default(pd.DataFrame({"who": [1], "item": [7], "rating": [5]}), read_log)
    Traceback (most recent call last):
    lsdt.errors.InvalidInput: there is no column 'user' for the user; the columns are 'who', 'item', 'rating'.
    Name the column with user=..., or give its place, counted from 0. Columns and other choices are options of
    lsdt.ratings.read_log; give what it returns
    """
    try:
        return reader(log, **options)
    except InvalidInput as error:
        if isinstance(log, (str, PathLike)) and not exists(log):
            raise  # no option would help
        where = (
            f"Columns and other choices are options of lsdt.ratings.{reader.__name__}; give what it returns"
        )
        raise type(error)(f"{error}. {where}") from None


def _read_all(
    log: Any, columns: LogColumns, duplicates: str, scale: tuple[float, float] | None, layout: TextLayout
) -> RatingLog:
    """Read all ratings; see `read_log` for the parameters."""
    if isinstance(log, np.ndarray):
        return RatingLog.from_matrix(log, scale=scale)
    if isinstance(log, RatingLog):
        if scale is None:
            return log
        low, high = checked_scale(scale, log.ratings, lambda at: f"rating number {at}")
        return log._with(low=low, high=high)
    from lsdt.ratings.reading.batches import refuse_no_order
    from lsdt.ratings.reading.triples import read_triples

    if duplicates == "last" and columns.time is None:
        refuse_no_order(log)
    triples = read_triples(log, columns, layout)
    low, high = checked_scale(scale, triples.ratings, triples.place)
    n_users, n_items = len(triples.user_ids), len(triples.item_ids)
    users, items, ratings, times = triples.users, triples.items, triples.ratings, triples.times
    if times is not None:  # of repeated ratings the latest is the last
        order = np.argsort(times, kind="stable")
        users, items, ratings, times = users[order], items[order], ratings[order], times[order]
        times = kernel.rows_of_triples(users, items, times, n_users, n_items)[2]
    starts, items, ratings = kernel.rows_of_triples(users, items, ratings, n_users, n_items)
    if duplicates == "error":
        _refuse_repeats(triples, starts, items)
    else:
        if times is not None:
            kept = kernel.merge_repeats(starts.copy(), items.copy(), times, False)
            times = times[:kept].copy()
        kept = kernel.merge_repeats(starts, items, ratings, duplicates == "mean")
        if kept < len(items):
            items, ratings = items[:kept].copy(), ratings[:kept].copy()
    return RatingLog._of(starts, items, ratings, tuple(triples.item_ids), low, high, times)


def checked_times(times: NDArray[np.float64] | None, reader: str) -> NDArray[np.float64]:
    """Return the times of a log; refuse a log without times. `reader` is the function that reads it."""
    if times is None:
        raise InvalidInput(
            "the log does not say when ratings were given; name the column of times when you read it, as in "
            f"lsdt.ratings.{reader}(log, time='timestamp')"
        )
    return times


def is_earlier(times: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return which times are among the earliest, about this share; refuse a share that includes all."""
    at = max(round(checked_share(share, "share") * len(times)), 1) - 1
    early: NDArray[np.bool_] = times <= np.partition(times, at)[at]
    if early.all():
        raise InvalidInput(
            f"a share of {share:g} of the ratings leaves none that is later: take a smaller one, and look "
            "whether the times differ"
        )
    return early


def checked_scale(
    scale: Any, ratings: NDArray[np.float64], place: Callable[[int], str]
) -> tuple[float, float]:
    """Return the ends of a scale that contains all ratings; `place` says in words where a rating is."""
    if scale is None:
        if len(ratings) == 0:
            raise InvalidInput("there are no ratings")
        low, high = float(ratings.min()), float(ratings.max())
        _check_ends(low, high)
        if low == high:
            raise InvalidInput(
                f"all ratings are {low:g}: nothing tells one item from another. If others could have been "
                f"given, say so with scale=(low, high), such as scale=({min(low, 0.0):g}, {max(low, 1.0):g})"
            )
        _refuse_outlier(low, high, ratings, place)
        return low, high
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"scale must be two numbers, (low, high); got {scale!r}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidInput(f"the scale must go from low to high, both finite; got {low:g} to {high:g}")
    _check_ends(low, high)
    outside = ~((ratings >= low) & (ratings <= high))  # NaN lies outside too
    if outside.any():
        at = int(np.argmax(outside))
        raise InvalidInput(f"{place(at)} is {ratings[at]:g}; the scale goes from {low:g} to {high:g}")
    return low, high


def _check_ends(low: float, high: float) -> None:
    if not -LARGEST_REWARD <= low <= high <= LARGEST_REWARD:
        raise InvalidInput(
            f"ratings must be numbers from {-LARGEST_REWARD:g} to {LARGEST_REWARD:g}; got some from {low:g} "
            f"to {high:g}. Correct those that are out of range"
        )


def _refuse_outlier(
    low: float, high: float, ratings: NDArray[np.float64], place: Callable[[int], str]
) -> None:
    """Refuse a scale so long that nearly all ratings look the same on it, although they differ."""
    sample = ratings[:: len(ratings) // _SAMPLE + 1]
    middle = float(np.median(sample))
    near = sample[np.abs(sample - middle) <= _SAME * (high - low)]
    if 3 * len(near) < 2 * len(sample) or np.ptp(near) == 0.0:
        return
    at = int(ratings.argmax() if high - middle > middle - low else ratings.argmin())
    raise InvalidInput(
        f"{place(at)} is {ratings[at]:g} and makes the scale so long that most ratings, which lie near "
        f"{middle:g}, are all the same on it. Correct it, or say with scale=({low:g}, {high:g}) that it is "
        "meant"
    )


def _check_ids(ids: tuple[Any, ...]) -> None:
    if not ids:
        raise InvalidInput("a log needs at least one item")
    ArmNames(len(ids), ids)  # refuses what cannot be an id
    if any(first >= second for first, second in pairwise(ids)):
        raise InvalidInput("item ids must ascend; RatingLog.from_matrix and read_log sort them")


def _check_rows(
    starts: NDArray[np.int64], items: NDArray[np.int32], ratings: NDArray[np.float64], n_items: int
) -> None:
    if starts.ndim != 1 or items.ndim != 1 or items.shape != ratings.shape or len(starts) < 2:
        raise InvalidInput(
            "starts, items and ratings must be lists, items and ratings of one length, starts of one more "
            f"than there are users; got the shapes {starts.shape}, {items.shape}, {ratings.shape}"
        )
    if starts[0] != 0 or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise InvalidInput(f"starts must ascend from 0 to the number of ratings, {len(items)}")
    if len(items) and not 0 <= items.min() <= items.max() < n_items:
        raise InvalidInput(
            f"items must be numbers from 0 to {n_items - 1}; got {items.min()} to {items.max()}"
        )
    within = np.ones(len(items), bool)
    within[starts[:-1][starts[:-1] < len(items)]] = False
    if (np.diff(items)[within[1:]] <= 0).any():
        raise InvalidInput("the items of a user must ascend, each once")


def _refuse_repeats(triples: Triples, starts: NDArray[np.int64], items: NDArray[np.int32]) -> None:
    user, item = kernel.first_repeat(starts, items)
    if user < 0:
        return
    rows = np.flatnonzero((triples.users == user) & (triples.items == item))[:2]
    first, second = (triples.row(int(at)) for at in rows)
    raise InvalidInput(
        f"user {triples.user_ids[user]!r} rated item {triples.item_ids[item]!r} twice, in {first} and in "
        f"{second}; keep one of them, or say duplicates='last' or duplicates='mean'"
    )
