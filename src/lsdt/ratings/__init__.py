"""Ratings of items by users: logs, comparisons of items by common raters, and side information from these.

`read_log` reads a log, `from_ratings` makes side information of it, and `evidence` is what that rests on;
`log` and `events` are the two kinds of logs. `reading/` turns files and dataframes into logs, `statistics/`
compares items, `rules/` decides on relations and epsilon, `engines/` works on data in DuckDB or Spark,
`datasets/` holds Jester and synthetic logs.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
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
