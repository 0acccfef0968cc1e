from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import lsdt
from lsdt.candidates.options import USUAL
from lsdt.candidates.proofs import Relation
from lsdt.candidates.propagation.method import Clock
from lsdt.candidates.result import CandidateSet
from lsdt.candidates.search import exact
from lsdt.candidates.search.components import Component, SearchResult, whole_system
from lsdt.candidates.search.exact_kernel import CAN, CANNOT, UNDECIDED
from lsdt.candidates.search.probing import derive_with_probing
from lsdt.candidates.triangles.conflict import Conflict
from lsdt.errors import InconsistentSideInformation, InvalidInput, TooLarge, counted
from lsdt.reproduce.theorems.hardness.formulas import (
    Formula,
    anchor_instance,
    random_formula,
    with_fresh_variable,
)
from lsdt.side_information.examples import example
from naive.candidates import by_completions, by_orders
from naive.checkers import excludes, is_conflict, means_fit
from naive.graphs import pair_set
from strategies import any_graph, any_relations, examples, integer_means

SideInformation = lsdt.SideInformation


def left_by(side):
    """The candidates, or an empty set for relations that contradict one another."""
    try:
        found = lsdt.candidate_set(side, "exact")
    except InconsistentSideInformation:
        return set()
    assert found.notes == ()
    return set(found.arms.tolist())


def naive_of(side):
    return by_orders(side.n_arms, pair_set(side.similar_pairs()), pair_set(side.dissimilar_pairs()))


def test_hand_worked_where_no_triangle_helps():
    """1 hangs on 0, 3 on 2: were 4, similar to 0 and 2 only, the best, 1 and 3 would both lie under it.

    Both are dissimilar to 4, so between one and two epsilons below it, hence similar; they are not.
    """
    relations = ([(4, 0), (4, 2), (0, 1), (2, 3)], [(4, 1), (4, 3), (1, 3)])
    side = SideInformation(5, *relations)
    assert 4 in lsdt.candidate_set(side, "triangles")
    found = lsdt.candidate_set(side, "exact")
    assert found.arms.tolist() == [1, 3]
    assert found.verb == "can be"
    assert found.classes is None
    explanation = found.explain(4)
    assert "arm 4 cannot be the best. Suppose it is" in str(explanation)
    assert len(explanation.relations) == 7


@given(any_relations(max_arms=4))
def test_the_naive_twin_is_the_papers_definition(relations):
    n_arms, similar, dissimilar = relations
    sets = pair_set(similar), pair_set(dissimilar)
    assert by_orders(n_arms, *sets) == by_completions(n_arms, *sets)


@given(any_relations(max_arms=6))
def test_agrees_with_trying_every_order(relations):
    side = SideInformation(*relations)
    assert left_by(side) == naive_of(side)


@given(integer_means(max_arms=7), st.sampled_from([0.3, 0.5, 0.8]), st.integers(0, 9))
def test_agrees_with_trying_every_order_on_revealed_relations(problem, p, seed):
    means, epsilon = problem
    side = lsdt.from_means(means, epsilon).reveal(p, p, seed).explicit()
    assert left_by(side) == naive_of(side)


@given(integer_means())
def test_on_complete_information_it_is_anchors(problem):
    side = lsdt.from_means(*problem)
    assert left_by(side) == set(lsdt.candidate_set(side, "anchors").arms.tolist())


@given(any_graph(max_arms=7))
def test_complete_relations_contradict_one_another_when_no_unit_interval_graph(graph):
    side = lsdt.complete(*graph)
    assert (left_by(side) == set()) == (not lsdt.recognise(side).is_unit_interval)


@pytest.mark.large
@examples(0.4)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.2, 0.4]), st.sampled_from([0.1, 0.2, 0.3, 0.6]))
def test_between_what_more_relations_leave_and_what_triangles_leave(seed, epsilon, p):
    full = lsdt.from_means(np.random.default_rng(seed).random(40), epsilon)
    partial = full.reveal(p, p, seed)
    candidates = left_by(partial)
    assert set(lsdt.candidate_set(full, "anchors").arms.tolist()) <= candidates
    assert candidates <= set(lsdt.candidate_set(partial, "triangles").arms.tolist())
    assert candidates <= left_by(full.reveal(0.7 * p, 0.7 * p, seed))


