from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsdt
from lsdt.side_information.layouts.subset import restricted


@pytest.mark.parametrize("revealed", [1.0, 0.6])
@pytest.mark.parametrize("explicit", [False, True])
@given(seed=st.integers(0, 10**6), n_arms=st.integers(1, 20), data=st.data())
def test_relations_among_some_arms_are_those_of_the_whole(revealed, explicit, seed, n_arms, data):
    means = np.random.default_rng(seed).random(n_arms)
    whole = lsdt.SideInformation.from_means(means, 0.3).reveal(revealed, revealed, seed)
    whole = whole.explicit() if explicit else whole
    arms = np.array(sorted(data.draw(st.sets(st.integers(0, n_arms - 1), min_size=1))))
    part = restricted(whole, arms)
    assert (part.n_arms, part.epsilon) == (len(arms), 0.3)
    for i, a in enumerate(arms):
        for j, b in enumerate(arms[:i]):
            assert part.relation(i, j) == whole.relation(int(a), int(b))


def test_ids_come_along():
    whole = lsdt.SideInformation.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=["x", "y", "z"])
    assert restricted(whole, np.array([0, 2])).arm_ids == ("x", "z")
    assert restricted(whole, np.arange(3)) is whole
