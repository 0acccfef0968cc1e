"""Particles: they satisfy every relation, stand for the posterior, and keep it when they are resampled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
import tiers
from lsdt.kernel import BERNOULLI, FAMILIES, Allowed, new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies import specification_of
from lsdt.policies.parts.information_ratio import least_ratio
from lsdt.policies.parts.mean_draws import relations_of
from lsdt.policies.parts.particle_draws import new_particles
from lsdt.policies.parts.particle_moves import put_fits, rejuvenate
from lsdt.policies.parts.particle_sweeps import sweep_chains
from lsdt.policies.parts.particles import (
    CARRIED,
    FLAT,
    LEARNED,
    put_all,
    put_all_best,
    resample,
    weigh,
)
from lsdt.policies.parts.tallies import add_reward, new_tallies
from naive.policies_posterior import best_mixture
from side_by_side import random_problem

GAUSSIAN, COINS = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


def particles_of(side, family, variance=1.0, most=256):
    with_offline = lsdt.candidate_set(side, method="propagation")
    return new_particles(with_offline, FAMILIES[family], variance, most), with_offline


def means_of(particles):
    """The means that particles stand for, a row each, levels as drawn."""
    x = particles.x.reshape(particles.size, -1)
    level = particles.level.reshape(-1, particles.size).T
    return x + level[:, particles.block]


def assert_relations_hold(particles):
    x, relations = particles.x.reshape(particles.size, -1), particles.relations
    for arm in range(x.shape[1]):
        near = slice(relations.starts[arm], relations.starts[arm + 1])
        away = x[:, [arm]] - x[:, relations.others[near]]
        assert (away >= relations.low[near] - 1e-9).all()
        assert (away <= relations.high[near] + 1e-9).all()
        far = slice(relations.far_starts[arm], relations.far_starts[arm + 1])
        away = np.abs(x[:, [arm]] - x[:, relations.far[far]])
        assert (away >= relations.apart[far] - 1e-9).all()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("complete", [True, False])
def test_relations_hold_before_and_after_moves(complete, family):
    n_drawn = 0
    for number in (3, 5, 7, 8):
        side = random_problem(number, family, complete).side
        particles, found = particles_of(side, family)
        if particles.size == 0:
            continue
        n_drawn += 1
        assert_relations_hold(particles)
        tallies, rng = new_tallies(len(found.arms)), np.random.default_rng(number)
        tallies = type(tallies)(tallies.counts.astype(np.int64), *(array.copy() for array in tallies[1:]))
        before = particles.x.copy()
        for arm in rng.integers(0, len(found.arms), 8).tolist():
            reward = float(rng.random() < 0.5)
            add_reward(tallies, arm, reward)
            weigh(particles, arm, reward, 1)
        rejuvenate(particles, tallies, 20_000, new_stream(number))
        assert_relations_hold(particles)
        assert not np.array_equal(before, particles.x)
        assert_told_is_right(particles, tallies)
    assert n_drawn >= 3


def assert_told_is_right(particles, tallies):
    """Sums of rewards less means are brought up to date by differences: here from scratch."""
    if particles.kind == CARRIED:
        return
    x = particles.x.reshape(particles.size, -1)[:, : particles.n_candidates]
    away = tallies.sums - tallies.counts * x
    for block in range(len(particles.rewards)):
        own = particles.block[: particles.n_candidates] == block
        told = particles.told.reshape(-1, particles.size)[block]
        assert np.allclose(told, away[:, own].sum(axis=1), atol=1e-8)


CASES = {
    "a link": ([(0, 1)], [(1, 2)], []),
    "apart": ([], [(0, 1), (1, 2), (0, 2)], []),
    "a range": ([(0, 1)], [(1, 2)], [(0, 2, -0.6, 0.4)]),
}
REWARDS = [(0, 1.0), (1, 0.0), (0, 1.0), (2, 0.0), (1, 1.0), (2, 0.0), (0, 0.0)]


def exact_posterior(near, far, ranges, family, width, rng, rewards=REWARDS, n=400_000):
    """Chances of being the best and posterior means, from points of a box that were tried one by one."""
    x = rng.random((n, 3)) * width
    holds = np.ones(n, bool)
    for a, b in near:
        holds &= np.abs(x[:, a] - x[:, b]) < 0.3
    for a, b in far:
        holds &= np.abs(x[:, a] - x[:, b]) >= 0.3
    for a, b, low, high in ranges:
        holds &= (x[:, a] - x[:, b] >= low) & (x[:, a] - x[:, b] <= high)
    x = x[holds]
    fit = np.zeros(len(x))
    if family == "bernoulli":
        for arm, reward in rewards:
            fit += np.log(x[:, arm] if reward else 1.0 - x[:, arm])
    else:  # the level is flat: what remains of the squares after the best shift
        away = np.array([reward - x[:, arm] for arm, reward in rewards])
        fit = -0.5 * ((away - away.mean(axis=0)) ** 2).sum(axis=0)
    weight = np.exp(fit - fit.max())
    best = np.bincount(x.argmax(axis=1), weight, 3) / weight.sum()
    gaps = x - x[:, [0]]
    return best, weight @ gaps / weight.sum()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("case", CASES)
def test_the_posterior_of_three_arms(case, family):
    """Weights, resampling and moves together, against rejection sampling.

    With 1,000 particles a share is right to 4 sqrt(1/4 / 1000) = .063, if they are independent.
    """
    near, far, ranges = CASES[case]
    side = lsdt.SideInformation(3, near, far, ranges=ranges, epsilon=0.3)
    particles, found = particles_of(side, family, most=1_000)
    assert found.arms.tolist() == [0, 1, 2]
    assert particles.kind == (CARRIED if family == "bernoulli" else FLAT)
    tallies = new_tallies(3)
    tallies = type(tallies)(tallies.counts.astype(np.int64), *(array.copy() for array in tallies[1:]))
    stream = new_stream(4)
    for arm, reward in REWARDS:
        add_reward(tallies, arm, reward)
        weigh(particles, arm, reward, 1)
        resample(particles, np.zeros(3, np.int64), stream)
        rejuvenate(particles, tallies, 200_000, stream)
    best, gaps = exact_posterior(near, far, ranges, family, particles.width, np.random.default_rng(5))
    weight = particles.weight / particles.weight.sum()
    assert np.bincount(particles.best, weight, 3) == pytest.approx(best, abs=0.063)
    x = particles.x.reshape(-1, 3)
    assert weight @ (x - x[:, [0]]) == pytest.approx(gaps, abs=0.063)
    fits = np.empty(particles.size)
    put_fits(particles, tallies, fits)
    assert np.isfinite(fits).all()


@pytest.mark.parametrize("model", [GAUSSIAN, COINS], ids=["gaussian", "bernoulli"])
@pytest.mark.parametrize("case", CASES)
def test_the_posterior_of_three_arms_that_start_with_rewards(case, model):
    """All rewards at once, each three times, to the margin of the test above."""
    near, far, ranges = CASES[case]
    side = lsdt.SideInformation(3, near, far, ranges=ranges, epsilon=0.3)
    particles, _ = particles_of(side, model.family, most=1_000)
    ready = lsdt.Policy("lsdt_posterior").begin(side, model, None, new_stream(1))
    counts, sums = np.zeros(3), np.zeros(3)
    for arm, reward in 3 * REWARDS:
        counts[arm] += 1
        sums[arm] += reward
    specification_of("lsdt_posterior").fill(ready.player.state._replace(particles=particles), counts, sums)
    rng = np.random.default_rng(5)
    best, gaps = exact_posterior(near, far, ranges, model.family, particles.width, rng, 3 * REWARDS)
    weight = particles.weight / particles.weight.sum()
    assert np.bincount(particles.best, weight, 3) == pytest.approx(best, abs=0.063)
    x = particles.x.reshape(-1, 3)
    assert weight @ (x - x[:, [0]]) == pytest.approx(gaps, abs=0.063)


def test_components_trade_places_where_there_is_no_room_to_move():
    """Three groups of three arms fill the box, so none can go elsewhere: a trade brings the middle one up.

    Its two ends succeed in 9 of 10 tries and the other ends in 3, so the rewards are less likely by a factor
    of more than a thousand where it is not on top.
    """
    means = np.array([0.02, 0.14, 0.26, 0.42, 0.5, 0.58, 0.74, 0.86, 0.98])
    particles, found = particles_of(lsdt.from_means(means, 0.15), "bernoulli")
    assert found.arms.tolist() == [0, 2, 3, 5, 6, 8]
    members = np.concatenate([found.arms, np.setdiff1d(np.arange(9), found.arms)])
    particles.x[:] = np.tile(means[members], particles.size)
    middle, counts = np.isin(found.arms, [3, 5]), np.full(6, 10)
    sums = np.where(middle, 9.0, 3.0)
    tallies = new_tallies(6)._replace(counts=counts, sums=sums, means=sums / counts)
    rejuvenate(particles, tallies, 2_000_000, new_stream(1))
    assert_relations_hold(particles)
    assert middle[particles.best].mean() > 0.99


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_moves_of_several_components_have_the_same_bits_in_both_tiers(family):
    """Four groups of arms; at least fifty particles move in the time given."""
    means = np.array([0.1, 0.15, 0.2, 0.4, 0.45, 0.6, 0.65, 0.7, 0.9, 0.95])
    side = lsdt.from_means(means, 0.1)
    results = []
    for run in (tiers.interpreted(rejuvenate), tiers.compiled(rejuvenate)):
        particles, found = particles_of(side, family)
        before, tallies = particles.x.copy(), new_tallies(len(found.arms))
        tallies = type(tallies)(tallies.counts.astype(np.int64), *(array.copy() for array in tallies[1:]))
        for arm, reward in ((0, 1.0), (2, 0.0), (0, 0.0), (3, 1.0)):
            add_reward(tallies, arm, reward)
            weigh(particles, arm, reward, 1)
        stream = new_stream(3)
        run(particles, tallies, 40_000, stream)
        assert_relations_hold(particles)
        assert len(particles.relations.turns) == 4
        moved = (particles.x != before).reshape(particles.size, -1).any(axis=1)
        assert moved.sum() >= 50
        results.append([array.tobytes() for array in (particles.x, particles.told, particles.best, stream)])
    assert results[0] == results[1]


@pytest.mark.parametrize("repairs", [True, False])
@pytest.mark.parametrize("jumps", [True, False])
def test_sweeps_of_both_bodies_have_the_same_bits(jumps, repairs):
    top = np.array([-1, 0, -1, 2, 1, 0])
    for number, complete in ((3, True), (5, False), (8, False)):
        relations = relations_of(random_problem(number, "bernoulli", complete).side)
        rng = np.random.default_rng(number)
        x = rng.random((len(relations.component), 6))
        y, broken, counted = x.copy(), np.zeros(6, np.int64), np.ones(6, np.int64)
        for _ in range(5):
            points = rng.random(x.shape)
            sweep_chains.plain(x, relations, 1.0, points, jumps, repairs, top, broken)
            sweep_chains.py_func(y, relations, 1.0, points, jumps, repairs, top, counted)
            assert np.array_equal(x, y)
            assert np.array_equal(broken, counted)


def test_sweeps_keep_an_arm_on_top_that_is_there():
    """With no relation broken, chains whose top is arm 1 stay in what the relations leave, arm 1 above."""
    side = lsdt.SideInformation(4, similar=[(0, 1), (1, 2)], dissimilar=[(0, 3)], epsilon=0.3)
    relations, rng = relations_of(side), np.random.default_rng(0)
    x = np.repeat([[0.6], [0.7], [0.65], [0.1]], 40, axis=1)
    top, broken, moved = np.full(40, 1), np.zeros(40, np.int64), x.copy()
    for number in range(50):
        points = rng.random(x.shape)
        sweep_chains.plain(moved, relations, 1.0, points, number % 2 == 1, False, top, broken)
        assert (moved.argmax(axis=0) == 1).all()
        assert (np.abs(moved[0] - moved[1]) < 0.3).all()
        assert (np.abs(moved[0] - moved[3]) >= 0.3).all()
    assert moved[1].min() < 0.5  # they move
    assert moved[1].max() > 0.9


def test_every_candidate_is_the_best_in_some_particle():
    """Where means lie in clusters, draws alone leave out 9 of 171 candidates, and the best arm may be one."""
    for number in range(6):
        particles, found = particles_of(clustered_problem(number), "bernoulli")
        assert_relations_hold(particles)
        assert len(np.unique(particles.best)) == len(found.arms)


def clustered_problem(seed):
    """Half of the pairs of 40 arms with means in four clusters."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.1, 0.9, 4)[rng.integers(0, 4, 40)] + rng.normal(0.0, 0.03, 40)
    return lsdt.from_means(means, 0.1).reveal(0.5, 0.5, seed=seed)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    "rewards", [REWARDS, [(0, 0.5), (1, 0.2), (2, 0.7), (0, 0.9)]], ids=["coins", "shares"]
)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_all_rewards_at_once_weigh_as_one_by_one(family, rewards, times):
    side = lsdt.SideInformation(3, *CASES["a link"][:2], epsilon=0.3)
    particles, _ = particles_of(side, family)
    tallies = new_tallies(3)
    tallies = type(tallies)(tallies.counts.astype(np.int64), *(array.copy() for array in tallies[1:]))
    for arm, reward in rewards:
        for _ in range(times):
            add_reward(tallies, arm, reward)
        weigh(particles, arm, reward, times)
    fits = np.empty(particles.size)
    put_fits(particles, tallies, fits)
    fits -= fits[0]
    assert np.log(particles.weight / particles.weight[0]) == pytest.approx(fits, abs=1e-9)


