"""The live agent: ask which arm to play, tell what it paid.

`agent` is the whole. `learner` owns the policy's state and the tallies of rewards; the other files take a
learner and do one thing each: `recommendation`, `stopping`, `suspects`, `drift`, `extension`,
`snapshot`, `merge`. `half_life` lets rewards fade; `asked_order` puts late rewards where they belong.
`experiment` finds an agent in a store; `replica` is one of several agents that share a log.
"""

from lsdt.agent.agent import Agent
from lsdt.agent.decisions import Decision
from lsdt.agent.extension import Extension
from lsdt.agent.recommendation import ArmEstimate, Recommendation
from lsdt.agent.stopping import Stopping

__all__ = ["Agent", "ArmEstimate", "Decision", "Extension", "Recommendation", "Stopping"]
