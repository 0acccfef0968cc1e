"""Who rated what, and how: users by items, with gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information.arms import ArmId


class RatingRows(NamedTuple):
    """The ratings that there are: those of user u are ``ratings[starts[u]:starts[u + 1]]``, of ``items``."""

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]


class RatingMatrix:
    """Ratings of items by users; an immutable value.

    Parameters
    ----------
    values : array_like of shape (users, items)
        Ratings, NaN where there is none.
    item_ids : sequence of str or of int, optional
        Names of the items; by default they are numbered from 0.
    low, high : float
        The ends of the scale on which users rate.

    Examples
    --------
    >>> import lsdt
    >>> nan = float("nan")
    >>> matrix = lsdt.ratings.RatingMatrix([[1., 5.], [3., nan]], ["tea", "cocoa"], low=1., high=5.)
    >>> matrix
    RatingMatrix(2 users, 2 items, 3 ratings from 1 to 5)
    >>> matrix.means().tolist()
    [2.0, 5.0]
    >>> matrix.unit().values.tolist()
    [[0.0, 1.0], [0.5, nan]]
    """

    __slots__ = ("high", "item_ids", "low", "values")

    values: NDArray[np.float64]
    item_ids: tuple[ArmId, ...]
    low: float
    high: float

    def __init__(
        self, values: ArrayLike, item_ids: Iterable[ArmId] | None = None, low: float = 0.0, high: float = 1.0
    ) -> None:
        matrix = np.array(values, np.float64, order="C")
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InvalidInput(f"ratings must be a table of users by items; got the shape {matrix.shape}")
        ids = tuple(range(matrix.shape[1])) if item_ids is None else tuple(item_ids)
        if len(ids) != matrix.shape[1]:
            raise InvalidInput(
                f"there are {matrix.shape[1]} items and {len(ids)} item ids; give one for each"
            )
        if not low < high:
            raise InvalidInput(f"the scale must go from low to high; got {low!r} to {high!r}")
        outside = (matrix < low) | (matrix > high)
        if outside.any():
            user, item = map(int, np.argwhere(outside)[0])
            raise InvalidInput(
                f"ratings must lie between {low:g} and {high:g}, or be NaN; user {user} gave item "
                f"{ids[item]!r} {matrix[user, item]:g}"
            )
        self._fill(matrix, ids, low, high)

    def _fill(self, values: NDArray[np.float64], ids: tuple[ArmId, ...], low: float, high: float) -> None:
        values.flags.writeable = False
        for name, value in zip(("values", "item_ids", "low", "high"), (values, ids, low, high), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(
        cls, values: NDArray[np.float64], ids: tuple[ArmId, ...], low: float, high: float
    ) -> RatingMatrix:
        matrix = cls.__new__(cls)
        matrix._fill(values, ids, low, high)
        return matrix

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.values)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Whether a user rated an item, for every user and item."""
        return ~np.isnan(self.values)

    def means(self) -> NDArray[np.float64]:
        """Return the mean rating of every item over those who rated it; NaN where nobody did."""
        rated = self.rated
        counts = rated.sum(axis=0)
        sums = np.where(rated, self.values, 0.0).sum(axis=0)
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return means

    def unit(self) -> RatingMatrix:
        """Return the same ratings on the scale from 0 to 1."""
        return self._of((self.values - self.low) / (self.high - self.low), self.item_ids, 0.0, 1.0)

    def of_users(self, users: ArrayLike) -> RatingMatrix:
        """Return the ratings of some of the users, in the order given."""
        return self._of(self.values[np.asarray(users, np.int64)], self.item_ids, self.low, self.high)

    def rows(self) -> RatingRows:
        """Return the ratings user by user, the items of each ascending."""
        rated = self.rated
        starts = np.zeros(self.n_users + 1, np.int64)
        np.cumsum(rated.sum(axis=1), out=starts[1:])
        return RatingRows(starts, np.nonzero(rated)[1], self.values[rated])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a RatingMatrix cannot be changed; make another with another {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return RatingMatrix, (self.values, self.item_ids, self.low, self.high)

    def __repr__(self) -> str:
        sizes = ", ".join(
            counted(number, noun)
            for number, noun in (
                (self.n_users, "user"),
                (self.n_items, "item"),
                (int(self.rated.sum()), "rating"),
            )
        )
        return f"RatingMatrix({sizes} from {self.low:g} to {self.high:g})"
