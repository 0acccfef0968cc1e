"""The best m arms of an agent: when they are known, and which to recommend."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.agent.posterior import free_posterior, standing_of
from lsdt.errors import InvalidInput, Unsupported

LIKES = {"tea": 0.1, "coffee": 0.2, "cocoa": 0.5, "juice": 0.8, "water": 0.9}
SIDE = lsdt.from_means(list(LIKES.values()), 0.2, arm_ids=list(LIKES))


def taught(n_rewards=60, **options):
    agent = lsdt.Agent(SIDE, "ts@all", **options)
    for arm, mean in LIKES.items():
        for number in range(n_rewards):
            agent.observe(arm, float(number < n_rewards * mean))
    return agent


def test_the_best_two_are_known_after_enough_rewards():
    agent = taught()
    found = agent.stopping(top=2)
    assert found.stop
    assert sorted(found.arm_ids) == ["juice", "water"]
    assert found.text.startswith("'water', 'juice': each within 0.2 of the best 2, but for a probability of")
    before = lsdt.Agent(SIDE, "ts@all").stopping(top=2)
    assert not before.stop
    assert "may be placed wrongly" in before.text
    assert list(before.objections.columns) == ["arm", "rival", "open", "evidence", "missing"]
    assert set(before.to_try) <= set(LIKES)


def test_all_arms_within_the_tolerance():
    found = taught(300).stopping(tolerance=0.2, top="all")
    assert found.stop
    assert {"juice", "water"} <= set(found.arm_ids) <= {"juice", "water", "cocoa"}
    assert "all arms within 0.2 of the best" in found.text


@pytest.mark.parametrize("top", [1, 2, "all"])
def test_retired_arms_are_neither_named_nor_proposed(top):
    """The answer is that of an agent which never had the arm."""
    agent, without = taught(), lsdt.Agent(SIDE.subset(["tea", "coffee", "cocoa", "juice"]), "ts@all")
    for arm in without.side.arm_ids:
        for number in range(60):
            without.observe(arm, float(number < 60 * LIKES[arm]))
    whole = agent.stopping(top=top)
    agent.retire("water")
    found, expected = agent.stopping(top=top), without.stopping(top=top)
    assert (found.stop, found.evidence) == (expected.stop, expected.evidence)
    assert "only the arms that have not retired count, 4 of 5" in found.text
    if top == 1:
        assert (whole.arm_id, found.arm_id) == ("water", "juice") == ("water", agent.best().arm_id)
        assert "water" not in found.rivals["arm"].tolist()
    else:
        assert "water" in whole.arm_ids
        assert found.arm_ids == expected.arm_ids
        assert found.to_try == expected.to_try
        agent.cancel(agent.ask(allowed=found.to_try[:1]))
    agent.reinstate("water")
    assert agent.stopping(top=top).text == whole.text


def test_arms_that_only_a_retired_one_kept_out_are_said_to_be_missing():
    side = lsdt.SideInformation(4, arm_ids=list("abcd"), better=[("a", "b"), ("b", "c")])
    agent = lsdt.Agent(side, policy="ts@propagation", tolerance=0.1)
    for number in range(300):
        agent.observe("a", float(number % 10 < 8))
        agent.observe("d", float(number % 10 < 3))
    assert agent.stopping().stop
    agent.retire("a")
    found = agent.stopping()
    assert not found.stop
    assert "1 of them may be named but is not in play until" in found.text
    agent.extend(side.subset(list("bcd")))
    assert "not in play" not in agent.stopping().text
    with pytest.raises(InvalidInput, match="top must be a whole number from 1 to 3"):
        agent.stopping(top=4)


def test_one_arm_is_asked_about_as_before():
    agent = taught()
    assert agent.stopping(top=1).text == agent.stopping().text


def test_of_all_within_the_tolerance_there_may_be_none_to_name_yet():
    """While rewards are late, each arm may lie far above or below the others."""
    agent = lsdt.Agent(lsdt.SideInformation(2), "ts")
    for arm in (0, 1):
        _, told = agent.ask(2, allowed=[arm])
        agent.tell(told, 0.0)
    found = agent.stopping(tolerance=0.1, top="all")
    assert found.arm_ids == []
    assert "of the best: none can be named, and 2 arms may be" in found.text


def test_open_decisions_hold_it_up():
    """Without zeros told, clicks alone say nothing: pending decisions count at their worst."""
    agent = lsdt.Agent(lsdt.SideInformation(3, epsilon=0.2), "ts@all")
    for number in range(120):
        decision = agent.ask(allowed=[number % 3])
        if number % 3 < 2 and number % 2:
            agent.tell(decision, 1)
    found = agent.stopping(top=2)
    assert not found.stop
    assert "counted at the worst" in found.text
    agent.expire(1e-9, 0)
    assert agent.stopping(0.2, 0.3, top=2).pending == 0


@pytest.mark.parametrize("top", [0, 6, 1.5, "both", True])
def test_bad_numbers_of_arms(top):
    with pytest.raises(InvalidInput, match="top must be a whole number"):
        taught(1).stopping(top=top)


def test_agents_that_forget_are_refused():
    with pytest.raises(Unsupported, match="forgets"):
        taught(1, forget=100).stopping(top=2)


def test_the_arms_to_recommend():
    agent = taught()
    found = agent.best(top=2)
    assert found.arm_ids == ["water", "juice"]
    assert found.certainty > 0.9
    assert "the best 2 of 5 arms with probability" in found.text
    assert agent.best(top=5).certainty == 1.0
    with pytest.raises(InvalidInput, match="top must be a whole number"):
        agent.best(top=6)


def test_the_certainty_of_two_arms_is_that_of_their_draws():
    """Without relations: the share of 400,000 draws from the Beta posteriors; .01 is six standard errors."""
    agent = lsdt.Agent(lsdt.SideInformation(3), "ts", seed=1)
    wins = (12, 10, 8)
    for arm, n_wins in enumerate(wins):
        for number in range(20):
            agent.observe(arm, float(number < n_wins))
    rng = np.random.default_rng(0)
    first, second = free_posterior(standing_of(agent.state()), np.arange(3))
    draws = rng.beta(first, second, (400_000, 3))
    expected = (draws[:, :2].min(axis=1) >= draws[:, 2]).mean()
    assert agent.best(top=2).certainty == pytest.approx(expected, abs=0.01)


def test_identify_finds_the_best_two():
    found = lsdt.identify(lambda drink: LIKES[drink], SIDE, top=2)
    assert found.stop
    assert sorted(found.arm_ids) == ["juice", "water"]
    assert (found.gap, found.missed) == (None, None)
    batched = lsdt.identify(lambda some: [LIKES[drink] for drink in some], SIDE, top=2, batch=4)
    assert sorted(batched.arm_ids) == ["juice", "water"]


def test_identify_on_problems_where_the_truth_is_known():
    for seed in range(3):
        problem = lsdt.problems.uniform(n_arms=15, epsilon=0.2)
        found = lsdt.identify(problem, top=3, seed=seed)
        assert found.stop
        assert found.gap <= 0.2
    short = lsdt.identify(problem, top=3, budget=2)
    assert not short.stop
    assert "best guess after 2 rewards" in short.text


def test_policies_on_candidates_are_refused():
    with pytest.raises(Unsupported, match="use one on all arms"):
        lsdt.identify(lambda drink: LIKES[drink], SIDE, top=2, policy="ts@propagation", budget=5)
    found = lsdt.identify(lambda drink: LIKES[drink], SIDE, top=2, policy="ts@all", budget=3_000)
    assert sorted(found.arm_ids) == ["juice", "water"]
