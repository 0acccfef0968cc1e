"""Ranges where a method reads pairs: as near or far ones, or refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported

TRIANGLE = {"similar": [(0, 1), (0, 2)], "dissimilar": [(1, 2)], "epsilon": 0.1}


def test_the_triangle_rule_reads_ranges_as_pairs():
    rows = [(0, 1, -0.05, 0.05), (0, 2, -0.02, 0.08), (1, 2, 0.1, 0.3)]
    found = lsdt.candidate_set(lsdt.SideInformation(3, ranges=rows, epsilon=0.1), "triangles")
    assert found.arms.tolist() == [1, 2]
    assert "2 were read as similar and 1 as dissimilar pairs, at epsilon 0.1;" in found.notes[-1]
    assert "similar to 1 and 2, which are dissimilar" in str(found.explain(0))
    chosen = lsdt.candidate_set(lsdt.SideInformation(3, ranges=rows), "paper")
    assert chosen.arms.tolist() == [1, 2]
    assert "at epsilon 0.08, chosen so that few arms are left" in chosen.notes[-1]


def test_ends_at_epsilon_itself():
    """Similar is less than epsilon apart, dissimilar at least."""
    side = lsdt.SideInformation(4, ranges=[(0, 1, -0.1, 0.1), (0, 2, 0.1, 0.1), (3, 0, None, -0.1)])
    read = side.without_ranges(epsilon=0.1)
    assert read.similar_pairs().tolist() == []
    assert read.dissimilar_pairs().tolist() == [[0, 2], [0, 3]]
    assert read.ranges is None
    assert side.without_ranges(0.11).similar_pairs().tolist() == [[0, 1], [0, 2]]


def test_reading_needs_an_epsilon():
    side = lsdt.SideInformation(3, ranges=[(0, 1, 0.1, 0.2)])
    with pytest.raises(InvalidInput, match="depends on epsilon; give one"):
        side.without_ranges()
    with pytest.raises(InvalidInput, match=r"has epsilon 0\.1, .* got 0\.2, leave it out"):
        lsdt.SideInformation(3, ranges=[(0, 1, 0.1, 0.2)], epsilon=0.1).without_ranges(0.2)
    with pytest.raises(Unsupported, match="distinct thresholds"):
        lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.1, 0.2), better=[(0, 2)]).without_ranges()
    with pytest.raises(InvalidInput, match="both as similar and as dissimilar"):
        lsdt.SideInformation(3, [(0, 1)], ranges=[(0, 1, 5, None)]).without_ranges(1.0)
    unknown = lsdt.SideInformation(3, [(0, 1)], ranges=[(1, 2, 5, 6)])
    assert "ranges were not read" in lsdt.candidate_set(unknown, "triangles").notes[-1]


def test_pairs_read_from_right_ranges_keep_the_best_arm():
    for seed in range(15):
        rng = np.random.default_rng((seed, 11))
        means = rng.random(9)
        rows = [
            (a, b, means[a] - means[b] - 0.2 * rng.random(), means[a] - means[b] + 0.2 * rng.random())
            for a, b in combinations(range(9), 2)
        ]
        assert int(means.argmax()) in lsdt.candidate_set(lsdt.SideInformation(9, ranges=rows), "triangles")


def test_the_triangle_rule_says_what_it_does_not_read():
    side = lsdt.SideInformation(4, **TRIANGLE, better=[(1, 3)])
    found = lsdt.candidate_set(side, "triangles")
    assert found.arms.tolist() == [1, 2, 3]
    assert "ranges were not read" in found.notes[-1]
    assert lsdt.candidate_set(side.reveal(1, 1, p_range=0), "triangles").notes == ()


@pytest.mark.parametrize("method", ["anchors", "paper"])
def test_methods_that_would_claim_too_much_refuse(method):
    side = lsdt.SideInformation(3, **TRIANGLE, better=[(1, 2)])
    with pytest.raises(Unsupported, match=r"reads similar and dissimilar pairs only.*p_range=0"):
        lsdt.candidate_set(side, method)


def test_complete_information_with_ranges():
    side = lsdt.SideInformation(3, **TRIANGLE, better=[(1, 2)])
    assert side.is_complete
    found = lsdt.candidate_set(side)
    assert found.method == "propagation"
    assert 1 in found
    assert 0 not in found
    bounds = found.bounds(1)
    assert bounds.lower.tolist() == [0.0, 0.0, 0.1]
    assert found.mutual_bounds.indptr[-1] > 0
    with pytest.raises(Unsupported, match="anchors"):
        lsdt.theory.lower_bound_constant(side, [0.1, 0.15, 0.05])
