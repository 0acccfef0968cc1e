"""Soft closure: draws that satisfy every relation and have the right law, and what happens without any."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import lsdt
from lsdt.agent.auto_policy import MOST_DRAWN
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.parts import mean_draws
from lsdt.policies.parts.mean_draws import MOST_CANDIDATES, draw_by_order, draws_of, relations_of
from lsdt.policies.parts.mean_draws_kernel import draw_means
from side_by_side import random_problem

GAUSSIAN, COINS = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


def candidates_of(side):
    return lsdt.candidate_set(
        side, method="anchors" if side.is_complete and not side.ranges else "propagation"
    )


def assert_fits(side, draws, arms):
    """Every relation among the candidates holds in every draw."""
    place = {int(arm): at for at, arm in enumerate(arms)}
    for pairs, is_near in ((side.similar_pairs(), True), (side.dissimilar_pairs(), False)):
        for a, b in pairs.tolist():
            if a in place and b in place:
                apart = np.abs(draws[:, place[a]] - draws[:, place[b]])
                assert (apart < side.epsilon).all() if is_near else (apart >= side.epsilon - 1e-12).all()


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("complete", [True, False])
def test_draws_satisfy_every_relation(complete, bounded):
    n_drawn = 0
    for number in range(14):
        side = random_problem(number, "bernoulli", complete).side
        found = candidates_of(side)
        draws = draws_of(found, bounded)
        assert_fits(side, draws, found.arms)
        n_drawn += len(draws) > 0
        if bounded and len(draws):
            assert draws.min() >= 0.0
            assert draws.max() <= 1.0
    assert n_drawn >= 13


def accepted(n_arms, fits, rng, n=400_000):
    """Uniform points of the unit cube that satisfy relations: rejection, which needs no chain."""
    points = rng.random((n, n_arms))
    return points[fits(points)]


@pytest.mark.parametrize("number", range(4))
def test_the_law_of_the_draws_is_uniform(number, monkeypatch):
    """Means, spreads and best arms against points of the cube that were tried one by one."""
    near, far, better = [
        ([(0, 1)], [(1, 2)], []),
        ([(0, 1), (1, 2)], [(0, 2)], []),
        ([], [(0, 1), (1, 2), (0, 2)], []),
        ([(0, 1)], [(0, 2), (1, 2)], [(0, 1)]),
    ][number]
    side = lsdt.SideInformation(3, near, far, better=better, epsilon=0.3)
    monkeypatch.setattr(mean_draws, "N_DRAWS", 4_000)

    def fits(x):
        holds = np.ones(len(x), bool)
        for a, b in near:
            holds &= np.abs(x[:, a] - x[:, b]) < 0.3
        for a, b in far:
            holds &= np.abs(x[:, a] - x[:, b]) >= 0.3
        for a, b in better:
            holds &= x[:, a] > x[:, b]
        return holds

    found = candidates_of(side)
    expected = accepted(3, fits, np.random.default_rng(number))[:, found.arms]
    draws = draws_of(found, True)
    # Draws that follow one another are alike, so that 4,000 are worth a quarter of that or more.
    assert np.abs(draws.mean(axis=0) - expected.mean(axis=0)).max() < 4 * 0.35 / math.sqrt(1_000)
    assert np.abs(draws.std(axis=0) - expected.std(axis=0)).max() < 0.04
    best = np.bincount(draws.argmax(axis=1), minlength=len(found.arms)) / len(draws)
    share = np.bincount(expected.argmax(axis=1), minlength=len(found.arms)) / len(expected)
    assert np.abs(best - share).max() < 4 * 0.5 / math.sqrt(1_000)


def test_with_one_distance_the_order_of_the_arms_gives_the_same_draws():
    """Looking at few arms of an order, and at all relations of an arm, are two ways to the same numbers."""
    n_compared = 0
    for number, (n_arms, p) in enumerate([(3, 1.0), (12, 1.0), (40, 0.4), (60, 0.7), (80, 0.2), (80, 1.0)]):
        means = np.random.default_rng(number).uniform(0.0, 0.05 * n_arms**0.75, n_arms)
        side = lsdt.from_means(means, 0.2).reveal(p, p, seed=number)
        relations = relations_of(side)
        if len(relations.turns) > 1:
            continue
        n_compared += 1
        x, width = means - means.min() + 0.02, float(np.ptp(means)) + 0.1
        kept, streams = np.arange(0, n_arms, 2), (new_stream(number), new_stream(number))
        draws, by_order = np.empty((2, 30, len(kept)))
        draw_means(x.copy(), 0.0, width, relations, 3, kept, draws, streams[0])
        draw_by_order(x.copy(), width, relations, 0.2, 3, kept, by_order, streams[1])
        assert np.array_equal(draws, by_order)
        assert np.array_equal(*streams)
        assert len(np.unique(draws)) > 0.9 * draws.size
    assert n_compared >= 4


def test_thresholds_and_ranges_bind_the_draws():
    side = lsdt.SideInformation(4, [(0, 1)], [(1, 2)], ranges=[(2, 3, 0.1, 0.2)], epsilon=([0.25], [0.4]))
    found = candidates_of(side)
    draws = dict(zip(found.arms.tolist(), draws_of(found, False).T, strict=True))
    assert len(draws) >= 3
    if {0, 1} <= set(draws):
        assert (np.abs(draws[0] - draws[1]) < 0.25).all()
    if {1, 2} <= set(draws):
        assert (np.abs(draws[1] - draws[2]) >= 0.4 - 1e-12).all()
    if {2, 3} <= set(draws):
        assert ((draws[2] - draws[3] >= 0.1 - 1e-12) & (draws[2] - draws[3] <= 0.2 + 1e-12)).all()


def test_the_same_draws_every_time():
    side = random_problem(5, "bernoulli", False).side
    assert np.array_equal(draws_of(candidates_of(side), True), draws_of(candidates_of(side), True))


def test_by_hand():
    """Two dissimilar arms: each is the best in half of the draws, and a reward speaks to both."""
    side = lsdt.SideInformation(2, [], [(0, 1)], epsilon=0.5)
    player = lsdt.Policy("soft_closure").begin(side, COINS, 9, new_stream(0)).player
    state = player.state
    n_first = state.begin[1]
    assert abs(n_first / state.n_draws - 0.5) < 0.1
    scores = player.entries.scores(*player.packed, 2)
    expected = [-math.log(n_first / state.n_draws), -math.log(1 - n_first / state.n_draws)]
    assert scores == pytest.approx(expected)
    player.update(0, 1.0)
    means = np.exp(state.first.reshape(2, -1))
    weights = means[0]  # the probability of a win of arm 0
    is_first = means[0] > means[1]
    share = weights[is_first].sum() / weights.sum()
    # A mean of 1 for arm 0 costs nothing if it is the best; arm 1 above it by half has a mean of 1 at most.
    assert player.entries.scores(*player.packed, 2) == pytest.approx(
        [-math.log(share), min(max(-math.log(1 - share), math.log(2)), math.log(2) + 3)]
    )
    assert player.select() == 0


@pytest.mark.parametrize("model", [GAUSSIAN, COINS], ids=["gaussian", "bernoulli"])
def test_without_draws_it_is_imed_on_the_bounds(model):
    """With no draws, the arm with the least cost plus log plays."""
    side = random_problem(9, model.family, False).side
    player = lsdt.Policy("soft_closure", most=0.0).begin(side, model, 9, new_stream(0)).player
    assert player.state.n_draws == 0
    rng = np.random.default_rng(3)
    for _ in range(30):
        scores = player.entries.scores(*player.packed, len(player.flags))
        arm = player.select()
        assert scores[arm] == pytest.approx(min(scores), abs=1e-9)
        player.update(arm, float(rng.random() < 0.5))


def test_relations_that_contradict_one_another_are_not_drawn():
    wrong = lsdt.SideInformation(5, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)], epsilon=0.1)
    with pytest.warns(lsdt.errors.ContradictionWarning):
        found = lsdt.candidate_set(wrong, method="propagation")
    assert len(draws_of(found, True)) == 0
    ready = lsdt.Policy("soft_closure").begin(wrong, COINS, 9, new_stream(0), found)
    for _ in range(20):
        ready.player.update(ready.player.select(), 1.0)


def test_many_candidates_play_by_the_bounds_alone(monkeypatch):
    side = lsdt.SideInformation(MOST_CANDIDATES + 1, [(0, 1)], epsilon=0.1)
    found = candidates_of(side)
    assert len(found.arms) > MOST_CANDIDATES == MOST_DRAWN
    assert draws_of(found, True).shape == (0, len(found.arms))
    monkeypatch.setattr(mean_draws, "_MOST_ARMS", 10)
    monkeypatch.setattr(mean_draws, "_FEWEST_ARMS", 12)
    means = np.random.default_rng(0).random(60)
    part = lsdt.from_means(means, 0.1).reveal(0.7, 0.7, seed=1)
    found = candidates_of(part)
    draws = draws_of(found, True)
    assert len(draws) == 500
    assert_fits(part, draws, found.arms)


def test_arms_out_of_play_leave_a_plain_choice_among_the_others():
    """The best arm may not be played, and is known to be better: the second best is played all the same."""
    means = np.array([0.9, 0.7, 0.5, 0.3])
    side = lsdt.SideInformation(4, [], [(0, 1), (1, 2)], epsilon=0.1)
    player = lsdt.Policy("soft_closure").begin(side, COINS, 9, new_stream(0)).player
    rng = np.random.default_rng(1)
    for _ in range(300):
        player.update(0, float(rng.random() < means[0]))
    mask, plays = np.array([False, True, True, True]), np.zeros(4)
    for _ in range(1_500):
        arm = player.select(mask)
        plays[arm] += 1
        player.update(arm, float(rng.random() < means[arm]))
    assert plays[0] == 0
    assert plays[1] > 1_200


@pytest.mark.parametrize("level", [0.0, 1e6])
def test_the_level_of_gaussian_rewards_does_not_matter(level):
    problem = random_problem(8, "gaussian", False)
    rng = np.random.default_rng(2)
    noise = rng.normal(size=60)
    runs = []
    for base in (0.0, level):
        ready = lsdt.Policy("soft_closure").begin(problem.side, GAUSSIAN, 60, new_stream(0))
        arms = []
        for value in noise:
            arms.append(ready.player.select())
            ready.player.update(arms[-1], base + problem.means[ready.arms[arms[-1]]] + value)
        runs.append(arms)
    assert runs[0] == runs[1]


def test_more_candidates_than_means_are_drawn_for_are_told_of():
    """Without a word it would be another policy, the one with ``most=0``."""
    side = lsdt.SideInformation(1_001, similar=[(0, 1)], epsilon=0.1)
    told = "soft_closure draws means for up to 1,000 candidates, and more are left: .* as with most=0"
    agent = lsdt.Agent(side, policy="soft_closure")
    assert re.fullmatch(f"asked for; {told}; lsdt_closure is made for so many", agent.policy_reason)
    assert lsdt.Agent.restore(agent.snapshot()).policy_reason == agent.policy_reason
    assert lsdt.Agent(side, policy="soft_closure:most=0").policy_reason == "asked for"
    few = side.subset(range(20))
    agent = lsdt.Agent(few, policy="soft_closure")
    assert agent.policy_reason == "asked for"
    agent.extend(side)
    assert re.search(told, agent.policy_reason)
    problem = lsdt.problems.given(np.linspace(0.0, 1.0, 1_001), side, rewards="bernoulli")
    with pytest.warns(UserWarning, match=told):
        lsdt.simulate(problem, "soft_closure", horizon=2, replications=1, n_jobs=1)
