"""Policies on side information with ranges: on what order leaves, on pairs read from them, or refused."""

from __future__ import annotations

import pytest

import lsdt
from lsdt.agent.auto_policy import choose_policy
from lsdt.candidates import read_ranges
from lsdt.candidates.seriation import fit_line
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


def test_ranges_with_two_ends_among_candidates_are_pooled():
    near = lsdt.from_features([[0.0], [1.0], [2.0]], 0.1)
    policy, why = choose_policy("auto", near, REWARDS, None)
    assert policy == lsdt.Policy("lsdt_posterior")
    assert "in which range means differ" in why
    many = lsdt.SideInformation(1_200, ranges=[(arm, arm + 1, -0.1, 0.1) for arm in range(1_199)])
    assert choose_policy("auto", many, REWARDS, None)[0] == lsdt.Policy("lsdt_closure")
    for rest in (
        lsdt.from_order([["a", "b"], ["c", "d"]], steepest=0.1),  # none among b and d, which are left
        lsdt.SideInformation(3, ranges=[(0, 1, 0.1, None)]),  # one end
        lsdt.SideInformation(3, ranges=[(0, 1, 0.1, 0.2), (1, 2, 0.1, 0.2), (0, 2, 0.0, 0.1)]),  # contradict
    ):
        assert choose_policy("auto", rest, REWARDS, None)[0] == lsdt.Policy("ts", on="propagation")


RANGES = [(0, 1, 0.1, 0.2), (1, 2, -0.05, 0.05), (0, 2, 0.05, 0.3), (3, 0, -0.3, 0.1), (2, 3, None, 0.2)]


@pytest.mark.parametrize("policy", ["lsdt_psi", "lsdt_ts_psi", "ckl_ucb", "lsdt_watchful"])
@pytest.mark.parametrize("epsilon", [0.1, None])
def test_policies_that_follow_pairs_read_ranges(policy, epsilon):
    side = lsdt.SideInformation(4, ranges=RANGES, epsilon=epsilon)
    agent = lsdt.Agent(side, policy, horizon=50)
    for _ in range(10):
        agent.tell(agent.ask(), 1.0)
    by_hand = lsdt.Agent(read_ranges(side).without_ranges(), policy, horizon=50)
    if policy == "lsdt_watchful":  # which also reads their direction
        return
    for _ in range(10):
        by_hand.tell(by_hand.ask(), 1.0)
    assert agent.ask().arm == by_hand.ask().arm


def test_better_pairs_alone_make_no_pairs():
    side = lsdt.SideInformation(3, better=[(0, 1)])
    with pytest.raises(Unsupported, match=r"lsdt_psi follows similar and dissimilar pairs, .* on='order'"):
        lsdt.Agent(side, "lsdt_psi", horizon=10)
    with pytest.raises(Unsupported, match=r"how far apart means are; .* or ranges"):
        lsdt.Agent(side, "lsdt_closure")


@pytest.mark.parametrize("policy", ["lsdt_closure", "lsdt_posterior", "soft_closure", "mixture_closure"])
def test_closure_policies_use_gaps_of_ranges(policy):
    """Arm 2 has no rewards; it is at most .1 below arm 0, so rewards of 0 speak for it and against it."""
    side = lsdt.SideInformation(3, ranges=[(0, 2, -0.1, 0.1), (0, 1, -0.5, 0.5)])
    bounds = Situation(side, REWARDS).mutual_bounds
    row = dict(zip(bounds.indices[: bounds.indptr[1]], bounds.upper[: bounds.indptr[1]], strict=True))
    assert row == {0: 0.0, 1: 0.5, 2: 0.1}
    agent = lsdt.Agent(side, policy)
    for _ in range(30):
        agent.observe(0, 0.0)
        agent.observe(1, 1.0)
    assert agent.ask().arm == 1


def test_unknown_epsilon_does_not_count_as_one_among_ranges():
    side = lsdt.SideInformation(3, similar=[(0, 1)], ranges=[(0, 2, -0.1, 0.1)])
    bounds = Situation(side, REWARDS).mutual_bounds
    assert bounds.upper.max() == 0.1


def test_order_prices_an_end_of_the_line():
    means = [arm / 10 for arm in range(8)]
    pairs = lsdt.from_means(means, 0.25).explicit()
    listed = pairs.similar_pairs(), pairs.dissimilar_pairs()
    free = fit_line(lsdt.SideInformation(8, *listed, epsilon=0.25))
    assert free.costs[[0, 7]].tolist() == [0, 0]
    better = [(arm + 1, arm) for arm in range(7)]
    ordered = fit_line(lsdt.SideInformation(8, *listed, epsilon=0.25, better=better))
    assert ordered.costs[7] == 0
    assert ordered.costs[0] == 2  # not the 7 better pairs: less breaks if arm 0 goes to the other end
