from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, played, same_state
from lsdt.agent import auto_policy
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.random import UNIT_DEPTH


def test_decisions_carry_ids_and_numbers():
    agent = lsdt.Agent(NAMED, "ucb1")
    decisions = [agent.ask() for _ in range(3)]
    assert [decision.number for decision in decisions] == [0, 1, 2]
    assert [decision.arm_id for decision in decisions] == ["item0", "item1", "item2"]
    assert agent.pending_numbers() == [0, 1, 2]
    assert repr(agent) == "Agent(ucb1, 12 arms, 0 rewards, 3 pending)"


def test_tells_may_come_late_and_in_any_order():
    orders = [[0, 1, 2, 3], [3, 1, 0, 2]]
    agents = [lsdt.Agent(SIDE, "ucb1") for _ in orders]
    for agent, order in zip(agents, orders, strict=True):
        decisions = agent.ask(4)
        for at in order:
            agent.tell(decisions[at].number, 0.25 * at)
    assert same_state(*agents)
    assert agents[0].ask() == agents[1].ask()


def test_a_batch_is_spread_and_what_is_pending_is_not_learned():
    agent = played(lsdt.Agent(SIDE, "ucb1"), 60)
    before = agent.state().words.copy()
    batch = agent.ask(8)
    assert len({decision.arm for decision in batch}) > 1
    assert np.array_equal(agent.state().words, before)
    for decision in batch:
        agent.tell(decision, 1.0)
    assert agent.n_told == 68


@pytest.mark.parametrize("policy", ["ucb1", "lsdt_csi", "lsdt_psi", "imed", "ckl_ucb"])
def test_asks_without_tells_do_not_repeat_untried_arms(policy):
    agent = lsdt.Agent(SIDE, policy, horizon=1000)
    candidates = agent.state().arms.tolist()
    batch = agent.ask(len(candidates))
    assert sorted(decision.arm for decision in batch) == candidates


def test_what_is_told_is_checked_and_nothing_is_lost():
    agent = lsdt.Agent(SIDE, "ucb1")
    decision = agent.ask()
    before = agent.snapshot()
    for wrong in (math.nan, math.inf, "x", "1", None, 1.5, -0.1, 10**400):
        with pytest.raises(InvalidInput, match="reward"):
            agent.tell(decision, wrong)
    with pytest.raises(InvalidInput, match="decision 7 was never asked for; 1 were"):
        agent.tell(7, 1.0)
    with pytest.raises(InvalidInput, match="a decision is what ask"):
        agent.tell("first", 1.0)
    assert agent.snapshot() == before
    agent.tell(decision, 1.0)
    with pytest.raises(InvalidInput, match="decision 0 was told or cancelled before"):
        agent.tell(decision, 1.0)
    agent.tell(decision, 0.0, repeat="ignore")
    assert agent.state().sums[decision.arm] == 1.0
    with pytest.raises(InvalidInput, match="repeat must be"):
        agent.tell(decision, 1.0, repeat="maybe")
    with pytest.raises(InvalidInput, match="repeat must be"):
        agent.tell(decision, 1.0, repeat=np.array(["refuse", "ignore"]))
    for rewards in (5, [1], [(decision, 1, 2)]):
        with pytest.raises(InvalidInput, match="pairs of a decision and its reward"):
            agent.tell_many(rewards)
    with pytest.raises(InvalidInput, match="decisions must be a list"):
        agent.cancel_many(5)


def test_rewards_of_any_size_are_taken_when_they_are_gaussian():
    agent = lsdt.Agent(SIDE, "ucb1", rewards="gaussian")
    agent.tell(agent.ask(), -17.5)
    assert agent.state().sums[0] == -17.5


def test_observing_without_asking():
    agent, other = lsdt.Agent(SIDE, "ucb1"), lsdt.Agent(SIDE, "ucb1")
    agent.observe(0, 1.0)
    other.tell(other.ask(), 1.0)
    assert np.array_equal(agent.state().words, other.state().words)
    assert agent.ask().number == 0
    lsdt_agent = lsdt.Agent(NAMED, "lsdt_csi")
    lsdt_agent.observe("item5", 1.0)  # cannot be the best: the books are kept all the same
    frame = lsdt_agent.to_frame().set_index("arm")
    assert frame.loc["item5", ["plays", "status"]].tolist() == [1, "eliminated offline"]


