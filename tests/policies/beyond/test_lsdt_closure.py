"""Policies on the bounds of propagation: beside their naive twins, beside KL-UCB, by hand, and for long."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.candidates.propagation.gap_bounds import MutualBounds
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import pack
from lsdt.policies.parts.cost_order import new_order
from lsdt.policies.parts.gap_rows import sparse_rows, tables_of
from lsdt.policies.policy import Player
from side_by_side import begin_both, drawn_reward, play_both, random_problem

NAMES = ["lsdt_closure", "soft_closure"]
FAMILIES = ["gaussian", "bernoulli"]
GAUSSIAN, COINS = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


def as_good(twin, expected, chosen):
    """Arms bounded by the same others tie up to rounding, so within 1e-8 of the best is as good."""
    return chosen == expected or twin.worth(chosen) >= twin.worth(expected) - 1e-8


def problem_of(number, family, complete):
    return random_problem(number, family, complete, sigma=0.4 if family == "gaussian" else None)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", NAMES)
def test_plays_what_solving_for_all_arms_plays(name, family, complete, thorough):
    for number in range(30) if thorough else (4, 7):
        play_both(
            name, problem_of(number, family, complete), 40 if thorough else 25, seed=number, agree=as_good
        )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", NAMES)
def test_with_some_arms_ruled_out(name, family, thorough):
    """The best that is allowed; when the data refute all of these, the one of the least cost."""
    for number in range(6, 16 if thorough else 8):
        problem = problem_of(number, family, False)
        player, twin = begin_both(name, problem, 30, (number,))
        rng = np.random.default_rng(number)
        for _ in range(30 if thorough else 20):
            twin.allowed = sorted(
                rng.permutation(len(twin.arms))[: 1 + rng.integers(len(twin.arms))].tolist()
            )
            mask = np.isin(np.arange(len(twin.arms)), twin.allowed)
            expected, chosen = twin.select(), player.select(mask)
            assert chosen in twin.allowed
            assert as_good(twin, expected, chosen)
            reward = drawn_reward(problem, twin.arms[chosen], rng)
            player.update(chosen, reward)
            twin.update(chosen, reward)


@pytest.mark.parametrize("c", [0.0, 1.0])
@pytest.mark.parametrize("model", [GAUSSIAN, COINS], ids=FAMILIES)
def test_with_no_relations_it_is_kl_ucb(model, c):
    side, means = lsdt.SideInformation(8, epsilon=0.1), np.linspace(0.2, 0.8, 8)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        ours, kl_ucb = (
            lsdt.Policy(name, c=c).begin(side, model, 400, new_stream(0)).player
            for name in ("lsdt_closure", "kl_ucb")
        )
        for _ in range(400):
            arm = kl_ucb.select()
            assert ours.select() == arm
            reward = float(rng.random() < means[arm]) if model is COINS else means[arm] + rng.normal()
            ours.update(arm, reward)
            kl_ucb.update(arm, reward)


def test_by_hand():
    """Two similar arms: one reward of .5 lets the other be up to epsilon better, and itself no better."""
    side = lsdt.SideInformation(2, [(0, 1)], epsilon=0.2)
    ready = lsdt.Policy("lsdt_closure").begin(side, GAUSSIAN, 9, new_stream(0))
    player = ready.player
    assert player.select() == 0
    player.update(0, 0.5)  # log 1 = 0
    assert player.entries.scores(*player.packed, 2) == pytest.approx([0.5, 0.7])
    assert player.select() == 1
    player.update(1, 0.0)
    # Arm 0 with q: (q - .5)^2 / 2, and (q - .2)^2 / 2 as arm 1 lies at most .2 below; its least is at .35.
    # Arm 1 with q: q^2 / 2 and, as arm 0 is not above it, (.5 - q)^2 / 2 for q < .5; above, (q - .7)^2 / 2.
    least = 0.15**2
    upper = 0.35 + math.sqrt(math.log(2.0) + least - 0.15**2)
    scores = player.entries.scores(*player.packed, 2)
    assert scores[0] == pytest.approx(upper)
    q = scores[1]
    assert q**2 / 2 + max(q - 0.7, 0.0) ** 2 / 2 == pytest.approx(math.log(2.0) + least)


def test_an_arm_of_which_nothing_is_known_does_not_explain_everything():
    """Its rewards are bad and those of others good: it is not the best, though no relation says so."""
    bounds = MutualBounds(*map(np.array, ([0, 2, 4, 5], [0, 1, 0, 1, 2], [0.0] * 5, [0, 0.1, 0.1, 0, 0])))
    assert tables_of(bounds, by_columns=True, most=8) is None
    assert tables_of(bounds, by_columns=False, most=8) is not None  # 18 words; the index would have 25
    lower, upper = tables_of(bounds, by_columns=True)
    assert not lower.any()
    assert upper.tolist() == [
        [0, 0.1, math.inf],
        [0.1, 0, math.inf],
        [math.inf, math.inf, 0],
    ]
    for name in NAMES:
        side = lsdt.SideInformation(3, [(0, 1)], epsilon=0.1)
        player = lsdt.Policy(name).begin(side, COINS, 9, new_stream(0)).player
        for arm, plays, wins in ((0, 40, 36), (1, 4, 1), (2, 400, 60)):
            for number in range(plays):
                player.update(arm, float(number < wins))
        scores = player.entries.scores(*player.packed, 3)
        assert scores[2] == -math.inf if name == "lsdt_closure" else scores[2] > 40
        assert player.select() != 2


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_some_arms_are_played_as_tables_of_all_are(family):
    """Very many candidates have rows of their nearest alone; rows that hold everybody say what tables say."""
    for number in range(8):
        problem = problem_of(number, family, number % 2)
        ready = lsdt.Policy("lsdt_closure").begin(problem.side, problem.rewards, 60, new_stream(number))
        bounds = MutualBounds.of_tables(*bounds_of(ready.player.state))
        costs = ready.player.state.costs
        costs = costs._replace(rows=sparse_rows(bounds, costs.family))
        sparse = ready.player.state._replace(costs=costs)
        packed = pack(sparse, new_stream(number))
        other = Player(ready.player.entries, packed, type(sparse), len(ready.arms))
        assert len(other.state.costs.rows.played) == 0 < len(ready.player.state.costs.rows.played)
        rng = np.random.default_rng(number)
        for _ in range(60):
            arm = ready.player.select()
            assert other.select() == arm
            reward = drawn_reward(problem, ready.arms[arm], rng)
            ready.player.update(arm, reward)
            other.update(arm, reward)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_arms_of_a_kind_have_the_same_bounds_to_all_that_were_played(name, family):
    for number in range(12):
        problem = problem_of(number, family, number % 2)
        policy = lsdt.Policy(name)
        player = policy.begin(problem.side, problem.rewards, 60, new_stream(number)).player
        rng = np.random.default_rng(number)
        tallies, gaps = player.state.costs.tallies, player.state.costs.rows
        n_arms = len(tallies.counts)
        lower, upper = bounds_of(player.state)
        for arm in rng.permutation(n_arms)[: rng.integers(n_arms + 1)]:
            player.update(arm, 1.0)
        played = np.flatnonzero(tallies.counts)
        rows = np.column_stack([gaps.floor, lower[:, played], upper[:, played]])
        alike = [[bool((one == other).all()) for one in rows] for other in rows]
        assert gaps.equivalence_class.tolist() == [same.index(True) for same in alike]
        filled = policy.begin(problem.side, problem.rewards, 60, new_stream(number)).player
        policy.refill(filled, filled.packed.copy(), tallies.counts, tallies.sums)
        assert filled.state.costs.rows.equivalence_class.tolist() == gaps.equivalence_class.tolist()
        assert filled.state.costs.rows.played.tolist() == gaps.played.tolist()


def least_costs(counts, means, lower, upper):
    """The least cost of every arm with Gaussian rewards and these bounds, by bisection on the slope."""
    played = counts > 0
    counts, means, lower, upper = counts[played], means[played], lower[:, played], upper[:, played]

    def outside(q):
        q = q[:, None]
        return np.maximum(q - upper - means, 0.0) - np.maximum(means - q + lower, 0.0)

    left, right = np.full(len(lower), -20.0), np.full(len(lower), 20.0)
    for _ in range(60):
        middle = (left + right) / 2.0
        is_above = outside(middle) @ counts > 0.0
        left, right = np.where(is_above, left, middle), np.where(is_above, middle, right)
    return outside(left) ** 2 @ counts / 2.0


@pytest.mark.parametrize("name", NAMES)
def test_arms_behind_others_cost_no_less(name, thorough):
    """Choices are the same with it and without; no arm dominates itself by way of others."""
    n_dominated = n_rounds = 0
    for number in range(12 if thorough else 5):
        rng = np.random.default_rng(number)
        means = rng.uniform(0.1, 1.0, 60)
        side = lsdt.from_means(means, 0.1).reveal(0.15, 0.15, seed=number)
        ready = lsdt.Policy(name).begin(side, GAUSSIAN, 100, new_stream(number))
        state = ready.player.state
        costs = state.costs
        assert len(costs.dominated_by) == 0  # so few arms are solved for
        lower, upper = bounds_of(state)
        order = new_order(costs.family, costs.rows.played, fewest=0)
        ordered = state._replace(costs=costs._replace(**order))
        packed = pack(ordered, new_stream(number))
        other = Player(ready.player.entries, packed, type(ordered), len(ready.arms))
        for _ in range(100):
            arm = ready.player.select()
            assert other.select() == arm
            costs = other.state.costs
            counts, dominated_by = np.array(costs.tallies.counts), costs.dominated_by.tolist()
            if counts.any():
                least = least_costs(counts, np.array(costs.tallies.means), lower, upper)
                if least.min() > 1e-9:  # else nobody is looked at
                    n_rounds += 1
                    for follower, first in enumerate(dominated_by):
                        n_dominated += follower != first
                        assert least[follower] >= least[first] - 1e-9
                        while first != dominated_by[first]:
                            first = dominated_by[first]
                            assert first != follower
            reward = means[ready.arms[arm]] + rng.normal()
            ready.player.update(arm, reward)
            other.update(arm, reward)
    assert n_rounds > (100 if thorough else 40)
    assert n_dominated > (500 if thorough else 200)  # the rule is met often enough to be tested


def bounds_of(state):
    """The tables of a state before the first round, row by row."""
    rows, n_arms = state.costs.rows, len(state.costs.least)
    return (np.array(table).reshape(n_arms, n_arms) for table in (rows.lower, rows.upper))


@pytest.mark.parametrize("name", NAMES)
def test_arms_that_others_bound_are_not_played(name):
    """Forty candidates, twenty at either end: twenty rounds show which end is the good one."""
    means = np.concatenate([np.full(20, 0.9), np.linspace(0.2, 0.8, 13), np.full(20, 0.1)])
    side = lsdt.from_means(means, 0.15)
    start = lsdt.Policy(name).begin(side, RewardModel("gaussian", 0.2), 20, new_stream(0))
    assert start.arms.tolist() == [*range(20), *range(33, 53)]
    rng = np.random.default_rng(0)
    for _ in range(20):
        arm = start.player.select()
        start.player.update(arm, means[start.arms[arm]] + 0.2 * rng.normal())
    assert (start.player.state.costs.tallies.counts[20:] > 0).sum() <= 2


LONG = {
    "complete": {"connected": True},
    "partial": {"high": 0.9, "rewards": "bernoulli", "p_similar": 0.2, "p_dissimilar": 0.2},
}


@pytest.mark.large
@pytest.mark.parametrize("setting", LONG)
def test_no_run_is_locked_on_a_bad_arm(setting, thorough):
    """T = 10^4: a run on an arm at the wrong end would lose .6 or more a round; none loses .1 at the end."""
    problem = lsdt.problems.uniform(50, epsilon=0.15, **LONG[setting])
    result = lsdt.simulate(
        problem, NAMES, 10_000, 30 if thorough else 3, seed=1000, n_jobs=1, checkpoints=[5_000, 10_000]
    )
    for name in NAMES:
        half, whole = result.regret(name).T
        assert ((whole - half) / 5_000 < 0.1).all()
        assert whole.mean() < 0.02 * 10_000
