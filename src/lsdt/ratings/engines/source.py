"""The interface of a log, in memory or in an engine that works on it in place."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lsdt.ratings.engines.user_hash import UserCoins
from lsdt.ratings.log import RatingLog, as_log, read_by_default
from lsdt.ratings.rules.hubs import HubScreen
from lsdt.ratings.statistics.items import item_statistics
from lsdt.ratings.statistics.pairs import compare_by_hubs, pair_statistics

if TYPE_CHECKING:
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.ratings.statistics.pairs import Keep, PairStatistics
    from lsdt.side_information import ArmId


class RatingSource(Protocol):
    """A log that gives statistics of its items: all that `lsdt.ratings.from_ratings` needs."""

    @property
    def note(self) -> str:
        """What was left out of the log, in words; empty if nothing was."""

    @property
    def item_ids(self) -> tuple[ArmId, ...]:
        """Names of the items, ascending."""

    @property
    def n_users(self) -> int:
        """Number of users."""

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the scale of ratings."""

    def items(self) -> ItemStatistics:
        """Return what is known of every item."""

    def pairs(self, min_raters: int, keep: Keep | None) -> PairStatistics:
        """Return the pairs with enough common raters that are worth keeping, and possibly others."""

    def sample(self, n_users: int, seed: int) -> RatingLog:
        """Return the ratings of up to `n_users` users, drawn at random."""

    def halves(self, seed: int) -> tuple[RatingSource, RatingSource]:
        """Return two logs of the same items: the users are dealt out at random, half to each."""


@dataclass(frozen=True, eq=False)
class LogSource:
    """A log in memory."""

    log: RatingLog

    @property
    def note(self) -> str:
        """What was left out of the log, in words; empty if nothing was."""
        return self.log.note

    @property
    def item_ids(self) -> tuple[ArmId, ...]:
        """Names of the items, ascending."""
        return self.log.item_ids

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.log.n_users

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return self.log.n_ratings

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the scale of ratings."""
        return self.log.low, self.log.high

    def items(self) -> ItemStatistics:
        """Return what is known of every item."""
        return item_statistics(self.log)

    def pairs(self, min_raters: int, keep: Keep | None) -> PairStatistics:
        """Return the pairs with enough common raters that are worth keeping."""
        if isinstance(keep, HubScreen):
            return compare_by_hubs(self.log, min_raters, keep)
        return pair_statistics(self.log, min_raters, keep)

    def sample(self, n_users: int, seed: int) -> RatingLog:
        """Return the ratings of up to `n_users` users, drawn at random."""
        if self.n_users <= n_users:
            return self.log
        return self.log.of_users(UserCoins(self.n_users, seed).lowest(n_users))

    def halves(self, seed: int) -> tuple[LogSource, LogSource]:
        """Return two logs of the same items: the users are dealt out at random, half to each."""
        first = UserCoins(self.n_users, seed).lowest((self.n_users + 1) // 2)
        second = np.setdiff1d(np.arange(self.n_users), first)
        return LogSource(self.log.of_users(first)), LogSource(self.log.of_users(second))


def source_of(log: Any) -> RatingSource:
    """Return a log as a source; one in an engine is not read into memory unless it is short."""
    if not isinstance(log, (str, PathLike, RatingLog, np.ndarray)):
        from lsdt.ratings.engines.lazy_frames import EngineLog, open_log, stays_in_engine

        if isinstance(log, EngineLog):
            return log
        if stays_in_engine(log):
            return read_by_default(log, open_log)
    return LogSource(as_log(log))
