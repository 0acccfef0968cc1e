"""The rule that says when the best arm is known, with decisions whose rewards are still to come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betaln, xlogy

import lsdt
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import copy_state
from lsdt.policies.parts.evidence_tangents import change_leader, learn_all
from lsdt.policies.parts.gap_rows import fill_plays
from lsdt.policies.parts.mixture_evidence import least_evidence, row_evidence
from lsdt.policies.stopping import StoppingRule
from naive.evidence import worst_at_mean
from policies.beyond.test_identify import states_of, twin_rows

BERNOULLI, GAUSSIAN = RewardModel("bernoulli", 0.5), RewardModel("gaussian", 1.0)
HALF_A_COIN = math.log(2) / 2


def drawn_tallies(rng, n_arms, fractions):
    """Return counts, sums and pending decisions: nothing, little or much of each, sums whole or not."""
    counts = rng.integers(0, rng.choice([2, 12, 60], n_arms))
    sums = rng.binomial(counts, rng.random(n_arms)) * (rng.random(n_arms) if fractions else 1.0)
    return counts, sums, rng.integers(0, rng.choice([1, 3, 30], n_arms))


def filled(state, counts, sums, pending):
    state = copy_state(state)
    state.tallies.counts[:], state.tallies.sums[:] = counts + pending, sums
    state.pending[:] = pending
    learn_all(state)
    fill_plays(state.rows, state.tallies.counts)
    return state


def rivals(rows, runs):
    """Yield states, a rival and a leader of each, means that the rival may have, and what was seen."""
    for number in range(runs):
        states, means, rng = states_of(number, "bernoulli")
        told = drawn_tallies(rng, len(means), number % 2)
        state = filled(states[rows], *told)
        everything = enumerate(zip(*(each.tolist() for each in told), strict=True))
        seen = {arm: each for arm, each in everything if each[0] + each[2]}
        arm, leader = (int(each) for each in rng.permutation(len(means))[[0, -1]])
        start = max(state.rows.floor[arm], state.tolerance)
        if arm != leader and start < 1.0:
            change_leader(state, leader)
            yield state, arm, leader, rng.uniform(start, 1.0, 20), seen


def test_log_m_at_the_mean_of_the_rewards_is_least_where_all_are_alike():
    """g(s), log M at theta = s / n, rises up to s = n / 2 and falls behind, by less than log(2) / 2."""
    for n in (1, 2, 3, 10, 97, 1_000, 10**5):
        s = np.linspace(0.0, n, 2_001)
        g = betaln(s + 0.5, n - s + 0.5) - betaln(0.5, 0.5) - xlogy(s, s / n) - xlogy(n - s, 1.0 - s / n)
        steps = np.diff(g)
        assert (steps[:1_000] > -1e-9).all()
        assert (steps[1_000:] < 1e-9).all()
        assert np.ptp(g) < HALF_A_COIN


@pytest.mark.parametrize("rows", ["whole", "cut"])
def test_pending_rewards_count_at_their_worst(rows, thorough):
    """At every mean of the rival: never above the worst rewards, and less than log(2) / 2 an arm below."""
    n_compared, n_below = 0, 0
    for state, arm, leader, points, seen in rivals(rows, 200 if thorough else 20):
        row, n_open = twin_rows(state)[arm], sum(each[2] > 0 for each in seen.values())
        certified = least_evidence(state, arm, leader, state.tolerance, math.nan)[2]
        for q in points.tolist():
            value = row_evidence(state, arm, leader, state.tolerance, q)[0]
            worst = worst_at_mean(row, leader, state.tolerance, seen, q)
            if worst < math.inf:
                assert worst - n_open * HALF_A_COIN - 1e-9 <= value <= worst + 1e-9
                n_compared += n_open > 0
                n_below += value < worst - 1e-6
            assert certified <= worst
    assert n_compared > n_below > 0


def test_evidence_with_pending_rewards_is_convex():
    """A tangent bounds it from below, so that the certificate of the least evidence stands."""
    for state, arm, leader, points, _ in rivals("whole", 40):
        found = [row_evidence(state, arm, leader, state.tolerance, q) for q in points.tolist()]
        value, slope, _ = np.array(found).T
        finite = np.isfinite(value) & np.isfinite(slope)
        points, value, slope = points[finite], value[finite], slope[finite]
        tangents = value[:, None] + slope[:, None] * (points - points[:, None])
        assert (tangents <= value + 1e-8 * (1.0 + np.abs(value))).all()


@pytest.mark.parametrize("rewards", [BERNOULLI, GAUSSIAN])
def test_without_pending_decisions_nothing_changes(rewards):
    """To the last bit; and of unbounded rewards nothing can be said before they are told."""
    rng, side = np.random.default_rng(5), lsdt.from_means(np.linspace(0.1, 0.9, 9), 0.15).reveal(0.6, 0.6)
    rule = StoppingRule(side, rewards, None)
    for _ in range(10):
        counts, sums, pending = drawn_tallies(rng, side.n_arms, True)
        plain = rule.judge(counts, sums)
        same = rule.judge(counts, sums, 0 * pending if rewards is BERNOULLI else pending)
        assert plain.leader == same.leader
        assert np.array_equal(plain.evidence, same.evidence)
        assert plain.against_leader == same.against_leader


def test_a_decision_that_is_cancelled_has_held_it_up_at_most():
    """Pending decisions never add evidence to that of the told rewards, so they may leave the count."""
    for state, arm, leader, points, seen in rivals("whole", 40):
        told = [
            np.array([seen.get(each, (0, 0.0, 0))[at] for each in range(len(state.tallies.counts))])
            for at in (0, 1)
        ]
        alone = filled(state._replace(lowest_sum=np.zeros(1), total=np.zeros(1, np.int64)), *told, 0)
        for q in points.tolist():
            with_pending, without = (
                row_evidence(each, arm, leader, state.tolerance, q)[0] for each in (state, alone)
            )
            assert with_pending <= without + 1e-9


def test_two_arms_with_pending_decisions_by_hand():
    """4 of 4 told against 0 of 4, one decision pending each: they count as 4 of 5 against 1 of 5."""
    rule = StoppingRule(lsdt.SideInformation(2), BERNOULLI, 0.0)
    four, none, one = np.array([4, 4]), np.array([4.0, 0.0]), np.array([1, 1])
    verdict = rule.judge(four, none, one)
    least = betaln(0.5, 5.5) - betaln(0.5, 0.5)  # g(0) = g(5), which are below g(1) = g(4)
    kl = 0.8 * math.log(0.8 / 0.5) + 0.2 * math.log(0.2 / 0.5)  # the two meet half way
    assert verdict.leader == 0
    assert verdict.least == pytest.approx(2 * math.log(0.5 + 0.5 * math.exp(least + 5 * kl)), abs=1e-7)


def errors(rule, means, delay, runs, most, seed):
    """Return in how many runs of Thompson sampling an arm was known at delta = 5%, and how often a bad one.

    Clicks are told at once, and that there was none is told `delay` asks later. A look at every fifth ask.
    """
    rng, n_known, n_wrong = np.random.default_rng(seed), 0, 0
    for _ in range(runs):
        counts, sums, pending, late = np.zeros(2, np.int64), np.zeros(2), np.zeros(2, np.int64), []
        for ask in range(1, most + 1):
            wins = sums + pending * np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
            arm = int(rng.beta(1.0 + wins, 1.0 + np.maximum(counts + pending - wins, 0.0)).argmax())
            if rng.random() < means[arm]:
                counts[arm] += 1
                sums[arm] += 1.0
            else:
                pending[arm] += 1
                late.append((ask + delay, arm))
            while late and late[0][0] <= ask:
                _, old = late.pop(0)
                counts[old] += 1
                pending[old] -= 1
            if ask % 5 == 0:
                verdict = rule.judge(counts, sums, pending)
                if verdict.delta <= 0.05:
                    n_known += 1
                    n_wrong += means[rule.arms[verdict.leader]] < max(means) - rule.tolerance
                    break
    return n_known, n_wrong


def test_errors_are_rarer_than_delta_where_zeros_come_late():
    """Told rewards alone name the bad arm in a third of these runs.

    Were the chance of an error 5%, 12 errors or more in 100 runs would have one of less than 1%.
    """
    rule = StoppingRule(lsdt.SideInformation(2), BERNOULLI, 0.1)
    assert errors(rule, [0.5, 0.3], 1_000, 100, 400, seed=1)[1] < 12
    assert errors(rule, [0.9, 0.3], 20, 10, 500, seed=2) == (10, 0)
