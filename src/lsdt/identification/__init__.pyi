from .identify import Identification as Identification, identify as identify
from .identify_many import (
    IdentificationRuns as IdentificationRuns,
    identified as identified,
    identify_many as identify_many,
)
from .inquiry import Inquiry as Inquiry, next_pairs as next_pairs
from .judges.answer_log import AnswerLog as AnswerLog
from .judges.judge_model import JudgeEstimate as JudgeEstimate
from .judges.likely_best import LikelyBest as LikelyBest
from .pair_questions import NextPairs as NextPairs, PairQuestion as PairQuestion
from .planning import Plan as Plan, brief_plan as brief_plan, plan as plan
from .race import race as race
from .racing.race_result import RaceResult as RaceResult
from .rules.grub import Grub as Grub
from .rules.without_relations import RULES as RULES, play_rule as play_rule
from .top_identify import TopIdentification as TopIdentification
