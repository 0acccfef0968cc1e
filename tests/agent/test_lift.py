"""Lift over a control: by hand, against a slow twin, and covering when zeros come late."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from naive.evidence import log_mixture

NAMES = ["control", "red", "blue"]
SIDE = lsdt.SideInformation(3, arm_ids=NAMES)


def agent_with(**options):
    return lsdt.Agent(SIDE, "ts", floor={"control": 0.2}, **options)


def test_the_ends_are_those_of_the_two_intervals():
    """By the mixture martingale on a grid: the control at risk / 2, each of the others at risk / 4."""
    agent = agent_with()
    told = {"control": (40, 12), "red": (60, 33), "blue": (10, 2)}
    for arm, (n, wins) in told.items():
        for number in range(n):
            agent.observe(arm, float(number < wins))
    grid, ends = np.linspace(0.0005, 0.9995, 1000), {}
    for arm, (n, wins) in told.items():
        level = math.log((2 if arm == "control" else 4) / 0.1)
        inside = [theta for theta in grid if log_mixture("bernoulli", 0.5, n, wins / n, theta) < level]
        ends[arm] = inside[0], inside[-1]
    frame = agent.lift(risk=0.1)
    assert frame.arm.tolist() == ["red", "blue"]
    assert frame.lift.tolist() == pytest.approx([33 / 60 - 0.3, 0.2 - 0.3])
    for row in frame.itertuples():
        assert row.low == pytest.approx(ends[row.arm][0] - ends["control"][1], abs=0.003)
        assert row.high == pytest.approx(ends[row.arm][1] - ends["control"][0], abs=0.003)
    assert frame.attrs["control"] == {"arm": "control", "plays": 40, "mean": pytest.approx(0.3)}


def test_nothing_told_and_what_is_no_control():
    agent = agent_with()
    assert agent.lift().empty
    assert math.isnan(agent.lift().attrs["control"]["mean"])
    agent.observe("red", 1.0)
    row = agent.lift().iloc[0]
    assert math.isnan(row.lift)
    assert -1 <= row.low < 0 < row.high <= 1
    with pytest.raises(InvalidInput, match="say which arm is the control"):
        lsdt.Agent(SIDE, "ts").lift()
    with pytest.raises(InvalidInput, match="several arms have a floor or a holdout: 'red', 'blue'"):
        lsdt.Agent(SIDE, "ts", floor={"red": 0.1}, holdout={"blue": 0.1}).lift()
    with pytest.raises(Unsupported, match="this agent forgets"):
        agent_with(forget=100).lift()
    with pytest.raises(InvalidInput, match="risk"):
        agent.lift(risk=0)
    assert lsdt.Agent(SIDE, "ts").lift("red").attrs["control"]["arm"] == "red"


@pytest.mark.parametrize("within", [None, "1 hour"])
def test_a_unit_counts_once_in_every_column(within):
    """One loyal unit is always paid; 30 others never are. Its mean is 1/31, also while rewards may change."""
    agent = lsdt.Agent(SIDE, "ucb1", holdout={"control": 0.1}, replace_within=within)
    loyal = agent.ask(unit="loyal", allowed=["red"])
    agent.tell(loyal, 1.0)
    for number in range(30):
        agent.tell(agent.ask(unit=f"user-{number}", allowed=["red"]), 0.0)
    for _ in range(200):
        agent.tell(agent.ask(unit="loyal"), 1.0)
    agent.observe("control", 0.0)
    row = agent.lift().iloc[0]
    assert (row.arm, row.plays, row["mean"]) == ("red", 31, pytest.approx(1 / 31))
    assert row.low <= row.lift <= row.high
    assert agent.to_frame().plays[1] == 231


def test_all_lifts_hold_at_all_looks_together_when_zeros_come_late():
    """Ones are told at once, zeros 60 asks later; 50 launches of 240 asks with 6 looks each.

    Wrong in 5% at most, hence in more than 7 of 50 with a probability below 0.004.
    """
    means, n_wrong = np.array([0.3, 0.35, 0.45]), 0
    for seed in range(50):
        rng, agent, late, is_wrong = np.random.default_rng(seed), agent_with(seed=seed), [], False
        for number in range(240):
            decision = agent.ask()
            if rng.random() < means[decision.arm]:
                agent.tell(decision, 1.0)
            else:
                late.append((number, decision))
            while late and late[0][0] <= number - 60:
                agent.tell(late.pop(0)[1], 0.0)
            if number % 40 == 39:
                for row in agent.lift().itertuples():
                    lift = means[NAMES.index(row.arm)] - means[0]
                    is_wrong |= not row.low <= lift <= row.high
        n_wrong += is_wrong
    assert n_wrong <= 7
