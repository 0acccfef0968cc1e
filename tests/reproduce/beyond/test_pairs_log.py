"""The part about logs and races: its rivals, and what it counts."""

from __future__ import annotations

import numpy as np

from lsdt.reproduce.beyond.pairs.unpaired import halve, identify_separately, play_lucb


def scores_of(means, n_examples=3000, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n_examples, len(means))) < means).astype(float)


def test_lucb_finds_a_clear_best_arm_and_respects_the_limit():
    scores = scores_of([0.1, 0.2, 0.8])
    found = play_lucb(scores, 0.2, 0.05, 100_000, np.random.default_rng(1))
    assert found.arm == 2
    assert 3 < found.by_identify <= found.tries < 5_000
    hard = play_lucb(scores_of([0.5, 0.5]), 0.01, 0.05, 200, np.random.default_rng(1))
    assert 200 <= hard.tries <= 202
    assert hard.by_identify == 200


def test_identify_finds_it_too():
    arm, tries = identify_separately(scores_of([0.1, 0.2, 0.8]), 0.2, 0.05, 100_000, np.random.default_rng(1))
    assert arm == 2
    assert 3 < tries <= 5_000
    hard = identify_separately(scores_of([0.5, 0.5]), 0.01, 0.05, 200, np.random.default_rng(1))
    assert hard[1] == 200


def test_halving_keeps_the_best_half_in_every_round():
    assert halve(scores_of([0.1, 0.2, 0.3, 0.9, 0.4]), 600, np.random.default_rng(0)) == 3
    assert halve(np.array([[0.2, 0.9]]), 1, np.random.default_rng(0)) == 1
