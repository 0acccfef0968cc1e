"""The paper's search: by hand, beside the naive one, and on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsdt
from lsdt.ratings import RatingLog, pair_statistics, search_epsilon
from lsdt.ratings.rules.epsilon_search import _bracket, _narrow, search_steps
from lsdt.ratings.rules.relations import FamilyRule
from lsdt.ratings.statistics.intervals import Intervals
from naive.ratings import candidates, searched_step

ALPHA = 0.2


def noisy_log(seed, n_items=9, n_users=6, noise=0.1):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.random(n_items) * 0.6 + 0.2 + noise * rng.normal(size=(n_users, n_items)), 0, 1)
    values[rng.random(values.shape) < 0.2] = np.nan
    return RatingLog.from_matrix(values, scale=(0, 1))


@pytest.mark.parametrize("seed", range(12))
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
    searches = [search_epsilon(pair_statistics(noisy_log(seed, 12, 3)), 0.0) for seed in range(40)]
    assert sum(search.n_inconsistent for search in searches) >= 5
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

    def exhausted(self, step):
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
    rule = FamilyRule(pair_statistics(noisy_log(3, 8, 400, 0.05)), Intervals("student", 0.01))
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
