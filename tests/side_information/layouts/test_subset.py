from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.side_information.layouts.subset import subset
from lsdt.side_information.layouts.subset_kernel import relations_among


@pytest.mark.parametrize("revealed", [1.0, 0.6])
@pytest.mark.parametrize("explicit", [False, True])
@given(seed=st.integers(0, 10**6), n_arms=st.integers(1, 20), data=st.data())
def test_relations_among_some_arms_are_those_of_the_whole(revealed, explicit, seed, n_arms, data):
    means = np.random.default_rng(seed).random(n_arms)
    whole = lsdt.from_means(means, 0.3).reveal(revealed, revealed, seed)
    whole = whole.explicit() if explicit else whole
    arms = np.array(sorted(data.draw(st.sets(st.integers(0, n_arms - 1), min_size=1))))
    part = subset(whole, arms)
    assert (part.n_arms, part.epsilon) == (len(arms), 0.3)
    for i, a in enumerate(arms):
        for j, b in enumerate(arms[:i]):
            assert part.relation(i, j) == whole.relation(int(a), int(b))


def test_ids_come_along():
    whole = lsdt.from_means([0.1, 0.2, 0.3], 0.15, arm_ids=["x", "y", "z"])
    assert subset(whole, np.array([0, 2])).arm_ids == ("x", "z")
    assert subset(whole, np.arange(3)) is whole


def test_a_subset_keeps_the_order_of_the_whole_and_counts_an_arm_once():
    whole = lsdt.from_means([0.1, 0.2, 0.3, 0.4], 0.15, arm_ids=["x", "y", "z", "w"])
    part = whole.subset(["w", "y", "w"])
    assert (part.arm_ids, part.relation("y", "w")) == (("y", "w"), "dissimilar")
    assert whole.subset(whole.arm_ids) is whole
    unnamed = lsdt.from_means([0.1, 0.2, 0.3], 0.15).subset(np.array([2, 1]))
    assert (unnamed.n_arms, unnamed.relation(0, 1)) == (2, "similar")


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([], "at least one arm; got none"),
        ("x", "arms must be a list of arms; got the single 'x'"),
        (3, "arms must be a list of arms; got 3"),
        (["no"], "there is no arm 'no'"),
    ],
)
def test_a_subset_of_nothing_or_of_strangers_is_refused(arms, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        lsdt.from_means([0.1, 0.2], 0.15, arm_ids=["x", "y"]).subset(arms)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=25),
    st.integers(1, 9),
    st.data(),
)
def test_windows_of_some_arms_are_those_of_their_means(tenths, width, data):
    """Equal means come lowest arm first, and borderline pairs stay what they were."""
    means = np.array(tenths) / 10
    arms = np.array(sorted(data.draw(st.sets(st.integers(0, len(means) - 1), min_size=1))))
    whole = lsdt.from_means(means, width / 10)
    some, made = whole.store.windows.among(arms), lsdt.from_means(means[arms], width / 10).store.windows
    for name in ("order", "right_end", "means"):
        assert np.array_equal(getattr(some, name), getattr(made, name)), name
    assert (some.epsilon, some.threshold) == (made.epsilon, made.threshold)


@pytest.mark.large
def test_all_pairs_of_many_arms_are_not_looked_at_in_the_interpreter(monkeypatch):
    """Its arrays are short, and yet it looks at 810,000 pairs."""
    whole = lsdt.from_means(np.random.default_rng(0).random(1_000), 0.1).reveal(0.5, 0.5, seed=0)
    monkeypatch.setattr(relations_among, "loaded", None)  # as in a new process
    monkeypatch.setattr(relations_among, "interpret", lambda *_: pytest.fail("it was interpreted"))
    assert subset(whole, np.arange(900)).n_arms == 900
