"""The bound on the regret of mixture closure: the lemmas by brute force, the bound beside regret."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.theory import closure_constants, graves_lai_constant, upper_bound_closure
from lsdt.theory.upper_bounds.closure import _bad_rounds, _instance, _part, renyi
from naive import closure_bound as naive
from naive.evidence import log_mixture

FAMILIES = ["gaussian", "bernoulli"]
MODELS = {"gaussian": RewardModel("gaussian", 0.5), "bernoulli": RewardModel("bernoulli", 0.5)}
SIGMA = 0.5


def drawn_case(number):
    """Means in [0, 1] on a coarse grid, so that there are ties, and some of the relations."""
    rng = np.random.default_rng(number)
    means = rng.integers(1, 20, rng.integers(2, 9)) / 20
    side = lsdt.from_means(means, float(rng.choice([0.12, 0.22, 0.37])))
    if number % 3:
        side = side.reveal(0.6, 0.6, seed=number)
    return side, means


def drawn_reward(family, mean, rng):
    if family == "gaussian":
        return mean + SIGMA * rng.normal()
    return float(rng.random() < mean)


def drawn_pair(rng):
    mean, theta = np.sort(rng.uniform(0.02, 0.98, 2))
    return float(mean), float(theta), float(rng.uniform(0.02, 0.98))


@pytest.mark.parametrize("family", FAMILIES)
def test_renyi_divergence(family):
    rng = np.random.default_rng(0)
    for _ in range(100):
        mean, theta, alpha = drawn_pair(rng)
        found = renyi(family, SIGMA**2, np.array([mean]), np.array([theta]), alpha)
        assert found[0] == pytest.approx(naive.renyi(family, SIGMA, mean, theta, alpha), rel=1e-6, abs=1e-9)
    near = renyi(family, SIGMA**2, np.array([0.3]), np.array([0.6]), 1 - 1e-7)[0]
    exact = 0.09 / (2 * SIGMA**2) if family == "gaussian" else 0.3 * math.log(0.5) + 0.7 * math.log(7 / 4)
    assert near == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_lemma_4_the_evidence_of_one_arm(family):
    """log M, read at theta or above, is at least what the lemma says, for any plays and any rewards."""
    rng = np.random.default_rng(1)
    tightest = math.inf
    for _ in range(4000):
        mean, theta, alpha = drawn_pair(rng)
        plays = int(rng.integers(1, 200))
        total = float(rng.integers(0, plays + 1)) if family == "bernoulli" else plays * rng.normal(mean, 1.0)
        at = max(theta, total / plays)
        log_m = log_mixture(family, SIGMA, plays, total / plays, at)
        said = (
            plays * naive.renyi(family, SIGMA, mean, theta, alpha)
            if family == "bernoulli"
            else (plays * alpha * (theta - mean) ** 2 / (2 * SIGMA**2))
        )
        said -= naive.extra(family, SIGMA, mean, theta, alpha, plays)
        said -= alpha / (1 - alpha) * naive.martingale(family, SIGMA, mean, theta, alpha, plays, total)
        assert log_m >= said - 1e-9
        tightest = min(tightest, log_m - said)
    assert tightest < 0.5  # the lemma is not far from the truth


def test_lemma_4_rewards_in_between():
    """The supermartingale of rewards in [0, 1] that are not coins: no law with the mean makes it grow."""
    rng = np.random.default_rng(2)
    for _ in range(500):
        values, chances = rng.random(5), rng.dirichlet(np.ones(5))
        mean = float(values @ chances)
        theta, alpha = float(rng.uniform(mean, 0.999)), float(rng.uniform(0.02, 0.98))
        growth = [naive.martingale("bernoulli", SIGMA, mean, theta, alpha, 1, value) for value in values]
        assert chances @ np.exp(growth) <= 1.0 + 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_lemma_5_plays_and_their_logarithms(family):
    """However plays are shared among the arms of a cluster, the solution is not below them."""
    rng = np.random.default_rng(3)
    for number in range(8):
        side, means = drawn_case(3 * number)
        instance = _instance(side, means, family, SIGMA)
        arms = list(range(len(instance.gaps)))[:3]
        theta = (instance.best - instance.upper)[np.ix_(arms, arms)].min(axis=0) if arms else np.zeros(0)
        if not arms or not (theta > instance.means[arms]).all():
            arms, theta = arms[:1], np.array([instance.best])
        if not arms:
            continue
        gap, least = _part(instance, arms, 1.0, 1000)
        assert gap == instance.gaps[arms].max()
        for odds in (0.25, 400.0):  # the ends of the grid: the bound is the least over it
            alpha = odds / (1 + odds)
            apart = [
                naive.renyi(family, SIGMA, instance.means[arm], at, alpha)
                for arm, at in zip(arms, theta, strict=True)
            ]
            room = naive.allowed(instance.n_candidates, len(arms), 1000, 1.0) + odds
            worst = 0.0
            for _ in range(20):
                shares = rng.dirichlet(np.ones(len(arms)))
                low, high = 0.0, 1e7
                for _ in range(45):
                    plays = shares * (low + high) / 2
                    extra = sum(
                        naive.extra(family, SIGMA, instance.means[arm], at, alpha, count)
                        for arm, at, count in zip(arms, theta, plays, strict=True)
                    )
                    if plays @ np.array(apart) <= room + extra:
                        low = (low + high) / 2
                    else:
                        high = (low + high) / 2
                worst = max(worst, float(shares @ instance.gaps[arms]) * low)
            of_one_alpha = _part(instance, arms, 1.0, 1000, np.array([odds]))[1]
            assert worst <= of_one_alpha * (1 + 1e-6)
            assert least <= of_one_alpha


@pytest.mark.parametrize("family", FAMILIES)
def test_every_round_of_a_run(family, thorough):
    """Lemmas 2 to 4 in every round of runs on small instances, as functions of what was played and paid.

    In a good round the index of the best arm is not below its mean, and for each cluster the plays before are
    as few as the lemmas say, whichever of its arms is chosen.
    """
    n_good = n_checked = 0
    for number in range(60 if thorough else 12):
        side, means = drawn_case(number)
        player_of = lsdt.Policy("mixture_closure").begin(side, MODELS[family], 200, new_stream(number))
        player, arms = player_of.player, player_of.arms
        kept, n_arms, rng = means[arms], len(arms), np.random.default_rng(number)
        rows = player.state.rows
        upper = np.array(rows.upper).reshape(n_arms, n_arms)
        best, share = kept.max(), min(0.5, 1 / n_arms)
        counts, sums = np.zeros(n_arms), np.zeros(n_arms)
        worst = [arm for arm in range(n_arms) if kept[arm] < best]
        clusters = [[arm] for arm in worst] + [worst]
        for t in range(150):
            chosen = player.select()
            truth = sum(
                np.logaddexp(
                    math.log(1 - share),
                    math.log(share) + log_mixture(family, SIGMA, n, total / n, mean),
                )
                for n, total, mean in zip(counts, sums, kept, strict=True)
                if n
            )
            if truth < naive.level(t, 1.0) or t == 0:
                n_good += 1
                scores = player.entries.scores(*player.packed, n_arms)
                assert scores[int(np.argmax(kept))] >= best - 1e-8
                for cluster in clusters:
                    theta = (best - upper[np.ix_(cluster, cluster)]).min(axis=0) if cluster else []
                    if chosen not in cluster or not (theta > kept[cluster]).all():
                        continue
                    n_checked += 1
                    for alpha in (0.1, 0.5, 0.9):
                        needed, room = 0.0, naive.allowed(n_arms, len(cluster), t, 1.0)
                        for arm, at in zip(cluster, theta, strict=True):
                            if family == "bernoulli" and at >= 1.0:
                                continue
                            same = family, SIGMA, kept[arm], at, alpha, counts[arm]
                            needed += counts[arm] * renyi(family, SIGMA**2, kept[arm], np.float64(at), alpha)
                            room += naive.extra(*same)
                            room += alpha / (1 - alpha) * naive.martingale(*same, sums[arm])
                        assert needed <= room + 1e-6
            reward = drawn_reward(family, kept[chosen], rng)
            player.update(chosen, reward)
            counts[chosen] += 1
            sums[chosen] += reward
    assert n_good > 500
    assert n_checked > 100


@pytest.mark.parametrize("family", FAMILIES)
def test_bound_is_above_measured_regret(family, thorough):
    """Small instances; the mean of 10 runs is below the bound by itself, without any margin."""
    for number in range(200 if thorough else 20):
        side, means = drawn_case(number)
        if len(means) < 2:
            continue
        rewards = lsdt.rewards.gaussian(SIGMA) if family == "gaussian" else lsdt.rewards.bernoulli()
        problem = lsdt.problems.given(means, side, rewards)
        measured = lsdt.simulate(
            problem, ["mixture_closure"], 300, 10, seed=number, n_jobs=1, checkpoints=[30, 300]
        ).regret("mixture_closure")
        bound = upper_bound_closure(side, means, [30, 300], rewards=family, sigma=SIGMA)
        assert (measured.mean(axis=0) <= bound.value + 1e-9).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_one_arm_beside_its_twin(family):
    """Without relations every arm is a cluster: KL-UCB's constant, and the twin's solution of each."""
    means = [0.2, 0.5, 0.9]
    side = lsdt.SideInformation(3, epsilon=0.1)
    instance = _instance(side, means, family, SIGMA)
    for arm in (0, 1):
        expected = naive.single_part(family, SIGMA, 3, means[arm], 0.9, 10_000, 1.0)
        assert _part(instance, [arm], 1.0, 10_000)[1] == pytest.approx(expected, rel=1e-6)
    constants = closure_constants(side, means, family, SIGMA)
    if family == "gaussian":
        assert constants.kl_ucb == pytest.approx(2 * SIGMA**2 * (1 / 0.7 + 1 / 0.4))
    assert constants.kl_ucb == pytest.approx(constants.pooled) == pytest.approx(constants.limit)
    late = upper_bound_closure(side, means, 10, family, SIGMA)(1e200) / (200 * math.log(10))
    assert constants.kl_ucb < late < 1.25 * constants.kl_ucb


def test_bad_rounds():
    for c in (0.0, 0.5, 1.0, 2.0):
        for rounds in (1, 2, 1000):
            expected = sum(1 / (t * max(math.log(t), 1) ** c) for t in range(1, rounds))
            assert _bad_rounds(c, rounds) == pytest.approx(expected)
        t = np.arange(1.0, 300_000)
        exact = (1 / (t * np.maximum(np.log(t), 1) ** c)).sum()
        assert exact <= _bad_rounds(c, 300_000) <= exact * 1.001
    assert _bad_rounds(2.0, 1e12) < 2.6


def test_a_class_at_the_other_end_counts_once():
    """Twenty arms at the bottom: KL-UCB pays for each, the closure for one; in the long run for less."""
    means = np.concatenate([np.full(20, 0.1), [0.5, 0.9], [1.3]])
    side = lsdt.from_means(means, epsilon=0.45)
    found = closure_constants(side, means)
    assert found.kl_ucb == pytest.approx(20 * 2 / 1.2)
    assert found.pooled == pytest.approx(2 * 1.2 / 0.75**2, rel=1e-6)
    assert found.limit >= graves_lai_constant(side, means).value


def test_the_limit_is_never_below_what_any_good_policy_needs():
    """Gaussian rewards, complete information: Graves and Lai's constant."""
    for number in range(60):
        rng = np.random.default_rng(number)
        means = rng.uniform(0, 1, rng.integers(2, 9))
        side = lsdt.from_means(means, float(rng.choice([0.12, 0.22, 0.37])))
        found = closure_constants(side, means)
        assert found.limit <= found.pooled <= found.kl_ucb
        exact = graves_lai_constant(side, means)
        assert found.limit >= exact.value * (1 - 1e-6)


def test_bad_input():
    side = lsdt.from_means([0.0, 0.5, 1.0], epsilon=0.75)
    with pytest.raises(InvalidInput, match="the mean of arm 2 is 1.5"):
        upper_bound_closure(lsdt.SideInformation(3), [0, 0.5, 1.5], 10, rewards="bernoulli")
    with pytest.raises(InvalidInput, match="contradict the side information"):
        upper_bound_closure(side, [0.0, 0.1, 1.0], 10)
    ordered = lsdt.SideInformation(2, better=[(0, 1)])
    with pytest.raises(InvalidInput, match="cannot be the best"):
        upper_bound_closure(ordered, [0.0, 1.0], 10)
    assert upper_bound_closure(lsdt.SideInformation(1), [1.0], 10).value == 0.0