@given(integer_means(max_arms=12), st.sampled_from([0.3, 0.6]), st.integers(0, 9))
def test_candidates_come_with_means(problem, p, seed):
    means, epsilon = problem
    side = lsdt.from_means(means, epsilon).reveal(p, p, seed).explicit()
    found = lsdt.candidate_set(side, "exact")
    for arm in found.arms:
        explanation = found.explain(arm)
        assert explanation.is_candidate
        assert means_fit(side, explanation.means, epsilon)
        assert explanation.means[arm] == explanation.means.max()


@given(any_relations(max_arms=7))
def test_the_relations_of_an_explanation_alone_exclude_the_arm(relations):
    side = SideInformation(*relations)
    try:
        found = lsdt.candidate_set(side, "exact")
    except InconsistentSideInformation:
        return
    for arm in set(range(side.n_arms)) - set(found.arms.tolist()):
        explanation = found.explain(arm)
        assert not explanation.is_candidate
        if not explanation.steps and "no means" not in explanation.text:
            assert excludes(side, explanation)
            continue
        assert_refuted(explanation.relations, side, arm)


def assert_refuted(relations, side, arm=None):
    """Check by trying every order of the few arms; without an arm, that none of them can be first."""
    assert all(side.relation(a, b) == word for a, b, word in relations)
    arms = sorted({end for a, b, _ in relations for end in (a, b)})
    near, apart = (
        {frozenset((arms.index(a), arms.index(b))) for a, b, said in relations if said == word}
        for word in ("similar", "dissimilar")
    )
    first = by_orders(len(arms), near, apart)
    assert first == set() if arm is None else arms.index(arm) not in first


def test_a_claw_is_a_conflict():
    side = SideInformation(
        6, [("c", leaf) for leaf in "xyz"], [("x", "y"), ("y", "z"), ("x", "z")], arm_ids=list("acxbyz")
    )
    assert len(lsdt.candidate_set(side, "triangles")) == 5  # the triangle rule does not see it
    with pytest.raises(InconsistentSideInformation, match="'x' and 'y' are dissimilar") as caught:
        lsdt.candidate_set(side, "exact")
    assert sorted(caught.value.conflict.arms) == list("cxyz")
    assert_refuted(caught.value.conflict.relations, side)


@given(any_relations(max_arms=6))
def test_every_empty_answer_comes_with_a_conflict_as_small_as_can_be(relations):
    side = SideInformation(*relations)
    try:
        assert len(lsdt.candidate_set(side, "exact")) > 0
    except InconsistentSideInformation as error:
        conflict = error.conflict
        if conflict.witnesses:  # triangles left nothing
            assert is_conflict(conflict)
            return
        assert_refuted(conflict.relations, side)
        for arm in conflict.arms:
            others = [word for word in conflict.relations if arm not in word[:2]]
            rest = SideInformation(
                side.n_arms,
                [pair[:2] for pair in others if pair[2] == "similar"],
                [pair[:2] for pair in others if pair[2] == "dissimilar"],
            )
            assert left_by(rest)


def test_long_conflicts_are_cut_short_in_words():
    relations = tuple(Relation(0, arm, "similar") for arm in range(1, 31))
    text = str(Conflict(tuple(range(31)), relations))
    assert text.endswith("0 and 16 are similar\n  ... and 14 more relations among these arms")


@pytest.mark.parametrize("seed", range(6))
def test_where_propagation_is_not_enough_the_search_is_right(seed):
    """The paper's hard instances: whether the fresh variable can be the best is known from its formula."""
    formula = random_formula(np.random.default_rng(seed), 4, 3)
    side = anchor_instance(with_fresh_variable(formula))
    found = lsdt.candidate_set(side, "exact")
    assert ("x5" in found) == formula.is_consistent()
    explanation = found.explain("x5")
    if explanation.is_candidate:
        assert means_fit(side, explanation.means, 1.0)
        assert explanation.means[explanation.arm] == explanation.means.max()


