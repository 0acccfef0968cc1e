from . import opening as opening
from .agent import Agent as Agent
from .decisions import (
    Decision as Decision,
    checked_age as checked_age,
    checked_reward as checked_reward,
    lost_decisions as lost_decisions,
)
from .drift import Blocked as Blocked, changed_arms as changed_arms
from .extension import Extension as Extension
from .half_life import checked_half_life as checked_half_life
from .journal import Batch as Batch, SharedJournal as SharedJournal, insert_batch as insert_batch
from .learner import Learner as Learner
from .recommendation import ArmEstimate as ArmEstimate, Recommendation as Recommendation
from .stopping import Stopping as Stopping