def test_cancelling():
    agent = lsdt.Agent(SIDE, "ucb1")
    decision = agent.ask()
    agent.cancel(decision)
    assert agent.pending_numbers() == []
    assert agent.ask().arm == decision.arm
    with pytest.raises(InvalidInput, match="decision 0 is not pending; 1 other is"):
        agent.cancel(0)
    agent.ask(5)
    assert [agent.cancel_before(4, most=2) for _ in range(3)] == [2, 1, 0]
    with pytest.raises(InvalidInput, match="most must be"):
        agent.cancel_before(4, most=0)
    assert agent.pending_numbers() == [4, 5, 6]


@pytest.mark.parametrize("name", [*lsdt.policies.available()])
def test_masks_are_honoured_and_leave_the_statistics_alone(name):
    agent = lsdt.Agent(SIDE, name, horizon=400, seed=3)
    rng = np.random.default_rng(1)
    inside = agent.state().arms
    for _ in range(120):
        allowed = rng.random(12) < 0.4
        allowed[rng.choice(inside)] = True
        decision = agent.ask(allowed=allowed if rng.random() < 0.5 else np.flatnonzero(allowed).tolist())
        assert allowed[decision.arm]
        agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    assert agent.state().counts.sum() == 120


def test_a_mask_of_everything_is_no_mask():
    for name in ("ucb1", "kl_ucb", "lsdt_csi", "ts", "ckl_ucb", "lsdt_psi", "ossb"):
        agents = [lsdt.Agent(SIDE, name, horizon=300) for _ in range(2)]
        for t in range(100):
            decisions = [agents[0].ask(), agents[1].ask(allowed=range(12))]
            assert decisions[0] == decisions[1], name
            for agent, decision in zip(agents, decisions, strict=True):
                agent.tell(decision, float((t * 7) % 3 == 0))


def test_bad_masks():
    agent = lsdt.Agent(NAMED, "lsdt_csi")
    with pytest.raises(InvalidInput, match="there is no arm 'item99'"):
        agent.ask(allowed=["item99"])
    with pytest.raises(InvalidInput, match="names no arm"):
        agent.ask(allowed=[])
    with pytest.raises(InvalidInput, match="list of arms"):
        agent.ask(allowed="item0")
    with pytest.raises(InvalidInput, match="3 flags and there are 12 arms"):
        agent.ask(allowed=np.ones(3, bool))
    with pytest.raises(Unsupported, match="none of the allowed arms can be the best"):
        agent.ask(allowed=["item5", "item6"])
    assert agent.pending_numbers() == []


def test_propensities_are_chances():
    """Of a fresh Thompson sampler on 12 arms each has 1/12; the estimate's standard error is about .0087."""
    agent = lsdt.Agent(SIDE, "ts", seed=2)
    assert agent.ask().propensity is None
    assert abs(agent.ask(propensity=True).propensity - 1 / 12) < 5 * 0.0087
    assert lsdt.Agent(SIDE, "ucb1").ask().propensity == 1.0
    quiet, asking = (lsdt.Agent(SIDE, "ts", seed=2) for _ in range(2))
    for _ in range(5):
        assert quiet.ask().arm == asking.ask(propensity=True).arm


def test_best_says_how_sure_it_is():
    agent = lsdt.Agent(NAMED, "ucb1")
    for _ in range(200):
        agent.observe("item3", 1.0)
        agent.observe("item4", 0.0)
    best = agent.best(n_runners_up=2)
    assert best.arm_id == "item3"
    assert best.plays == 200
    assert best.low < best.mean < best.high
    assert len(best.runners_up) == 2
    assert 0.5 < best.certainty < 1.0  # ten arms were never tried: each may be better
    assert "item3" in best.text
    gaussian = played(lsdt.Agent(SIDE, "ucb1", rewards="gaussian"), 50)
    assert gaussian.best().low < gaussian.best().mean
    with pytest.raises(InvalidInput, match="n_runners_up"):
        agent.best(-1)


def test_best_does_not_recommend_what_nobody_tried():
    """Nothing is known of such an arm where no relation ties it to others."""
    alone = lsdt.SideInformation(12)
    costs = lsdt.Agent(alone, "ucb1", rewards="gaussian")
    clicks = lsdt.Agent(alone, "ucb1")
    for _ in range(50):
        costs.observe(0, -5.0)
        costs.observe(1, -7.0)
        clicks.observe(0, 0.05)
        clicks.observe(1, 0.0)
    assert costs.best().arm_id == 0
    assert (costs.best().mean, costs.best().plays) == (-5.0, 50)
    assert clicks.best().arm_id == 0
    assert lsdt.Agent(SIDE, "ucb1").best().plays == 0


