"""Rewards that fade: by hand, the same after a restart, and refused where a policy cannot."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, SIDE, Clock, applied, goes_on_alike, played
from lsdt.agent.half_life import checked_half_life
from lsdt.errors import InvalidInput, Unsupported
from lsdt.policies.registry import BUILT_IN, specification_of
from lsdt.storage import open_store

FORGETTING = [name for name in BUILT_IN if specification_of(name).fill is not None]
ARMS = lsdt.SideInformation(2, arm_ids=["tea", "juice"], epsilon=0.2)


def test_half_lives_are_read():
    for value, length, in_seconds in (
        (500, 500, False),
        ("500 rounds", 500, False),
        ("500", 500, False),
        ("1 round", 1, False),
        ("3 days", 259_200, True),
        (" 1.5 Hours", 5_400, True),
        (timedelta(minutes=2), 120, True),
    ):
        assert checked_half_life(value) == (length, in_seconds)
        assert checked_half_life(str(checked_half_life(value))) == (length, in_seconds)
    assert checked_half_life(None) is None
    for value in (0, 0.5, -3, True, "soon", "x3", "0 days", "3 months", [3], float("nan"), timedelta(0)):
        with pytest.raises(InvalidInput, match="forget is a half-life: a number of rounds of at least 1"):
            lsdt.Agent(ARMS, "ts", forget=value)


def test_after_a_half_life_a_reward_counts_half():
    """By hand: a half-life of 8 rounds fades in steps of 2 rounds, before the next event."""
    agent = lsdt.Agent(ARMS, "ts", forget=8)
    for _ in range(8):
        agent.observe("tea", 1.0)
    share = 0.5**0.25
    # The last two rewards have not faded, those before them once, twice and three times.
    assert agent.to_frame().weight.tolist() == pytest.approx([2 * (1 + share + share**2 + share**3), 0])
    assert agent.to_frame().plays.tolist() == [8, 0]
    for _ in range(9):
        agent.observe("juice", 0.0)
    weight = agent.to_frame().weight.tolist()
    assert weight[0] == pytest.approx(0.5 * 2 * (share + share**2 + share**3 + share**4))
    assert agent.to_frame()["mean"].tolist() == pytest.approx([1, 0])
    depth = agent.state().player.state.posteriors.win_depth
    assert depth.tolist() == pytest.approx([2 / 3 + weight[0], 2 / 3])
    for _ in range(100):
        agent.observe("juice", 0.0)
    assert agent.to_frame().weight[0] == 0  # less than one in 64 is nothing
    assert agent.forget == "8 rounds"


def test_time_passes_without_rewards(monkeypatch):
    clock = Clock(monkeypatch)
    agent = lsdt.Agent(ARMS, "ts", forget="1 hour")
    for _ in range(64):
        agent.observe("tea", 1.0)
    clock.sleep(3600)
    assert agent.to_frame().weight[0] == 64  # nothing has happened since
    agent.cancel(agent.ask())
    assert agent.to_frame().weight[0] == 32
    clock.sleep(-7200)  # the clock of the machine is set back
    agent.observe("tea", 1.0)
    assert agent.to_frame().weight[0] == 33
    clock.sleep(7200 + 900)
    agent.observe("tea", 0.0)
    assert agent.to_frame().weight[0] == pytest.approx(33 * 0.5**0.25 + 1)
    clock.sleep(10**9)
    agent.observe("juice", 0.0)
    assert agent.to_frame().weight.tolist() == [0, 1]


@pytest.mark.parametrize("name", FORGETTING)
def test_filling_a_state_is_learning(name):
    """A policy that is filled with whole tallies chooses what one chooses that learned the rewards."""
    rewards = np.random.default_rng(1).random(300) < np.resize(MEANS, 300)
    agents = [lsdt.Agent(SIDE, name, seed=2, forget=forget) for forget in (None, 10**6)]
    for number, reward in enumerate(rewards.astype(float).tolist()):
        for agent in agents:
            agent.observe(number % 12, reward)
    agents[1]._learner._refill()
    scores = [agent.to_frame().score.tolist() for agent in agents]
    assert scores[1] == pytest.approx(scores[0], nan_ok=True)
    for number in range(60 if name != "lsdt_watchful" else 0):  # that one audits relations anew
        decisions = [agent.ask() for agent in agents]
        assert decisions[0] == decisions[1]
        for agent in agents:
            agent.tell(decisions[0].number, float(number % 3 == 0))


def groups_of(agent):
    state = agent.state().player.state
    return state.groups if hasattr(state, "groups") else state.posteriors.groups


def test_posteriors_of_very_many_arms_are_grouped_again():
    for name in ("ts", "ts_gaussian"):
        agent = lsdt.Agent(lsdt.SideInformation(600, epsilon=0.1), name, forget=40)
        for number in range(200):
            agent.observe(number % 7, float(number % 2))
        groups = groups_of(agent)
        n_groups, starts = int(groups.n_groups[0]), groups.starts
        assert 2 <= n_groups <= 8
        assert starts[n_groups] == 600
        assert sorted(groups.order[:600].tolist()) == list(range(600))
        assert (groups.order[groups.place] == np.arange(600)).all()
        agent.tell(agent.ask(), 1.0)
        assert int(groups_of(agent).n_groups[0]) == n_groups + 1


@pytest.mark.parametrize("forget", [6, "30 minutes"])
@pytest.mark.parametrize("name", ["ts", "lsdt_posterior"])
def test_a_restart_changes_nothing(name, forget, monkeypatch):
    """From its log, with many events folded at once, and from its snapshot."""
    clock, store = Clock(monkeypatch), open_store("memory://")
    agent = lsdt.Agent.open(store, "x", SIDE, policy=name, forget=forget, snapshot_every=0)
    rng, waiting = np.random.default_rng(3), []
    for _ in range(150):
        clock.sleep(float(rng.exponential(60)))
        waiting.append(agent.ask())
        while len(waiting) > rng.integers(8):
            decision = waiting.pop(rng.integers(len(waiting)))
            agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    again = lsdt.Agent.restore(agent.snapshot())
    assert goes_on_alike(agent, again)
    agent.close()
    opened = lsdt.Agent.open(store, "x", forget=forget)
    assert goes_on_alike(agent, opened)
    assert opened.state().fading.clock == agent.state().fading.clock
    opened.close()
    with pytest.raises(InvalidInput, match="was made with another forget"):
        lsdt.Agent.open(store, "x", forget=7)


def test_the_whole_log_is_folded_as_it_was_lived():
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", SIDE, policy="ts", forget=50, snapshot_every=0)
    played(agent, 400)
    entries = [entry for batch in store.read("x") for entry in batch]
    fresh = applied(store.latest("x").blob, entries)
    assert goes_on_alike(agent, fresh)
    assert [each.tolist() for each in fresh.state().fading.left] == [
        each.tolist() for each in agent.state().fading.left
    ]


def test_extending_keeps_what_is_left():
    agent = lsdt.Agent(ARMS, "ts", forget=8)
    for number in range(30):
        agent.observe("tea", float(number % 2))
    before = agent.to_frame().set_index("arm")
    agent.extend(lsdt.SideInformation(3, arm_ids=["mate", "juice", "tea"], epsilon=0.2))
    after = agent.to_frame().set_index("arm")
    assert after.weight["tea"] == before.weight["tea"]
    assert after["mean"]["tea"] == before["mean"]["tea"]
    assert agent.state().player.state.posteriors.win_depth[2] > 1


def test_a_prior_fades_too():
    agent = lsdt.Agent(ARMS, "ts", prior=(["tea"] * 32, [1.0] * 32), forget=4)
    assert agent.to_frame().weight[0] == 32
    for _ in range(5):
        agent.observe("juice", 0.0)
    assert agent.to_frame().weight[0] == pytest.approx(16)


def test_the_others_refuse_and_say_which_can():
    able = ", ".join(FORGETTING)
    assert {"lsdt_closure", "lsdt_posterior", "ts", "ts_gaussian"} <= set(FORGETTING)
    with pytest.raises(Unsupported, match=f"ucb1 cannot forget: .*; those that can are {able}"):
        lsdt.Agent(ARMS, "ucb1", forget=5)
    complete = lsdt.complete(SIDE.n_arms, SIDE.similar_pairs())
    auto = lsdt.Agent(complete, forget=5)
    assert auto.policy.name == "ts"
    assert "lsdt_csi cannot forget: ts can" in auto.policy_reason
    with pytest.raises(Unsupported, match="known for good only where means stay as they are"):
        auto.stopping()


def test_an_old_leader_is_left_sooner():
    """The best arm becomes the worst: of the next 300 rounds an agent that forgets wastes few."""
    wasted = {}
    for forget in (None, 100):
        agent, rng = lsdt.Agent(ARMS, "ts", forget=forget, seed=1), np.random.default_rng(0)
        for number in range(1_000):
            decision = agent.ask()
            mean = 0.8 if (decision.arm_id == "tea") == (number < 700) else 0.2
            agent.tell(decision, float(rng.random() < mean))
            if number >= 700:
                wasted[forget] = wasted.get(forget, 0) + (decision.arm_id == "tea")
    assert wasted[100] < 90 < 200 < wasted[None]
    assert agent.best().arm_id == "juice"
    assert (agent.best().anytime_low, agent.best().anytime_high) == (0, 1)
