"""Classes of dissimilar pairs, and the arms that stand inside by them."""

from __future__ import annotations

import numpy as np
import pytest

from lsdt.identification.questions.order_classes import order_classes
from naive.order_classes import deep_arms


def _matrices(n_arms, similar, dissimilar):
    result = []
    for pairs in (similar, dissimilar):
        matrix = np.zeros((n_arms, n_arms), bool)
        for a, b in pairs:
            matrix[a, b] = matrix[b, a] = True
        result.append(matrix)
    return result


def test_a_path_by_hand():
    # 0 - 1 - 2 - 3 - 4: 2 has 0 on one side and 4 on the other.
    similar = [(0, 1), (1, 2), (2, 3), (3, 4)]
    dissimilar = [(0, 2), (2, 4), (0, 3), (0, 4), (1, 4), (1, 3)]
    assert np.flatnonzero(order_classes(*_matrices(5, similar, dissimilar)).deep).tolist() == [2]


def test_nothing_known():
    assert not order_classes(*_matrices(3, [], [])).deep.any()
    assert not order_classes(*_matrices(3, [], [(0, 1), (1, 2)])).deep.any()


@pytest.mark.parametrize("seed", range(5))
def test_deep_arms_are_deep_in_every_order(seed):
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.0, 3.0, 7)
    known = [(a, b) for a in range(7) for b in range(a) if rng.random() < 0.7]
    similar = [(a, b) for a, b in known if abs(means[a] - means[b]) < 1.0]
    dissimilar = [pair for pair in known if pair not in similar]
    deep = set(np.flatnonzero(order_classes(*_matrices(7, similar, dissimilar)).deep).tolist())
    assert deep <= deep_arms(7, similar, dissimilar)
