"""Agents that several tests start from."""

from __future__ import annotations

import numpy as np

import lsdt

MEANS = np.linspace(0.1, 0.9, 12)
SIDE = lsdt.from_means(MEANS, 0.2)
NAMED = lsdt.from_means(MEANS, 0.2, arm_ids=[f"item{i}" for i in range(12)])


def same_state(first, second):
    return first.snapshot() == second.snapshot()


def played(agent, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    return agent
