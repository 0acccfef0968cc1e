"""Replays: estimates, from a recorded log, of what policies would have earned.

`replay` is the entry, `runner` replays one policy on recorded ratings, `splits` deals users into those who
train and those who answer, `log_rows` is the log as replays take it, `off_policy` has the estimators,
`policy_value` applies them to a policy that randomises, `result` is the answer, with notes on how to read it.
"""

from lsdt.replays.policy_value import policy_value
from lsdt.replays.replay import replay
from lsdt.replays.result import ReplayResult
from lsdt.replays.runner import ReplayHistory, replay_once

__all__ = ["ReplayHistory", "ReplayResult", "policy_value", "replay", "replay_once"]