def test_a_search_is_counted_in_words():
    """x1 + x2 + x3 = 1 and x1 + x2 + (1 - x3) = 1 cannot both hold; seeing it takes both cases of x3."""
    formula = Formula(4, ((1, 2, 3), (1, 2, -3)))
    side = anchor_instance(formula)
    found = lsdt.candidate_set(side, "exact")
    verdict = Component(whole_system(side), np.arange(side.n_arms)).decide(side.index("x4"))
    assert verdict.answer == CANNOT
    assert verdict.orders > 0
    text = found.explain("x4").text
    assert re.search(r"A search through \d+ orders of dissimilar pairs shows it", text)
    assert "more arms and give it the largest" in text


def hard(seed, n_variables, n_clauses):
    formula = random_formula(np.random.default_rng(seed), n_variables, n_clauses, complements=False)
    return anchor_instance(with_fresh_variable(formula))


def searched(side, *orders):
    """Return the candidates, with as many orders tried for one arm, once or several times."""
    return CandidateSet("exact", exact.find_exact(side, USUAL, orders), 0.0)


def test_what_the_search_cannot_decide_stays_and_is_said():
    side = hard(0, 6, 6)
    sure = left_by(side)
    found = searched(side, 1)
    assert sure <= set(found.arms.tolist())
    undecided = np.flatnonzero(exact.run_exact(side, orders=(1,)).answers == UNDECIDED)
    assert len(undecided) > 0
    assert f"{len(undecided)} arms undecided" in found.notes[0]
    assert "A longer `timeout` may decide" in found.notes[0]
    assert found.verb == "may be"
    explanation = found.explain(found.side.label(int(undecided[0])))
    assert explanation.is_candidate
    assert explanation.means is None
    assert "undecided" in explanation.text


def test_what_few_orders_leave_open_is_searched_again():
    side = hard(2, 5, 5)
    sure = left_by(side)
    assert "undecided" in searched(side, 0).notes[0]
    found = searched(side, 0, 10**9)
    assert found.notes == ()
    assert set(found.arms.tolist()) == sure
    assert [stage.name for stage in found.stages] == [
        "triangles",
        "orientation",
        "intervals",
        "closure",
        "probing",
        "search",
    ]
    for arm in found:
        assert means_fit(side, found.explain(arm).means, 1.0)


def is_solvable(formula):
    """Whether an assignment makes one literal of every clause true, by integer programming.

    Complementing it makes two literals of every clause true: the formula is consistent exactly then.
    """
    counts = np.zeros((len(formula.clauses), formula.n_variables))
    for row, clause in zip(counts, formula.clauses, strict=True):
        row[np.array(clause) - 1] = 1
    found = milp(
        np.zeros(formula.n_variables),
        constraints=LinearConstraint(counts, 1, 1),
        integrality=np.ones(formula.n_variables),
        bounds=Bounds(0, 1),
    )
    assert found.status in (0, 2)  # solved, infeasible
    return found.status == 0


@pytest.mark.large
@pytest.mark.parametrize(
    ("n_variables", "n_clauses", "seed"),
    [(25, 25, 1), (30, 18, 0), (30, 18, 2), (30, 24, 2)],
)
def test_large_formulas_take_few_orders(n_variables, n_clauses, seed):
    """Pairs that ran into contradictions come first: without that it takes 1,000 to more than 10,000."""
    formula = random_formula(np.random.default_rng(seed), n_variables, n_clauses, complements=False)
    side = anchor_instance(with_fresh_variable(formula))
    part = Component(whole_system(side), np.arange(side.n_arms))
    arm = side.index(f"x{n_variables + 1}")
    verdict = part.decide(arm, most_orders=1_000)
    assert verdict.answer == (CAN if is_solvable(formula) else CANNOT)
    if verdict.answer == CAN:
        assert means_fit(side, -verdict.depths, 1.0)
        assert verdict.depths[arm] == 0


def test_time_that_is_over_is_sound_and_said():
    side = hard(3, 6, 6)
    found = lsdt.candidate_set(side, "exact", timeout=1e-9)
    assert left_by(side) <= set(found.arms.tolist())
    assert "undecided" in found.notes[0]


def part_of(table):
    """All arms of a table of 1, -1 and 0 as one part."""
    near, apart = (np.argwhere(np.triu(table) == sign) for sign in (1, -1))
    return Component(whole_system(SideInformation(len(table), near, apart)), np.arange(len(table)))


