"""The contest of policies where means change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.agent.half_life import checked_half_life
from lsdt.agent.learner import Learner
from lsdt.policies.policy import parse_policy
from lsdt.reproduce.beyond.drift import contest
from lsdt.reproduce.framework.experiment import Request
from lsdt.storage import Event, Kind

MEANS = np.linspace(0.1, 0.9, 17)


def relations(means):
    side = lsdt.from_means(means, 0.1)
    return {tuple(pair) for pair in side.similar_pairs().tolist()}


def test_worlds_change_as_they_say():
    """By hand: mirrored means keep all relations, the others break those of one arm."""
    after = {name: world.change(MEANS) for name, world in contest.WORLDS.items()}
    assert np.array_equal(after["still"], MEANS)
    assert relations(after["mirrored"]) == relations(MEANS)
    assert after["mirrored"].argmax() == 0
    for name, arm in (("fallen", 16), ("risen", 8)):
        assert np.flatnonzero(after[name] != MEANS).tolist() == [arm]
        assert {pair for pair in relations(MEANS) ^ relations(after[name]) if arm not in pair} == set()
    assert after["fallen"].argmax() == 15
    assert after["risen"].argmax() == 8


def learner_of(side, policy, half_life=None):
    model = lsdt.problems.rewards.bernoulli().model
    return Learner(side, parse_policy(policy), model, None, 1, forget=checked_half_life(half_life))


def test_a_run_is_counted_right():
    """A learner that always plays the arm that was best is on an old arm in all rounds after the change."""
    learner = learner_of(lsdt.SideInformation(2, epsilon=0.1), "ts")
    learner.apply(Event(Kind.RETIRE, 0, -1, 0, 1.0), epoch=0)
    setting = {"horizon": 100, "epsilon": 0.1, "risk": 0.05, "worlds": ["mirrored", "still"]}
    coins = np.random.default_rng((0, 0)).random(200)
    played = contest.play_worlds(learner, np.array([0.1, 0.9]), coins, setting)
    found = played["mirrored"]
    assert found["old_share"] == 1
    assert (found["regret_before"], round(found["regret_after"], 9)) == (0, 80)
    assert found["noticed"] in (25, 50)
    assert not found["false_alarm"]
    assert played["still"]["old_share"] == played["still"]["regret_after"] == 0
    assert np.isnan(played["still"]["noticed"])


@pytest.mark.parametrize("half_life", [None, 20])
def test_worlds_are_those_of_agents_that_play_from_the_beginning(half_life):
    """What is before the change is played once for all worlds; an agent that asks and tells does the same."""
    side = lsdt.from_means(MEANS, 0.1).reveal(0.5, 0.5, seed=1)
    setting = {"horizon": 60, "epsilon": 0.1, "risk": 0.05, "worlds": ["fallen", "mirrored"]}
    coins = np.random.default_rng(3).random(120)
    played = contest.play_worlds(learner_of(side, "lsdt_closure", half_life), MEANS, coins, setting)
    for name, found in played.items():
        agent = lsdt.Agent(side, "lsdt_closure", seed=1, forget=half_life)
        regret = [0.0, 0.0]
        for number, coin in enumerate(coins):
            means = MEANS if number < 60 else contest.WORLDS[name].change(MEANS)
            decision = agent.ask()
            agent.tell(decision, float(coin < means[decision.arm]))
            regret[number // 60] += means.max() - means[decision.arm]
        assert [found["regret_before"], found["regret_after"]] == pytest.approx(regret)


def invented(setting, price):
    """Return runs of a contest in which forgetting costs so much a round where nothing changes."""
    rows = [
        {
            "world": world,
            "method": contest._method(policy, half_life),
            "run": run,
            "rounds": 1_000,
            "old_share": 0.9 if half_life is None else 0.2 + 0.01 * run,
            "regret_before": 5.0,
            "regret_after": 5.0 + 2_000 * price * (half_life is not None) + 0.1 * run,
            "noticed": np.nan,
            "false_alarm": False,
        }
        for world in setting["worlds"]
        for policy in setting["policies"]
        for half_life in setting["half_lives"]
        for run in range(3)
    ]
    return {"runs": pd.DataFrame(rows)}


def test_claims_compare_a_policy_with_itself():
    setting = contest.EXPERIMENT.setting(Request(replications=3))
    tables = invented(setting, price=0.0005)
    left, price, alarms = contest._claims(tables)
    assert [check.outcome for check in left.checks] == ["confirmed"] * 4
    assert [check.outcome for check in price.checks] == ["confirmed"] * 4
    assert alarms.checks[0].outcome == "undecided"  # three runs say little
    assert "lsdt_closure: after all means were mirrored, 90% of the rounds" in contest._discussion(tables)
    assert len(contest._table(tables)) == 4 * 5 * 3


def test_the_price_is_judged_by_the_limit_that_is_stated():
    """The text of the claim says 0.01 a round, so 0.02 is too much."""
    setting = contest.EXPERIMENT.setting(Request(replications=3))
    price = contest._claims(invented(setting, price=0.02))[1]
    assert "at most 0.01 per round" in price.text
    assert [check.outcome for check in price.checks] == ["refuted"] * 4
