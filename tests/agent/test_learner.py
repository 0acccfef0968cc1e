from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.storage import Event, Kind

IDS = ["cocoa", "mate", "tea"]
SIDE = lsdt.SideInformation(3, arm_ids=IDS, epsilon=0.2)
LOG = pd.DataFrame(
    {
        "user": [1, 1, 2, 2, 3, 3, 3],
        "item": ["tea", "mate", "tea", "cola", "tea", "mate", "cocoa"],
        "rating": [5, 1, 3, 3, 1, 2, 5],
    }
)


def test_ratings_are_put_on_the_scale_of_the_rewards():
    """Bounded rewards: from 0 to 1. Others: as they are. An item that is no arm is left out."""
    bounded = lsdt.Agent(SIDE, "ucb1", prior=LOG)
    assert bounded.to_frame().prior.tolist() == [1, 2, 3]
    assert bounded.state().player.state.tallies.means.tolist() == pytest.approx(
        [1.0, (0.0 + 0.25) / 2, 1.5 / 3]
    )
    plain = lsdt.Agent(SIDE, "ucb1", rewards="gaussian", prior=lsdt.ratings.read_log(LOG))
    assert plain.state().player.state.tallies.means.tolist() == pytest.approx([5.0, 1.5, 3.0])
    lists = lsdt.Agent(SIDE, "ucb1", prior=(["tea", 0, "tea"], [0.5, 1, 1]))
    assert lists.state().player.state.tallies.counts.tolist() == [1, 0, 2]


def test_known_rewards_are_no_plays():
    agent = lsdt.Agent(SIDE, "ucb1", prior=(["tea"] * 4 + ["mate"], [1, 1, 0, 1, 0]))
    decision = agent.ask()
    assert (decision.number, decision.arm_id) == (0, "cocoa")  # the one of which nothing is known
    agent.tell(decision, 0)
    frame = agent.to_frame()
    assert frame.plays.tolist() == [1, 0, 0]
    assert frame.prior.tolist() == [0, 1, 4]
    assert frame["mean"].isna().tolist() == [False, True, True]
    assert np.isfinite(frame.score).all()
    assert agent.n_told == 1
    best = agent.best()
    assert (best.arm_id, best.plays) == ("tea", 0)
    # Beta(2 rate + 3, 2 (1 - rate) + 1) with the rate (3 + 1) / (6 + 2)
    assert best.mean == pytest.approx((2 * 0.5 + 3) / (2 + 4))
    assert "after 0 of 1 reward and 5 known before" in best.text
    unplayed = lsdt.Agent(SIDE, "ucb1:tails=heavy", prior=(["tea"], [0.5]))  # its score is a mean
    assert unplayed.to_frame().score.tolist()[2] == 0.5


def test_the_weight_is_a_share_of_the_rewards_and_a_larger_one_learns_more_of_the_same():
    arms, rewards = np.arange(3000) % 3, np.tile([0.0, 0.5, 1.0], 1000)
    half, more = (lsdt.Agent(SIDE, "ts", prior=(arms, rewards), prior_weight=w) for w in (0.5, 0.6))
    for agent, weight in ((half, 0.5), (more, 0.6)):
        learned = agent.to_frame().prior
        # Binomial(1000, weight): within four standard deviations
        assert (abs(learned - 1000 * weight) < 4 * np.sqrt(1000 * weight * (1 - weight))).all()
    assert (more.to_frame().prior >= half.to_frame().prior).all()
    own = lsdt.Agent(SIDE, lsdt.Policy("ts", prior_weight=0.5), prior=(arms, rewards), prior_weight=1.0)
    assert own.to_frame().prior.equals(half.to_frame().prior)
    without = lsdt.Agent(SIDE, lsdt.Policy("ts", prior_weight=0), prior=(arms, rewards))
    assert without.to_frame().prior.sum() == 0
    other = lsdt.Agent(SIDE, "ts", prior=(arms, rewards), prior_weight=0.5, seed=1)
    assert not other.to_frame().prior.equals(half.to_frame().prior)


def test_pending_decisions_and_growth_keep_what_is_known():
    agent = lsdt.Agent(SIDE, "ucb1", prior=(["tea", "mate", "cocoa"] * 5, [1, 0, 0] * 5))
    assert agent.ask().arm_id == "tea"  # and, pending, it counts with its mean of 1
    plain = lsdt.Agent(SIDE, "ucb1")
    assert plain.ask().arm_id == "cocoa"
    more = lsdt.SideInformation(4, arm_ids=["mate", "juice", "tea", "cocoa"], epsilon=0.2)
    agent.extend(more)
    assert agent.to_frame().prior.tolist() == [5, 0, 5, 5]
    assert agent.state().player.state.tallies.counts.tolist() == [5, 0, 5, 5]
    assert agent.state().player.state.tallies.means.tolist() == [0, 0, 1, 0]
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.to_frame().equals(agent.to_frame())
    assert again.ask() == agent.ask()