def test_many_pending_decisions_cost_little_more_than_a_thousand():
    agent = lsdt.Agent(SIDE, "ucb1")
    agent.ask(3_000)
    assert agent.ask().number == 3_000
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.ask() == agent.ask()


def test_a_lost_reward_does_not_stop_epochs():
    """One decision is never told; LSDT-PSI goes on through its epochs all the same."""
    agents = [lsdt.Agent(SIDE, "lsdt_psi", horizon=20_000) for _ in range(2)]
    agents[1].ask()
    for agent in agents:
        played(agent, 6_000)
    gone = [int(agent.to_frame().status.str.startswith("eliminated after").sum()) for agent in agents]
    assert gone[0] == gone[1] > 0


def test_truncated_means_are_what_counts_under_heavy_tails():
    side = lsdt.SideInformation(2, epsilon=0.1)
    law = lsdt.rewards.student_t(degrees=1.5)
    agent = lsdt.Agent(side, "ucb1:tails=heavy", rewards=law)
    for _ in range(200):
        agent.observe(0, 0.5)
        agent.observe(1, 0.0)
    agent.observe(1, 1e6)
    assert agent.best().arm_id == 0
    assert agent.to_frame().score.tolist() == pytest.approx([0.5, 0.0])
    with pytest.raises(Unsupported, match="needs? every single reward|need every single reward"):
        agent.extend(side)


def test_arms_says_what_became_of_each():
    agent = played(lsdt.Agent(SIDE, "lsdt_psi", horizon=20_000), 6_000)
    frame = agent.to_frame().set_index("arm")
    assert frame.attrs["score"] == "pooled mean"
    assert set(frame.loc[frame.plays == 0, "status"]) <= {"eliminated offline", "never played"}
    gone = frame[frame.status.str.startswith("eliminated after")]
    assert len(gone) >= 1
    assert gone.plays.min() > 0
    assert frame.plays.sum() == 6_000
    for arm, status in gone.status.items():
        dropped = f"lsdt_psi dropped arm {arm!r} after {int(status.split()[2]):,} rewards. "
        assert agent.why(arm).text.startswith(dropped)


@pytest.mark.parametrize("name", [*lsdt.policies.available()])
def test_every_policy_scores_its_arms(name):
    agent = played(lsdt.Agent(SIDE, name, horizon=100), 40)
    frame = agent.to_frame()
    tried = frame[(frame.plays > 0) & (frame.status != "eliminated offline")]
    assert tried.score.notna().all()
    before = agent.snapshot()
    agent.to_frame()
    agent.best()
    assert agent.snapshot() == before


def test_auto_pools_no_rewards_of_very_many_candidates(monkeypatch):
    monkeypatch.setattr(auto_policy, "_MOST_CANDIDATES", 2)
    agent = lsdt.Agent(lsdt.SideInformation(4, [(0, 1)], [(2, 3)], epsilon=0.1))
    assert agent.policy == lsdt.Policy("ts", on="propagation")
    assert "leaves 4 arms" in agent.policy_reason
    monkeypatch.setattr(auto_policy, "_MOST_ARMS", 3)
    agent = lsdt.Agent(lsdt.SideInformation(4, [(0, 1)], [(2, 3)], epsilon=0.1))
    assert agent.policy == lsdt.Policy("ts", on="paper")
    assert "many minutes" in agent.policy_reason


