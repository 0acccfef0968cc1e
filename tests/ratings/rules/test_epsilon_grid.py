"""The scan of a grid: its values, what is chosen of them, and the risk beside a plain count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsdt
from lsdt.ratings import item_statistics, make_log, pair_statistics, read_log
from lsdt.ratings.rules.epsilon_grid import GridPoint, chosen_of, grid_of, scan_grid
from lsdt.ratings.rules.relations import FamilyRule, PaperRule
from lsdt.ratings.statistics.intervals import Intervals
from naive.candidates import by_triangles
from naive.graphs import pair_set


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
    scan = chosen_of(points, 0.05)
    assert (scan.chosen.epsilon, scan.met, scan.n_inconsistent) == (0.3, True, 1)
    assert chosen_of(points, 0.3).chosen.epsilon == 0.5
    scan = chosen_of(points[4:], 0.05)
    assert (scan.chosen.epsilon, scan.met) == (0.5, False)
    with pytest.raises(
        lsdt.errors.InconsistentSideInformation, match="1 values? of epsilon that were tried, from 0.6"
    ):
        chosen_of(points[5:], 0.05)


@pytest.mark.parametrize(
    "rule_of", [lambda s: PaperRule(s, 0.05), lambda s: FamilyRule(s, Intervals("student", 0.01))]
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
        assert tried.candidates == (len(left) or None)
        if left:
            assert tried.risk == pytest.approx(sum(chances[item] for item in range(9) if item not in left))
        sizes.add(tried.candidates)
    assert len(sizes) > 2
    assert scan.chosen in scan.points
