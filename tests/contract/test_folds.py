"""Policies that fold choose by the rewards they learned, not by having been asked; the others say so."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from contract.test_policies import HORIZON, VARIANTS, policy
from lsdt.errors import InvalidFile, LsdtError
from lsdt.storage import Event, Kind, open_store

FOLDING = [variant for variant in VARIANTS if policy(variant).folds]
ASKED_AGAIN = [variant for variant in VARIANTS if not policy(variant).folds]

MEANS = np.array([0.2, 0.3, 0.45, 0.5, 0.65, 0.7])
SIDE = lsdt.from_means(MEANS, 0.2)
# What shows that having been asked matters: epochs with many arms in turn, and exploration that is forced.
SHOWN = {"lsdt_psi": "open", "lsdt_psi_truncated": "open", "ossb": "forced", "osub": "", "uts": ""}
OPEN = lsdt.SideInformation(6, epsilon=0.2)


def lived(variant, seed, rounds=120, side=SIDE):
    """An agent that was asked and told, with decisions pending and masks now and then, and its store."""
    store = open_store("memory://")
    options = {"policy": policy(variant), "horizon": HORIZON, "seed": seed, "snapshot_every": 0}
    agent = lsdt.Agent.open(store, "x", side, **options)
    rng, waiting, arms = np.random.default_rng(seed), [], agent._learner.arms
    for _ in range(rounds):
        some = arms[rng.random(len(arms)) < 0.7]
        waiting.append(agent.ask(allowed=some if len(some) and rng.random() < 0.2 else None))
        while len(waiting) > rng.integers(6):
            decision = waiting.pop(rng.integers(len(waiting)))
            agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
        if rng.random() < 0.05:
            agent.observe(int(rng.integers(6)), float(rng.random() < 0.5))
    return agent, store


def next_arms(agent):
    chosen = []
    for number in range(25):
        decision = agent.ask()
        chosen.append(decision.arm)
        if number % 4:
            agent.tell(decision, float(number % 3 == 0))
    return chosen


def opened(store):
    return lsdt.Agent.open(store, "x", snapshot_every=0)


@pytest.mark.parametrize("variant", FOLDING)
def test_they_are_not_asked_again(variant, monkeypatch, thorough):
    """Restored by learning the rewards alone, without a choice, they choose as if nothing had happened."""
    for seed in range(4 if thorough else 2):
        agent, store = lived(variant, seed)
        agent.close()
        with monkeypatch.context() as patch:
            patch.setattr("lsdt.agent.learner.Learner.select", None)
            again = opened(store)
        expected = lsdt.Agent.open(open_store("memory://"), "y", SIDE, policy="ucb1")
        expected._learner = agent._learner
        assert next_arms(again) == next_arms(expected)


@pytest.mark.parametrize("variant", ASKED_AGAIN)
def test_the_others_are_asked_again(variant, monkeypatch):
    """And must be: with the rewards alone they would choose differently."""
    shown = SHOWN[variant.partition(":")[0]]
    side = OPEN if shown == "open" else SIDE
    variant += ":forced_exploration=0.15" if shown == "forced" else ""
    n_different = 0
    for seed in range(6):
        agent, store = lived(variant, seed, 60, side)
        agent.close()
        again = opened(store)
        expected = lsdt.Agent.open(open_store("memory://"), "y", SIDE, policy="ucb1")
        expected._learner = agent._learner
        with monkeypatch.context() as patch:
            store._logs["x"].holders.clear()
            patch.setattr(lsdt.Policy, "folds", True)
            folded = opened(store)
            folded._lease = again._lease = None  # both in memory from here on
            folded._learner._folds = False
        told = next_arms(expected)
        assert next_arms(again) == told
        n_different += next_arms(folded) != told
    assert n_different > 0


def test_a_log_that_another_policy_wrote_is_refused():
    agent, store = lived(ASKED_AGAIN[0], 1)
    decision = agent.ask()
    wrong = (decision.arm + 1) % 6
    agent._lease.append([Event(Kind.ASK, 1, decision.number + 1, wrong)])
    agent._lease.release()
    with pytest.raises(InvalidFile, match=f"decision {decision.number + 1} for arm {wrong}, and .* chooses"):
        opened(store)


@pytest.mark.parametrize("variant", ["ucb1", "ossb"])
def test_events_that_cannot_be_are_refused(variant):
    for event in (Event(Kind.TELL, 1, 999, 6, 1.0), Event(Kind.OBSERVE, 1, -1, 77, 1.0), Event(99, 1)):
        for n in (1, 200):
            agent, store = lived(variant, 1, 10)
            agent._lease.append([event._replace(number=1000 + i if i else event.number) for i in range(n)])
            agent._lease.release()
            with pytest.raises(LsdtError, match="the log has an event of"):
                opened(store)