def test_auto_says_why():
    partial = SIDE.reveal(0.5, 0.5).explicit()
    unknown = lsdt.SideInformation(partial.n_arms, partial.similar_pairs(), partial.dissimilar_pairs())
    ranges = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.1, 0.3))
    for side, rewards, label in (
        (SIDE, "bernoulli", "lsdt_posterior"),
        (partial, "gaussian", "lsdt_posterior"),
        (ranges, "bernoulli", "lsdt_posterior"),
        (unknown, "bernoulli", "ts on propagation"),
        (unknown, "gaussian", "imed on propagation"),
        (lsdt.complete(3, [(0, 1)]), "gaussian", "lsdt_csi (index=kl_ucb)"),
        (partial, lsdt.rewards.exponential(), "ucb1 on propagation (tails=light)"),
        (partial, lsdt.rewards.pareto(1.5), "ucb1 on propagation (tails=heavy)"),
        (partial, lsdt.rewards.pareto(2.5), "ucb1 on propagation (tails=heavy)"),
        (lsdt.SideInformation(3, epsilon=0.1), "bernoulli", "ts"),
        (lsdt.SideInformation(3, [(0, 1)], epsilon=0.1), "bernoulli", "lsdt_posterior"),
        (lsdt.SideInformation(1_001, [(0, 1)], epsilon=0.1), "bernoulli", "lsdt_closure"),
        (
            lsdt.SideInformation(5, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)], epsilon=0.1),
            "bernoulli",
            "lsdt_watchful",
        ),
    ):
        agent = lsdt.Agent(side, rewards=rewards)
        assert agent.policy.label == label
        assert "side information is" in agent.policy_reason or label == "ts"
        assert agent.ask().arm in range(side.n_arms)
    for side in (lsdt.SideInformation(3), lsdt.SideInformation(3, epsilon=0.1)):
        reason = lsdt.Agent(side).policy_reason
        assert reason.startswith("nothing is known of any pair of arms")
        assert "Give relations" in reason
    assert "Give epsilon" in lsdt.Agent(unknown).policy_reason
    ordered = lsdt.Agent(lsdt.SideInformation(3, better=[(0, 1)]))
    assert "better pairs or ranges only: ts on the arms that they leave" in ordered.policy_reason
    assert lsdt.Agent(SIDE, "ucb1").policy_reason == "asked for"


@pytest.mark.parametrize(
    "contradictory",
    [
        {"n_arms": 3, "better": [(0, 1), (1, 2), (2, 0)]},
        {"n_arms": 3, "ranges": [(0, 1, 0.1, 0.2), (1, 2, 0.1, 0.2), (2, 0, 0.1, 0.2)]},
        {
            "n_arms": 5,
            "similar": [(0, 1), (1, 2), (2, 3), (3, 0)],
            "dissimilar": [(0, 2), (1, 3)],
            "epsilon": (0.1, 0.2),
        },
    ],
)
def test_auto_says_that_relations_without_one_epsilon_contradict(contradictory):
    """It played on all arms and said: on the arms that the relations leave."""
    agent = lsdt.Agent(lsdt.SideInformation(**contradictory))
    assert agent.policy.label == "ts on propagation"
    assert "contradicts itself" in agent.policy_reason
    assert "conflict names relations to correct" in agent.policy_reason
    assert agent.ask().arm in range(contradictory["n_arms"])


def test_bad_agents():
    with pytest.raises(InvalidInput, match="needs a SideInformation"):
        lsdt.Agent([1, 2])
    with pytest.raises(InvalidInput, match="unknown policy"):
        lsdt.Agent(SIDE, "usb1")
    with pytest.raises(InvalidInput, match="a policy is asked for by name"):
        lsdt.Agent(SIDE, 3)
    with pytest.raises(InvalidInput, match="has epsilon 0.2; got epsilon=0.3"):
        lsdt.Agent(SIDE, epsilon=0.3)
    with pytest.raises(Unsupported, match="lsdt_psi needs to know the horizon"):
        lsdt.Agent(SIDE, "lsdt_psi")
    with pytest.raises(InvalidInput, match="n must be a whole number"):
        lsdt.Agent(SIDE).ask(0)
    pairs = lsdt.SideInformation(3, [(0, 1)])
    assert lsdt.Agent(pairs, "ckl_ucb", epsilon=0.1).side.epsilon == 0.1


@pytest.mark.parametrize("policy", ["ts", "ts_gaussian", "osub", "lsdt_ts_csi"])
def test_a_decision_does_not_depend_on_what_earlier_ones_drew(policy):
    """Decision 5 of an agent is the same whether the first five were asked for at once or never drawn for."""
    drawn, skipped = (lsdt.Agent(SIDE, policy, seed=11) for _ in range(2))
    for decision in drawn.ask(5):
        drawn.cancel(decision)
    assert drawn.ask(propensity=True).arm == skipped.state().decide(5, time=0).arm


