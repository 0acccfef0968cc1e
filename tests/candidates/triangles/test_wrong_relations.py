"""Triangles at a stated risk: how many witnesses, which arms go, how often the best one is lost."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InconsistentSideInformation, InvalidInput
from naive.candidates import by_triangles_at_risk
from naive.graphs import pair_set
from strategies import any_relations


@given(any_relations(), st.sampled_from([0.0, 0.003, 0.02, 0.1]), st.sampled_from([0.001, 0.05, 0.4]))
def test_agrees_with_the_definition(relations, rate, risk):
    n_arms, similar, dissimilar = relations
    side = lsdt.SideInformation(n_arms, similar, dissimilar)
    expected = by_triangles_at_risk(n_arms, pair_set(similar), pair_set(dissimilar), rate, risk)
    try:
        found = lsdt.candidate_set(side, "triangles", wrong_rate=rate, risk=risk)
    except InconsistentSideInformation:
        assert not expected
    else:
        assert set(found.arms.tolist()) == expected


def test_hand_worked():
    """Arm 0 is similar to 4 arms, dissimilar in pairs: 2 disjoint witnesses."""
    similar, dissimilar = [(0, 1), (0, 2), (0, 3), (0, 4)], [(1, 2), (3, 4)]
    side = lsdt.SideInformation(5, similar, dissimilar)
    # One of the four at arm 0 is wrong with probability .0394, one of the two beside it with .0199.
    assert 0 not in lsdt.candidate_set(side, "triangles", wrong_rate=0.01, risk=0.08)
    found = lsdt.candidate_set(side, "triangles", wrong_rate=0.01, risk=0.05)
    assert 0 not in found  # two wrong at arm 0: .0006; one beside: .0199
    assert len(found.explain(0).pairs) == 2
    stays = lsdt.candidate_set(side, "triangles", wrong_rate=0.01, risk=0.02)
    assert 0 in stays
    assert "fewer than 3 disjoint pairs" in stays.explain(0).text
    assert "lost with a probability of at most 0.02" in stays.notes[0]


def test_no_wrong_relation_is_the_plain_rule():
    side = lsdt.from_means(np.linspace(0, 1, 30), 0.2).reveal(0.6, 0.6, seed=1)
    assert np.array_equal(
        lsdt.candidate_set(side, "triangles", wrong_rate=0.0).arms, lsdt.candidate_set(side, "triangles").arms
    )


def test_complete_information_is_taken_by_triangles():
    side = lsdt.from_means(np.linspace(0, 1, 40), 0.4)
    explicit = lsdt.SideInformation(40, side.similar_pairs(), side.dissimilar_pairs())
    one, other = (lsdt.candidate_set(each, wrong_rate=0.001, risk=0.1) for each in (side, explicit))
    assert one.method == "triangles"
    assert np.array_equal(one.arms, other.arms)
    assert 0 < len(one) < 40


def test_the_best_arm_is_lost_no_more_often_than_stated(thorough):
    """Problems at a risk of 10%: of 200, more than 33 losses have a probability below .001."""
    runs, risk = 200 if thorough else 60, 0.1
    lost = left = 0
    for seed in range(runs):
        means = np.random.default_rng(seed).uniform(0.1, 1, 60)
        side = lsdt.from_means(means, 0.15).reveal(0.7, 0.7, seed=seed)
        found = lsdt.candidate_set(side.corrupt(0.002, seed=seed + 1), wrong_rate=0.002, risk=risk)
        lost += int(np.argmax(means)) not in found
        left += len(found)
    margin = next(
        k
        for k in range(runs)
        if sum(comb(runs, j) * risk**j * (1 - risk) ** (runs - j) for j in range(k, runs + 1)) < 1e-3
    )
    assert lost < margin
    assert left < 30 * runs  # and arms do go


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"wrong_rate": 1.5}, "wrong_rate must"),
        ({"wrong_rate": 0.1, "risk": -1}, "risk must"),
        ({"wrong_rate": 0.1, "method": "exact"}, "wrong_rate=0.1 belongs to the method 'triangles'"),
        ({"wrong_rate": 0.1, "max_wrong": 1}, "leave one of them out"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.candidate_set(lsdt.SideInformation(3, [(0, 1)], [(1, 2)]), **asked)
