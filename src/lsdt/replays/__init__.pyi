from .policy_value import policy_value as policy_value
from .replay import replay as replay
from .result import ReplayResult as ReplayResult
from .runner import ReplayHistory as ReplayHistory, replay_once as replay_once
