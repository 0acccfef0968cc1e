"""Random graphs on which theorems are tried: what is drawn, and that a wrong set would be noticed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lsdt
from lsdt.reproduce.paper.candidates import random_graphs
from lsdt.reproduce.paper.candidates.random_graphs import complete_trial, partial_trial


def neighbours(means, epsilon, arm):
    """The arms similar to one, itself included: from the definition."""
    return {other for other in range(len(means)) if abs(means[other] - means[arm]) < epsilon}


def connected(means, epsilon):
    seen, found = set(), {0}
    while found - seen:
        arm = (found - seen).pop()
        seen.add(arm)
        found |= neighbours(means, epsilon, arm)
    return len(seen) == len(means)


def test_graphs_are_connected_and_not_complete():
    for run in range(20):
        means, epsilon = random_graphs._connected_graph((8, 14), np.random.default_rng(run))
        assert 8 <= len(means) <= 14
        assert connected(means, epsilon)
        assert max(means) - min(means) >= epsilon


def test_end_classes_are_those_of_the_definition():
    for run in range(20):
        means, epsilon = random_graphs._connected_graph((8, 14), np.random.default_rng(run))
        best, worst = (neighbours(means, epsilon, int(end)) for end in (means.argmax(), means.argmin()))
        stated = [neighbours(means, epsilon, arm) in (best, worst) for arm in range(len(means))]
        assert random_graphs._end_classes(means, epsilon).tolist() == stated


def test_arms_between_dissimilar_ones_are_those_of_the_definition():
    for run in range(20):
        means, epsilon = random_graphs._connected_graph((7, 11), np.random.default_rng(run))
        side = lsdt.from_means(means, epsilon).reveal(0.5, 0.5, seed=run)
        found = random_graphs._between_dissimilar_arms(side)
        for arm in range(len(means)):
            others = [other for other in range(len(means)) if other != arm]
            similar = [other for other in others if side.relation(arm, other) == "similar"]
            pairs = itertools.combinations(similar, 2)
            assert found[arm] == any(side.relation(a, b) == "dissimilar" for a, b in pairs)


def test_the_same_seed_gives_the_same_trial():
    assert complete_trial((8, 14), 3, 1) == complete_trial((8, 14), 3, 1)
    assert partial_trial((7, 11), 3, 1) != partial_trial((7, 11), 3, 2)


@pytest.mark.parametrize("wrong", ["exact", "anchors"])
def test_a_wrong_candidate_set_is_noticed(monkeypatch, wrong):
    right = random_graphs.candidate_set

    class OneArmOnly:
        def __init__(self, found):
            self.arms, self.found = found.arms[:1], found

        def __len__(self):
            return 1

        def explain(self, arm):
            return self.found.explain(arm)

    def replaced(side, method):
        found = right(side, method)
        return OneArmOnly(found) if method == wrong else found

    monkeypatch.setattr(random_graphs, "candidate_set", replaced)
    trial = complete_trial((8, 14), 0, 0)
    name = {"exact": "search_as_stated", "anchors": "anchors_as_stated"}
    assert not trial[name.pop(wrong)]
    assert all(trial[other] for other in name.values())


def test_a_rule_that_keeps_too_few_is_noticed(monkeypatch):
    right = random_graphs.candidate_set

    class Kept:
        def __init__(self, arms):
            self.arms = arms

    def replaced(side, method):
        arms = right(side, method).arms
        return Kept(arms[:1] if method == "triangles" else arms)

    monkeypatch.setattr(random_graphs, "candidate_set", replaced)
    assert not all(partial_trial((7, 11), 0, run)["b_in_b0"] for run in range(5))
