from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.triangles import witnesses as scans, witnesses_kernel
from lsdt.candidates.triangles.conflict import conflict_of
from lsdt.candidates.triangles.matching_kernel import grow_matching
from lsdt.candidates.triangles.rule import one_witness
from lsdt.errors import InconsistentSideInformation, InvalidInput
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from naive.candidates import by_triangles
from naive.checkers import excludes, is_conflict
from naive.graphs import pair_set, similar_from_means
from strategies import any_graph, any_relations, integer_means

SideInformation = lsdt.SideInformation


def left_by(side, min_witnesses=1):
    """The arms that are left, or the empty set when the information proves contradictory."""
    try:
        return set(lsdt.candidate_set(side, "triangles", max_wrong=min_witnesses - 1).arms.tolist())
    except InconsistentSideInformation:
        return set()


def test_hand_worked():
    side = SideInformation(4, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2), (2, 3)])
    found = lsdt.candidate_set(side, "triangles")
    assert found.arms.tolist() == [0, 2, 3]
    assert found.method == "triangles"
    assert found.classes is None


@given(any_relations(), st.integers(1, 3))
def test_agrees_with_the_definition_on_any_relations(relations, min_witnesses):
    n_arms, similar, dissimilar = relations
    side = SideInformation(n_arms, similar, dissimilar)
    expected = by_triangles(n_arms, pair_set(similar), pair_set(dissimilar), min_witnesses)
    assert left_by(side, min_witnesses) == expected


@given(any_relations())
def test_bits_and_rows_agree(relations):
    n_arms = relations[0]
    similar_rows, dissimilar_rows = (
        adjacency_of_pairs(np.array(p, int).reshape(-1, 2), n_arms) for p in relations[1:]
    )
    by_rows, by_bits = (np.full((n_arms, 1, 2), -1, np.int32) for _ in range(2))
    witnesses_kernel.eliminate_by_rows(
        *similar_rows, *dissimilar_rows, False, 0, n_arms, np.ones(n_arms, int), by_rows
    )
    bits = [scans._bits_of_rows(*rows) for rows in (similar_rows, dissimilar_rows)]
    witnesses_kernel.eliminate_by_bits(*bits, 0, n_arms, by_bits)
    assert ((by_rows >= 0) == (by_bits >= 0)).all()


@given(
    integer_means(max_arms=14),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    st.sampled_from([0.3, 0.7, 1.0]),
    st.integers(0, 5),
    st.integers(1, 3),
)
def test_implicit_equals_explicit_equals_naive(problem, p_similar, p_dissimilar, seed, min_witnesses):
    means, epsilon = problem
    implicit = lsdt.from_means(means, epsilon).reveal(p_similar, p_dissimilar, seed)
    explicit = implicit.explicit()
    expected = by_triangles(
        len(means),
        pair_set(explicit.similar_pairs()),
        pair_set(explicit.dissimilar_pairs()),
        min_witnesses,
    )
    assert left_by(implicit, min_witnesses) == expected
    assert left_by(explicit, min_witnesses) == expected


@given(integer_means(max_arms=12), st.sampled_from([0.05, 0.3]), st.booleans(), st.integers(1, 2))
def test_corrupted_implicit_equals_explicit(problem, share, partial, min_witnesses):
    means, epsilon = problem
    implicit = lsdt.from_means(means, epsilon).corrupt(share, seed=3)
    if partial:
        implicit = implicit.reveal(0.8, 0.8, seed=1)
    assert left_by(implicit, min_witnesses) == left_by(implicit.explicit(), min_witnesses)


@given(any_graph(), st.integers(1, 3))
def test_complete_information_never_lists_its_dissimilar_pairs(graph, min_witnesses):
    n_arms, similar = graph
    implied = lsdt.complete(n_arms, similar)
    dissimilar = implied.dissimilar_pairs()
    expected = by_triangles(n_arms, pair_set(similar), pair_set(dissimilar), min_witnesses)
    assert left_by(implied, min_witnesses) == expected


@given(integer_means(), st.integers(0, 3))
def test_more_relations_never_add_a_candidate_and_the_best_arm_stays(problem, seed):
    means, epsilon = problem
    full = lsdt.from_means(means, epsilon)
    before = set(range(len(means)))
    for p in (0.2, 0.4, 0.6, 0.8, 1.0):
        after = left_by(full.reveal(p, p, seed) if p < 1 else full)
        assert after <= before
        before = after
    best = {arm for arm, mean in enumerate(means) if mean == max(means)}
    assert best <= before


