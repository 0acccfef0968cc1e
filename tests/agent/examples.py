"""Agents that several tests start from, and their clock."""

from __future__ import annotations

import numpy as np

import lsdt
from lsdt.agent import agent as agent_module, learner as learner_module, snapshot
from lsdt.agent.epochs import Epochs
from lsdt.agent.journal import insert_batch

MEANS = np.linspace(0.1, 0.9, 12)
SIDE = lsdt.from_means(MEANS, 0.2)
NAMED = lsdt.from_means(MEANS, 0.2, arm_ids=[f"item{i}" for i in range(12)])


class Clock:
    """The time of the events, in microseconds, as a test wants it."""

    def __init__(self, monkeypatch):
        self.now = 10**15
        for module in (agent_module, learner_module):
            monkeypatch.setattr(module, "now", lambda: self.now)

    def sleep(self, seconds):
        self.now += round(1e6 * seconds)


def same_state(first, second):
    """Both are the same but for which agent they are, and when they were opened."""
    blobs = []
    for each in (first, second):
        learner = snapshot.from_bytes(each.snapshot())
        learner.identity, learner.epochs = "", Epochs()
        blobs.append(snapshot.to_bytes(learner))
    return blobs[0] == blobs[1]


def goes_on_alike(first, second, rounds=12):
    """Both know the same, wait for the same, and choose the same from here on; neither is changed.

    Their states may differ in what a policy keeps only to be fast.
    """
    known = [
        (
            each.to_frame().to_dict("list"),
            each.state().pending.entries(),
            each.n_told,
            each.policy_reason,
            in_order(each),
            each.halt,
            each.tolerance,
        )
        for each in (first, second)
    ]
    assert repr(known[0]) == repr(known[1])
    copies = [lsdt.Agent.restore(to_bytes(each)) for each in (first, second)]
    for number in range(rounds):
        for each in copies:
            if each.status.name == "paused" or number == rounds // 2:
                each.resume()
        decisions = [each.ask() for each in copies]
        assert decisions[0] == decisions[1]
        if number % 3:
            for each in copies:
                each.tell(decisions[0].number, float(number % 2))
    return True


def in_order(agent):
    """Everything that is known of the order asked."""
    order = agent.state().order
    return order.counts, order.sums, sorted(order.cut_sums.items()), order.waiting()


def to_bytes(agent):
    """A snapshot that the agent's store does not see."""
    return snapshot.to_bytes(agent.state())


def applied(blob, entries):
    """The agent of a snapshot after these events of its log."""
    return lsdt.Agent.restore(snapshot.to_bytes(snapshot.from_bytes(blob).apply_events(entries)))


def replica(store, name, **options):
    """One of several agents of an experiment, that writes and reads only when it is told to."""
    agent = lsdt.Agent.open(store, name, shared=True, **options)
    agent.autocommit = False
    return agent


def write(agent):
    """Write what an agent has accepted, and say which events were new."""
    with agent.lease.store.transaction():
        return list(insert_batch(agent.lease, agent.drain()))


def played(agent, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    return agent