def test_bad_priors_are_named():
    for prior, message in (
        ((["tea"], [1, 0]), "one arm for every reward; got 1 arms and 2 rewards"),
        ((["tea"], [7]), "lie between 0 and 1, and the prior has 7; scale it"),
        ((["tea"], ["much"]), "rewards of a prior must be numbers"),
        ((["tea"], [np.nan]), "must be a list of finite numbers"),
        ((["cola"], [1]), "there is no arm 'cola'"),
        ((["tea"],), "or two lists, the arms and the reward of each; got 1"),
        (
            LOG.assign(item=["x", "y", "x", "y", "x", "y", "z"]),
            "none of the items rated is an arm: items are",
        ),
        (3.5, "a log is a path or a dataframe"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lsdt.Agent(SIDE, "ts", prior=prior)
    for weight, message in ((0, "must be above 0 and at most 1"), (1.5, "must lie between 0 and 1")):
        with pytest.raises(InvalidInput, match=message):
            lsdt.Agent(SIDE, "ts", prior=(["tea"], [1]), prior_weight=weight)
    with pytest.raises(InvalidInput, match="prior_weight must lie between 0 and 1; got 2"):
        lsdt.Policy("ts", prior_weight=2)


@pytest.mark.filterwarnings("ignore:the prior holds the ratings")
def test_a_prior_is_on_the_scale_of_the_ratings_behind_the_side_information():
    log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5, seed=1)
    side = lsdt.from_ratings(log, epsilon=0.3)
    without_ones = log[log["rating"] > 1]  # its own smallest rating is 2
    agent = lsdt.Agent(side, "ucb1", rewards="bernoulli", prior=without_ones)
    stars = without_ones.groupby("item")["rating"].mean().loc[[side.label(arm) for arm in range(6)]]
    assert agent.state().player.state.tallies.means.tolist() == pytest.approx(((stars - 1) / 4).tolist())


@pytest.mark.filterwarnings("ignore:the prior holds the ratings")
def test_stars_and_shares_of_their_scale_are_not_mixed(tmp_path):
    frame, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5, seed=1)
    log = lsdt.ratings.read_log(frame)
    side = lsdt.from_ratings(frame, epsilon=0.3)
    side.save(tmp_path / "side.parquet")
    loaded = lsdt.load(tmp_path / "side.parquet")
    refused = (
        r"ratings from 1 to 5, which rewards='gaussian' takes as they are, .* \(rating - 1\) / 4, or use"
    )
    for known in (side, loaded):
        for prior in (frame, log):
            with pytest.raises(InvalidInput, match=refused):
                lsdt.Agent(known, "ucb1", rewards="gaussian", prior=prior)
        agent = lsdt.Agent(known, "ucb1", rewards="gaussian", prior=log.unit())
        assert agent.state().player.state.tallies.means.tolist() == pytest.approx(
            ((log.means() - 1) / 4).tolist()
        )
    plain = lsdt.SideInformation(6, arm_ids=range(6), epsilon=0.3)  # nobody knows its units
    assert (
        lsdt.Agent(plain, "ucb1", rewards="gaussian", prior=log).state().prior.sums.sum() == log.ratings.sum()
    )


@pytest.mark.filterwarnings("ignore:the prior holds the ratings")
def test_a_log_with_another_scale_is_brought_to_that_of_the_side_information():
    frame, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5, seed=1)
    side = lsdt.from_ratings(frame, epsilon=0.3)
    without_ones = frame[frame["rating"] > 1]
    own = lsdt.ratings.read_log(without_ones)
    assert (own.low, own.high) == (2, 5)
    agents = [lsdt.Agent(side, "ucb1", rewards="bernoulli", prior=prior) for prior in (own, without_ones)]
    first, second = (agent.state().player.state.tallies.means.tolist() for agent in agents)
    assert first == second
    wider = lsdt.ratings.RatingLog.from_matrix([[0, 1, 2, 3, 4, 10]])
    with pytest.raises(InvalidInput, match="the prior: rating number 0 is 0; the scale goes from 1 to 5"):
        lsdt.Agent(side, "ucb1", prior=wider)


@pytest.mark.parametrize("forget", [None, 10])
def test_a_copy_goes_on_from_here_and_leaves_the_first_alone(forget):
    """Both choose alike while they are told alike, whatever the other was told in between."""
    first = lsdt.Agent(SIDE, "ts", forget=forget, seed=3).state()

    def play(learner, rewards):
        arms = []
        for reward in rewards:
            number = learner.next_number
            asked = learner.decide(number, time=number)
            learner.apply(asked, epoch=0)
            learner.apply(Event(Kind.TELL, number, number, asked.arm, reward), epoch=0)
            arms.append(asked.arm)
        return arms

    play(first, [1.0, 0.0] * 20)
    first.apply(Event(Kind.ASK, 0, first.next_number, 1), epoch=0)
    second, third = first.copy(), first.copy()
    words, counts = first.words.copy(), first.counts.copy()
    chosen = play(second, [0.0, 1.0, 1.0] * 15)
    assert np.array_equal(first.words, words)
    assert np.array_equal(first.counts, counts)
    assert first.pending.numbers() == [40]
    assert play(third, [0.0, 1.0, 1.0] * 15) == chosen
    assert play(first, [0.0, 1.0, 1.0] * 15) == chosen
    assert [each.order.cut_sums for each in (second, third)] == [first.order.cut_sums] * 2