@given(any_relations(), st.randoms(use_true_random=False), st.integers(1, 2))
def test_relabelling_arms_relabels_the_answer(relations, random, min_witnesses):
    n_arms, similar, dissimilar = relations
    name = list(range(n_arms))
    random.shuffle(name)
    renamed = [[(name[a], name[b]) for a, b in pairs] for pairs in (similar, dissimilar)]
    before = left_by(SideInformation(n_arms, similar, dissimilar), min_witnesses)
    after = left_by(SideInformation(n_arms, *renamed), min_witnesses)
    assert {name[arm] for arm in before} == after


@given(integer_means(max_arms=12), st.integers(0, 10**6), st.integers(2, 3))
def test_wrong_relations_fewer_than_the_witnesses_keep_the_best_arm(problem, seed, min_witnesses):
    means, epsilon = problem
    side = lsdt.from_means(means, epsilon).reveal(0.9, 0.9, seed=1)
    pairs = {1: pair_set(side.similar_pairs()), -1: pair_set(side.dissimilar_pairs())}
    known = sorted((sorted(pair), word) for word in pairs for pair in pairs[word])
    rng = np.random.default_rng(seed)
    for number in rng.permutation(len(known))[: min_witnesses - 1]:
        pair, word = known[number]
        pairs[word].discard(frozenset(pair))
        pairs[-word].add(frozenset(pair))
    wrong = SideInformation(len(means), *([tuple(pair) for pair in pairs[word]] for word in (1, -1)))
    best = {arm for arm, mean in enumerate(means) if mean == max(means)}
    assert best <= left_by(wrong, min_witnesses)


@given(any_relations(), st.integers(1, 3))
def test_every_witness_can_be_checked(relations, min_witnesses):
    side = SideInformation(*relations)
    try:
        found = lsdt.candidate_set(side, "triangles", max_wrong=min_witnesses - 1)
    except InconsistentSideInformation:
        return
    for arm in range(side.n_arms):
        explanation = found.explain(arm)
        assert explanation.is_candidate == (arm in found)
        if not explanation.is_candidate:
            assert len(explanation.pairs) == min_witnesses
            assert excludes(side, explanation, min_witnesses)


@given(any_graph(max_arms=12), st.integers(0, 5))
def test_matching_is_maximum_up_to_what_is_enough(graph, enough):
    n_arms, pairs = graph
    rows = adjacency_of_pairs(np.array(pairs, int).reshape(-1, 2), n_arms)
    mate = np.full(n_arms, -1, np.int64)
    size = grow_matching(rows.indptr, rows.indices, mate, enough)
    largest = len(nx.max_weight_matching(nx.Graph(pairs), maxcardinality=True))
    assert size == min(enough, largest)
    for arm in np.flatnonzero(mate >= 0):
        assert mate[mate[arm]] == arm
        assert rows.has(int(arm), int(mate[arm]))


def test_matching_needs_a_blossom():
    """A triangle with a tail at each corner: a greedy choice of the triangle's edge must be undone."""
    pairs = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 4), (2, 5)]
    rows = adjacency_of_pairs(np.array(pairs), 6)
    mate = np.array([1, 0, -1, -1, -1, -1])
    assert grow_matching(rows.indptr, rows.indices, mate, 3) == 3


@pytest.mark.large
def test_dense_sparse_and_window_kernels_agree_beyond_one_block():
    rng = np.random.default_rng(3)
    full = lsdt.from_means(rng.random(2000), 0.05)
    for p in (0.02, 0.5):
        implicit = full.reveal(p, p, seed=9)
        explicit = implicit.explicit()
        expected = left_by(implicit)
        assert left_by(explicit) == expected
        assert expected == set(np.flatnonzero(_row_witnesses(explicit) < 0))
        assert left_by(implicit, 3) == left_by(explicit, 3)


def _row_witnesses(side):
    witnesses = np.full((side.n_arms, 1, 2), -1, np.int32)
    scans.scan_rows(side.store, np.ones(side.n_arms, int), witnesses)
    return witnesses[:, 0, 0]


def test_hub_rows_are_bisected_and_still_right():
    rng = np.random.default_rng(5)
    n_arms = 600
    hub = [(0, arm) for arm in range(1, n_arms)]  # dissimilar to all: a row far longer than the others
    similar = {
        tuple(sorted(pair)) for pair in rng.integers(1, n_arms, (400, 2)).tolist() if pair[0] != pair[1]
    }
    similar |= {(0, arm) for arm in (7, 9)}
    dissimilar = [pair for pair in hub if pair not in similar]
    side = SideInformation(n_arms, sorted(similar), dissimilar)
    assert left_by(side) == by_triangles(n_arms, pair_set(similar), pair_set(dissimilar))


CIRCLE = ([(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)])


