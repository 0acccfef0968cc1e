"""Replays: what policies would have earned, out of a log that was recorded before they existed.

`replay` is the entry, `runner` replays one policy on recorded ratings, `splits` deals users into those who
train and those who answer, `log_rows` is the log as replays take it, `off_policy` estimates fixed choices,
`result` and `notes` are the answer and what to know of it.
"""

from lsdt.replays.replay import replay
from lsdt.replays.result import ReplayResult
from lsdt.replays.runner import Replayed, replay_once

__all__ = ["ReplayResult", "Replayed", "replay", "replay_once"]