def test_no_budget_decides_nothing_that_needs_an_assumption():
    part = part_of(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    assert part.decide(1, most_orders=0).answer == CAN
    claw = np.where(np.eye(4), 0, -1)
    claw[0, 1:] = claw[1:, 0] = 1
    part = part_of(claw)
    assert part.decide(1, most_orders=0) == (CANNOT, 0, None)
    assert part.decide(None, most_orders=0).answer == UNDECIDED
    assert part.decide(None).answer == CANNOT


def test_depths_that_do_not_fit_show_nothing():
    part = part_of(np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]]))
    unit = part.system.unit
    assert part.check_depths(0, np.array([0, unit - 1, unit]), 0).answer == CAN
    assert part.check_depths(1, np.array([0, unit - 1, unit]), 0).answer == UNDECIDED  # 1 is not the best
    assert part.check_depths(0, np.array([0, unit, unit]), 0).answer == UNDECIDED
    assert part.check_depths(0, np.array([0, 1, unit - 1]), 0).answer == UNDECIDED


def test_an_undecided_part_leaves_the_other_parts_undecided():
    system = whole_system(SideInformation(2))
    parts = [Component(system, np.array([arm])) for arm in (0, 1)]
    before = derive_with_probing(SideInformation(2), Clock(None))
    found = exact.Exact(system, parts, before, [parts[0].decide(0), SearchResult(UNDECIDED, 5)])
    assert found.answers.tolist() == [UNDECIDED, UNDECIDED]
    assert found.arms.tolist() == [0, 1]


def test_what_only_a_long_search_excludes_is_said():
    side = anchor_instance(Formula(4, ((1, 2, 3), (1, 2, -3))))
    arm, system = side.index("x4"), whole_system(side)
    part = Component(system, np.arange(side.n_arms))
    verdicts = [part.decide(other) for other in range(side.n_arms)]
    assert verdicts[arm].orders > 0
    before = replace(derive_with_probing(side, Clock(None)), left=np.arange(side.n_arms))
    text = exact.Exact(system, [part], before, verdicts).explain(side, arm, most_orders=0).text
    assert f"A search through {counted(verdicts[arm].orders, 'order')} of dissimilar pairs" in text


def test_example_of_the_paper():
    found = lsdt.candidate_set(example("partial"), "exact")
    assert found.arm_ids == [1, 2, 3, 5, 6, 10, 11]
    assert repr(found) == "CandidateSet(7 of 11 arms, method='exact')"
    assert found.to_frame()["reason"].notna().sum() == 4


def test_single_arms_and_nothing_known():
    assert left_by(SideInformation(1)) == {0}
    side = SideInformation(4, [], [(0, 1), (1, 2)])
    found = lsdt.candidate_set(side, "exact")
    assert len(found) == 4
    assert means_fit(side, found.explain(2).means, 1.0)


@pytest.mark.parametrize("wrong", [2, "auto"])
def test_more_witnesses_are_refused(wrong):
    for method in ("exact", "probing"):
        with pytest.raises(InvalidInput, match="belongs to the method 'triangles'"):
            lsdt.candidate_set(SideInformation(3), method, max_wrong=wrong)


def test_many_arms_are_refused_with_advice():
    full = lsdt.from_means(np.linspace(0, 1, 1001), 0.1)
    with pytest.raises(TooLarge, match="takes up to 1,000 arms; there are 1,001. Use 'anchors'"):
        lsdt.candidate_set(full, "exact")
    with pytest.raises(TooLarge, match="Use 'probing'"):
        lsdt.candidate_set(full.reveal(0.5, 0.5), "exact")


@pytest.mark.large
def test_many_assumptions_at_once():
    """Twenty gadgets of variables that no clause ties together: each has its own two sides of p to choose."""
    side = anchor_instance(Formula(20, ()))
    part = Component(whole_system(side), np.arange(side.n_arms))
    verdict = part.decide(side.index("x7"))
    assert verdict.answer == CAN
    assert verdict.orders > 16  # more than the first stack holds
    assert means_fit(side, -verdict.depths, 1.0)
    assert part.decide(side.index("x7"), most_orders=16).answer == UNDECIDED