def test_nothing_left_names_a_conflict_by_id():
    similar, dissimilar = ([("abcd"[i], "abcd"[j]) for i, j in pairs] for pairs in CIRCLE)
    side = SideInformation(6, similar, dissimilar, arm_ids=list("abcdef"))
    assert left_by(side) == {4, 5}
    alone = SideInformation(5, [*similar, ("e", "a"), ("e", "c")], dissimilar, arm_ids=list("abcde"))
    with pytest.raises(InconsistentSideInformation, match="'a' is similar to 'b' and 'd'") as caught:
        lsdt.candidate_set(alone, "triangles")
    assert caught.value.conflict.arms == ("a", "b", "c", "d")
    assert is_conflict(caught.value.conflict)


@given(any_relations(max_arms=9))
def test_every_empty_answer_comes_with_a_conflict(relations):
    side = SideInformation(*relations)
    try:
        assert len(lsdt.candidate_set(side, "triangles")) > 0
    except InconsistentSideInformation as error:
        assert is_conflict(error.conflict)
        for a, b, word in error.conflict.relations:
            assert side.relation(a, b) == word


def test_auto_takes_the_smallest_number_of_wrong_relations_and_says_so():
    side = SideInformation(5, [*CIRCLE[0], (4, 0), (4, 2)], CIRCLE[1])
    found = lsdt.candidate_set(side, max_wrong="auto")
    assert found.max_wrong == 1
    assert len(found) == 5
    assert found.notes[0].startswith("the relations contradict one another; max_wrong='auto' took 1")
    assert "if at most one relation is wrong" in found.notes[0]
    plain = lsdt.candidate_set(SideInformation(3, [(0, 1)], []), max_wrong="auto")
    assert "took 0" in plain.notes[0]
    assert "if no relation is wrong" in plain.notes[0]


@given(any_relations())
def test_auto_is_minimal(relations):
    side = SideInformation(*relations)
    found = lsdt.candidate_set(side, "triangles", max_wrong="auto")
    assert len(found) > 0
    assert set(found.arms.tolist()) == left_by(side, found.max_wrong + 1)
    assert f"took {found.max_wrong}," in found.notes[0]
    proven_wrong = side.is_complete and not lsdt.recognise(side).is_unit_interval
    assert found.max_wrong >= int(proven_wrong)
    assert all(not left_by(side, fewer) for fewer in range(1 + proven_wrong, found.max_wrong + 1))


def test_auto_does_not_trust_complete_information_that_is_proven_wrong():
    """One pair (p, q) is wrong: with one witness the worst arm alone would be left."""
    means = {"b": 1.0, "p": 0.6, "q": 0.5, "c": 0.1, "r": -0.3}
    true = lsdt.from_means(list(means.values()), 0.6, arm_ids=list(means)).explicit()
    similar = [pair for pair in true.similar_pairs().tolist() if pair != [1, 2]]
    wrong = lsdt.complete(5, similar, arm_ids=list(means))
    assert lsdt.candidate_set(wrong, "triangles").arm_ids == ["r"]
    found = lsdt.candidate_set(wrong, "triangles", max_wrong="auto")
    assert found.max_wrong == 1
    assert "b" in found


def test_auto_says_why_it_starts_at_one():
    claw = lsdt.complete(4, [(0, 1), (0, 2), (0, 3)])
    found = lsdt.candidate_set(claw, "triangles", max_wrong="auto")
    assert "took 1, the smallest that can be right" in found.notes[0]


def test_too_few_wrong_relations_tolerated_still_name_a_conflict():
    rng = np.random.default_rng(0)
    side = lsdt.from_means(rng.random(60), 0.3).corrupt(0.3, seed=1)
    with pytest.raises(InconsistentSideInformation, match="at least 2 relations are wrong") as caught:
        lsdt.candidate_set(side, "triangles", max_wrong=1)
    assert is_conflict(caught.value.conflict)


def test_nothing_is_excluded_when_no_triangle_can_be_revealed():
    full = lsdt.from_means(np.random.default_rng(0).random(5000), 0.1)
    for p_similar, p_dissimilar in ((0.5, 0.0), (0.0, 0.5), (0.5, lambda x: 0.0 if x < 3 else 1.0)):
        side = full.reveal(p_similar, p_dissimilar)
        assert not scans.may_show_triangles(side.store)
        assert len(lsdt.candidate_set(side, "triangles")) == 5000
    assert scans.may_show_triangles(full.reveal(0.5, 0.5).store)


def test_rare_dissimilar_pairs_are_written_out_and_agree():
    side = lsdt.from_means(np.random.default_rng(0).random(400), 0.4).reveal(1.0, 0.0004, seed=3)
    assert scans.rows_are_cheaper(side.store)
    scanned = np.full((400, 1, 2), -1, np.int32)
    scans.scan_windows(side.store, scanned)
    assert left_by(side) == set(np.flatnonzero(scanned[:, 0, 0] < 0).tolist())
    assert 0 < len(left_by(side)) < 400


