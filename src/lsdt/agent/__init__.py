"""The live agent: ask which arm to play, tell what it paid.

`agent` is the whole; the other files are one of its abilities each: `decisions`, `recommendation`,
`suspects`, `extension`, `snapshot`, `journals`.
"""

from lsdt.agent.agent import Agent
from lsdt.agent.decisions import Decision
from lsdt.agent.extension import Extension
from lsdt.agent.recommendation import Recommendation

__all__ = ["Agent", "Decision", "Extension", "Recommendation"]