def test_levels_of_blocks_that_nothing_ties_together():
    """Three arms without relations: the level of each is normal, by hand."""
    side = lsdt.SideInformation(4, similar=[(2, 3)], epsilon=0.1)
    particles, _ = particles_of(side, "gaussian", 0.5)
    assert particles.kind == LEARNED
    for reward in (1.0, 2.0, 3.0):
        weigh(particles, 0, reward, 1)
    weigh(particles, 2, 0.5, 1)
    put_all(particles)
    middle, spread = particles.spread
    assert spread > 0.0
    known = 3 / 0.5 + 1 / spread
    x = particles.x.reshape(particles.size, -1)[:, 0]
    mean = ((6.0 - 3 * x) / 0.5 + middle / spread) / known + x
    block = particles.block[0]
    noise = particles.noise.reshape(-1, particles.size)[block]
    assert means_of(particles)[:, 0] == pytest.approx(mean + noise / math.sqrt(known))
    block = particles.block[1]  # never played: the prior
    noise = particles.noise.reshape(-1, particles.size)[block]
    x = particles.x.reshape(particles.size, -1)[:, 1]
    assert means_of(particles)[:, 1] == pytest.approx(x + middle + noise * math.sqrt(spread))


def test_resampling_keeps_the_mean_of_every_weight():
    """Over many resamplings each particle's copies weigh what it weighed, to 4 standard errors."""
    side = lsdt.SideInformation(3, *CASES["apart"][:2], epsilon=0.3)
    particles, _ = particles_of(side, "gaussian")
    x, rng = particles.x.copy(), np.random.default_rng(0)
    marks = x.reshape(particles.size, -1)
    weight = np.exp(-4.0 * rng.random(particles.size) ** 2 - 3.0 * (marks.argmax(axis=1) == 1))
    weight /= weight.max()
    put_all(particles)
    n_runs, totals, squares = 200, np.zeros(3), np.zeros(3)
    tests = np.column_stack([marks.argmax(axis=1) == 1, weight < 0.1, marks[:, 0] > np.median(marks[:, 0])])
    expected = weight @ tests / weight.sum()
    for run in range(n_runs):
        particles.x[:], particles.weight[:] = x, weight
        put_all(particles)
        resample(particles, np.zeros(3, np.int64), new_stream(run))
        # A copy is recognised by its means.
        order = np.lexsort(marks.T)
        copies = particles.x.reshape(particles.size, -1)
        source = {row.tobytes(): at for at, row in enumerate(marks[order])}
        at = order[[source[row.tobytes()] for row in copies]]
        found = particles.weight @ tests[at] / particles.weight.sum()
        totals += found
        squares += found**2
        counts = np.bincount(particles.best, minlength=3)
        assert (counts >= 4).all()
    mean = totals / n_runs
    error = np.sqrt(np.maximum(squares / n_runs - mean**2, 1e-12) / n_runs)
    # A ratio of two unbiased sums is biased by 1 / size at most, about.
    assert (np.abs(mean - expected) < 4.0 * error + 0.5 / particles.size).all()


