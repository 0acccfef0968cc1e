"""Several different arms at once: each choice masks the arms before it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.storage import open_store

MEANS = np.linspace(0.1, 0.9, 12)
SIDE = lsdt.from_means(MEANS, 0.25)
OPEN = lsdt.SideInformation(12, epsilon=0.25)


def arms(decisions):
    return [each.arm for each in decisions]


def pay(agent, decisions, rng):
    for each in decisions:
        agent.tell(each, float(rng.random() < MEANS[each.arm]))


@pytest.mark.parametrize("name", [*lsdt.policies.available()])
def test_a_slate_is_asked_for_as_if_by_hand_with_masks(name):
    """The same decisions as asks one by one, with the arms before left out of what is allowed."""
    agent, other = (lsdt.Agent(SIDE, name, horizon=400, seed=3) for _ in range(2))
    rng, twin = np.random.default_rng(1), np.random.default_rng(1)
    inside = agent.state().arms.tolist()
    n = min(3, len(inside))
    for _ in range(25):
        slate = agent.ask(n, distinct=True)
        assert len(set(arms(slate))) == n
        one_by_one, left = [], list(inside)
        for place in range(n):
            one_by_one.append(other.ask(allowed=left if place else None))
            left.remove(one_by_one[-1].arm)
        assert arms(slate) == arms(one_by_one)
        pay(agent, slate, rng)
        pay(other, one_by_one, twin)


def test_a_slate_keeps_to_what_is_allowed_and_in_play():
    agent = lsdt.Agent(SIDE, "ts@all", seed=1)
    agent.retire(4)
    assert sorted(arms(agent.ask(3, allowed=[2, 3, 4, 5], distinct=True))) == [2, 3, 5]
    assert sorted(arms(agent.ask(11, distinct=True))) == [arm for arm in range(12) if arm != 4]
    assert agent.ask(distinct=True).number == 14  # one decision is a slate of one
    assert len(agent.ask(30)) == 30  # not distinct: arms may come again


def test_more_arms_than_may_be_played_are_refused_and_nothing_is_decided():
    agent = lsdt.Agent(SIDE, "ts@all", seed=1)
    with pytest.raises(InvalidInput, match="13 different arms were asked for, and 12 may be played; ask for"):
        agent.ask(13, distinct=True)
    agent.retire(4)
    with pytest.raises(InvalidInput, match="3 different arms were asked for, and 2 may be played"):
        agent.ask(3, allowed=[3, 4, 5], distinct=True)
    with pytest.raises(InvalidInput, match="distinct must be True or False"):
        agent.ask(3, distinct="yes")
    few = lsdt.Agent(SIDE, "ts@propagation")
    with pytest.raises(InvalidInput, match="the best arm alone \\('propagation'\\); ask for at most 2, or"):
        few.ask(3, distinct=True)
    assert (agent.n_asked, few.n_asked) == (0, 0)


def test_a_default_agent_says_what_to_write_for_a_slate_and_that_works():
    """50 arms, whose likely best are two; what may be among the best five are more."""
    side = lsdt.from_means(np.arange(50) / 50, 0.1, arm_ids=[f"b{arm}" for arm in range(50)])
    with pytest.raises(InvalidInput) as refused:
        lsdt.Agent(side).ask(5, distinct=True)
    policy = re.search(r"policy='(.*?)'", str(refused.value))[1]
    call = re.search(r"ask\(.*?\.arm_ids\)", str(refused.value))[0]
    slate = eval(f"agent.{call}", {"agent": lsdt.Agent(side, policy), "lsdt": lsdt, "side": side})
    some = set(lsdt.candidate_set(side, top=5).arm_ids)
    assert len({each.arm_id for each in slate} & some) == 5 <= len(some) < 20


def test_propensities_are_given_those_chosen_before():
    """A fresh Thompson sampler: 1/12, 1/11, ...; four standard errors of 2,000 draws are below .027."""
    agent = lsdt.Agent(SIDE, "ts@all", seed=2)
    chances = [each.propensity for each in agent.ask(5, propensity=2_000, distinct=True)]
    # Pending decisions count as half a reward each, so the others stay alike.
    assert np.abs(np.array(chances) - 1 / np.arange(12, 7, -1)).max() < 0.027


def test_replicas_and_restored_agents_follow():
    """The log holds the mask of each choice: what reads it comes to choose the same."""
    for policy, side in (("ts@all", OPEN), ("ucb1@all", SIDE), ("ossb@all", SIDE), ("lsdt_psi", OPEN)):
        store, rng = open_store("memory://"), np.random.default_rng(0)
        options = {"policy": policy, "horizon": 500, "seed": 5}
        agent = lsdt.Agent.open(store, "x", side, **options, snapshot_every=0)
        alone, twin = lsdt.Agent(side, **options), np.random.default_rng(0)
        for _ in range(20):
            pay(agent, agent.ask(4, distinct=True)[:3], rng)
            pay(alone, alone.ask(4, distinct=True)[:3], twin)
        copied = lsdt.Agent.restore(agent.snapshot())
        agent.close()
        again = lsdt.Agent.open(store, "x", snapshot_every=0)
        slates = [arms(each.ask(4, distinct=True)) for each in (alone, copied, again)]
        assert slates[0] == slates[1] == slates[2], policy
        again.close()


def test_agents_that_share_a_log_give_slates():
    store = "memory://shared-slates"
    first = lsdt.Agent.open(store, "x", SIDE, policy="ucb1@all", shared=True)
    second = lsdt.Agent.open(store, "x", shared=True)
    for agent in (first, second, first):
        slate = agent.ask(5, distinct=True)
        assert len(set(arms(slate))) == 5
        agent.tell_many([(each, 0.0) for each in slate])
    first.refresh()
    second.refresh()
    assert first.state().counts.tolist() == second.state().counts.tolist()
    assert sorted(arms(first.ask(12, distinct=True))) == list(range(12))
    first.close()
    second.close()
