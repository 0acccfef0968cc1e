"""The rule that says when the best m arms are known, or all within the tolerance."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.candidates import read_bounds
from lsdt.errors import Unsupported
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.top_stopping import TopStoppingRule
from naive.evidence import least, worst_at_mean

BERNOULLI, GAUSSIAN = RewardModel("bernoulli", 0.5), RewardModel("gaussian", 1.0)


def setting(seed, n_arms=6):
    """A problem with some of the relations, in one or several parts, and rewards of it."""
    rng = np.random.default_rng((seed, 5))
    means = rng.uniform(0.1, 0.9, n_arms)
    side = lsdt.from_means(means, 0.2)
    share = rng.choice([0.0, 0.6, 1.0])
    side = side.reveal(share, share, seed=seed) if share else lsdt.SideInformation(n_arms, epsilon=0.2)
    counts = rng.integers(0, rng.choice([2, 30, 100], n_arms))
    return rng, means, side, counts


def rows_of(known, tolerance=None):
    """Bounds of every reading as the twin takes them; `tolerance` raises the lower ones to its negative."""
    tables = []
    for lower, upper in zip(known.lower, known.upper, strict=True):
        low = lower if tolerance is None else np.maximum(lower, -tolerance)
        tables.append([dict(enumerate(zip(*pair, strict=True))) for pair in zip(low, upper, strict=True)])
    return tables


@pytest.mark.parametrize("model", [BERNOULLI, GAUSSIAN])
def test_evidence_is_what_the_definition_says(model):
    """Each arm named with its strongest rival, over all rivals and both readings."""
    n_compared = 0
    for seed in range(20):
        rng, means, side, counts = setting(seed)
        wins = rng.binomial(counts, means)
        sums = (
            wins.astype(float)
            if model is BERNOULLI
            else means * counts + rng.normal(size=6) * np.sqrt(counts)
        )
        rule = TopStoppingRule(side, model, 0.2, 2)
        verdict = rule.judge(counts, sums)
        local = {int(arm): at for at, arm in enumerate(rule.arms)}
        seen = {at: (int(counts[arm]), sums[arm] / counts[arm]) for arm, at in local.items() if counts[arm]}
        tables, found = rows_of(read_bounds(side, rule.arms)), {}
        for arm in verdict.named.tolist():
            values = [
                least(rows[local[rival]], local[arm], 0.2, seen, model.family, model.sigma)[0]
                for rows in tables
                for rival in set(local) - set(verdict.named.tolist())
                if rows[local[rival]][local[arm]][1] > 0.2 * (1 + 1e-8)
            ]
            found[arm] = min(values, default=math.inf)
        for arm, value in zip(verdict.against.tolist(), verdict.evidence.tolist(), strict=True):
            assert value == pytest.approx(found.pop(arm), abs=1e-5)
            n_compared += 1
        assert all(value == math.inf for value in found.values())
    assert n_compared > 10


def test_pending_rewards_count_at_their_worst():
    """Never more evidence than the rewards could come to, for every mean of the strongest rival."""
    n_compared = 0
    for seed in range(12):
        rng, means, side, counts = setting(seed)
        sums, pending = rng.binomial(counts, means).astype(float), rng.integers(0, 4, 6)
        rule = TopStoppingRule(side, BERNOULLI, 0.2, 2)
        verdict = rule.judge(counts, sums, pending)
        local = {int(arm): at for at, arm in enumerate(rule.arms)}
        seen = {
            at: (int(counts[arm]), float(sums[arm]), int(pending[arm]))
            for arm, at in local.items()
            if counts[arm] + pending[arm]
        }
        tables = rows_of(read_bounds(side, rule.arms))
        for arm, rival, value in zip(verdict.against, verdict.rivals, verdict.evidence, strict=True):
            rows = [table[local[int(rival)]] for table in tables]
            open_rows = [row for row in rows if row[local[int(arm)]][1] > 0.2 * (1 + 1e-8)]
            worst = min(
                worst_at_mean(row, local[int(arm)], 0.2, seen, q)
                for row in open_rows
                for q in np.linspace(0.2, 1.0, 41)
            )
            assert value <= worst + 1e-9
            n_compared += np.isfinite(worst)
        told = rule.judge(counts, sums)
        assert set(told.named.tolist()) != set(verdict.named.tolist()) or verdict.least <= told.least + 1e-9
    assert n_compared > 5


def test_readings_hold_the_truth():
    """In one of the readings of each part, all differences lie within the bounds; each bound is used."""
    n_finite = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0, 1.2, 12)
        side = lsdt.from_means(means, 0.2).reveal(0.8, 0.8, seed=seed)
        arms = np.sort(rng.permutation(12)[:9])
        known = read_bounds(side, arms)
        apart = means[arms][:, None] - means[arms]
        fits = (known.lower <= apart + 1e-9) & (apart <= known.upper + 1e-9)
        for part in np.unique(known.part):
            inside = known.part == part
            assert any(table[inside].all() for table in fits)
        n_finite += int(np.isfinite(known.upper).sum())
    assert n_finite > 1_000


def test_ranges_and_sizes():
    ordered = lsdt.SideInformation(3, ranges=[(0, 1, 0.2, 0.3), (1, 2, 0.1, None)])
    known = read_bounds(ordered, np.arange(3))
    assert known.upper[0, 0].tolist() == pytest.approx([0, 0.3, np.inf])
    assert known.upper[0, 2].tolist() == pytest.approx([-0.3, -0.1, 0])
    unsized = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)])
    assert np.isinf(read_bounds(unsized, np.arange(3)).upper[0, 0, 1:]).all()


def played(rule, means, rng, most, late=0):
    """Try what the rule proposes until it stops, or up to `most` times; zeros are told so many tries late."""
    counts, sums, pending = np.zeros(len(means), int), np.zeros(len(means)), np.zeros(len(means), int)
    waiting = []
    for at in range(most):
        while waiting and waiting[0][0] <= at:
            _, arm = waiting.pop(0)
            counts[arm] += 1
            pending[arm] -= 1
        if at % 5 == 0:
            verdict = rule.judge(counts, sums, pending)
            if verdict.least >= math.log(5.0):
                return verdict, at
        arm = int(verdict.to_try[at % len(verdict.to_try)])
        if rng.random() < means[arm]:
            counts[arm] += 1
            sums[arm] += 1.0
        else:
            pending[arm] += 1
            waiting.append((at + 1 + late, arm))
    return None, most


@pytest.mark.parametrize("late", [0, 15])
def test_errors_are_rarer_than_delta(late):
    """Known truth, delta .2, zeros at once or late; a binomial of 16 exceeds 9 with probability below .0003.

    benchmarks/top_identify.py has hundreds of runs.
    """
    n_wrong, n_stopped = 0, 0
    for seed in range(8):
        rng = np.random.default_rng((seed, late))
        means = rng.permutation([0.9, 0.8, 0.45, 0.2])
        side = lsdt.from_means(means, 0.3) if seed % 2 else lsdt.SideInformation(4, epsilon=0.3)
        for top in (2, "all"):
            verdict, _ = played(TopStoppingRule(side, BERNOULLI, 0.3, top), means, rng, 120, late)
            if verdict is not None:
                n_stopped += 1
                named = means[verdict.named]
                wrong = named.min() < 0.8 - 0.3 - 1e-9
                if top == "all":
                    missed = set(np.flatnonzero(means >= 0.9 - 0.3)) - set(verdict.named.tolist())
                    wrong = bool(missed) or named.min() < 0.9 - 0.6 - 1e-9
                n_wrong += bool(wrong)
    assert n_wrong <= 9
    assert n_stopped >= 4


def test_what_relations_settle_needs_no_reward():
    """A ranking: the best two are known before the first try."""
    side = lsdt.SideInformation(3, better=[(0, 1), (1, 2)])
    verdict = TopStoppingRule(side, BERNOULLI, 0.1, 2).judge(np.zeros(3, int), np.zeros(3))
    assert (sorted(verdict.named.tolist()), verdict.least, verdict.delta) == ([0, 1], math.inf, 0.0)


def test_contradictory_relations_are_not_used():
    claw = lsdt.SideInformation(
        4, similar=[(0, 1), (0, 2), (0, 3)], dissimilar=[(1, 2), (1, 3), (2, 3)], epsilon=0.1
    )
    for top in (2, "all"):
        rule = TopStoppingRule(claw, GAUSSIAN, None, top)
        assert "none of them was used" in rule.note
        assert rule.arms.tolist() == [0, 1, 2, 3]


def test_heavy_tails_are_refused():
    with pytest.raises(Unsupported, match="heavier tails"):
        TopStoppingRule(lsdt.SideInformation(3), lsdt.rewards.pareto(3.0).model, 0.1, 2)
