"""Arms on a line: every number that is read off it by counting; how well it sees through wrong relations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import lsdt
from lsdt.candidates.seriation import fit_line, known_rows, lay_out
from lsdt.errors import TooLarge


def drawn(seed, n_arms=40, epsilon=0.15, p=0.6, wrong=0.02):
    means = np.random.default_rng(seed).uniform(0.1, 1, n_arms)
    side = lsdt.from_means(means, epsilon).reveal(p, p, seed=seed)
    return means, side.corrupt(wrong, seed=seed + 1)


def relations(side):
    return {
        **{tuple(pair): 1 for pair in side.similar_pairs().tolist()},
        **{tuple(pair): -1 for pair in side.dissimilar_pairs().tolist()},
    }


def breaks(sign, distance):
    return abs(distance) >= 1 if sign > 0 else abs(distance) < 1


def cost_at_an_end(line, known, arm, mirror, slack=0.3):
    """Try every stretch between two turning points, counting anew."""
    inside = [other for other in range(len(line.x)) if other != arm and line.part[other] == line.part[arm]]
    mine = {
        other: known.get((min(arm, other), max(arm, other)))
        for other in inside
        if (min(arm, other), max(arm, other)) in known
    }
    if not mine:
        return 0
    y = mirror * line.x
    turns = np.sort([y[other] + side for other in mine for side in (-1.0, 1.0)])
    stretches = [(-np.inf, turns[0]), *pairwise(turns), (turns[-1], np.inf)]
    limit = max(y[other] for other in inside) - slack
    anywhere, beyond = [], []
    for low, high in stretches:
        if high - low < 1e-9:
            continue
        at = 0.5 * (max(low, -1e3) + min(high, 1e3))
        count = sum(breaks(sign, y[other] - at) for other, sign in mine.items())
        anywhere.append(count)
        if high > limit:
            beyond.append(count)
    return min(beyond) - min(anywhere)


@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_those_of_counting(seed):
    _, side = drawn(seed, n_arms=25)
    line, known = fit_line(side), relations(side)
    assert line.n_broken == sum(breaks(sign, line.x[a] - line.x[b]) for (a, b), sign in known.items())
    assert line.share_broken == pytest.approx(line.n_broken / len(known))
    for arm in range(25):
        expected = min(cost_at_an_end(line, known, arm, mirror) for mirror in (1.0, -1.0))
        assert line.costs[arm] == expected
        near = [pair for pair in known if arm in pair and abs(line.x[pair[0]] - line.x[pair[1]]) < 2]
        assert line.near[arm] == sum(line.part[a] == line.part[b] for a, b in near)


def test_rows_hold_every_relation_twice():
    _, side = drawn(3)
    rows, known = known_rows(side), relations(side)
    found = {
        (arm, int(rows.indices[place])): int(rows.signs[place])
        for arm in range(40)
        for place in range(rows.indptr[arm], rows.indptr[arm + 1])
    }
    assert found == {**known, **{(b, a): sign for (a, b), sign in known.items()}}


@pytest.mark.usefixtures("always_compiled")
def test_it_sees_through_wrong_relations():
    """Half of the relations of 100 arms, 5% of them wrong: what breaks is mostly what is wrong."""
    agreements, broken, wrong = [], 0, 0
    for seed in range(8):
        means, side = drawn(seed, 100, 0.1, 0.5, 0.05)
        line = fit_line(side)
        largest = np.bincount(line.part).argmax()
        inside = line.part == largest
        agreements.append(abs(np.corrcoef(means[inside], line.x[inside])[0, 1]))
        broken += line.n_broken
        wrong += 0.05 * (side.n_similar + side.n_dissimilar)
    assert np.median(agreements) > 0.99
    assert broken < 1.25 * wrong


def test_true_relations_of_a_connected_line_nearly_all_hold():
    means = np.linspace(0, 1, 60)
    line = fit_line(lsdt.from_means(means, 0.2))
    assert line.share_broken < 0.01
    assert len(np.unique(line.part)) == 1
    assert {0, 59} <= set(np.flatnonzero(line.costs == 0).tolist())
    assert line.costs[30] > 5


def test_nothing_known_and_one_arm():
    line = fit_line(lsdt.SideInformation(4, epsilon=0.1))
    assert line.costs.tolist() == [0, 0, 0, 0]
    assert len(np.unique(line.part)) == 4
    assert fit_line(lsdt.SideInformation(1)).costs.tolist() == [0]


def test_too_many_relations_are_refused():
    with pytest.raises(TooLarge, match="a line is fitted to up to"):
        fit_line(lsdt.from_means(np.linspace(0, 1, 20_000), 0.1))


def test_a_rough_line_does_not_pile_arms_up_at_its_ends():
    """Of arms that are spread evenly, every tenth of the line holds about a tenth."""
    side = lsdt.from_means(np.linspace(0.0, 1.0, 1_000), epsilon=0.1).reveal(0.2, 0.2, seed=1)
    x, part = lay_out(side)
    assert part.max() == 0
    held = np.histogram(x, 10)[0]
    assert held.max() < 140  # 171 and 179 were at the ends
    assert held.min() > 60
    assert abs(np.corrcoef(x, np.arange(1_000))[0, 1]) > 0.995