def blocks_with_rewards():
    """Particles of four blocks, one of which may have no candidates, that have learned some rewards."""
    side = lsdt.SideInformation(8, similar=[(0, 1), (2, 3), (3, 4), (5, 6)], epsilon=0.2)
    particles, found = particles_of(side, "gaussian")
    tallies, rng = new_tallies(len(found.arms)), np.random.default_rng(3)
    tallies = type(tallies)(tallies.counts.astype(np.int64), *(array.copy() for array in tallies[1:]))
    for arm in rng.integers(0, len(found.arms), 12).tolist():
        reward = float(rng.normal())
        add_reward(tallies, arm, reward)
        weigh(particles, arm, reward, 1)
        rejuvenate(particles, tallies, 3_000, new_stream(arm))
    assert len(particles.rewards) == 4
    return particles, tallies


def rows_of(particles):
    """All that belongs to each particle but its weight, as bytes."""
    parts = [particles.x.reshape(particles.size, -1), particles.best[:, None]]
    for name in ("told", "noise", "level", "top", "peak"):
        parts.append(getattr(particles, name).reshape(-1, particles.size).T)
    return [np.concatenate([part[at] for part in parts]).tobytes() for at in range(particles.size)]


def test_the_best_arms_are_kept_up_to_date_with_the_same_bits_by_both_bodies():
    particles, tallies = blocks_with_rewards()
    for stream in range(5):
        rejuvenate(particles, tallies, 3_000, new_stream(stream))
        weigh(particles, 0, 0.5, 1)
        means = means_of(particles)[:, : particles.n_candidates]
        best, x = particles.best.copy(), particles.x.reshape(particles.size, -1)
        assert (means[np.arange(particles.size), best] == means.max(axis=1)).all()
        for block in range(len(particles.rewards)):
            own = particles.block[: particles.n_candidates] == block
            peak = np.where(own, x[:, : particles.n_candidates], -np.inf).max(axis=1)
            assert np.array_equal(particles.peak.reshape(-1, particles.size)[block], peak)
        for body in (put_all_best.plain, put_all_best.py_func):
            particles.best[:] = -1
            body(particles)
            assert np.array_equal(particles.best, best)


