"""An agent under random asks, tells, faults and restarts, for every policy and store: equal to the fold."""

from __future__ import annotations

from itertools import count
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lsdt
from agent.examples import SIDE, goes_on_alike, same_state, to_bytes
from lsdt.errors import LsdtError, Paused
from lsdt.storage import open_store
from postgresql_server import server_url

NUMBERS = count()
REWARDS = st.sampled_from([0.0, 1.0, 0.25])


def arm_left(agent):
    """An arm that has not retired."""
    retired = agent.state().retired
    return 0 if retired is None else int(np.flatnonzero(~retired)[-1])


class AgentMachine(RuleBasedStateMachine):
    KINDS = ("memory", "sqlite")

    @initialize(name=st.sampled_from(lsdt.policies.available()), seed=st.integers(0, 3), data=st.data())
    def begin(self, name, seed, data):
        kind = data.draw(st.sampled_from(self.KINDS))
        self.folder, self.name = TemporaryDirectory(), f"experiment {next(NUMBERS)}"
        if kind == "postgresql":
            url = server_url()
        else:
            url = "memory://" if kind == "memory" else f"sqlite:///{self.folder.name}/agents.db"
        self.store = open_store(url, durability="process")
        if self.store.find(self.name) is not None:  # left by another run of the tests
            self.store.delete(self.name)
        options = {"policy": name, "horizon": 200, "seed": seed, "snapshot_every": 0}
        if lsdt.Policy(name).forgets:
            options["forget"] = data.draw(st.sampled_from([None, 3, "1 hour"]))
        options["floor"] = data.draw(st.sampled_from([None, {5: 0.2}]))
        self.agent = lsdt.Agent.open(self.store, self.name, SIDE, **options)
        self.books, self.gone = np.zeros(12, int), set()
        self.waiting, self.units = {}, {}
        self.stopped = None

    @rule(n=st.integers(1, 3))
    def ask(self, n):
        for decision in self.agent.ask(n):
            self.waiting[decision.number] = decision.arm
            assert self.stopped in (None, decision.arm)

    @rule(data=st.data())
    def ask_some(self, data):
        inside = self.agent.state().in_play().tolist()
        allowed = data.draw(st.sets(st.sampled_from(inside), min_size=1))
        if self.stopped not in (None, *allowed):
            with pytest.raises(LsdtError, match="not allowed now"):
                self.agent.ask(allowed=sorted(allowed))
            return
        decision = self.agent.ask(allowed=sorted(allowed))
        assert decision.arm in allowed
        self.waiting[decision.number] = decision.arm

    @rule(unit=st.sampled_from("abc"))
    def ask_as(self, unit):
        """A unit keeps its arm until that retires; after a stop it is shown another, and gets it back."""
        decision, before = self.agent.ask(unit=unit), self.units.get(unit)
        self.waiting[decision.number] = decision.arm
        if self.stopped is not None:
            assert decision.arm == self.stopped
            self.units.setdefault(unit, decision.arm)
            return
        assert before in (None, decision.arm) or before in self.gone
        self.units[unit] = decision.arm

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

    @rule(arm=st.integers(0, 11))
    def retire(self, arm):
        """An arm goes, unless it is the last one in play."""
        if set(self.agent.state().in_play().tolist()) <= {arm}:
            with pytest.raises(LsdtError):
                self.agent.retire(arm)
            return
        if self.stopped == arm:
            with pytest.raises(LsdtError, match="stop it with another arm"):
                self.agent.retire(arm)
            return
        self.agent.retire(arm)
        self.gone.add(arm)

    @rule(reason=st.sampled_from(["", "wrong prices"]))
    def pause(self, reason):
        """Nothing is decided, and nothing else changes."""
        self.agent.pause(reason=reason, by="alice")
        before = to_bytes(self.agent)
        for options in ({}, {"unit": "a"}, {"n": 2, "distinct": True}):
            with pytest.raises(Paused, match="by alice"):
                self.agent.ask(**options)
        self.agent.pause()  # is paused already
        assert to_bytes(self.agent) == before
        if reason:  # else the next steps are taken while it is stopped again, or goes on
            self.agent.resume()
            self.stopped = None
        else:
            self.stopped = arm_left(self.agent)
            self.agent.stop(self.stopped)

    @rule()
    def resume(self):
        self.agent.resume()
        self.stopped = None

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def reinstate(self, data):
        arm = data.draw(st.sampled_from(sorted(self.gone)))
        self.agent.reinstate(arm)
        self.gone.remove(arm)

    @rule(arms=st.lists(st.integers(0, 11), max_size=40), reward=REWARDS)
    def merge(self, arms, reward):
        """What another agent was told adds up; policies that cannot take it refuse."""
        other = lsdt.Agent(SIDE, "ts")
        for arm in arms:
            other.observe(arm, reward)
        if self.agent.policy.why_no_prior or not self.agent.policy.learns_from_sums:
            with pytest.raises(LsdtError):
                self.agent.merge(other)
            return
        assert self.agent.merge(other) == len(arms)
        self.books += np.bincount(arms, minlength=12).astype(int)

    @rule(number=st.integers(-2, 40), reward=st.sampled_from([float("nan"), 7.0, "x", 1.0]))
    def fault(self, number, reward):
        """Wrong rewards and wrong decisions are refused and change nothing."""
        if number in self.waiting and reward == 1.0:
            return
        before = to_bytes(self.agent)
        with pytest.raises(LsdtError):
            self.agent.tell(number, reward)
        assert to_bytes(self.agent) == before

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def repeat(self, data):
        """What was told once is not learned again."""
        number = data.draw(st.sampled_from(sorted(self.waiting)))
        self.agent.tell(number, 1.0)
        self.books[self.waiting.pop(number)] += 1
        before = to_bytes(self.agent)
        self.agent.tell(number, 0.0, repeat="ignore")
        assert to_bytes(self.agent) == before

    @rule(reward=st.sampled_from([None, 0.0]))
    def expire(self, reward):
        assert self.agent.expire(1e-6, reward) == len(self.waiting)
        for arm in self.waiting.values():
            self.books[arm] += reward is not None
        self.waiting = {}

    @rule()
    def frame(self):
        """Not after every step: probabilities are drawn for it."""
        retired = self.agent.to_frame().status == "retired"
        assert set(np.flatnonzero(retired).tolist()) == self.gone

    @rule()
    def snapshot(self):
        again = lsdt.Agent.restore(self.agent.snapshot())
        assert same_state(self.agent, again)

    @rule()
    def restart(self):
        self.agent.close()
        again = lsdt.Agent.open(self.store, self.name, snapshot_every=0)
        assert goes_on_alike(self.agent, again)
        self.agent = again

    def teardown(self):
        if hasattr(self, "agent"):
            self.agent.close()
            self.store.close()
            self.folder.cleanup()

    @invariant()
    def the_books_are_right(self):
        if hasattr(self, "agent"):
            assert self.agent.state().counts.tolist() == self.books.tolist()
            assert self.agent.pending_numbers() == sorted(self.waiting)
            in_play = set(self.agent.state().in_play().tolist())
            assert in_play == set(self.agent.state().arms.tolist()) - self.gone


class AgentMachineOnPostgresql(AgentMachine):
    KINDS = ("postgresql",)


MOST = settings.default.max_examples
AgentMachine.TestCase.settings = settings(stateful_step_count=25, max_examples=MOST if MOST > 25 else 8)
TestAgentMachine = AgentMachine.TestCase
AgentMachineOnPostgresql.TestCase.settings = settings(
    stateful_step_count=25, max_examples=MOST // 3 if MOST > 25 else 4
)
TestAgentMachineOnPostgresql = AgentMachineOnPostgresql.TestCase
