"""One limit for rewards, means, ratings and sigma: beyond it squares are infinite."""

from __future__ import annotations

import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput

SIDE = lsdt.from_means([0.1, 0.5, 0.9], 0.3)
LOG = pd.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "rating": [1.0, 2.0, 3.0, 1e308]})


def told(reward):
    agent = lsdt.Agent(SIDE, "ucb1", rewards="gaussian")
    agent.tell(agent.ask(), reward)
    return agent


@pytest.mark.parametrize(
    "call",
    [
        lambda: told(1e101),
        lambda: told(-1e300),
        lambda: lsdt.Agent(SIDE, "ucb1", rewards="gaussian").observe(0, 2e100),
        lambda: lsdt.rewards.gaussian(sigma=1e300),
        lambda: lsdt.rewards.gaussian(sigma=1e-300),
        lambda: lsdt.rewards.student_t(2.5, scale=1e200),
        lambda: lsdt.Policy("ts_gaussian", sigma=1e300),
        lambda: lsdt.problems.given([0.0, 1e200]),
        lambda: lsdt.problems.uniform(n_arms=3, low=0.0, high=1e200, rewards="gaussian"),
        lambda: lsdt.Agent(SIDE, "ucb1", rewards="gaussian", prior=([0], [1e200])),
        lambda: lsdt.ratings.read_log(LOG),
        lambda: lsdt.from_ratings(LOG, epsilon=0.5),
        lambda: lsdt.ratings.read_log(LOG.head(3), scale=(0.0, 1e308)),
    ],
)
def test_the_limit_is_named(call):
    with pytest.raises(InvalidInput, match=r"1e[-+]100"):
        call()


def test_at_the_limit_everything_stays_finite():
    agent = told(1e100)
    agent.tell(agent.ask(), -1e100)
    assert agent.best().text
    problem = lsdt.problems.given([0.0, 1e100], rewards=lsdt.rewards.gaussian(1e100))
    result = lsdt.simulate(problem, ["ucb1", "kl_ucb", "ts_gaussian"], horizon=20, replications=2)
    assert (result.regret("kl_ucb") < float("inf")).all()
