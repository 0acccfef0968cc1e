"""Which epsilon: the scan of a grid beside a plain count, the paper's search beside a naive one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.ratings import RatingLog, item_statistics, make_log, pair_statistics, read_log, search_epsilon
from lsdt.ratings.rules.epsilon import (
    GridPoint,
    _bracket,
    _narrow,
    choose_point,
    grid_of,
    scan_grid,
    search_steps,
)
from lsdt.ratings.rules.relations import FamilyRule, PaperRule
from lsdt.ratings.statistics.intervals import DifferenceIntervals
from naive.candidates import by_triangles
from naive.graphs import pair_set
from naive.ratings import candidates, searched_step

ALPHA = 0.2


def test_the_values_are_round_and_between_the_ends():
    grid = grid_of(0.012, 0.061, 80)
    assert (grid[0], grid[-1], grid[1] - grid[0]) == pytest.approx((0.012, 0.061, 0.001))
    assert grid_of(0.1, 0.1, 80) == [0.1]
    assert grid_of(0.26, 0.2, 4) == pytest.approx([0.2, 0.22, 0.24, 0.26])
    assert grid_of(np.inf, 0.4, 20)[-1] == 1.0


@given(st.floats(0, 1), st.floats(0, 2), st.integers(2, 90))
def test_there_are_some_values_and_not_too_many(low, high, most):
    grid = grid_of(low, high, most)
    assert 1 <= len(grid) <= most
    assert grid[0] > 0
    assert grid == sorted(set(grid))


def point(epsilon, candidates, risk, unknown=5):
    return GridPoint(epsilon, candidates, 3, 2, unknown, risk)


def test_the_fewest_candidates_among_those_of_low_risk():
    points = (
        point(0.1, 9, 0.0),
        point(0.2, 4, 0.04, unknown=7),
        point(0.3, 4, 0.04, unknown=6),
        point(0.4, 4, 0.05, unknown=6),
        point(0.5, 1, 0.2),
        point(0.6, None, None),
    )
    scan = choose_point(points, 0.05)
    assert (scan.chosen.epsilon, scan.met, scan.n_inconsistent) == (0.3, True, 1)
    assert choose_point(points, 0.3).chosen.epsilon == 0.5
    scan = choose_point(points[4:], 0.05)
    assert (scan.chosen.epsilon, scan.met) == (0.5, False)
    with pytest.raises(lsdt.errors.InconsistentSideInformation, match="1 values? of epsilon tried, from 0.6"):
        choose_point(points[5:], 0.05)


@pytest.mark.parametrize(
    "rule_of", [lambda s: PaperRule(s, 0.05), lambda s: FamilyRule(s, DifferenceIntervals("student", 0.01))]
)
def test_every_point_is_what_plain_sets_say(rule_of):
    log = read_log(make_log(n_users=300, n_items=9, ratings_per_user=6, seed=3).log)
    rule = rule_of(pair_statistics(log, 5))
    chances = item_statistics(log).best_chances(0)
    scan = scan_grid(rule, chances, 0.05)
    assert scan.points[0].epsilon >= rule.span[0] * (1 - 1e-9)
    assert scan.points[-1].epsilon <= rule.span[1] * (1 + 1e-9)
    sizes = set()
    for tried in scan.points:
        related = rule.relate(tried.epsilon).relations
        pairs = np.column_stack((rule.statistics.first, rule.statistics.second))
        left = by_triangles(9, pair_set(pairs[related == 1]), pair_set(pairs[related == -1]))
        assert (tried.similar, tried.dissimilar) == ((related == 1).sum(), (related == -1).sum())
        assert tried.unknown == 36 - tried.similar - tried.dissimilar
        assert tried.by_triangles == (len(left) or None)
        if left:
            assert tried.risk == pytest.approx(sum(chances[item] for item in range(9) if item not in left))
        sizes.add(tried.by_triangles)
    assert len(sizes) > 2
    assert scan.chosen in scan.points


def noisy_log(seed, n_items=9, n_users=6, noise=0.1):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.random(n_items) * 0.6 + 0.2 + noise * rng.normal(size=(n_users, n_items)), 0, 1)
    values[rng.random(values.shape) < 0.2] = np.nan
    return RatingLog.from_matrix(values, scale=(0, 1))


@pytest.mark.parametrize("seed", range(5))
def test_is_the_naive_search(seed):
    log = noisy_log(seed)
    statistics = pair_statistics(log)
    search = search_epsilon(statistics, ALPHA)
    rows = log.matrix().tolist()
    last = next(step for step in range(1, 1000) if (1 - ALPHA) * step / 100 > statistics.largest)
    step = searched_step(lambda step: len(candidates(rows, step / 100, ALPHA)), 1, last)
    assert search.epsilon == step / 100
    assert search.found.arms.tolist() == candidates(rows, step / 100, ALPHA)
    assert search.side.epsilon == search.epsilon
    for tried in search.path:
        assert (tried.candidates or 0) == len(candidates(rows, tried.epsilon, ALPHA))
    assert search.n_inconsistent == sum(tried.candidates is None for tried in search.path)


def test_contradictions_are_passed_over_and_counted():
    """Noise much larger than epsilon: at small values no candidate is left, and that is no answer."""
    searches = [search_epsilon(pair_statistics(noisy_log(seed, 12, 3)), 0.0) for seed in range(20)]
    assert sum(search.n_inconsistent for search in searches) >= 3
    for search in searches:
        assert len(search.found) >= 1
        assert dict(search.path)[search.epsilon] == len(search.found)


class Sizes:
    """Stands for the candidates at every step; a list of numbers, None where there are none."""

    def __init__(self, sizes):
        self.sizes, self.found = sizes, {}

    def size(self, step):
        size = self.sizes[min(step, len(self.sizes)) - 1]
        self.found[step] = None if size is None else range(size)
        return size

    def is_exhausted(self, step):
        return step >= len(self.sizes)


STEPS = st.lists(st.integers(1, 9), min_size=1, max_size=40)


@given(STEPS, STEPS)
def test_finds_the_minimum_of_what_falls_and_then_rises(falls, rises):
    down = np.cumsum(falls[::-1])[::-1] + 1
    up = np.cumsum(rises) + 1
    trials = Sizes([*down.tolist(), 1, *up.tolist(), int(max(down[0], up[-1])) + 1])
    low, high = _bracket(trials, 1)
    _narrow(trials, low, high)
    tried = [len(found) for step, found in trials.found.items() if low <= step <= high]
    assert min(tried) == min(trials.size(step) for step in range(low, high + 1))


@given(st.lists(st.one_of(st.none(), st.integers(1, 9)), max_size=40))
def test_is_the_naive_search_on_any_sizes(sizes):
    """Also where nothing falls or rises in an orderly way; the last step always leaves something."""
    trials = Sizes([*sizes, 9])
    low, high = _bracket(trials, 1)
    _narrow(trials, low, high)
    allowed = [step for step in trials.found if low <= step <= high and trials.found[step] is not None]
    best = min(allowed, key=lambda step: (len(trials.found[step]), step))
    naive = searched_step(lambda step: [*sizes, 9][min(step, len(sizes) + 1) - 1] or 0, 1, len(sizes) + 1)
    assert best == naive


def test_ends_when_nothing_ever_rises():
    same = pair_statistics(RatingLog.from_matrix([[0.5, 0.5, 0.5]], scale=(0, 1)))
    search = search_epsilon(same, 0.1)
    assert search.epsilon == 0.01
    assert [tuple(tried) for tried in search.path] == [(0.01, 3)]
    strangers = pair_statistics(RatingLog.from_matrix([[0.5, np.nan], [np.nan, 0.9]], scale=(0, 1)))
    assert search_epsilon(strangers, 0.1).found.arms.tolist() == [0, 1]


def test_searches_with_intervals_too():
    """It ends where no pair is dissimilar, and what it finds is what the rule says there."""
    rule = FamilyRule(pair_statistics(noisy_log(3, 8, 400, 0.05)), DifferenceIntervals("student", 0.01))
    search = search_steps(rule)
    assert search.path[-1].epsilon > 0
    assert 1 <= len(search.found) < 8
    assert max(tried.epsilon for tried in search.path) < 4 * rule.span[1]
    assert search.side.n_similar == (rule.relate(search.epsilon).relations == 1).sum()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 1.0}, "alpha must be below 1"),
        ({"alpha": 0.1, "start": 0.015}, "start must be a multiple of the resolution; got start=0.015"),
        ({"alpha": 0.1, "start": 0.001}, "start must be a multiple"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        search_epsilon(pair_statistics(noisy_log(0)), **wrong)
