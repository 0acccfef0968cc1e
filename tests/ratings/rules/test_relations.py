"""From statistics of pairs to relations: three rules beside plain ones, and how often they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lsdt.ratings import RatingLog, make_log, pair_statistics, read_log
from lsdt.ratings.rules.relations import FamilyRule, FdrRule, PaperRule, Screen, side_information_of
from lsdt.ratings.statistics.intervals import DifferenceIntervals
from naive.graphs import pair_set
from naive.ratings import family_relation, rejected, relations

nan = float("nan")
EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.4)


def random_log(seed, n_users=30, n_items=8, missing=0.4):
    rng = np.random.default_rng(seed)
    values = rng.random((n_users, n_items)).round(2)
    values[rng.random(values.shape) < missing] = nan
    return RatingLog.from_matrix(values, scale=(0, 1))


def side_of(rule, epsilon):
    return side_information_of(rule.statistics, rule.relate(epsilon), epsilon)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_rule_is_the_naive_one(seed, alpha):
    log = random_log(seed, n_users=4)
    rule = PaperRule(pair_statistics(log), alpha)
    for epsilon in EPSILONS:
        side = side_of(rule, epsilon)
        similar, dissimilar = relations(log.matrix().tolist(), epsilon, alpha)
        assert pair_set(side.similar_pairs()) == similar
        assert pair_set(side.dissimilar_pairs()) == dissimilar
        assert side.epsilon == epsilon


def test_the_limits_themselves_are_unknown_and_ids_are_kept():
    log = RatingLog.from_matrix([[0.0, 0.125, 0.375, 0.625, nan]], [10, 20, 30, 40, 50], scale=(0, 1))
    rule = PaperRule(pair_statistics(log), 0.5)
    side = side_of(rule, 0.25)
    found = {(a, b): side.relation(a, b) for a, b in ((10, 20), (10, 30), (10, 40), (20, 50))}
    assert found == {(10, 20): None, (10, 30): None, (10, 40): "dissimilar", (20, 50): None}
    assert side_of(rule, 0.26).relation(10, 20) == "similar"


@pytest.mark.parametrize("kind", ["student", "bernstein"])
def test_the_family_rule_looks_at_the_ends_of_intervals(kind):
    statistics = pair_statistics(random_log(4, n_users=2000, missing=0.2), 2)
    intervals = DifferenceIntervals(kind, 0.01)
    rule = FamilyRule(statistics, intervals)
    for epsilon in EPSILONS:
        related = rule.relate(epsilon)
        for at in range(len(statistics)):
            expected = family_relation(statistics.difference[at], related.half_widths[at], epsilon)
            assert related.relations[at] == expected


def truth_and_log(seed, n_users=400, n_items=10, ratings_per_user=6, levels=(1, 2, 3, 4, 5)):
    log, means = make_log(n_users, n_items, ratings_per_user, levels, seed=seed)
    return means.to_numpy() / (levels[-1] - levels[0]), read_log(log, scale=(levels[0], levels[-1]))


def p_values(statistics, unseen, epsilon):
    """Of "not similar" and "not dissimilar", pair by pair."""
    n, mean = statistics.raters, statistics.difference
    squares = (n - 1) * statistics.variance + (1 + abs(mean)) ** 2 * unseen
    error = np.sqrt(squares / (n - 1) / n)
    above, below = (stats.t.sf((epsilon + side * mean) / error, n - 1) for side in (1, -1))
    beyond = [stats.t.sf((abs(mean) + side * epsilon) / error, n - 1) for side in (1, -1)]
    return zip(np.maximum(above, below), sum(beyond), strict=True)


@pytest.mark.parametrize("any_dependence", [False, True])
def test_the_fdr_rule_is_the_naive_procedure_over_both_nulls(any_dependence):
    """Benjamini and Hochberg at twice the level over twice as many nulls, as the docstring derives it."""
    _, log = truth_and_log(1)
    statistics = pair_statistics(log, 30)
    delta = 0.1 / statistics.n_pairs
    rule = FdrRule(statistics, DifferenceIntervals("student", delta), 0.1, any_dependence)
    for epsilon in EPSILONS:
        values = [p for pair in p_values(statistics, np.log(2 / delta), epsilon) for p in pair]
        assert all(
            first + second >= 1 - 1e-9 for first, second in zip(values[::2], values[1::2], strict=True)
        )
        tests = 2 * statistics.n_pairs
        # The sum of 1 / k is over pairs, of which at most one null each is rejected.
        harmonic = sum(1 / k for k in range(1, statistics.n_pairs + 1)) if any_dependence else 1
        out = rejected(values, 0.2 / harmonic, tests)
        expected = np.zeros(len(statistics))
        for at in out:
            expected[at // 2] = 1 if at % 2 == 0 else -1
        related = rule.relate(epsilon)
        assert np.array_equal(related.relations, expected)
        ends = np.abs(statistics.difference)[:, None] + np.outer(related.half_widths, [1, -1])
        assert (ends[related.relations == 1, 0] < epsilon).all()  # the intervals shown say the same
        assert (ends[related.relations == -1, 1] > epsilon * (1 - 1e-9)).all()


def test_nothing_is_decided_where_nothing_is_sure():
    _, log = truth_and_log(2, n_users=60)
    rule = FdrRule(pair_statistics(log, 2), DifferenceIntervals("student", 1e-4), 0.01, False)
    assert not rule.relate(0.02).relations.any()
    assert np.isfinite(rule.relate(0.02).half_widths).all()


@pytest.mark.parametrize("levels", [(1, 2, 3, 4, 5), (0, 1)])
def test_levels_are_kept_on_logs_with_known_truth(levels, thorough):
    """Logs of 45 pairs each, at a level of 0.2 so that failures can be counted.

    Family: of five logs, one has any wrong interval in the mean at most. FDR: the share of wrong relations
    has mean 0.2 at most, and lies in [0, 1]. Allowed is 4 standard deviations more; at the truth of a pair
    itself, an interval of a single pair at 0.2 must fail now and then, or it would say nothing.
    """
    logs, error, epsilon = 300 if thorough else 40, 0.2, 0.1
    failed, shares, single = 0, [], []
    for seed in range(logs):
        means, log = truth_and_log(seed, levels=levels)
        statistics = pair_statistics(log, 30)
        truth = means[statistics.first] - means[statistics.second]
        about = statistics.raters, statistics.difference, statistics.variance
        off = np.abs(statistics.difference - truth)
        strict = DifferenceIntervals("student", error / statistics.n_pairs)
        failed += (off > strict.half_widths(*about)).any()
        single.append((off > DifferenceIntervals("student", error).half_widths(*about)).mean())
        found = FdrRule(statistics, strict, error, False).relate(epsilon).relations
        wrong = ((found == 1) & (np.abs(truth) >= epsilon)) | ((found == -1) & (np.abs(truth) < epsilon))
        shares.append(wrong.sum() / max(1, np.count_nonzero(found)))
    assert failed <= logs * error + 4 * np.sqrt(logs * error * (1 - error))
    assert np.mean(shares) <= error + 4 * 0.5 / np.sqrt(logs)
    assert 0.05 < np.mean(single) < error + 4 * 0.5 / np.sqrt(logs)


def test_a_screen_keeps_what_may_be_decided_and_its_quantile_keeps_more():
    _, log = truth_and_log(3)
    statistics = pair_statistics(log, 2)
    about = statistics.raters, statistics.difference, statistics.variance
    for kind in ("student", "bernstein"):
        intervals = DifferenceIntervals(kind, 0.001)
        rule = FamilyRule(statistics, intervals)
        for low, high in ((0.1, 0.1), (0.05, 0.3), (0.0, 1.0)):
            screen = Screen(intervals, low, high)
            kept = screen(*about)
            for epsilon in (low, (low + high) / 2, high):
                assert kept[rule.relate(epsilon).relations != 0].all()
            width = screen.quantile * np.sqrt(statistics.variance / statistics.raters)
            apart = np.abs(statistics.difference)
            assert ((apart + width < high) | (apart - width > low))[kept].all()
        assert not Screen(intervals, 0.1, 0.1)(*about).all()
