"""Ratings of items by users: logs, what common raters say of pairs, and the side information these make."""

from lsdt.ratings.epsilon_search import EpsilonSearch, search_epsilon
from lsdt.ratings.events import EventLog, read_events
from lsdt.ratings.evidence import PairEvidence, RatingEvidence, RatingWarning
from lsdt.ratings.from_ratings import from_ratings
from lsdt.ratings.generating import make_log
from lsdt.ratings.item_effects import ItemStatistics, item_statistics
from lsdt.ratings.jester import load_jester, where_to_get_jester
from lsdt.ratings.logs import RatingLog, read_log
from lsdt.ratings.look_alike import look_alike
from lsdt.ratings.missingness import Missingness, check_missingness
from lsdt.ratings.pair_statistics import PairStatistics, pair_statistics

__all__ = [
    "EpsilonSearch",
    "EventLog",
    "ItemStatistics",
    "Missingness",
    "PairEvidence",
    "PairStatistics",
    "RatingEvidence",
    "RatingLog",
    "RatingWarning",
    "check_missingness",
    "from_ratings",
    "item_statistics",
    "load_jester",
    "look_alike",
    "make_log",
    "pair_statistics",
    "read_events",
    "read_log",
    "search_epsilon",
    "where_to_get_jester",
]
