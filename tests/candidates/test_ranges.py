"""Ranges where a method does not read them: sound without them, or refused."""

from __future__ import annotations

import pytest

import lsdt
from lsdt.errors import Unsupported

TRIANGLE = {"similar": [(0, 1), (0, 2)], "dissimilar": [(1, 2)], "epsilon": 0.1}


def test_the_triangle_rule_says_that_it_does_not_read_ranges():
    side = lsdt.SideInformation(4, **TRIANGLE, better=[(1, 3)])
    found = lsdt.candidate_set(side, "triangles")
    assert found.arms.tolist() == [1, 2, 3]
    assert "ranges were not read" in found.notes[-1]
    assert lsdt.candidate_set(side.reveal(1, 1, p_range=0), "triangles").notes == ()


@pytest.mark.parametrize("method", ["anchors", "exact", "paper"])
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
