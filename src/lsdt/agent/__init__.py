"""The live agent: ask which arm to play, tell what it paid."""

from lsdt.agent.agent import Agent
from lsdt.agent.decisions import Decision

__all__ = ["Agent", "Decision"]