def test_a_row_that_ends_before_the_arm_sought_is_not_read_on():
    """Bisection in the row of arm 1 must not run into the row of arm 2, which begins with 99."""
    dissimilar = [(1, arm) for arm in range(10, 50)] + [(2, 99)]
    side = SideInformation(100, [(0, 1), (0, 99)], dissimilar)
    assert 0 in lsdt.candidate_set(side)


@given(st.data())
def test_long_and_short_rows_agree_with_the_definition(data):
    """Few similar and many dissimilar pairs at some arms: rows that are bisected, in every position."""
    n_arms = 60
    arms = st.integers(0, n_arms - 1)
    hubs = data.draw(st.lists(arms, min_size=1, max_size=3, unique=True))
    similar = pair_set(p for p in data.draw(st.lists(st.tuples(arms, arms), max_size=25)) if p[0] != p[1])
    dissimilar = set()
    for hub in hubs:
        low = data.draw(arms)
        dissimilar |= {frozenset((hub, arm)) for arm in range(low, min(low + 50, n_arms)) if arm != hub}
    dissimilar -= similar
    side = SideInformation(n_arms, [tuple(p) for p in similar], [tuple(p) for p in dissimilar])
    for wanted in (1, 2):
        assert left_by(side, wanted) == by_triangles(n_arms, similar, dissimilar, wanted)


@pytest.mark.parametrize("wanted", [50, 10**9, 10**20])
def test_more_witnesses_than_there_can_be_exclude_nothing(wanted):
    side = lsdt.from_means(np.linspace(0, 1, 50), 0.4).reveal(0.9, 0.9)
    found = lsdt.candidate_set(side, max_wrong=wanted - 1)
    assert len(found) == 50
    assert found.max_wrong == wanted - 1


@pytest.mark.large
def test_hard_contradictions_are_given_up_in_time_and_still_valid():
    """Random one-way witnesses: conflicts are large, and shrinking is cut off or left out."""
    rng = np.random.default_rng(1)
    similar, dissimilar = set(), set()
    for arm in range(100):
        while True:
            a, b = (int(other) for other in rng.choice(np.delete(np.arange(100), arm), 2, replace=False))
            new = {frozenset((arm, a)), frozenset((arm, b))}
            if frozenset((a, b)) not in similar and not new & dissimilar:
                break
        similar |= new
        dissimilar.add(frozenset((a, b)))
    side = SideInformation(100, [tuple(p) for p in similar], [tuple(p) for p in dissimilar])
    with pytest.raises(InconsistentSideInformation) as caught:
        lsdt.candidate_set(side, "triangles")
    assert is_conflict(caught.value.conflict)
    witnesses = one_witness(side)
    few, more, most = (conflict_of(side, witnesses, None, *limits) for limits in ((), (1_500, 1e6), (10,)))
    assert all(map(is_conflict, (few, more, most)))
    assert len(few.arms) < len(more.arms) <= len(most.arms)


@pytest.mark.large
def test_large_contradiction_is_shrunk():
    side = lsdt.from_means(np.random.default_rng(2).random(300), 0.2).corrupt(0.02, 1).reveal(0.9, 0.9)
    with pytest.raises(InconsistentSideInformation) as caught:
        lsdt.candidate_set(side, "triangles")
    assert len(caught.value.conflict.arms) <= 8
    assert is_conflict(caught.value.conflict)


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True])
def test_bad_number_of_wrong_relations_is_named(wrong):
    with pytest.raises(InvalidInput, match="max_wrong must be a whole number"):
        lsdt.candidate_set(SideInformation(2, [], []), max_wrong=wrong)


@pytest.mark.parametrize(("p", "size"), [(0.5, 10), (0.2, 48)])
def test_sizes_of_the_papers_second_figure(p, size, thorough):
    """K = 100, epsilon .2: B0 averages near 10 at p = .5 and near 48 at p = .2.

    The margin is four standard errors of the mean from the sample, and one arm for 'near'.
    """
    rng = np.random.default_rng(4)
    runs = 200 if thorough else 100
    sizes = [
        len(lsdt.candidate_set(lsdt.from_means(rng.random(100), 0.2).reveal(p, p, seed), "paper"))
        for seed in range(runs)
    ]
    standard_error = np.std(sizes) / np.sqrt(runs)
    assert standard_error < 1.3
    assert abs(np.mean(sizes) - size) < 4 * standard_error + 1


def test_floats_from_means_agree_with_the_stated_tolerance():
    means = [0.1, 0.2, 0.3, 0.4]
    assert lsdt.from_means(means, 0.1).n_similar == 0
    assert similar_from_means(means, 0.1) != set()
