"""The closure index on mixture evidence: beside its naive twin, by hand, with cut rows, and for long."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.candidates.propagation.gap_bounds import MutualBounds
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import pack
from lsdt.policies.parts.gap_rows import sparse_rows
from lsdt.policies.policy import Player
from naive.evidence import log_mixture
from side_by_side import begin_both, drawn_reward, play_both, random_problem

NAME = "mixture_closure"
FAMILIES = ["gaussian", "bernoulli"]


def as_good(twin, expected, chosen):
    """The twin's bounds are not relaxed by 1e-9 and it solves less exactly: within 1e-6 is as good."""
    return chosen == expected or twin.worth(chosen) >= twin.worth(expected) - 1e-6


def problem_of(number, family, complete):
    return random_problem(number, family, complete, sigma=0.4 if family == "gaussian" else None)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_plays_what_solving_for_all_arms_plays(family, complete, thorough):
    for number in range(30) if thorough else (4, 7):
        rounds = 40 if thorough else 12
        play_both(NAME, problem_of(number, family, complete), rounds, seed=number, agree=as_good)


@pytest.mark.parametrize("family", FAMILIES)
def test_with_some_arms_ruled_out(family, thorough):
    """The best that is allowed; if the rewards refute all of these, the one with the least evidence."""
    for number in range(6, 16 if thorough else 7):
        problem = problem_of(number, family, False)
        player, twin = begin_both(NAME, problem, 30, (number,))
        rng = np.random.default_rng(number)
        for _ in range(30 if thorough else 15):
            some = rng.permutation(len(twin.arms))[: 1 + rng.integers(len(twin.arms))]
            twin.allowed = sorted(some.tolist())
            mask = np.isin(np.arange(len(twin.arms)), twin.allowed)
            expected, chosen = twin.select(), player.select(mask)
            assert chosen in twin.allowed
            assert as_good(twin, expected, chosen)
            reward = drawn_reward(problem, twin.arms[chosen], rng)
            player.update(chosen, reward)
            twin.update(chosen, reward)


def test_by_hand():
    """Two similar arms, a share of 1/2: the product of (1 + M) / 2 over both is t at the index."""
    side = lsdt.SideInformation(2, [(0, 1)], epsilon=0.2)
    player = lsdt.Policy(NAME).begin(side, RewardModel("gaussian", 1.0), 9, new_stream(0)).player
    assert player.select() == 0
    player.update(0, 0.5)
    # The level is log 1 = 0, so M = 1 at the index q: (q - .5)^2 / 4 = log(2) / 2.
    reach = math.sqrt(2.0 * math.log(2.0))
    assert player.entries.scores(*player.packed, 2) == pytest.approx([0.5 + reach, 0.7 + reach])
    assert player.select() == 1
    player.update(1, 0.0)
    # Level log 2: if arm 0 has the mean q, arm 1 has at least q - .2, and so the other way round.
    q, other = player.entries.scores(*player.packed, 2)
    terms = log_mixture("gaussian", 1.0, 1, 0.5, q), log_mixture("gaussian", 1.0, 1, 0.0, q - 0.2)
    assert np.prod([(1.0 + math.exp(term)) / 2.0 for term in terms]) == pytest.approx(2.0)
    terms = log_mixture("gaussian", 1.0, 1, 0.0, other), log_mixture("gaussian", 1.0, 1, 0.5, other - 0.2)
    assert np.prod([(1.0 + math.exp(term)) / 2.0 for term in terms]) == pytest.approx(2.0)


def test_rewards_given_at_once_count_as_told_one_by_one():
    for number, family in enumerate(FAMILIES):
        problem, policy = problem_of(number, family, False), lsdt.Policy(NAME)
        told = policy.begin(problem.side, problem.rewards, 60, new_stream(0)).player
        given = policy.begin(problem.side, problem.rewards, 60, new_stream(0)).player
        rng = np.random.default_rng(number)
        for _ in range(30):
            arm = int(rng.integers(len(told.state.largest)))
            told.update(arm, float(rng.random() < 0.5))
        tallies = told.state.tallies
        policy.refill(given, given.packed.copy(), tallies.counts, tallies.sums)
        n_arms = len(tallies.counts)
        expected = told.entries.scores(*told.packed, n_arms)
        assert given.entries.scores(*given.packed, n_arms) == pytest.approx(expected, abs=1e-9)
        assert given.select() == told.select()


@pytest.mark.parametrize("family", FAMILIES)
def test_cut_rows(family):
    """Rows that hold every arm play as tables do; with arms left out, no index is lower."""
    for number in range(4):
        problem = problem_of(number, family, number % 2)
        ready = lsdt.Policy(NAME).begin(problem.side, problem.rewards, 60, new_stream(number))
        state, n_arms = ready.player.state, len(ready.arms)
        tables = [np.array(state.rows.lower), np.array(state.rows.upper)]
        bounds = MutualBounds.of_tables(*(table.reshape(n_arms, n_arms) for table in tables))
        keep = np.random.default_rng(number).random(len(bounds.indices)) < 0.6
        keep |= bounds.indices == np.repeat(np.arange(n_arms), n_arms)
        indptr = np.concatenate([[0], np.cumsum(np.add.reduceat(keep, bounds.indptr[:-1]))])
        some = MutualBounds(indptr, bounds.indices[keep], bounds.lower[keep], bounds.upper[keep])
        others = []
        for each in (bounds, some):
            sparse = state._replace(rows=sparse_rows(each, state.family))
            others.append(
                Player(ready.player.entries, pack(sparse, new_stream(number)), type(sparse), n_arms)
            )
        rng = np.random.default_rng(number)
        for _ in range(40):
            arm = ready.player.select()
            assert others[0].select() == arm
            whole, cut = (each.entries.scores(*each.packed, n_arms) for each in (ready.player, others[1]))
            assert (np.asarray(cut) >= np.asarray(whole) - 1e-6).all()
            others[1].select()  # keeps tangents, which later rewards change
            reward = drawn_reward(problem, ready.arms[arm], rng)
            for player in (ready.player, *others):
                player.update(arm, reward)
        scores = others[1].entries.scores(*others[1].packed, n_arms)
        assert scores[others[1].select()] == pytest.approx(max(scores), abs=1e-6)


@pytest.mark.large
def test_no_run_is_locked_on_a_bad_arm():
    """T = 10^4: a run on an arm at the wrong end would lose .6 a round or more; none loses .1 at the end."""
    settings = (
        {"connected": True},
        {"high": 0.9, "rewards": "bernoulli", "p_similar": 0.2, "p_dissimilar": 0.2},
    )
    for setting in settings:
        problem = lsdt.problems.uniform(50, epsilon=0.15, **setting)
        result = lsdt.simulate(problem, [NAME], 10_000, 3, seed=1000, n_jobs=1, checkpoints=[5_000, 10_000])
        half, whole = result.regret(NAME).T
        assert ((whole - half) / 5_000 < 0.1).all()
        assert whole.mean() < 0.02 * 10_000
