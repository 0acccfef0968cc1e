from __future__ import annotations

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, goes_on_alike, played
from lsdt.errors import InvalidInput
from lsdt.storage import open_store


def reopened(store, agent):
    agent.close()
    return lsdt.Agent.open(store, "x")


def test_an_epsilon_given_to_the_agent_is_kept():
    side, store = lsdt.SideInformation(3, [(0, 1)]), open_store("memory://")
    agent = lsdt.Agent.open(store, "x", side, policy="ckl_ucb", epsilon=0.1, snapshot_every=0)
    agent.tell(agent.ask(), 1.0)
    agent.extend(lsdt.SideInformation(4, [(0, 1), (2, 3)]))
    assert agent.side.epsilon == 0.1
    again = reopened(store, agent)
    assert again.side == agent.side
    assert goes_on_alike(agent, again)


def test_extending_does_not_draw_again_and_auto_chooses_again():
    agent = lsdt.Agent(SIDE, "ts", seed=1)
    arms = []
    for _ in range(12):
        agent.extend(SIDE)
        decision = agent.ask()
        agent.cancel(decision)
        arms.append(decision.arm)
    assert len(set(arms)) > 3
    store = open_store("memory://")
    complete = lsdt.complete(SIDE.n_arms, SIDE.similar_pairs())
    auto = lsdt.Agent.open(store, "x", complete, snapshot_every=0)
    assert auto.policy.name == "lsdt_csi"
    partial = lsdt.SideInformation(13, SIDE.similar_pairs())
    auto.extend(partial)
    assert auto.policy.name == "ts"
    assert lsdt.Agent.restore(auto.snapshot()).policy.name == "ts"
    assert reopened(store, auto).policy.name == "ts"


def test_extending_keeps_what_was_learned():
    store = open_store("memory://")
    partial = SIDE.reveal(0.3, 0.3, seed=1).explicit()
    policy = lsdt.Policy("ucb1", on="paper")
    agent = played(lsdt.Agent.open(store, "x", partial, policy=policy, snapshot_every=0), 200)
    waiting = agent.ask()
    before = agent.to_frame().set_index("arm")
    change = agent.extend(SIDE)
    after = agent.to_frame().set_index("arm")
    assert after[["plays", "mean"]].equals(before[["plays", "mean"]])
    assert set(agent._learner.arms) == set(lsdt.candidate_set(SIDE).arms)
    assert change.new_arms == []
    assert len(change.out_of_play) > 0
    assert "no more" in change.text
    agent.tell(waiting, 1.0)
    state = agent._learner.player.state
    assert state.counts.tolist() == agent._learner.counts[agent._learner.arms].tolist()
    assert np.allclose(state.sums, agent._learner.sums[agent._learner.arms])
    assert goes_on_alike(agent, reopened(store, agent))


def test_new_arms_may_come_in_any_order_when_they_have_ids():
    agent = played(lsdt.Agent(NAMED, "ucb1"), 50)
    ids = ["new", *reversed(NAMED.arm_ids)]
    larger = lsdt.from_means([0.95, *MEANS[::-1]], 0.2, arm_ids=ids)
    plays = agent.to_frame().set_index("arm").plays
    change = agent.extend(larger)
    assert change.new_arms == ["new"]
    assert change.in_play == ["new"]
    assert agent.to_frame().set_index("arm").plays.drop("new").sort_index().equals(plays.sort_index())
    assert agent.ask().arm_id == "new"
    fewer = lsdt.from_means(MEANS[:5], 0.2, arm_ids=[f"item{i}" for i in range(5)])
    with pytest.raises(InvalidInput, match="there is no arm"):
        agent.extend(fewer)
    with pytest.raises(InvalidInput, match="must have arm ids"):
        agent.extend(SIDE)
    with pytest.raises(InvalidInput, match="takes a SideInformation"):
        agent.extend(None)
    with pytest.raises(InvalidInput, match="none may go"):
        lsdt.Agent(SIDE, "ucb1").extend(lsdt.SideInformation(3))


def test_a_failed_extension_changes_nothing():
    agent = played(lsdt.Agent(SIDE, "lsdt_csi"), 30)
    before = agent.snapshot()
    with pytest.raises(lsdt.errors.LsdtError):
        agent.extend(SIDE.reveal(0.5, 0.5))  # LSDT-CSI needs complete information
    assert agent.snapshot() == before