def test_a_late_reward_is_tossed_for_as_one_that_came_at_once():
    """A Thompson sampler tosses for .5; which way it falls depends on the decision, not on the time."""
    prompt, late = (lsdt.Agent(lsdt.SideInformation(1), "ts", seed=2) for _ in range(2))
    decisions = [prompt.ask() for _ in range(20)]
    for decision in decisions:
        prompt.tell(decision, 0.5)
    for decision in reversed([late.ask() for _ in range(20)]):
        late.tell(decision, 0.5)
    assert same_state(prompt, late)
    wins = prompt.state().player.state.posteriors.win_depth[0] - UNIT_DEPTH
    assert 0 < wins < 20


STARS = {
    "stars": ([0.0, 0.25, 0.5, 0.75, 1.0], [0.08, 0.1, 0.22, 0.35, 0.25]),
    "all but one the same": ([0.1, 1.0], [0.98, 0.02]),
    "coins": ([0.0, 1.0], [0.7, 0.3]),
}


@pytest.mark.parametrize("name", STARS)
@pytest.mark.parametrize("n_rewards", [20, 100])
def test_the_interval_of_the_best_holds_its_level_and_is_no_wider_than_the_noise(name, n_rewards):
    values, chances = map(np.array, STARS[name])
    truth, n_arms = float(values @ chances), 300
    spread = float(np.sqrt(np.square(values - truth) @ chances))
    agent = lsdt.Agent(lsdt.SideInformation(n_arms), "ucb1")
    drawn = np.random.default_rng(4).choice(values, (n_arms, n_rewards), p=chances)
    for arm in range(n_arms):
        for reward in drawn[arm].tolist():
            agent.observe(arm, reward)
    best = agent.best(n_arms - 1)
    low, high = (np.array([getattr(arm, end) for arm in (best, *best.runners_up)]) for end in ("low", "high"))
    inside = int(((low <= truth) & (truth <= high)).sum())
    assert inside >= 0.95 * n_arms - 3 * np.sqrt(0.05 * 0.95 * n_arms)
    noise = 2 * 1.96 * spread / np.sqrt(n_rewards)
    if name == "stars":  # those of coins would be 1.5 times as wide as the noise
        assert np.median(high - low) < (1.35 if n_rewards == 20 else 1.12) * noise


def test_noise_is_estimated_below_sigma_and_never_above():
    rng = np.random.default_rng(0)
    for scale, most in ((0.2, 0.35), (1.0, 1.0), (5.0, 1.0)):
        agent = lsdt.Agent(lsdt.SideInformation(1), "ucb1", rewards="gaussian")
        for reward in rng.normal(3.0, scale, 200):
            agent.observe(0, reward)
        best = agent.best()
        width = (best.high - best.low) / (2 * 1.96 / np.sqrt(200))
        assert 0.9 * min(scale, 1.0) <= width <= most + 1e-9


def test_what_was_known_before_and_what_moved_counts_for_the_noise():
    side = lsdt.SideInformation(2, arm_ids=["a", "b"])
    rewards = [0.5, 0.5, 0.75, 0.5, 0.25] * 20
    told = lsdt.Agent(side, "ucb1")
    for reward in rewards:
        told.observe("a", reward)
    known = lsdt.Agent(side, "ucb1", prior=(["a"] * len(rewards), rewards))
    assert known.best()[:4] == told.best()[:4]
    for agent in (told, known):
        again = lsdt.Agent.restore(agent.snapshot())
        assert again.best() == agent.best()
        before = agent.best()
        agent.extend(lsdt.SideInformation(3, arm_ids=["c", "b", "a"]))
        assert agent.best()[:4] == before[:4]


def test_why_an_arm_is_played_or_is_not():
    side = lsdt.SideInformation(3, [(0, 1), (0, 2)], [(1, 2)], arm_ids=["a", "b", "c"], epsilon=0.1)
    agent = lsdt.Agent(side, policy="ts@propagation")
    found = lsdt.candidate_set(side)
    for arm in "abc":
        assert agent.why(arm).text == found.explain(arm).text
    assert agent.why("b").means.argmax() == 1
    agent.retire("b")
    why = agent.why("b")
    assert why.text.startswith("arm 'b' has retired and is not played until it is reinstated. arm 'b' may be")
    agent.extend(lsdt.SideInformation(3, arm_ids=["a", "b", "c"], epsilon=0.1))
    assert agent.why("a").is_candidate
    everywhere = lsdt.Agent(side, policy="ts")
    assert everywhere.why("a").text == "ts plays on all arms: nothing excludes one before it is tried"
    with pytest.raises(InvalidInput, match="'tea'"):
        agent.why("tea")
