from .competitors import (
    BestTrainingMean as BestTrainingMean,
    Competitor as Competitor,
    best_known as best_known,
    best_training_mean as best_training_mean,
    checked_competitors as checked_competitors,
)
from .result import LEVEL as LEVEL, SimulationResult as SimulationResult, interval as interval
from .simulate import rounds_to_record as rounds_to_record, simulate as simulate
from .single_reward_kernel import draw_several as draw_several
from .study import Outcomes as Outcomes
from .workers import Stopped as Stopped, Token as Token, event_of as event_of, run_parts as run_parts
