"""Replays: estimates, from a recorded log, of what policies would have earned.

`replay` is the entry, `runner` replays one policy on recorded ratings, `splits` divides users into those
trained on and those tested, `log_rows` is the log as replays read it, `off_policy` has the estimators,
`policy_value` applies them to a randomised policy, `result` is the answer, with notes on how to read it.
"""

from lsdt.replays.policy_value import policy_value
from lsdt.replays.replay import replay
from lsdt.replays.result import ReplayResult
from lsdt.replays.runner import ReplayHistory, replay_once

__all__ = ["ReplayHistory", "ReplayResult", "policy_value", "replay", "replay_once"]
