from .datasets.jester import (
    file_fingerprint as file_fingerprint,
    load_jester as load_jester,
    where_to_get_jester as where_to_get_jester,
)
from .datasets.look_alike import LOOK_ALIKE as LOOK_ALIKE, USERS as USERS, look_alike as look_alike
from .datasets.synthetic import make_log as make_log
from .engines.lazy_frames import EngineLog as EngineLog, open_log as open_log
from .events import EventLog as EventLog, read_events as read_events
from .evidence import (
    PairEvidence as PairEvidence,
    RatingEvidence as RatingEvidence,
    RatingWarning as RatingWarning,
    warn_of as warn_of,
    without_rating_warnings as without_rating_warnings,
)
from .fingerprint import share_of_prior as share_of_prior
from .from_ratings import (
    from_ratings as from_ratings,
    relations_asked as relations_asked,
    relations_of as relations_of,
)
from .log import (
    RatingLog as RatingLog,
    as_log as as_log,
    read_by_default as read_by_default,
    read_log as read_log,
)
from .rules.beaten_items import (
    beaten_by_bets as beaten_by_bets,
    beaten_by_bootstrap as beaten_by_bootstrap,
)
from .rules.epsilon import EpsilonSearch as EpsilonSearch, search_epsilon as search_epsilon
from .rules.relations import PaperRule as PaperRule, side_information_of as side_information_of
from .side_check import LipschitzCheck as LipschitzCheck, SideCheck as SideCheck, check_side as check_side
from .statistics.betting import FRACTIONS as FRACTIONS, WEIGHTS as WEIGHTS
from .statistics.items import ItemStatistics as ItemStatistics, item_statistics as item_statistics
from .statistics.missingness import Missingness as Missingness, check_missingness as check_missingness
from .statistics.pairs import PairStatistics as PairStatistics, pair_statistics as pair_statistics
from .titles import read_titles as read_titles
