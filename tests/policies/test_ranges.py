"""Policies on side information with ranges: on what order leaves, or refused."""

from __future__ import annotations

import pytest

import lsdt
from lsdt.agent.auto_policy import choose_policy
from lsdt.errors import Unsupported
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.offline import offline_step
from lsdt.policies.situation import Situation

COMPLETE = lsdt.SideInformation(
    3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)], epsilon=0.1, better=[(1, 2)]
)
REWARDS = RewardModel("bernoulli", 0.5)


def test_policies_for_complete_information_refuse():
    situation = Situation(COMPLETE, REWARDS)
    with pytest.raises(Unsupported, match=r"lsdt_csi reads similar and dissimilar pairs only.*p_range=0"):
        situation.require(frozenset({"complete"}), "lsdt_csi")
    Situation(COMPLETE.reveal(1, 1, p_range=0), REWARDS).require(frozenset({"complete"}), "lsdt_csi")


@pytest.mark.parametrize("on", ["order", "propagation", "auto"])
def test_the_offline_step_reads_ranges(on):
    assert 2 not in offline_step(COMPLETE, on)


def test_ranges_alone_are_worth_an_offline_step():
    side = lsdt.SideInformation(3, better=[(0, 1)], epsilon=0.1)
    policy, why = choose_policy("auto", side, REWARDS, None)
    assert policy == lsdt.Policy("ts", on="propagation")
    assert "ranges only" in why
