"""Ratings of items by users: logs, comparisons of items by common raters, and side information from these.

`read_log` reads a log, `from_ratings` makes side information of it, and `evidence` is what that rests on;
`log` and `events` are the two kinds of logs. `reading/` turns files and dataframes into logs, `statistics/`
compares items, `rules/` decides on relations and epsilon, `engines/` works on data in DuckDB or Spark,
`datasets/` holds Jester and synthetic logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt.ratings.datasets.jester import load_jester, where_to_get_jester
from lsdt.ratings.datasets.look_alike import look_alike
from lsdt.ratings.datasets.synthetic import make_log
from lsdt.ratings.events import EventLog, read_events
from lsdt.ratings.evidence import PairEvidence, RatingEvidence, RatingWarning
from lsdt.ratings.from_ratings import from_ratings
from lsdt.ratings.log import RatingLog, read_log
from lsdt.ratings.rules.epsilon import EpsilonSearch, search_epsilon
from lsdt.ratings.side_check import LipschitzCheck, SideCheck, check_side
from lsdt.ratings.statistics.items import ItemStatistics, item_statistics
from lsdt.ratings.statistics.missingness import Missingness, check_missingness
from lsdt.ratings.statistics.pairs import PairStatistics, pair_statistics
from lsdt.ratings.titles import read_titles

if TYPE_CHECKING:
    from lsdt.ratings.engines.lazy_frames import EngineLog, open_log

__all__ = [
    "EngineLog",
    "EpsilonSearch",
    "EventLog",
    "ItemStatistics",
    "LipschitzCheck",
    "Missingness",
    "PairEvidence",
    "PairStatistics",
    "RatingEvidence",
    "RatingLog",
    "RatingWarning",
    "SideCheck",
    "check_missingness",
    "check_side",
    "from_ratings",
    "item_statistics",
    "load_jester",
    "look_alike",
    "make_log",
    "open_log",
    "pair_statistics",
    "read_events",
    "read_log",
    "read_titles",
    "search_epsilon",
    "where_to_get_jester",
]


def __getattr__(name: str) -> Any:
    if name not in ("EngineLog", "open_log"):
        raise AttributeError(f"module 'lsdt.ratings' has no attribute {name!r}")
    from lsdt.ratings.engines import lazy_frames  # imports narwhals, which only dataframes need

    return getattr(lazy_frames, name)
