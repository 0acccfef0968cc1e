"""The one loop that makes proofs small, against all proofs there are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from lsdt.candidates.minimise import Budget, fewest, minimise
from naive.minimise import minimal_proofs, one_at_a_time

N_THINGS = 9
PROOFS = st.lists(st.frozensets(st.integers(0, N_THINGS - 1), min_size=1, max_size=5), min_size=1, max_size=4)


def holds_one(proofs):
    return lambda kept: any(proof <= frozenset(np.asarray(list(kept)).tolist()) for proof in proofs)


def attempts_of(things, suffice, budget=None):
    """Return the answer, and what was tried on the way."""
    tried = []

    def recorded(kept):
        tried.append(kept.tolist())
        return (budget is None or budget.spend()) and suffice(kept)

    return fewest(things, recorded, budget).tolist(), tried


def test_by_hand():
    """Of 0 .. 5, 1 and 4 are needed: a half fails, then the other; of pieces of one, four can go."""
    left, tried = attempts_of(np.arange(6), holds_one([{1, 4}]))
    assert left == [1, 4]
    assert tried[:4] == [[3, 4, 5], [0, 1, 2], [1, 2, 3, 4, 5], [2, 3, 4, 5]]


@given(PROOFS)
def test_no_single_thing_can_be_left_out(proofs):
    suffice = holds_one(proofs)
    left = fewest(np.arange(N_THINGS), suffice).tolist()
    assert frozenset(left) in minimal_proofs(range(N_THINGS), suffice)


@given(st.frozensets(st.integers(0, 40), min_size=1, max_size=12), st.integers(41, 60))
def test_the_only_proof_is_found(needed, n_things):
    left = fewest(np.arange(n_things), holds_one([needed])).tolist()
    assert left == sorted(needed) == one_at_a_time(range(n_things), holds_one([needed]))


@given(PROOFS)
def test_what_is_handed_back_may_be_smaller_than_what_was_tried(proofs):
    """The function may see that even fewer are a proof; here it hands back a whole proof at once."""

    def proof_among(kept):
        inside = [proof for proof in proofs if proof <= set(kept.tolist())]
        return np.array(sorted(inside[0])) if inside else None

    left = minimise(np.arange(N_THINGS), proof_among).tolist()
    assert frozenset(left) in minimal_proofs(range(N_THINGS), holds_one(proofs))


def test_few_attempts_where_few_of_many_are_needed():
    left, tried = attempts_of(np.arange(1_000), holds_one([{123}]))
    assert left == [123]
    assert len(tried) < 40


def test_one_thing_is_never_left_out():
    assert fewest(np.array([7]), lambda _: True).tolist() == [7]


def test_an_attempt_beyond_the_budget_does_not_count():
    needed = holds_one([{5}])
    for amount in range(12):
        left, tried = attempts_of(np.arange(8), needed, Budget(amount))
        assert needed(left)
        assert len(tried) <= amount + 1
    assert attempts_of(np.arange(8), needed, Budget(0))[0] == list(range(8))
    assert attempts_of(np.arange(8), needed, Budget(1))[0] == [4, 5, 6, 7]
    assert attempts_of(np.arange(8), needed, Budget(99))[0] == [5]


def test_a_budget_is_overspent_when_more_is_spent_than_there_was():
    budget = Budget(2.5)
    assert budget.spend(2.5)
    assert not budget.is_overspent
    assert not budget.spend(0.1)
    assert budget.is_overspent