def test_a_particle_that_is_kept_stays_where_it_is_and_copies_are_whole():
    particles, _ = blocks_with_rewards()
    before, weight = rows_of(particles), particles.weight.copy()
    resample(particles, np.zeros(particles.n_candidates, np.int64), new_stream(1))
    after = rows_of(particles)
    assert set(after) < set(before)
    assert all(row == was or was not in after for row, was in zip(after, before, strict=True))
    assert len(set(weight)) > 10
    source = {row: at for at, row in enumerate(before)}
    roots = np.sqrt(weight[[source[row] for row in after]])
    for arm in np.unique(particles.best):  # copies of an arm weigh in proportion to the root of the original
        own = particles.best == arm
        assert particles.weight[own] / roots[own] == pytest.approx((particles.weight[own] / roots[own])[0])


def test_the_least_ratio_against_a_grid():
    rng = np.random.default_rng(7)
    for _ in range(60):
        n_groups = int(rng.integers(1, 5))
        n_arms = int(rng.integers(n_groups, 6))
        best = rng.permutation(n_arms)[:n_groups]
        chance = rng.dirichlet(np.ones(n_groups))
        table = rng.random((n_groups, n_arms))
        table[np.arange(n_groups), best] = table.max(axis=1) + rng.random(n_groups)
        flags = rng.random(n_arms) < 0.8
        flags[rng.integers(n_arms)] = True
        first, second, share = least_ratio(chance, table, best, Allowed(False, flags))
        mean = chance @ table
        loss = chance @ table[np.arange(n_groups), best] - mean
        gain = chance @ (table - mean) ** 2
        allowed = np.flatnonzero(flags).tolist()
        assert flags[first]
        assert flags[second]
        assert loss[first] == min(loss[allowed])
        other, at = best_mixture(loss, gain, first, allowed)

        def ratio(arm, q, first=first, loss=loss, gain=gain):
            lost = (1 - q) * loss[first] + q * loss[arm]
            told = (1 - q) * gain[first] + q * gain[arm]
            return 0.0 if lost <= 1e-15 else lost**2 / told if told > 0.0 else math.inf

        assert ratio(second, share) <= ratio(other, at) * (1 + 1e-9) + 1e-15


def test_no_particles_where_none_can_be():
    wrong = lsdt.SideInformation(5, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)], epsilon=0.1)
    with pytest.warns(lsdt.errors.ContradictionWarning):
        found = lsdt.candidate_set(wrong, method="propagation")
    assert new_particles(found, BERNOULLI, 0.25).size == 0
    ready = lsdt.Policy("lsdt_posterior").begin(wrong, COINS, 9, new_stream(0), found)
    assert "satisfy all relations" in ready.remark
    for _ in range(20):
        ready.player.update(ready.player.select(), 1.0)
