"""Ratings of items by users: files, distances between items, and the side information these make."""

from lsdt.ratings.epsilon_search import EpsilonSearch, search_epsilon
from lsdt.ratings.events import EventLog, read_events
from lsdt.ratings.jester import load_jester, where_to_get_jester
from lsdt.ratings.look_alike import look_alike
from lsdt.ratings.pairs import PairDistances, pair_distances, side_information_of_distances
from lsdt.ratings.logs import RatingLog, read_log
from lsdt.ratings.pair_statistics import PairStatistics, pair_statistics
from lsdt.ratings.rating_matrix import RatingMatrix

__all__ = [
    "EpsilonSearch",
    "EventLog",
    "PairDistances",
    "PairStatistics",
    "RatingLog",
    "RatingMatrix",
    "load_jester",
    "look_alike",
    "pair_distances",
    "pair_statistics",
    "read_events",
    "read_log",
    "search_epsilon",
    "side_information_of_distances",
    "where_to_get_jester",
]
