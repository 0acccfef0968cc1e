"""The log of a replay: ratings by user, or single events, on the scale from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.ratings import EventLog, RatingLog, as_log, read_log
from lsdt.replays.log_rows_kernel import tally_rows
from lsdt.replays.off_policy import acceptance
from lsdt.replays.runner import UserRows, compiled_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import ArmId, SideInformation


@dataclass(frozen=True, eq=False)
class LogRows:
    """A log in the form in which it is replayed.

    A row is a user with all ratings, or one event. For events, ``acceptance`` is the probability with which
    each is used and ``weights`` is one over its propensity; both are None if there are no propensities.
    """

    source: RatingLog | EventLog
    clip: float = 0.0  # the smallest propensity that is used

    @property
    def method(self) -> str:
        """How the log is replayed: 'matrix' by user; 'uniform' or 'propensity' by events.

        'uniform' events were shown uniformly at random, 'propensity' events with known probabilities.
        """
        if isinstance(self.source, RatingLog):
            return "matrix"
        return "uniform" if self.source.propensities is None else "propensity"

    def of_items(self, names: set[ArmId]) -> LogRows:
        """Return the rows restricted to the items with these names."""
        places = [at for at, name in enumerate(self.item_ids) if name in names]
        if len(places) == self.n_items:
            return self
        return replace(self, source=self.source.of_items(np.array(places, np.int64)))

    def with_scale(self, low: float, high: float) -> LogRows:
        """Return the same rows on another scale, which must contain theirs."""
        source = self.source
        if isinstance(source, EventLog):
            return replace(self, source=replace(source, low=low, high=high))
        return replace(self, source=read_log(source, scale=(low, high)))

    def in_order_of_time(self) -> LogRows:
        """Return the same rows ordered by time, users by the time of their first rating."""
        return replace(self, source=self.source.in_order_of_time())

    def divide_by_time(self, share: float) -> tuple[LogRows, LogRows]:
        """Return the earliest ratings or events, about this share of them, and all later ones."""
        earlier, later = self.source.divide_by_time(share)
        return replace(self, source=earlier), replace(self, source=later)

    @property
    def item_ids(self) -> tuple[ArmId, ...]:
        """Names of the items."""
        return self.source.item_ids

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.source.n_items

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.source.n_users

    @property
    def low(self) -> float:
        """The lower end of the scale."""
        return self.source.low

    @property
    def high(self) -> float:
        """The upper end of the scale."""
        return self.source.high

    @cached_property
    def rows(self) -> UserRows:
        """All rows, ratings from 0 to 1."""
        source = self.source
        if isinstance(source, RatingLog):
            return compiled_rows(UserRows(source.starts, source.items, source.unit_ratings()))
        unit = (source.rewards - source.low) / (source.high - source.low)
        return compiled_rows(UserRows(np.arange(len(unit) + 1), source.items, unit))

    @cached_property
    def is_two_valued(self) -> bool:
        """Whether all answers lie at an end of the scale, as clicks do."""
        unit = self.rows.ratings
        return bool(((unit == 0.0) | (unit == 1.0)).all())

    @cached_property
    def acceptance(self) -> NDArray[np.float64] | None:
        """The probability with which each event is used; None if all are."""
        chances = getattr(self.source, "propensities", None)
        if chances is None:
            return None
        return acceptance(self.rows.items, chances, self.clip, self.n_items)

    @cached_property
    def weights(self) -> NDArray[np.float64] | None:
        """One over the propensity of each event, or over the clip if that is larger."""
        chances = getattr(self.source, "propensities", None)
        if chances is None:
            return None
        weights: NDArray[np.float64] = 1.0 / np.maximum(chances, self.clip)
        return weights

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        """The number of answers for every item, events weighted by the probability that they are used."""
        return np.bincount(self.rows.items, self.acceptance, self.n_items).astype(np.float64)

    def rows_of(
        self,
        training: NDArray[np.int64],
        tested: NDArray[np.int64],
        rng: np.random.Generator,
        in_order: bool = False,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of the users trained on, and those of the users tested.

        Events come in random order, or with `in_order` in the order of the log; rows of ratings come in the
        order of the given users.
        """
        if isinstance(self.source, RatingLog):
            return training, tested
        role = np.zeros(self.n_users, np.int8)
        role[training], role[tested] = 1, 2
        n_events = len(self.source.users)
        events = np.arange(n_events) if in_order else rng.permutation(n_events)
        roles = role[self.source.users[events]]
        return events[roles == 1], events[roles == 2]

    def coins(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return one flag per row: whether it is used, drawn at random by `acceptance`."""
        n_rows = len(self.rows.starts) - 1
        return np.ones(n_rows, bool) if self.acceptance is None else rng.random(n_rows) < self.acceptance

    def owners_of(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the user of each of these rows."""
        return rows if isinstance(self.source, RatingLog) else self.source.users[rows]

    def training_log(self, users: NDArray[np.int64]) -> RatingLog:
        """Return a log of the ratings of some users, on the original scale."""
        source = self.source
        return source.of_users(users) if isinstance(source, RatingLog) else source.ratings_of(users)

    def ratings_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the items and the ratings, from 0 to 1, of some rows in the given order."""
        if isinstance(self.source, RatingLog):
            some = self.source.of_users(rows)
            return some.items, some.unit_ratings()
        return self.rows.items[rows], self.rows.ratings[rows]

    def tallies(self, rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the number of ratings of every item in some rows, and that number times their mean.

        If propensities are known, the mean is weighted by one over them.
        """
        counts, (totals, sums) = np.zeros(self.n_items, np.int64), np.zeros((2, self.n_items))
        weights = np.zeros(0) if self.weights is None else self.weights
        tally_rows(*self.rows, weights, np.sort(rows), counts, totals, sums)  # sorted for memory locality
        return counts, counts * np.divide(sums, totals, out=np.zeros(self.n_items), where=totals > 0)

    def means(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of every item in some rows; NaN if it was not rated."""
        counts, sums = self.tallies(rows)
        means: NDArray[np.float64] = np.divide(sums, counts, np.full(self.n_items, np.nan), where=counts > 0)
        return means

    def items_of(self, side: SideInformation) -> NDArray[np.int64]:
        """Return the item number of every arm."""
        if side.arm_ids is None or side.arm_ids == self.item_ids:
            if side.n_arms != self.n_items:
                raise InvalidInput(
                    f"the side information is about {side.n_arms} arms without ids, and the log has "
                    f"{self.n_items} items; give it the ids of the items"
                )
            return np.arange(self.n_items)
        place = {name: at for at, name in enumerate(self.item_ids)}
        for name in side.arm_ids:
            if name not in place:
                raise InvalidInput(f"arm {name!r} of the side information is not an item of the log")
        return np.array([place[name] for name in side.arm_ids], np.int64)


def log_rows(log: Any, clip: float) -> LogRows:
    """Return the rows of a log; an unread log is read as ratings with the default options."""
    return LogRows(log, clip) if isinstance(log, EventLog) else LogRows(as_log(log))
