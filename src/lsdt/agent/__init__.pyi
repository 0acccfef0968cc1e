from . import opening as opening
from .agent import Agent as Agent
from .auto_policy import choose_policy as choose_policy
from .decisions import (
    Decision as Decision,
    checked_age as checked_age,
    checked_reward as checked_reward,
    first_decision as first_decision,
    lost_decisions as lost_decisions,
)
from .drift import Blocked as Blocked, changed_arms as changed_arms
from .durations import checked_seconds as checked_seconds
from .extension import Extension as Extension
from .half_life import checked_half_life as checked_half_life
from .halt import SIGNED as SIGNED, Halt as Halt, Signature as Signature, signature_of as signature_of
from .journal import (
    Batch as Batch,
    SharedJournal as SharedJournal,
    insert_batch as insert_batch,
    insert_units as insert_units,
)
from .learner import Learner as Learner
from .recommendation import (
    ArmEstimate as ArmEstimate,
    Recommendation as Recommendation,
    TopRecommendation as TopRecommendation,
)
from .stopping import Stopping as Stopping
from .top_stopping import TopStopping as TopStopping, checked_top as checked_top
from .units import UnitNote as UnitNote
