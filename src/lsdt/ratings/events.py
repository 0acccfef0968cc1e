"""The event log: what was shown to whom and how they responded, in the order of its rows.

A rating log holds one rating per user and item. An event log holds what happened: a user may see the same
item again, and somebody chose what to show, perhaps with a known probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._progress import progress_of
from lsdt.errors import InvalidInput, counted
from lsdt.ratings import log_kernel as kernel
from lsdt.ratings.card import log_card
from lsdt.ratings.log import READING, RatingLog, checked_scale, checked_times, is_earlier
from lsdt.ratings.reading.columns import LogColumns, TextLayout
from lsdt.ratings.reading.triples import read_triples
from lsdt.ratings.selection import ItemSelection, select_items

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt._progress import Progress
    from lsdt.side_information import ArmId


@dataclass(frozen=True, eq=False, repr=False)
class EventLog:
    """Events: who was shown what, how they responded, and how likely it was to be shown.

    Attributes
    ----------
    users, items : array of int32
        Numbers of users and items.
    rewards : array of float
        The responses, on their own scale.
    propensities : array of float or None
        The probability with which the item was chosen for this event.
    n_users : int
        Number of users.
    item_ids : tuple of str or of int
        Names of the items, ascending.
    low, high : float
        The ends of the scale.
    times : array of float or None
        When each event happened, if known; in seconds since 1970 if the log had dates.
    note : str
        Which items were left out when the log was read, in words; empty if none were.
    """

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    rewards: NDArray[np.float64]
    propensities: NDArray[np.float64] | None
    n_users: int
    item_ids: tuple[ArmId, ...]
    low: float
    high: float
    times: NDArray[np.float64] | None = None
    note: str = ""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    def ratings_of(self, users: NDArray[np.int64]) -> RatingLog:
        """Return the responses of some users as ratings: the mean where a user saw an item again."""
        number = np.full(self.n_users, -1, np.int32)
        number[users] = np.arange(len(users))
        kept = number[self.users] >= 0
        starts, items, ratings = kernel.rows_of_triples(
            number[self.users][kept], self.items[kept], self.rewards[kept], len(users), self.n_items
        )
        left = kernel.merge_repeats(starts, items, ratings, True)
        rows = starts, items[:left], ratings[:left]
        return RatingLog._of(*rows, self.item_ids, self.low, self.high, note=self.note)

    def _with(self, **changes: Any) -> EventLog:
        """Return a copy with other attributes."""
        return replace(self, **changes)

    def of_items(self, items: NDArray[np.int64]) -> EventLog:
        """Return the events of some of the items, by index, ascending; users without any are left out."""
        place = np.full(self.n_items, -1, np.int32)
        place[items] = np.arange(len(items))
        some = self._among(np.flatnonzero(place[self.items] >= 0))
        ids = tuple(self.item_ids[item] for item in items)
        return replace(some, items=place[some.items], item_ids=ids)

    def _among(self, events: NDArray[np.int64]) -> EventLog:
        """Return some of the events, in the order given; users without any are left out."""
        users, numbers = np.unique(self.users[events], return_inverse=True)
        return replace(
            self,
            users=numbers.astype(np.int32),
            items=self.items[events],
            rewards=self.rewards[events],
            propensities=None if self.propensities is None else self.propensities[events],
            n_users=len(users),
            times=None if self.times is None else self.times[events],
        )

    def in_order_of_time(self) -> EventLog:
        """Return the same events, ordered by time."""
        return self._among(np.argsort(checked_times(self.times, "read_events"), kind="stable"))

    def divide_by_time(self, share: float) -> tuple[EventLog, EventLog]:
        """Return the earliest events, about this share, and all later ones, ordered by time."""
        is_early = is_earlier(checked_times(self.times, "read_events"), share)
        earlier, later = (self._among(np.flatnonzero(part)) for part in (is_early, ~is_early))
        return earlier.in_order_of_time(), later.in_order_of_time()

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.items), 'event')}, {counted(self.n_users, 'user')}"
        known = "" if self.propensities is None else ", with propensities"
        return f"EventLog({sizes}, {counted(self.n_items, 'item')}{known})"

    def _repr_html_(self) -> str:
        return log_card(self, self.rewards, "responses")


def read_events(
    log: Any,
    user: str | int | None = "user",
    item: str | int = "item",
    rating: str | int = "rating",
    propensity: str | int | None = None,
    scale: tuple[float, float] | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    min_ratings: int | None = None,
    top: int | None = None,
    time: str | int | None = None,
    progress: Progress = None,
) -> EventLog:
    """Read events, one a row, from a file or a dataframe.

    `lsdt.replay` takes what this function returns.

    Parameters
    ----------
    log : path, dataframe or EventLog
        As of `lsdt.ratings.read_log`.
    user : str, int or None
        The column of users; None if there is none: then every event is a user of its own.
    item, rating : str or int
        The columns of the item shown, and of the response.
    propensity : str or int, optional
        The column of the probabilities with which the items were chosen, above 0 and up to 1.
    scale : tuple of float, optional
        The ends of the scale of responses; by default the smallest and the largest.
    sep, header, time, progress
        As of `lsdt.ratings.read_log`.
    min_ratings, top : int, optional
        Leave out items with fewer events than `min_ratings`, and of the others all but the `top` with the
        most.

    Examples
    --------
    >>> import lsdt, pandas as pd
    >>> frame = pd.DataFrame({"item": ["tea", "cocoa", "tea"], "click": [0, 1, 1], "p": [.5, .5, .25]})
    >>> lsdt.ratings.read_events(frame, user=None, rating="click", propensity="p")
    EventLog(3 events, 3 users, 2 items, with propensities)
    """
    layout, selection = TextLayout(sep, header).checked_for(log), ItemSelection(min_ratings, top).checked()
    with progress_of(progress, READING):
        whole = _read_all(log, LogColumns(user, item, rating, propensity, time), scale, layout)
        return select_items(whole, selection)


def _read_all(
    log: Any, columns: LogColumns, scale: tuple[float, float] | None, layout: TextLayout
) -> EventLog:
    """Read all events; see `read_events` for the parameters."""
    if isinstance(log, EventLog):
        if scale is None:
            return log
        low, high = checked_scale(scale, log.rewards, lambda at: f"the response to event {at}")
        return replace(log, low=low, high=high)
    read = read_triples(log, columns, layout)
    low, high = checked_scale(scale, read.ratings, read.place)
    if read.propensities is not None:
        _check_propensities(read.propensities, read.row)
    return EventLog(
        read.users,
        read.items,
        read.ratings,
        read.propensities,
        len(read.user_ids),
        tuple(read.item_ids),
        low,
        high,
        read.times,
    )


def _check_propensities(values: NDArray[np.float64], row: Callable[[int], str]) -> None:
    wrong = ~((values > 0.0) & (values <= 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(
            f"{row(at)} has the propensity {values[at]:g}; it is the probability of what was shown, above 0 "
            "and at most 1"
        )
