"""The arm to recommend: how sure that is, against draws."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, SIDE, played
from lsdt.agent.recommendation import _certainty, _posterior


@pytest.mark.parametrize("law", ["bernoulli", "gaussian"])
def test_certainty_is_the_share_of_draws_in_which_the_arm_is_the_best(law):
    agent = played(lsdt.Agent(SIDE, "ts", rewards=law), 80)
    learner = agent._learner
    for first in range(12):
        order = np.array([first, *(arm for arm in range(12) if arm != first)])
        one, two = _posterior(learner, order)
        rng = np.random.default_rng(first)
        draw = rng.beta if law == "bernoulli" else rng.normal
        share = (draw(one, two, (20_000, 12)).argmax(axis=1) == 0).mean()
        # Four standard errors of the share.
        assert abs(_certainty(learner, order) - share) < 4 * np.sqrt(0.25 / 20_000), first


def test_certainties_of_all_arms_sum_to_one():
    agent = played(lsdt.Agent(SIDE, "ts"), 40)
    orders = [np.array([arm, *(other for other in range(12) if other != arm)]) for arm in range(12)]
    total = sum(_certainty(agent._learner, order) for order in orders)
    assert total == pytest.approx(1, abs=0.01)
    assert len(MEANS) == 12


def test_very_many_arms_are_compared_with_those_that_matter():
    """Of 3,000 arms one is known to be good, the others to be bad, or nothing is known of them."""
    agent = lsdt.Agent(lsdt.SideInformation(3_000), "ts")
    for arm in range(2_990):
        agent.observe(arm, float(arm == 7))
    for _ in range(300):
        agent.observe(7, 1.0)
        agent.observe(8, 0.0)
    best = agent.best()
    assert best.arm_id == 7
    assert 0.9 < best.certainty <= 1
