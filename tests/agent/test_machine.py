"""An agent under random asks, tells, faults, restores and rebuilds, for every policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lsdt
from agent.examples import SIDE, same_state
from lsdt.errors import LsdtError

REWARDS = st.sampled_from([0.0, 1.0, 0.25])


class AgentMachine(RuleBasedStateMachine):
    @initialize(name=st.sampled_from(lsdt.policies.available()), seed=st.integers(0, 3))
    def begin(self, name, seed):
        self.record = []
        self.agent = lsdt.Agent(SIDE, name, horizon=200, seed=seed, record=self.record)
        self.books = np.zeros(12, int)
        self.waiting = {}

    @rule(n=st.integers(1, 3))
    def ask(self, n):
        for decision in self.agent.ask(n):
            self.waiting[decision.number] = decision.arm

    @rule(data=st.data())
    def ask_some(self, data):
        inside = self.agent._learner.arms.tolist()
        allowed = data.draw(st.sets(st.sampled_from(inside), min_size=1))
        decision = self.agent.ask(allowed=sorted(allowed))
        assert decision.arm in allowed
        self.waiting[decision.number] = decision.arm

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), reward=REWARDS)
    def tell(self, data, reward):
        number = data.draw(st.sampled_from(sorted(self.waiting)))
        self.agent.tell(number, reward)
        self.books[self.waiting.pop(number)] += 1

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data):
        number = data.draw(st.sampled_from(sorted(self.waiting)))
        self.agent.cancel(number)
        del self.waiting[number]

    @rule(arm=st.integers(0, 11), reward=REWARDS)
    def observe(self, arm, reward):
        self.agent.observe(arm, reward)
        self.books[arm] += 1

    @rule(number=st.integers(-2, 40), reward=st.sampled_from([float("nan"), 7.0, "x", 1.0]))
    def fault(self, number, reward):
        """Wrong rewards and wrong decisions are refused and change nothing."""
        if number in self.waiting and reward == 1.0:
            return
        before = self.agent.snapshot()
        with pytest.raises(LsdtError):
            self.agent.tell(number, reward)
        assert self.agent.snapshot() == before

    @rule()
    def restore(self):
        again = lsdt.Agent.restore(self.agent.snapshot(), record=self.record)
        assert same_state(self.agent, again)
        self.agent = again

    @rule()
    def rebuild(self):
        again = lsdt.Agent.rebuild(self.record, SIDE)
        assert same_state(self.agent, again)
        self.agent = again

    @invariant()
    def the_books_are_right(self):
        if hasattr(self, "agent"):
            assert self.agent._learner.counts.tolist() == self.books.tolist()
            assert self.agent.pending_numbers() == sorted(self.waiting)


AgentMachine.TestCase.settings = settings(stateful_step_count=25)
TestAgentMachine = AgentMachine.TestCase
