"""Floors and holdouts: shares, propensities, masks, and the same after a restart."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, applied, goes_on_alike
from lsdt.agent import snapshot
from lsdt.agent.floors import Floors, checked_floors
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.storage import open_store

NAMES = [f"item{number}" for number in range(12)]
SIDE = lsdt.from_means(MEANS, 0.2, arm_ids=NAMES)
CONTROL = "item5"  # in the middle, so not a candidate


def limits(n, share, errors=4.0):
    """So many standard errors around the number of successes expected of n."""
    return n * share - errors * math.sqrt(n * share * (1 - share)), n * share + errors * math.sqrt(
        n * share * (1 - share)
    )


def chosen_by(agent, n=4000, **given):
    """What a state chooses in n rounds: deciding is pure, so that the state stays the same."""
    learner = agent.state()
    return [learner.decide(number, 0, **given) for number in range(n)]


@pytest.mark.parametrize("policy", ["ucb1@propagation", "ts@propagation"])
def test_an_arm_that_is_no_candidate_has_its_share(policy):
    agent = lsdt.Agent(SIDE, policy, floor={CONTROL: 0.1, "item6": 0.05})
    assert CONTROL not in agent.arms_in_play
    arms = Counter(decision.arm_id for decision in agent.ask(4000))
    for arm, share in ((CONTROL, 0.1), ("item6", 0.05)):
        low, high = limits(4000, share)
        assert low <= arms[arm] <= high


def test_the_propensity_is_the_share_with_which_a_state_chooses_an_arm():
    """By hand: the floor, and what is left of 1 for the arm that the policy chooses."""
    agent = lsdt.Agent(SIDE, "ucb1", floor={"item0": 0.2, CONTROL: 0.1})
    events = chosen_by(agent)
    shares = {event.arm: event.reward for event in events}
    assert shares == pytest.approx({0: 0.2 + 0.7, 5: 0.1})  # ucb1 begins with the first arm
    counts = Counter(event.arm for event in events)
    for arm, share in shares.items():
        low, high = limits(4000, share)
        assert low <= counts[arm] <= high


def test_the_propensity_of_a_policy_that_draws_has_its_estimate_inside():
    agent = lsdt.Agent(SIDE, "ts", floor={CONTROL: 0.3})
    for _ in range(30):
        agent.observe("item11", 1.0)
        agent.observe("item0", 0.0)
    assert agent.ask().propensity is None
    learner = agent.state()
    given = [
        event.reward for event in (learner.decide(each, 0, None, 50) for each in range(40)) if event.arm == 5
    ]
    low, high = limits(1500, float(np.mean(given)), errors=5.0)  # the estimate errs too, half as much
    assert low <= Counter(event.arm for event in chosen_by(agent, 1500))[5] <= high
    assert min(given) >= 0.3


def test_where_an_arm_may_not_be_played_its_share_goes_to_the_policy():
    agent = lsdt.Agent(SIDE, "ucb1@propagation", floor={CONTROL: 0.5, "item0": 0.4})
    assert {decision.arm_id for decision in agent.ask(50, allowed=["item11"])} == {"item11"}
    assert agent.ask(allowed=["item11"]).propensity == 1.0
    some = Counter(each.arm_id for each in agent.ask(400, allowed=["item11", CONTROL]))
    low, high = limits(400, 0.5)
    assert low <= some[CONTROL] <= high
    agent.retire(CONTROL)
    assert CONTROL not in {decision.arm_id for decision in agent.ask(50)}


def test_floors_too_small_to_matter_change_no_choice():
    made = [
        lsdt.Agent(SIDE, "ts", seed=3, **more) for more in ({}, {"floor": {CONTROL: 1e-15}, "holdout": None})
    ]
    for number in range(200):
        first, second = (agent.ask() for agent in made)
        assert first == second
        for agent in made:
            agent.tell(first.number, float(number % 3 == 0))


@pytest.mark.parametrize("policy", ["ts", "identify", "lsdt_psi", "osub", "ucb1"])
def test_the_log_restores_an_agent_with_floors(policy):
    store = open_store("memory://")
    options = {"floor": {CONTROL: 0.2}, "holdout": {"item6": 0.1}, "policy": policy, "horizon": 500}
    agent = lsdt.Agent.open(store, "drinks", SIDE, snapshot_every=0, **options)
    for number in range(150):
        decision = agent.ask(allowed=None if number % 5 else NAMES[:6] + NAMES[-1:])
        if number % 7:
            agent.tell(decision, float(number % 2))
    entries = [entry for batch in store.read("drinks") for entry in batch]
    assert goes_on_alike(agent, applied(store.latest("drinks").blob, entries))
    assert goes_on_alike(agent, lsdt.Agent.restore(agent.snapshot()))
    agent.close()
    again = lsdt.Agent.open(store, "drinks", floor={CONTROL: 0.2}, holdout={"item6": 0.1})
    assert again.floor == {CONTROL: 0.2}
    assert again.holdout == {"item6": 0.1}
    again.close()
    with pytest.raises(InvalidInput, match="was made with another floor"):
        lsdt.Agent.open(store, "drinks", floor={CONTROL: 0.3})


def test_floors_follow_their_arms_into_other_side_information():
    agent = lsdt.Agent(SIDE, "ucb1", floor={CONTROL: 0.5}, holdout={"item0": 0.1})
    agent.extend(lsdt.SideInformation(13, arm_ids=["new", *NAMES]))
    assert agent.floor == {CONTROL: 0.5}
    assert agent.holdout == {"item0": 0.1}
    low, high = limits(400, 0.5)
    assert low <= Counter(each.arm_id for each in agent.ask(400))[CONTROL] <= high + 0.4 * 400 / 13


def test_a_holdout_is_a_share_of_the_units():
    """Each unit is in or out for good, whatever the number of the decision; 4 standard errors of 2000."""
    floors = Floors(held_arm=2, held_share=0.3)
    units = [f"user-{number}".encode() for number in range(2000)]
    inside = [unit for unit in units if floors.holds(7, unit)]
    low, high = limits(2000, 0.3)
    assert low <= len(inside) <= high
    for number in (0, 5, 99):
        for unit in (inside[0], next(unit for unit in units if unit not in inside)):
            choice = floors.choose(7, number, unit, lambda arm: True, 1, lambda arm: float(arm == 1))
            held = unit == inside[0]
            assert choice == pytest.approx((2, 0.3, True) if held else (1, 0.7, False))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floor": 0.1}, r"floor is a share by arm, as in floor=\{'control': 0.1\}; got 0.1"),
        ({"floor": {"item1": 0}}, "must be a number above 0 and at most 1; got 0"),
        ({"floor": {"item1": 1.5}}, "must be a number above 0 and at most 1; got 1.5"),
        ({"floor": {"nobody": 0.1}}, "there is no arm 'nobody'"),
        ({"floor": {"item1": 0.7}, "holdout": {"item2": 0.4}}, "come to more than 1; lower some; got 1.1"),
        ({"holdout": {"item1": 0.1, "item2": 0.1}}, "a holdout has one arm"),
        ({"floor": {"item1": 0.1, 1: 0.1}}, "floor names an arm twice"),
    ],
)
def test_what_is_no_floor_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.Agent(SIDE, "ucb1", **options)


def test_ten_floors_of_a_tenth_come_to_one():
    assert checked_floors(SIDE, dict.fromkeys(NAMES[:10], 0.1), None).shares == (0.1,) * 10


def test_a_snapshot_with_a_floor_of_an_unknown_arm_is_refused():
    agent = lsdt.Agent(SIDE, "ucb1", floor={"item11": 0.1})
    learner = agent.state()
    learner.floors = Floors((12,), (0.1,))
    with pytest.raises(InvalidFile, match="a floor for an unknown arm: 12"):
        lsdt.Agent.restore(snapshot.to_bytes(learner))


def test_a_slate_of_different_arms_may_have_the_control_once():
    agent = lsdt.Agent(SIDE, "ts", floor={CONTROL: 0.6})
    n_with = 0
    for _ in range(60):
        arms = [decision.arm_id for decision in agent.ask(3, distinct=True)]
        assert len(set(arms)) == 3
        n_with += CONTROL in arms
    assert n_with > 40
